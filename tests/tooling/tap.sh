# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# Tests in bash: each function test_* is one, passes if no command in it fails, and runs
# in an empty directory of its own. Sourced after scripts/lib.sh.

# run_tests FILE...: run the tests that these files, sourced already, define, after the
# function set_up if there is one. Print TAP; what a test prints is shown if it fails.
run_tests() {
	local name tests number=0 failures=0 status
	mapfile -t tests < <(sed -n 's/^\(test_[a-z0-9_]*\)() {$/\1/p' "$@")
	scratch=$(mktemp -d)
	trap 'rm -rf "$scratch"' EXIT
	declare -F set_up >/dev/null && set_up >&2
	printf 'TAP version 14\n1..%d\n' "${#tests[@]}"
	for name in "${tests[@]}"; do
		mkdir "$scratch/$name"
		# In a condition set -e would have no effect.
		set +e
		(set -e && cd "$scratch/$name" && "$name") >"$scratch/$name.log" 2>&1 </dev/null
		status=$?
		set -e
		((number += 1))
		if ((status == 0)); then
			printf 'ok %d - ' "$number"
		else
			((failures += 1))
			sed 's/^/# /' "$scratch/$name.log"
			printf 'not ok %d - ' "$number"
		fi
		name=${name#test_}
		printf '%s\n' "${name//_/ }"
		rm -rf "${scratch:?}/$name"
	done
	((failures == 0))
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
