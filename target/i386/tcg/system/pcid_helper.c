/*
 * x86 process-context identifiers: the rules of CR0, CR3 and CR4, and INVPCID
 *
 * softmmu does not tag its entries with a PCID.  It is flushed whenever CR3
 * is loaded, so that it only ever holds translations of the current PCID,
 * and bit 63 of CR3, which asks to keep those of the new one, has nothing to
 * keep.  Invalidating more than asked for is always allowed.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "cpu.h"
#include "exec/helper-proto.h"
#include "exec/cpu_ldst.h"
#include "exec/cputlb.h"
#include "tcg/helper-tcg.h"
#include "tcg/tlb_tagged.h"

#define CR3_PCID_MASK           0xfffULL
#define CR3_NOFLUSH_MASK        (1ULL << 63)

enum {
    INVPCID_ADDRESS = 0,        /* one address of one PCID */
    INVPCID_PCID = 1,           /* one PCID */
    INVPCID_ALL = 2,            /* all PCIDs, with globals */
    INVPCID_ALL_NONGLOBAL = 3,  /* all PCIDs, without globals */
};

/**
 * pcid_check_cr0: raise #GP for a CR0 that conflicts with CR4.PCIDE
 * @env: CPU state
 * @new_cr0: value about to be loaded by a MOV to CR0 or LMSW
 * @retaddr: host return address of the helper
 *
 * PCIDs exist in long mode only, so paging cannot be turned off under them.
 */
void pcid_check_cr0(CPUX86State *env, target_ulong new_cr0, uintptr_t retaddr)
{
    if ((env->cr[4] & CR4_PCIDE_MASK) && !(new_cr0 & CR0_PG_MASK)) {
        raise_exception_err_ra(env, EXCP0D_GPF, 0, retaddr);
    }
}

/**
 * pcid_cr3_keeps_tlb: does a MOV to CR3 keep the translations of its PCID?
 * @env: CPU state
 * @new_cr3: source operand
 */
bool pcid_cr3_keeps_tlb(CPUX86State *env, target_ulong new_cr3)
{
    return (env->cr[4] & CR4_PCIDE_MASK) && (new_cr3 & CR3_NOFLUSH_MASK);
}

/**
 * pcid_cr3_value: what a MOV to CR3 stores
 * @env: CPU state
 * @new_cr3: source operand
 *
 * With CR4.PCIDE bit 63 is a request and not part of the value.  Without it
 * the bit is reserved like its neighbours, and is left for that check.
 */
target_ulong pcid_cr3_value(CPUX86State *env, target_ulong new_cr3)
{
    if (env->cr[4] & CR4_PCIDE_MASK) {
        new_cr3 &= ~CR3_NOFLUSH_MASK;
    }
    return new_cr3;
}

/**
 * pcid_check_cr4: raise #GP for a CR4 that may not enable PCIDs
 * @env: CPU state
 * @new_cr4: value about to be loaded by a MOV to CR4, without reserved bits
 * @retaddr: host return address of the helper
 *
 * PCIDE can be set in long mode only, and while the current PCID is 0.
 */
void pcid_check_cr4(CPUX86State *env, target_ulong new_cr4, uintptr_t retaddr)
{
    if ((new_cr4 & CR4_PCIDE_MASK) && !(env->cr[4] & CR4_PCIDE_MASK) &&
        (!(env->efer & MSR_EFER_LMA) || (env->cr[3] & CR3_PCID_MASK))) {
        raise_exception_err_ra(env, EXCP0D_GPF, 0, retaddr);
    }
    if (!(new_cr4 & CR4_PCIDE_MASK) && (env->cr[4] & CR4_PCIDE_MASK)) {
        tlb_flush(env_cpu(env));
    }
}

static bool is_canonical(CPUX86State *env, uint64_t addr)
{
    int shift = env->cr[4] & CR4_LA57_MASK ? 56 : 47;
    int64_t sext = (int64_t)addr >> shift;

    return sext == 0 || sext == -1;
}

/*
 * INVPCID.  The order is that of APM volume 2, table 15-7: the intercept has
 * priority over every exception but the #GP for CPL, which translation has
 * checked.
 */
void helper_invpcid(CPUX86State *env, target_ulong type, target_ulong desc)
{
    uintptr_t ra = GETPC();
    target_ulong desc_high = desc + 8;
    uint64_t pcid, addr;

    if (unlikely(env->hflags & HF_GUEST_MASK) &&
        cpu_svm_has_intercept(env, SVM_EXIT_INVPCID)) {
        x86_stq_phys(env_cpu(env), env->vm_vmcb +
                     offsetof(struct vmcb, control.exit_info_2), type);
        cpu_vmexit(env, SVM_EXIT_INVPCID, desc, ra);
    }

    if (type > INVPCID_ALL_NONGLOBAL) {
        raise_exception_err_ra(env, EXCP0D_GPF, 0, ra);
    }

    if (!(env->hflags & HF_CS64_MASK)) {
        desc_high = (uint32_t)desc_high;
    }
    pcid = cpu_ldq_data_ra(env, desc, ra);
    addr = cpu_ldq_data_ra(env, desc_high, ra);

    if (pcid & ~CR3_PCID_MASK) {
        raise_exception_err_ra(env, EXCP0D_GPF, 0, ra);
    }
    if (type <= INVPCID_PCID && pcid && !(env->cr[4] & CR4_PCIDE_MASK)) {
        raise_exception_err_ra(env, EXCP0D_GPF, 0, ra);
    }
    if (type == INVPCID_ADDRESS && !is_canonical(env, addr)) {
        raise_exception_err_ra(env, EXCP0D_GPF, 0, ra);
    }

    if (type == INVPCID_ADDRESS) {
        tlb_flush_page(env_cpu(env), addr);
    } else {
        tlb_flush(env_cpu(env));
    }
    x86_tagged_tlb_invpcid(env, type, pcid, addr);
}
