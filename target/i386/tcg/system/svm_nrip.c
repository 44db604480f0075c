/*
 * x86 SVM: the next-RIP field of the VMCB
 *
 * A hypervisor that finds CPUID Fn8000_000A_EDX[NRIPS] advances its guest by
 * the value that the processor stored, and expects VMRUN to push it for the
 * events that an instruction raises (APM volume 2, 15.7.1 and 15.20).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "cpu.h"
#include "tcg/helper-tcg.h"

/*
 * Exits that happen between instructions or in the middle of one report no
 * next RIP: 15.7.1 limits it to the instruction intercepts of 15.9, to MSR
 * and IOIO, and to the exceptions of INT3, INTO and BOUND.
 */
static bool exit_has_next_rip(uint64_t exit_code)
{
    switch (exit_code) {
    case SVM_EXIT_READ_CR0 ... SVM_EXIT_WRITE_DR0 + 15:
    case SVM_EXIT_EXCP_BASE + EXCP03_INT3 ... SVM_EXIT_EXCP_BASE + EXCP05_BOUND:
    case SVM_EXIT_CR0_SEL_WRITE ... SVM_EXIT_MSR:
    case SVM_EXIT_VMRUN ... SVM_EXIT_XSETBV:
    case SVM_EXIT_INVLPGB ... SVM_EXIT_TLBSYNC:
        return true;
    default:
        return false;
    }
}

/**
 * svm_save_next_rip: store the VMCB's next RIP for a #VMEXIT
 * @env: CPU state of the instruction that exits, already restored;
 *       @env->insn_len is its length
 * @exit_code: reason of the #VMEXIT
 *
 * Without NRIPS the field is left as it is.
 */
void svm_save_next_rip(CPUX86State *env, uint64_t exit_code)
{
    target_ulong next_rip = 0;

    if (!(env->features[FEAT_SVM] & CPUID_SVM_NRIPSAVE)) {
        return;
    }

    if (exit_has_next_rip(exit_code)) {
        next_rip = env->eip + env->insn_len;
        if (!(env->hflags & HF_CS64_MASK)) {
            next_rip = (uint32_t)next_rip;
        }
    }
    x86_stq_phys(env_cpu(env),
                 env->vm_vmcb + offsetof(struct vmcb, control.next_rip),
                 next_rip);
}

/**
 * svm_injected_next_rip: RIP to push for an injected software event
 * @env: CPU state, with the guest's RIP loaded
 *
 * Returns: the next RIP of the VMCB, or the guest's RIP on a CPU without
 * NRIPS, where the hypervisor has advanced it before VMRUN.
 */
target_ulong svm_injected_next_rip(CPUX86State *env)
{
    if (!(env->features[FEAT_SVM] & CPUID_SVM_NRIPSAVE)) {
        return env->eip;
    }
    return x86_ldq_phys(env_cpu(env), env->vm_vmcb +
                        offsetof(struct vmcb, control.next_rip));
}
