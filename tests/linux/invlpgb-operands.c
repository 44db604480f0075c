/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The operand rules of INVLPGB in KVM, linux/arch/x86/kvm/invlpgb_operands.h, in user
 * space: each rule alone, for all combinations of the flags.
 */
#include <stdio.h>

#include "invlpgb_operands.h"

enum {
	VA = 1, PCID = 2, ASID = 4, GLOBAL = 8, FINAL = 16, NESTED = 32,
	FLAGS = 64,
};

static unsigned int failures;

static void expect(bool legal, unsigned long rax, u32 ecx, u32 edx,
		   const struct invlpgb_limits *limits)
{
	if (invlpgb_operands_legal(rax, ecx, edx, limits) == legal)
		return;

	printf("rax %#lx ecx %#x edx %#x, count %u nested %d pcide %d: should be %s\n",
	       rax, ecx, edx, limits->count_max, limits->nested, limits->pcide,
	       legal ? "legal" : "illegal");
	failures++;
}

/* What only depends on the flags. */
static bool flags_legal(unsigned int flags, const struct invlpgb_limits *limits)
{
	return (limits->nested || !(flags & NESTED)) && (limits->pcide || !(flags & PCID));
}

static void check_flags(unsigned int flags, const struct invlpgb_limits *limits)
{
	static const unsigned long addresses[] = {
		0, 0x1000, 0x7ffffffff000, 0x800000000000, 0xffff800000000000,
		0xfffffffffffff000,
	};
	bool legal = flags_legal(flags, limits);
	u32 max = limits->count_max, step;
	unsigned int i;

	for (i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++)
		expect(legal, addresses[i] | flags, max, 0, limits);

	/* The count is looked at only if there is an address, whatever the step. */
	for (step = 0; step <= 1; step++) {
		expect(legal, flags, step << 31, 0, limits);
		expect(legal, flags, step << 31 | max, 0, limits);
		if (max < 0xffff) {
			expect(legal && !(flags & VA), flags, step << 31 | (max + 1), 0, limits);
			expect(legal && !(flags & VA), flags, step << 31 | 0xffff, 0, limits);
		}
	}

	/* Any ASID, and any PCID, also an unused one. */
	for (i = 0; i < 28; i++)
		expect(legal, flags, 0, 1u << i, limits);

	/* Reserved bits. */
	for (i = 6; i < 12; i++)
		expect(false, flags | 1ul << i, 0, 0, limits);
	for (i = 16; i < 31; i++)
		expect(false, flags, 1u << i, 0, limits);
	for (i = 28; i < 32; i++)
		expect(false, flags, 0, 1u << i, limits);
}

int main(void)
{
	static const u16 counts[] = { 0, 1, 7, 511, 0xfffe, 0xffff };
	struct invlpgb_limits limits;
	unsigned int flags, i;

	for (i = 0; i < sizeof(counts) / sizeof(counts[0]) * 4; i++) {
		limits.count_max = counts[i / 4];
		limits.nested = i & 1;
		limits.pcide = i & 2;
		for (flags = 0; flags < FLAGS; flags++)
			check_flags(flags, &limits);
	}

	return failures != 0;
}
