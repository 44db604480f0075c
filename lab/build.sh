# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034
#
# Functions that the lab's build scripts share. Sourced, never run.

# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib.sh"

lab=$top/lab
readonly lab
export CCACHE_DIR=$cache/ccache
# Both builds write dependencies anyhow: without this every miss runs the preprocessor twice.
export CCACHE_DEPEND=true

# content_key PATTERN...: a name for what a build makes, from what goes into it: the
# files of the repository that match, and stdin.
content_key() {
	{
		cat
		gcc --version
		# shellcheck disable=SC2048,SC2086 # the patterns are for here, not for the caller's directory
		(cd "$top" && sha256sum $*)
	} | sha256sum | cut -c1-16
}

# logged LOG WHAT COMMAND...: run COMMAND, a program, with its output in LOG, and tell
# now and then how far it is. When it fails, show why.
logged() {
	local log=$1 what=$2 pid waited=0
	shift 2
	note "$what"
	"$@" >>"$log" 2>&1 </dev/null &
	pid=$!
	trap 'kill "$pid"' EXIT
	while kill -0 "$pid" 2>/dev/null; do
		sleep 1
		if ((++waited % 20 == 0)); then
			note "  $waited s: $(tail -n 1 "$log" | cut -c1-100)"
		fi
	done
	trap - EXIT
	if ! wait "$pid"; then
		tail -n 30 "$log" >&2
		die "$what failed; all of it is in $log"
	fi
}

# parse_pristine [--pristine]: sets source_options for scripts/source.
parse_pristine() {
	source_options=()
	if [[ ${1:-} == --pristine ]]; then
		source_options=(--pristine)
		shift
	fi
	[[ $# == 0 ]] || die "usage: lab/${0##*/} [--pristine]"
}

# own_tree NAME: does the user give a source tree of his own, changing under our hands?
own_tree() {
	[[ ${!1:-} && ! ${source_options[*]} ]]
}

# in_work_tree NAME SOURCE COMMAND...: run COMMAND with the directories src, a copy of
# SOURCE, and obj, empty, as its last arguments. Their paths are the same for every
# SOURCE, else ccache would compile everything again after any change of a hook.
in_work_tree() {
	with_lock "build/work-$1" fill_work_tree "$@"
}

fill_work_tree() {
	local work=$cache/build/work-$1 source=$2
	shift 2
	rm -rf "$work"
	mkdir -p "$work/obj"
	cp -al "$source" "$work/src"
	"$@" "$work/src" "$work/obj"
	rm -rf "$work"
}

# as_work_tree NAME DIR COMMAND...: run COMMAND in a copy of DIR/obj, the result of
# in_work_tree with its src beside it, where both were built: programs know that path.
as_work_tree() {
	with_lock "build/work-$1" copy_work_tree "$@"
}

copy_work_tree() {
	local work=$cache/build/work-$1 dir=$2
	shift 2
	rm -rf "$work"
	mkdir -p "$work"
	cp -al "$dir/src" "$dir/obj" "$work"
	cd "$work/obj"
	"$@"
	rm -rf "$work"
}

# publish DIR: print the directory of a build, and remove those that nobody used lately.
publish() {
	touch "$1"
	find "$cache/build" -mindepth 1 -maxdepth 1 -mtime +7 -exec rm -rf {} +
	echo "$1"
}
