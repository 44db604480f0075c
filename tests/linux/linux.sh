# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2154
#
# Kernel files that build in user space, part of the suite unit. LINUX_SRC names a tree to
# take them from.

# build_test NAME OPTION...: build tests/linux/NAME.c, with the kernel's warnings.
build_test() {
	local tests=$top/tests/linux kvm=${LINUX_SRC:-$top/linux}/arch/x86/kvm
	local name=$1 sources=("$tests/$1.c")
	shift
	if [[ $name == asid-pool* ]]; then
		sources+=("$tests/kernel.c" "$kvm/svm/asid.c")
	fi
	gcc -std=gnu11 -g -O2 -Wall -Wextra -Werror -Wno-missing-field-initializers \
		-Wno-sign-compare -Wno-unused-parameter "$@" -DKBUILD_MODNAME='"kvm_amd"' \
		-I"$tests/include" -I"$tests" -I"$kvm" -I"$kvm/svm" -o "$name" "${sources[@]}" -pthread
}

# Sanitizers only warn otherwise.
checked=(-fsanitize=address -fsanitize=undefined -fno-sanitize-recover=all)

test_kernel_rules_for_the_operands_of_invlpgb() {
	build_test invlpgb-operands "${checked[@]}"
	./invlpgb-operands
}

test_asid_pool_follows_each_rule() {
	build_test asid-pool "${checked[@]}"
	./asid-pool
}

# A change of the pool deserves --steps=10000000, which takes a few seconds.
test_asid_pool_does_what_a_naive_one_does() {
	build_test asid-pool-random
	./asid-pool-random --steps=1000000 --seed="${SEED:-$RANDOM}"
}

# ThreadSanitizer of gcc 12 does not know all the places where a kernel puts a program.
test_asid_pool_serves_threads_up_to_their_quotas() {
	local fixed=()
	if setarch -R true 2>/dev/null; then
		fixed=(setarch -R)
	fi
	build_test asid-pool-stress -fsanitize=thread
	"${fixed[@]}" ./asid-pool-stress --steps=100000 --seed="${SEED:-$RANDOM}"
}
