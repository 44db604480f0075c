# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2154
#
# Kernel files that build in user space, part of the suite unit.

test_kernel_rules_for_the_operands_of_invlpgb() {
	gcc -Wall -Wextra -Werror -O1 -fsanitize=undefined -fno-sanitize-recover \
		-I"$top/tests/linux/include" -I"$top/linux/arch/x86/kvm" \
		-o operands "$top/tests/linux/invlpgb-operands.c"
	./operands
}
