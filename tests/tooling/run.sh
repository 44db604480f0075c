# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2154
#
# run: its commands, how check counts, and that nothing that went wrong looks good.

# suite NAME LINE...: make a suite of the toy project that prints lines and runs them.
suite() {
	mkdir -p repo/tests/suites
	printf '%s\n' '#!/bin/bash' "${@:2}" >"repo/tests/suites/$1"
	chmod 755 "repo/tests/suites/$1"
}

# The last line and the exit status of a check of suites.
result() {
	local status=0
	repo/run check "$@" >out 2>&1 || status=$?
	cat out >&2
	printf '%s; %s\n' "$(tail -n1 out)" "$status"
}

test_run_counts_the_results_of_all_suites() {
	toy
	suite unit 'echo "ok 1 - a"; echo "# note"; echo "ok 2 - b"; echo 1..2'
	suite lint 'echo 1..2; echo "ok 1 - c # SKIP no such thing here"; echo "ok 2 - d"'
	same "$(result unit lint)" '3 passed, 0 failed, 1 skipped; 0'
	grep -q '^== unit: 2 passed, 0 failed, 0 skipped, [0-9]* s of 120 ' out
	grep -q 'ok 1 - c # SKIP no such thing here' out
	same "$(<repo/build/check/unit.log)" "$(printf '%s\n' 'ok 1 - a' '# note' 'ok 2 - b' 1..2)"
}

test_run_check_deep_runs_the_suites_that_take_long_too() {
	local name
	toy
	for name in lint unit tools tcg qtest guest kvm series e2e commits libvirt; do
		suite "$name" 'echo "ok 1 - a"; echo 1..1'
	done
	same "$(result)" '9 passed, 0 failed, 0 skipped; 0'
	same "$(result --deep)" '11 passed, 0 failed, 0 skipped; 0'
	same "$(result commits)" '1 passed, 0 failed, 0 skipped; 0'
}

test_run_fails_if_a_test_fails() {
	toy
	suite unit 'echo 1..2; echo "ok 1 - a"; echo "not ok 2 - b"; exit 1'
	same "$(result unit)" '1 passed, 1 failed, 0 skipped; 1'
	same "$(tail -n2 out | head -n1)" 'build/check/unit.log:not ok 2 - b'
	suite unit 'echo 1..1; echo "not ok 1 - b"'
	same "$(result unit)" '0 passed, 1 failed, 0 skipped; 1'
}

test_run_fails_if_a_suite_dies() {
	toy
	suite unit 'echo 1..2; echo "ok 1 - a"; echo "ok 2 - b"; exit 3'
	same "$(result unit)" '2 passed, 1 failed, 0 skipped; 1'
	grep -q 'exit status 3' out
	suite unit 'echo 1..2; echo "ok 1 - a"; kill -9 $$'
	same "$(result unit)" '1 passed, 1 failed, 0 skipped; 1'
}

test_run_fails_if_the_plan_is_wrong() {
	toy
	suite unit 'echo 1..2; echo "ok 1 - a"'
	same "$(result unit)" '1 passed, 1 failed, 0 skipped; 1'
	suite unit 'echo "ok 1 - a"'
	same "$(result unit)" '1 passed, 1 failed, 0 skipped; 1'
	suite unit 'echo 1..1; echo "ok 1 - a"; echo "ok 2 - b"'
	same "$(result unit)" '2 passed, 1 failed, 0 skipped; 1'
	suite unit 'true'
	same "$(result unit)" '0 passed, 1 failed, 0 skipped; 1'
	suite unit 'echo 1..0'
	same "$(result unit)" '0 passed, 1 failed, 0 skipped; 1'
	suite unit 'echo 1..1; echo "ok 1 - a"; echo "Bail out! no more"'
	same "$(result unit)" '1 passed, 1 failed, 0 skipped; 1'
}

test_run_fails_if_a_skip_has_no_reason() {
	toy
	suite unit 'echo 1..1; echo "ok 1 - a # SKIP"'
	same "$(result unit)" '0 passed, 1 failed, 0 skipped; 1'
}

test_run_fails_if_a_suite_is_missing() {
	toy
	same "$(result unit)" '0 passed, 1 failed, 0 skipped; 1'
}

test_run_refuses_unknown_commands_and_suites() {
	toy
	refused "unknown command 'tset'" "demo check conformance bench mutants series deps fetch doctor" -- repo/run tset
	refused "unknown benchmark 'kvm'" "there is: tcg" -- repo/run bench kvm
	refused "unknown suite 'uint'" "lint unit tools tcg qtest guest kvm series e2e commits libvirt" -- repo/run check unit uint
	status=0
	repo/run tset || status=$?
	same "$status" 2
	status=0
	repo/run check uint || status=$?
	same "$status" 2
	status=0
	repo/run 2>/dev/null || status=$?
	same "$status" 2
	repo/run help | grep -q '^  demo '
}

test_run_series_writes_the_patches() {
	toy
	repo/run series toy out
	same "$(find out -name "*.patch" | wc -l)" 4
}

test_run_fetch_takes_newer_bases() {
	toy
	publish 1.1
	repo/run fetch
	compgen -G 'cache/invlpgb/bases/toy-1.1+ds-*.git'
}

test_run_stops_if_packages_are_missing() {
	toy
	printf '#!/bin/sh\necho no packages >&2\nexit 1\n' >"$scripts/deps"
	suite unit 'echo 1..1; echo "ok 1 - a"'
	refused "no packages" -- repo/run check unit
	refused "no packages" -- repo/run series toy out
	refused "no packages" -- repo/run demo
	[[ ! -e out && ! -e repo/build ]]
}
