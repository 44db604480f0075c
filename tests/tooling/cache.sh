# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2154
#
# Two runs that share a cache, and runs that are killed. A run is held up where it is to
# be by a fifo for its git to trace into, which blocks git until somebody reads.

# hold VARIABLE COMMAND...: start a command, in the background and a process group of its
# own, whose first git that traces what VARIABLE asks for waits.
hold() {
	mkfifo fifo
	setsid env "$1=$PWD/fifo" "${@:2}" >held.out 2>held.err &
	held=$!
	trap 'kill -KILL -- "-$held" 2>/dev/null || true' EXIT
}

# Read what git traces; the fifo keeps a writer, lest a reader between two gits see its end.
release_held() {
	sleep infinity >fifo &
	keep_open=$!
	cat fifo >/dev/null &
	wait "$held"
	kill "$keep_open"
}

# Wait until a command succeeds, as long as all runs live. The count only keeps what
# never comes from hanging the tests.
await() {
	local run count=0
	until "$@"; do
		for run in "$held" ${other:-}; do
			kill -0 "$run" || fail "a run has ended: $(tail ./*.err)"
		done
		((++count < 1000)) || fail "this never succeeds: $*"
		sleep 0.05
	done
}

test_two_runs_make_a_base_only_once() {
	toy
	rm -rf cache
	hold GIT_TRACE "$scripts/fetch-base" toy
	await compgen -G 'cache/invlpgb/bases/*.partial'
	"$scripts/fetch-base" toy >other.out 2>other.err &
	other=$!
	await grep -q '^waiting for another run that works on bases/toy-1.0' other.err
	release_held
	wait "$other"
	same "$(<other.out)" "$(<held.out)"
	grep -q '^making a git repository' held.err
	grep -q '^making a git repository' other.err && fail "made twice"
	same "$(find cache/invlpgb/bases/* -maxdepth 0 | wc -l)" 1
}

test_a_killed_run_leaves_nothing_half_written() {
	toy
	rm -rf cache
	hold GIT_TRACE "$scripts/fetch-base" toy
	await compgen -G 'cache/invlpgb/bases/*.partial'
	kill -KILL -- "-$held"
	same "$(compgen -G 'cache/invlpgb/bases/*.git' || true)" ''
	for partial in cache/invlpgb/bases/*.partial; do echo half >"$partial/half"; done
	"$scripts/fetch-base" toy
	same "$(compgen -G 'cache/invlpgb/bases/*/half' || true)" ''
	same "$(compgen -G 'cache/invlpgb/*/*.partial' || true)" ''
	"$scripts/checkout" toy out
	same "$(git -C out rev-parse HEAD)" "$(git -C tree rev-parse HEAD)"
}

test_a_terminated_run_removes_what_it_began() {
	toy
	hold GIT_TRACE_PACKET "$scripts/checkout" toy out
	await compgen -G '.checkout.*'
	kill -TERM -- "-$held"
	wait "$held" || true
	same "$(compgen -G '.checkout.*' || true)" ''
	[[ ! -e out ]]
}

test_a_command_that_fails_leaves_nothing_in_the_cache() {
	toy
	refused '' -- bash -c '. "$0/lib.sh"; half() { echo half >"$1/file" && false; }; cached trees/half half' "$scripts"
	same "$(ls cache/invlpgb/trees 2>/dev/null)" ''
}
