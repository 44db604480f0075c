# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# Tests in bash: each function test_* is one, passes if no command in it fails, and runs
# in an empty directory of its own. Sourced after scripts/lib.sh.

# run_tests FILE...: run the tests that these files, sourced already, define, after the
# function set_up if there is one; as many at a time as there are processors. Print TAP in
# the order of the files; what a test prints is shown if it fails.
run_tests() {
	local name tests running=0 reported=0 failures=0
	mapfile -t tests < <(sed -n 's/^\(test_[a-z0-9_]*\)() {$/\1/p' "$@")
	scratch=$(mktemp -d)
	trap 'rm -rf "$scratch"' EXIT
	declare -F set_up >/dev/null && set_up >&2
	printf 'TAP version 14\n1..%d\n' "${#tests[@]}"
	for name in "${tests[@]}"; do
		if ((running == $(nproc))); then
			wait -n
			report
		else
			((running += 1))
		fi
		run_test "$name" &
	done
	wait
	report
	((failures == 0))
}

# The test runs in a subshell and in no condition: there set -e would have no effect.
run_test() {
	mkdir "$scratch/$1"
	set +e
	(set -e && cd "$scratch/$1" && "$1") >"$scratch/$1.log" 2>&1 </dev/null
	echo $? >"$scratch/$1.new"
	mv "$scratch/$1.new" "$scratch/$1.status"
	rm -rf "${scratch:?}/$1"
}

# Print the results up to the first test that still runs.
report() {
	local name text
	while name=${tests[reported]:-} && [[ -e $scratch/$name.status ]]; do
		text="$((++reported)) - ${name#test_}"
		if [[ $(<"$scratch/$name.status") == 0 ]]; then
			echo "ok ${text//_/ }"
		else
			((++failures))
			sed 's/^/# /' "$scratch/$name.log"
			echo "not ok ${text//_/ }"
		fi
	done
}

# Fail, and say why.
fail() {
	printf '%s\n' "$*"
	exit 1
}

# refused TEXT... -- COMMAND...: the command fails and its error message has every TEXT.
refused() {
	local texts=() text status=0 output
	while [[ $1 != -- ]]; do
		texts+=("$1")
		shift
	done
	shift
	output=$("$@" 2>&1 >/dev/null) || status=$?
	printf '%s\n' "$output"
	((status)) || fail "not refused: $*"
	for text in "${texts[@]}"; do
		[[ $output == *"$text"* ]] || fail "the message does not say: $text"
	done
}

same() {
	[[ $1 == "$2" ]] || fail "$(printf '%s\n--- is not ---\n%s' "$1" "$2")"
}
