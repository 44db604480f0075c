# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034
#
# Functions that the scripts share. Sourced, never run.

set -euo pipefail
shopt -s inherit_errexit

# The packaged tools first: those are what scripts/deps looked after. Another
# python or meson earlier in a developer's PATH breaks QEMU's configure.
export PATH=/usr/bin:/bin:/usr/sbin:/sbin:$PATH

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/invlpgb

# What this run does now, for people: stdout belongs to results.
note() {
	printf '%s\n' "$*" >&2
}

die() {
	note "${0##*/}: error: $*"
	exit 1
}

# with_lock NAME COMMAND...: run COMMAND, a function too, while no other run holds
# NAME. What COMMAND starts inherits the lock, so a killed run's children keep it
# until they are gone. Do not call it where set -e has no effect (if, ||, &&).
with_lock() {
	local name=$1
	shift
	mkdir -p "$cache/locks"
	(
		if ! flock -n 9; then
			note "waiting for another run that works on $name"
			flock 9
		fi
		"$@"
	) 9>"$cache/locks/${name//\//-}"
}

# cached PATH COMMAND...: unless PATH, in the cache, exists, make it: COMMAND fills
# the empty directory given as its last argument, which then gets its name. A run that
# is killed outright leaves at most that directory, and the next one removes it.
cached() {
	local path=$1
	shift
	[[ -e $cache/$path ]] || with_lock "$path" fill_cached "$path" "$@"
}

fill_cached() {
	local path=$cache/$1 partial=$cache/$1.partial
	shift
	[[ ! -e $path ]] || return 0
	# shellcheck disable=SC2064 # expanded now: the subshell of with_lock exits elsewhere
	trap "rm -rf ${partial@Q}" EXIT
	rm -rf "$partial"
	mkdir -p "$partial"
	"$@" "$partial"
	mv -T "$partial" "$path"
}

# Git without the user's or the system's settings: the same input must give the
# same commits and the same patches everywhere.
git() {
	GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 command git \
		-c safe.directory='*' -c core.autocrlf=false -c core.quotePath=true \
		-c gc.auto=0 -c init.templateDir= -c advice.detachedHead=false "$@"
}

projects() {
	awk '/^[^#]/ && !seen[$1]++ { print $1 }' "$top/bases.conf"
}

# The lines of a project in bases.conf, without its name.
bases() {
	awk -v project="$1" '$1 == project { print $2, $3, $4 }' "$top/bases.conf"
}

check_project() {
	[[ $(bases "$1") ]] || die "unknown project '$1': bases.conf has $(projects | paste -sd " ")"
}
