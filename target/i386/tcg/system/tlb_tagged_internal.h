/*
 * x86 strict TLB model: the model of a CPU, for those who look into it
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef I386_TCG_TLB_TAGGED_INTERNAL_H
#define I386_TCG_TLB_TAGGED_INTERNAL_H

#include "cpu.h"
#include "tcg/tlb_tagged.h"
#include "tlb_model.h"

/* In X86TLBEntry::stage1_attrs: PG_USER_MASK, PG_RW_MASK, and these. */
#define X86_TLB_ATTR_NX         (1U << 0)
#define X86_TLB_ATTR_DIRTY      PG_DIRTY_MASK
#define X86_TLB_ATTR_PKEY_SHIFT 12
#define X86_TLB_ATTR_UNPAGED    (1U << 16)

/**
 * X86TaggedTLB: the model of one CPU, and what is around it
 * @model: its translations
 * @pending: INVLPGBs that it has issued and that have not taken effect
 * @random: decides which of them take effect early
 * @reports: number of its reports, by X86TLBReportKind
 * @synced: erratum 1718: a TLBSYNC has not completed anything yet
 *
 * Belongs to the CPU's own thread, except while no CPU executes guest code.
 */
struct X86TaggedTLB {
    X86TLBModel *model;
    X86TLBPending pending;
    GRand *random;
    uint64_t reports[2];
    bool synced;
};

/**
 * x86_tagged_tlb_asid: current ASID
 * @env: CPU state
 */
uint16_t x86_tagged_tlb_asid(CPUX86State *env);

/**
 * x86_tagged_tlb_pcid: current PCID, 0 with CR4.PCIDE = 0
 * @env: CPU state
 */
uint16_t x86_tagged_tlb_pcid(CPUX86State *env);

/**
 * x86_tagged_tlb_root: current nCR3, or X86_TLB_ROOT_*
 * @env: CPU state
 */
uint64_t x86_tagged_tlb_root(CPUX86State *env);

/* Where no nCR3, which is aligned, can be. */
#define X86_TLB_ROOT_HOST       1
#define X86_TLB_ROOT_NOT_NESTED 2

/**
 * x86_tagged_tlb_space: address of the current page tables of stage 1
 * @env: CPU state
 */
uint64_t x86_tagged_tlb_space(CPUX86State *env);

/**
 * x86_tagged_tlb_tick: advance the clock of all CPUs
 *
 * Returns: the time.  A walk that begins later, on whatever CPU, has a time
 * that is not below it and sees what the caller has stored.  The times of all
 * walks that had begun before the call are below it.
 */
uint64_t x86_tagged_tlb_tick(void);

#endif /* I386_TCG_TLB_TAGGED_INTERNAL_H */
