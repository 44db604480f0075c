// SPDX-License-Identifier: GPL-2.0-only
/*
 * INVLPGB and TLBSYNC in KVM's instruction emulator.
 *
 * A guest can have the instructions although its host has not: they #UD, KVM
 * intercepts that, and its emulator executes them.  Nothing but the decoding and
 * the checks that hardware would do differs from an intercept.
 *
 * They are the unprefixed forms of 0F 01 FE and 0F 01 FF.  The prefixed forms are
 * other instructions, e.g. RMPADJUST and PSMASH.
 *
 * Whether they #UD in a guest is for the vendor module to know.  It sets
 * kvm_caps.emulate_invlpgb if they always do.
 *
 * If they do not then a guest can still make KVM emulate them, by the forced
 * emulation prefix or from memory that KVM emulates.  Let them #UD: INVLPGBs that
 * the guest has executed natively may be in flight, and an emulated TLBSYNC would
 * not wait for them.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kvm_host.h>

#include "cpuid.h"
#include "emulate_invlpgb.h"
#include "kvm_emulate.h"
#include "tlb_broadcast.h"

/*
 * What is offered as the maximum page count.  Any would do; this one lets guests
 * flush as many pages by address as they are likely to, at the price of one exit.
 */
#define EMULATED_INVLPGB_COUNT_MAX	63

/**
 * invlpgb_cpuid_func_emulated - show what KVM emulates in KVM_GET_EMULATED_CPUID
 * @entry: an entry that is empty, except for its function
 *
 * Return: the number of entries, 1 or 0
 */
int invlpgb_cpuid_func_emulated(struct kvm_cpuid_entry2 *entry)
{
	if (!kvm_caps.emulate_invlpgb)
		return 0;

	switch (entry->function) {
	case 0x80000000:
		entry->eax = 0x80000021;
		return 1;
	case 0x80000008:
		entry->ebx = feature_bit(INVLPGB);
		entry->edx = EMULATED_INVLPGB_COUNT_MAX;
		return 1;
	case 0x80000021:
		entry->eax = feature_bit(TLBSYNC_SFW_NO);
		return 1;
	default:
		return 0;
	}
}

static int emulate_fault(struct x86_emulate_ctxt *ctxt, u8 vector)
{
	ctxt->exception.vector = vector;
	ctxt->exception.error_code = 0;
	ctxt->exception.error_code_valid = vector == GP_VECTOR;
	return X86EMUL_PROPAGATE_FAULT;
}

/**
 * check_invlpgb - check what comes before L1's intercept of INVLPGB
 * @ctxt: the emulator's context
 *
 * A guest that does not have the instructions takes #UD at any CPL.
 */
int check_invlpgb(struct x86_emulate_ctxt *ctxt)
{
	if (!kvm_caps.emulate_invlpgb ||
	    !guest_cpu_cap_has(ctxt->vcpu, X86_FEATURE_INVLPGB))
		return emulate_fault(ctxt, UD_VECTOR);

	if (ctxt->ops->cpl(ctxt))
		return emulate_fault(ctxt, GP_VECTOR);

	return X86EMUL_CONTINUE;
}

int em_invlpgb(struct x86_emulate_ctxt *ctxt)
{
	int vector = kvm_invlpgb(ctxt->vcpu, ctxt->ad_bytes == 2);

	return vector < 0 ? X86EMUL_CONTINUE : emulate_fault(ctxt, vector);
}

/*
 * The emulator holds the guard of gva_access.h, so that the TLBSYNCs of other
 * vCPUs wait for this one.  That cannot go on for ever: a vCPU that has to retry
 * serves its flush request before, and is not waited for any more.
 */
int em_tlbsync(struct x86_emulate_ctxt *ctxt)
{
	struct kvm_vcpu *vcpu = ctxt->vcpu;
	int r;

	r = check_invlpgb(ctxt);
	if (r != X86EMUL_CONTINUE)
		return r;

	++vcpu->stat.tlbsync_exits;

	if (!kvm_has_invlpgb(vcpu))
		return emulate_fault(ctxt, UD_VECTOR);

	return kvm_tlbsync(vcpu) ? X86EMUL_CONTINUE : X86EMUL_RETRY_INSTR;
}
