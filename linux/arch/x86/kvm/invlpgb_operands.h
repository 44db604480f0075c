/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Operand rules of AMD's INVLPGB instruction.
 *
 * Needs no other KVM header, so that the rules can be tested in user space.
 */
#ifndef ARCH_X86_KVM_INVLPGB_OPERANDS_H
#define ARCH_X86_KVM_INVLPGB_OPERANDS_H

#include <linux/bits.h>
#include <linux/types.h>

/* rAX: what to match and what to drop.  Bits 11:6 must be zero. */
#define INVLPGB_RAX_VA			BIT(0)
#define INVLPGB_RAX_PCID		BIT(1)
#define INVLPGB_RAX_ASID		BIT(2)
#define INVLPGB_RAX_GLOBAL		BIT(3)
#define INVLPGB_RAX_FINAL		BIT(4)
#define INVLPGB_RAX_NESTED		BIT(5)
#define INVLPGB_RAX_RESERVED		GENMASK(11, 6)

/* ECX: number of pages beyond the first, and 2 MiB instead of 4 KiB steps. */
#define INVLPGB_ECX_COUNT		GENMASK(15, 0)
#define INVLPGB_ECX_RESERVED		GENMASK(30, 16)
#define INVLPGB_ECX_STEP_2M		BIT(31)

/* EDX: ASID and PCID. */
#define INVLPGB_EDX_ASID		GENMASK(15, 0)
#define INVLPGB_EDX_PCID		GENMASK(27, 16)
#define INVLPGB_EDX_RESERVED		GENMASK(31, 28)

/**
 * struct invlpgb_limits - what decides if operands are legal for a guest
 * @count_max: CPUID 0x80000008.EDX[15:0]
 * @nested: CPUID 0x80000008.EBX[21], nested translations can be included
 * @pcide: CR4.PCIDE
 */
struct invlpgb_limits {
	u16 count_max;
	bool nested;
	bool pcide;
};

/**
 * invlpgb_operands_legal - check the operands of a guest's INVLPGB
 * @rax: the rAX operand, all rules concern bits 11:0
 * @ecx: the ECX operand
 * @edx: the EDX operand
 * @limits: the rules that depend on the vCPU
 *
 * The instruction takes a #GP(0) if this returns false.
 *
 * A field that the flags in rAX exclude from the comparison is ignored.  Linux
 * relies on that for the count and the address: it passes both with the VA flag
 * clear.  The ASID is always ignored, hardware replaces it by that of the guest.
 * An address that is not canonical, or a range that wraps, is not an error
 * either.
 *
 * AMD documents the instruction too sparsely to be sure of every rule.  Where in
 * doubt, reserved bits are taken to be checked.
 */
static inline bool invlpgb_operands_legal(unsigned long rax, u32 ecx, u32 edx,
					  const struct invlpgb_limits *limits)
{
	if ((rax & INVLPGB_RAX_RESERVED) || (ecx & INVLPGB_ECX_RESERVED) ||
	    (edx & INVLPGB_EDX_RESERVED))
		return false;

	if ((rax & INVLPGB_RAX_NESTED) && !limits->nested)
		return false;

	if ((rax & INVLPGB_RAX_PCID) && !limits->pcide)
		return false;

	if ((rax & INVLPGB_RAX_VA) &&
	    (ecx & INVLPGB_ECX_COUNT) > limits->count_max)
		return false;

	return true;
}

#endif /* ARCH_X86_KVM_INVLPGB_OPERANDS_H */
