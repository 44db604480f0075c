# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2154
#
# The core of QEMU's strict TLB model in user space: its unit tests, and random operations
# on it and on a naive implementation. QEMU_SRC names a tree to take the core from.

tlb_model() {
	make -s -C "$top/tests/fuzz" SRC="${QEMU_SRC:-$top}" O="$PWD" "$PWD/$1"
}

test_tlb_model_follows_each_rule() {
	local rule failed=0
	tlb_model test-x86-tlb-model
	# One by one: GTest ends at the first that fails.
	for rule in $(./test-x86-tlb-model -l | grep ^/); do
		./test-x86-tlb-model -p "$rule" >log 2>&1 || {
			tail -n 5 log
			failed=1
		}
	done
	((!failed))
}

# The run of ten million that a change of the core deserves: tests/fuzz/Makefile.
test_tlb_model_does_what_a_naive_one_does() {
	tlb_model tlb-model-fuzz
	./tlb-model-fuzz --operations=1000000 --seed="${SEED:-$RANDOM}"
}
