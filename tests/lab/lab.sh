# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2154
#
# The lab's own code, on the machine that runs the tests: how it judges a demo and a
# benchmark, and that the flush workload finds each kind of wrong state that is left in
# place for it.

# A wrong state stays until it is found: this bounds a workload that finds nothing.
hang=120

# compile SOURCE: prints the program. The tests run at the same time, each with its own.
compile() {
	local program
	program=./$(basename "$1" .c)
	gcc -O2 -Wall -Wextra -Werror -pthread -o "$program" "$top/$1"
	echo "$program"
}

# workload STATUS TEXT ARGUMENTS...: it ends with STATUS and says TEXT.
workload() {
	local wanted=$1 text=$2 status=0 program
	shift 2
	program=$(compile guest/linux/tlb-workload.c)
	timeout "$hang" "$program" "$@" >output 2>&1 || status=$?
	cat output
	same "$status" "$wanted"
	grep -q -- "$text" output || fail "the output does not say: $text"
}

test_builds_have_the_same_key_from_every_directory() {
	local key
	# shellcheck source=lab/build.sh
	. "$top/lab/build.sh"
	key=$(cd "$top" && echo 1 | content_key 'lab/linux/*.config')
	[[ $key ]]
	same "$(cd / && echo 1 | content_key 'lab/linux/*.config')" "$key"
}

test_console_lines_are_judged() {
	python3 -B "$top/tests/lab/console"
}

test_demo_rows_are_judged() {
	python3 -B "$top/tests/lab/rows"
}

test_conformance_is_judged() {
	python3 -B "$top/tests/lab/clauses"
}

test_costs_are_judged() {
	python3 -B "$top/tests/lab/costs"
}

test_tlb_oracle_judges_each_outcome() {
	"$(compile tests/lab/tlb-oracle-test.c)"
}

test_workload_finds_nothing_wrong_on_a_working_kernel() {
	workload 0 ' wrong=0$' --threads 4 --seconds 1
}

test_workload_takes_and_prints_its_seed() {
	workload 0 'seed=4711 ' --threads 2 --seconds 0 --seed 4711
}

test_workload_does_as_many_changes_as_it_is_asked_for() {
	workload 0 ' flushes=60 .* wrong=0$' --threads 3 --rounds 20
}

test_workload_finds_a_page_not_discarded() {
	workload 2 'wrong: old content' --threads 4 --seconds 0 --inject discard
}

test_workload_finds_a_page_not_unmapped() {
	workload 2 'wrong: old content' --threads 4 --seconds 0 --inject unmap
}

test_workload_finds_a_page_not_moved() {
	workload 2 'wrong: old content' --threads 4 --seconds 0 --inject move
}

test_workload_finds_a_page_in_other_use() {
	workload 2 'wrong: content of another page' --threads 4 --seconds 0 --inject reuse
}

test_workload_finds_a_page_still_writable() {
	workload 2 'wrong: wrote to a read-only page' --threads 4 --seconds 0 --inject protect
}

test_workload_refuses_bad_arguments() {
	workload 1 '1: not a number from 2 to 64' --threads 1
	workload 1 '1x: not a number' --seconds 1x
	workload 1 '0: not a number from 1' --rounds 0
	workload 1 'usage: ' --inject nothing
	workload 1 'usage: ' --unknown
	workload 1 'usage: ' word
}
