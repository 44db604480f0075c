/*
 * x86 strict TLB model: what the emulation of a CPU tells and asks it
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef I386_TCG_TLB_TAGGED_H
#define I386_TCG_TLB_TAGGED_H

#include "cpu.h"
#include "exec/page-protection.h"

/**
 * X86PageWalk: what a page walk found
 * @paddr: physical address, before the A20 mask
 * @ptep: U and R/W of all levels combined, and NX
 * @pte: the leaf, for its dirty and global bits and protection key
 * @page_size: of stage 1, in bytes
 * @nested_page_size: of nested paging, in bytes; 0 without it
 * @nested_prot: PAGE_* bits that nested paging permits
 * @paged: false if stage 1 has paging off
 */
typedef struct X86PageWalk {
    hwaddr paddr;
    uint64_t ptep;
    uint64_t pte;
    uint32_t page_size;
    uint32_t nested_page_size;
    int nested_prot;
    bool paged;
} X86PageWalk;

/**
 * x86_page_walk_init: set what stage 1 said
 * @walk: to be set
 * @ptep: U and R/W of all levels combined, and NX
 * @pte: the leaf, as it was read
 * @pg_mode: PG_MODE_*
 * @page_size: in bytes
 * @access_type: a store sets the dirty bit
 */
static inline void x86_page_walk_init(X86PageWalk *walk, uint64_t ptep,
                                      uint64_t pte, int pg_mode,
                                      uint32_t page_size,
                                      MMUAccessType access_type)
{
    *walk = (X86PageWalk) {
        .ptep = ptep,
        .pte = pte | (access_type == MMU_DATA_STORE ? PG_DIRTY_MASK : 0),
        .page_size = page_size,
        .nested_prot = PAGE_READ | PAGE_WRITE | PAGE_EXEC,
        .paged = pg_mode & (PG_MODE_PG | PG_MODE_PAE),
    };
}

typedef struct X86TaggedTLB X86TaggedTLB;

/**
 * x86_tagged_tlb_active: does the CPU have the model?
 * @env: CPU state
 */
static inline bool x86_tagged_tlb_active(CPUX86State *env)
{
    return unlikely(env_archcpu(env)->tagged_tlb);
}

/**
 * x86_tagged_tlb_time: the time before a page walk, for x86_tagged_tlb_insert()
 */
uint64_t x86_tagged_tlb_time(void);

/**
 * x86_tagged_tlb_fill: fill softmmu from the model
 * @cs: CPU
 * @addr: address
 * @access_type: if the entry does not permit it, then the entry is dropped
 * @mmu_idx: MMU index
 *
 * Returns: false if a walk is needed.
 */
bool x86_tagged_tlb_fill(CPUState *cs, vaddr addr, MMUAccessType access_type,
                         int mmu_idx);

/**
 * x86_tagged_tlb_insert: remember a translation
 * @env: CPU state
 * @addr: address
 * @mmu_idx: MMU index
 * @walk: what the walk found
 * @time: when it began
 */
void x86_tagged_tlb_insert(CPUX86State *env, vaddr addr, int mmu_idx,
                           const X86PageWalk *walk, uint64_t time);

/*
 * Instructions and events.  All of these do nothing unless the CPU has the
 * model, and none of them flushes softmmu: whoever calls them does.
 */
void x86_tagged_tlb_realize(X86CPU *cpu);
void x86_tagged_tlb_mov_cr0(CPUX86State *env, target_ulong old_cr0);
void x86_tagged_tlb_mov_cr4(CPUX86State *env, target_ulong old_cr4);
void x86_tagged_tlb_invlpg(CPUX86State *env, target_ulong addr);
void x86_tagged_tlb_invlpga(CPUX86State *env, target_ulong addr,
                            uint32_t asid);
void x86_tagged_tlb_invpcid(CPUX86State *env, unsigned type, uint16_t pcid,
                            target_ulong addr);
void x86_tagged_tlb_vmrun(CPUX86State *env, uint8_t tlb_control);
void x86_tagged_tlb_wrmsr(CPUX86State *env, uint32_t msr);
void x86_tagged_tlb_flush_all(X86CPU *cpu);

/* The same, for callers that exist without TCG's system emulation, too. */
#if defined(CONFIG_TCG) && !defined(CONFIG_USER_ONLY)
void x86_tagged_tlb_unrealize(X86CPU *cpu);
void x86_tagged_tlb_init(X86CPU *cpu);
void x86_tagged_tlb_reset(X86CPU *cpu);
void x86_tagged_tlb_post_load(X86CPU *cpu);
void x86_tagged_tlb_mov_cr3(CPUX86State *env, bool keep);
#else
static inline void x86_tagged_tlb_unrealize(X86CPU *cpu) {}
static inline void x86_tagged_tlb_init(X86CPU *cpu) {}
static inline void x86_tagged_tlb_reset(X86CPU *cpu) {}
static inline void x86_tagged_tlb_post_load(X86CPU *cpu) {}
static inline void x86_tagged_tlb_mov_cr3(CPUX86State *env, bool keep) {}
#endif

/**
 * x86_tagged_tlb_invlpgb: note an INVLPGB, to take effect at TLBSYNC
 * @env: CPU state
 * @rax: rAX, zero-extended
 * @ecx: ECX
 * @edx: EDX, legal
 *
 * Returns: true if the model's options have it take effect at once.
 */
bool x86_tagged_tlb_invlpgb(CPUX86State *env, uint64_t rax, uint32_t ecx,
                            uint32_t edx);

/**
 * x86_tagged_tlb_sync_completes: does this TLBSYNC complete anything?
 * @env: CPU state
 *
 * With erratum 1718 only every second one does.
 */
bool x86_tagged_tlb_sync_completes(CPUX86State *env);

/**
 * x86_tagged_tlb_deliver: let the INVLPGBs of a CPU take effect on all
 * @cpu: the CPU that has issued them
 *
 * Called while no CPU executes guest code.
 */
void x86_tagged_tlb_deliver(X86CPU *cpu);

#endif /* I386_TCG_TLB_TAGGED_H */
