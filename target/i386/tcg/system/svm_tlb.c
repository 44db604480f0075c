/*
 * x86 SVM: ASIDs and the TLB control field of the VMCB
 *
 * softmmu does not tag its entries.  It is flushed at each VMRUN and #VMEXIT,
 * which load CR3, and that is more than any encoding of TLB_CONTROL asks for:
 * what is left to do here is to refuse what the architecture refuses (APM
 * volume 2, 15.5.1 and 15.16).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "cpu.h"
#include "exec/cputlb.h"
#include "exec/helper-proto.h"
#include "tcg/helper-tcg.h"
#include "tcg/tlb_tagged.h"

/**
 * svm_asid_valid: is this an ASID that VMRUN accepts?
 * @env: CPU state
 * @asid: ASID field of the VMCB, all 32 bits; 0 is the host's
 */
bool svm_asid_valid(CPUX86State *env, uint32_t asid)
{
    return asid != 0 && asid < env->svm_nasid;
}

/**
 * svm_tlb_control_valid: is this an encoding that VMRUN accepts?
 * @env: CPU state
 * @tlb_control: TLB_CONTROL field of the VMCB
 *
 * The two encodings that flush one ASID exist with FLUSHBYASID only.
 */
bool svm_tlb_control_valid(CPUX86State *env, uint8_t tlb_control)
{
    switch (tlb_control) {
    case TLB_CONTROL_DO_NOTHING:
    case TLB_CONTROL_FLUSH_ALL_ASID:
        return true;
    case TLB_CONTROL_FLUSH_ASID:
    case TLB_CONTROL_FLUSH_ASID_NONGLOBAL:
        return env->features[FEAT_SVM] & CPUID_SVM_FLUSHASID;
    default:
        return false;
    }
}

/**
 * svm_tlb_control: do what VMRUN's TLB_CONTROL asks for
 * @env: CPU state; the guest's ASID, CR0, CR3 and CR4 are loaded
 * @tlb_control: a valid encoding
 */
void svm_tlb_control(CPUX86State *env, uint8_t tlb_control)
{
    if (tlb_control != TLB_CONTROL_DO_NOTHING) {
        tlb_flush(env_cpu(env));
        x86_tagged_tlb_vmrun(env, tlb_control);
    }
}

/* INVLPGA.  Translation has checked EFER.SVME, CPL and the intercept. */
void helper_invlpga(CPUX86State *env, target_ulong addr, uint32_t asid)
{
    tlb_flush_page(env_cpu(env), addr);
    x86_tagged_tlb_invlpga(env, addr, asid);
}
