/*
 * x86 strict TLB model: between the model and the emulation of a CPU
 *
 * The model stands between softmmu and the page walker.  softmmu may lose
 * what it likes and is flushed whenever an entry of the model is dropped, so
 * that it holds nothing that the model does not.  Hence every access uses
 * either an entry that the architecture allows to exist, or a new walk.
 *
 * Entries hold what the page tables said, not what was allowed: a change of
 * CR0.WP, CR4.SMEP, CR4.SMAP, PKRU, CPL or EFER.NXE takes effect without a
 * walk.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qemu/rcu.h"
#include "qemu/stats64.h"
#include "cpu.h"
#include "exec/cputlb.h"
#include "exec/page-protection.h"
#include "tcg/helper-tcg.h"
#include "tlb_tagged_internal.h"
#include "tlb_witness.h"

/*
 * The clock of all CPUs, advanced by those who change something that a page
 * walk may read and who want to know which walks began before.
 */
static Stat64 tlb_clock;

uint64_t x86_tagged_tlb_tick(void)
{
    /* The addition is a full barrier: what was stored before is seen. */
    stat64_add(&tlb_clock, 1);
    return stat64_get(&tlb_clock);
}

uint64_t x86_tagged_tlb_time(void)
{
    uint64_t time = stat64_get(&tlb_clock);

    /* before the walk reads any page table */
    smp_rmb();
    return time;
}

void x86_tagged_tlb_realize(X86CPU *cpu)
{
    const X86TLBModelOptions *options = &cpu->tlb_model;
    /* The CPUs' choices shall differ. */
    uint64_t seed = options->seed + CPU(cpu)->cpu_index;
    X86TaggedTLB *tlb;

    if (!options->tagged) {
        return;
    }
    tlb = g_new0(X86TaggedTLB, 1);
    tlb->model = x86_tlb_model_new(options->capacity, seed);
    tlb->random = g_rand_new_with_seed_array(
        (guint32[]) { seed, seed >> 32 }, 2);
    cpu->tagged_tlb = tlb;
}

/*
 * The CPU has been removed from the list, but x86_tagged_tlb_deliver() on
 * another may have found it there before.
 */
void x86_tagged_tlb_unrealize(X86CPU *cpu)
{
    X86TaggedTLB *tlb = cpu->tagged_tlb;

    if (tlb) {
        cpu->tagged_tlb = NULL;
        synchronize_rcu();
        x86_tlb_model_free(tlb->model);
        g_rand_free(tlb->random);
        g_free(tlb);
    }
}

uint16_t x86_tagged_tlb_asid(CPUX86State *env)
{
    return env->hflags & HF_GUEST_MASK ? env->svm_asid : 0;
}

uint16_t x86_tagged_tlb_pcid(CPUX86State *env)
{
    return env->cr[4] & CR4_PCIDE_MASK ? env->cr[3] & 0xfff : 0;
}

uint64_t x86_tagged_tlb_root(CPUX86State *env)
{
    if (!(env->hflags & HF_GUEST_MASK)) {
        return X86_TLB_ROOT_HOST;
    }
    return env->hflags2 & HF2_NPT_MASK ? env->nested_cr3 :
           X86_TLB_ROOT_NOT_NESTED;
}

uint64_t x86_tagged_tlb_space(CPUX86State *env)
{
    bool pdpes = (env->cr[4] & CR4_PAE_MASK) && !(env->hflags & HF_LMA_MASK);

    return QEMU_ALIGN_DOWN(env->cr[3], pdpes ? 32 : TARGET_PAGE_SIZE);
}

/*
 * In whose name an address is translated.
 *
 * Returns: false if it is not translated at all.
 */
static bool get_context(CPUX86State *env, int mmu_idx, X86TLBContext *context)
{
    bool nested = env->hflags2 & HF2_NPT_MASK;

    *context = (X86TLBContext) {
        .asid = x86_tagged_tlb_asid(env),
        .kind = X86_TLB_NESTED,
    };
    switch (mmu_idx) {
    case MMU_PHYS_IDX:
        return false;
    case MMU_NESTED_IDX:
        return nested;
    default:
        context->kind = X86_TLB_LINEAR;
        context->pcid = x86_tagged_tlb_pcid(env);
        return nested || (env->cr[0] & CR0_PG_MASK);
    }
}

static vaddr effective_addr(int mmu_idx, vaddr addr)
{
    return mmu_idx < MMU_PHYS_IDX && is_mmu_index_32(mmu_idx) ?
           (uint32_t)addr : addr;
}

/* What the page tables permit under the CPU's present registers. */
static int page_prot(CPUX86State *env, int mmu_idx, const X86TLBEntry *entry)
{
    uint32_t attrs = entry->stage1_attrs;
    uint64_t ptep, pte;
    int prot, pkr_prot, pg_mode;

    if (attrs & X86_TLB_ATTR_UNPAGED) {
        return entry->stage2_attrs;
    }
    ptep = (attrs & (PG_USER_MASK | PG_RW_MASK)) |
           (attrs & X86_TLB_ATTR_NX ? PG_NX_MASK : 0);
    pte = (uint64_t)(attrs >> X86_TLB_ATTR_PKEY_SHIFT & 0xf) << PG_PKRU_BIT;
    if (mmu_idx == MMU_NESTED_IDX) {
        /* Nested page tables are checked as for an access by the user. */
        pg_mode = env->nested_pg_mode;
        mmu_idx = pg_mode & PG_MODE_LMA ? MMU_USER64_IDX : MMU_USER32_IDX;
    } else {
        pg_mode = get_pg_mode(env);
    }
    prot = x86_leaf_prot(env, pg_mode, mmu_idx, ptep, pte, &pkr_prot);
    /* The first write has to set the dirty bit. */
    if (!(attrs & X86_TLB_ATTR_DIRTY)) {
        prot &= ~PAGE_WRITE;
    }
    return prot & pkr_prot & entry->stage2_attrs;
}

bool x86_tagged_tlb_fill(CPUState *cs, vaddr addr, MMUAccessType access_type,
                         int mmu_idx)
{
    CPUX86State *env = cpu_env(cs);
    X86TaggedTLB *tlb = env_archcpu(env)->tagged_tlb;
    vaddr linear = effective_addr(mmu_idx, addr);
    X86TLBContext context;
    const X86TLBEntry *entry;
    hwaddr paddr;
    int prot;

    if (likely(!tlb) || !get_context(env, mmu_idx, &context)) {
        return false;
    }
    entry = x86_tlb_model_lookup(tlb->model, &context, linear);
    if (!entry) {
        return false;
    }
    prot = page_prot(env, mmu_idx, entry);
    if (!(prot & (1 << access_type))) {
        x86_tlb_model_drop(tlb->model, entry, X86_TLB_DROP_PERMISSION);
        tlb_flush_page(cs, addr);
        return false;
    }
    x86_tlb_witness(env, entry, linear);

    paddr = (entry->phys + (linear - entry->addr)) & x86_get_a20_mask(env);
    tlb_set_page_with_attrs(cs, addr & TARGET_PAGE_MASK,
                            paddr & TARGET_PAGE_MASK, cpu_get_mem_attrs(env),
                            prot, mmu_idx, 1U << entry->stage1_shift);
    return true;
}

static uint64_t n_dropped(const X86TLBModel *model)
{
    X86TLBStats stats;

    x86_tlb_model_stats(model, &stats);
    return stats.inserts - stats.live;
}

void x86_tagged_tlb_insert(CPUX86State *env, vaddr addr, int mmu_idx,
                           const X86PageWalk *walk, uint64_t time)
{
    X86TaggedTLB *tlb = env_archcpu(env)->tagged_tlb;
    uint32_t size = walk->page_size;
    X86TLBContext context;
    X86TLBEntry entry;
    uint64_t dropped;

    if (likely(!tlb) || !get_context(env, mmu_idx, &context)) {
        return;
    }
    addr = effective_addr(mmu_idx, addr);
    if (walk->nested_page_size) {
        size = MIN(size, walk->nested_page_size);
    }

    entry = (X86TLBEntry) {
        .addr = QEMU_ALIGN_DOWN(addr, size),
        .phys = walk->paddr - (addr & (size - 1)),
        .owner = x86_tlb_owner(x86_tagged_tlb_root(env)),
        .time = time,
        .asid = context.asid,
        .pcid = context.pcid,
        .kind = context.kind,
        .shift = ctz32(size),
        .stage1_shift = ctz32(walk->page_size),
        .stage2_attrs = walk->nested_prot,
    };
    if (walk->paged) {
        entry.stage1_attrs =
            (walk->ptep & (PG_USER_MASK | PG_RW_MASK)) |
            (walk->ptep & PG_NX_MASK ? X86_TLB_ATTR_NX : 0) |
            (walk->pte & X86_TLB_ATTR_DIRTY) |
            ((walk->pte & PG_PKRU_MASK) >> PG_PKRU_BIT
             << X86_TLB_ATTR_PKEY_SHIFT);
        entry.global = context.kind == X86_TLB_LINEAR &&
                       (env->cr[4] & CR4_PGE_MASK) &&
                       (walk->pte & PG_GLOBAL_MASK);
        if (context.kind == X86_TLB_LINEAR) {
            entry.space = x86_tagged_tlb_space(env);
        }
    } else {
        entry.stage1_attrs = X86_TLB_ATTR_UNPAGED;
    }
    dropped = n_dropped(tlb->model);
    x86_tlb_model_insert(tlb->model, &entry);
    /* What gave way to it may be any entry. */
    if (n_dropped(tlb->model) != dropped) {
        tlb_flush(env_cpu(env));
    }
}

static void invalidate(X86CPU *cpu, X86TLBMatch match)
{
    x86_tlb_model_invalidate(cpu->tagged_tlb->model, &match);
}

void x86_tagged_tlb_mov_cr0(CPUX86State *env, target_ulong old_cr0)
{
    if (x86_tagged_tlb_active(env) &&
        ((env->cr[0] ^ old_cr0) & CR0_PG_MASK)) {
        invalidate(env_archcpu(env),
                   x86_tlb_match_paging_mode(x86_tagged_tlb_asid(env)));
    }
}

/* @keep: bit 63 of the operand, with CR4.PCIDE */
void x86_tagged_tlb_mov_cr3(CPUX86State *env, bool keep)
{
    if (x86_tagged_tlb_active(env) && !keep) {
        invalidate(env_archcpu(env),
                   x86_tlb_match_mov_cr3(x86_tagged_tlb_asid(env),
                                         x86_tagged_tlb_pcid(env)));
    }
}

/* APM2 5.5.3 */
void x86_tagged_tlb_mov_cr4(CPUX86State *env, target_ulong old_cr4)
{
    target_ulong changed = env->cr[4] ^ old_cr4;

    if (x86_tagged_tlb_active(env) &&
        ((changed & (CR4_PGE_MASK | CR4_PAE_MASK | CR4_PSE_MASK |
                     CR4_LA57_MASK)) ||
         (changed & old_cr4 & CR4_PCIDE_MASK) ||
         (changed & env->cr[4] & CR4_PKE_MASK))) {
        invalidate(env_archcpu(env),
                   x86_tlb_match_paging_mode(x86_tagged_tlb_asid(env)));
    }
}

void x86_tagged_tlb_invlpg(CPUX86State *env, target_ulong addr)
{
    if (x86_tagged_tlb_active(env)) {
        invalidate(env_archcpu(env),
                   x86_tlb_match_invlpg(x86_tagged_tlb_asid(env),
                                        x86_tagged_tlb_pcid(env), addr));
    }
}

void x86_tagged_tlb_invlpga(CPUX86State *env, target_ulong addr,
                            uint32_t asid)
{
    if (x86_tagged_tlb_active(env)) {
        invalidate(env_archcpu(env), x86_tlb_match_invlpga(asid, addr));
    }
}

void x86_tagged_tlb_invpcid(CPUX86State *env, unsigned type, uint16_t pcid,
                            target_ulong addr)
{
    if (x86_tagged_tlb_active(env)) {
        invalidate(env_archcpu(env),
                   x86_tlb_match_invpcid(x86_tagged_tlb_asid(env), type, pcid,
                                         addr));
    }
}

void x86_tagged_tlb_vmrun(CPUX86State *env, uint8_t tlb_control)
{
    if (x86_tagged_tlb_active(env)) {
        invalidate(env_archcpu(env),
                   x86_tlb_match_tlb_control(x86_tagged_tlb_asid(env),
                                             tlb_control));
    }
}

/*
 * INIT clears CR0.PG, and that is all that a CPU has to take notice of:
 * translations of guests may survive.
 */
void x86_tagged_tlb_init(X86CPU *cpu)
{
    if (cpu->tagged_tlb) {
        invalidate(cpu, x86_tlb_match_paging_mode(0));
    }
}

/* A write of an MTRR invalidates all ASIDs (APM2 15.16.1). */
void x86_tagged_tlb_wrmsr(CPUX86State *env, uint32_t msr)
{
    switch (msr) {
    case MSR_MTRRphysBase(0) ... MSR_MTRRphysMask(7):
    case MSR_MTRRfix64K_00000:
    case MSR_MTRRfix16K_80000:
    case MSR_MTRRfix16K_A0000:
    case MSR_MTRRfix4K_C0000 ... MSR_MTRRfix4K_F8000:
    case MSR_MTRRdefType:
        x86_tagged_tlb_flush_all(env_archcpu(env));
    }
}

/*
 * SMI and RSM.  A change of the A20 mask is none of these: it is
 * applied to what the entries say.
 */
void x86_tagged_tlb_flush_all(X86CPU *cpu)
{
    if (cpu->tagged_tlb) {
        invalidate(cpu, x86_tlb_match_all());
    }
}

void x86_tagged_tlb_reset(X86CPU *cpu)
{
    if (cpu->tagged_tlb) {
        x86_tlb_pending_clear(&cpu->tagged_tlb->pending);
        x86_tagged_tlb_flush_all(cpu);
    }
}

/* The state of a machine without the model has no ASID, but the VMCB does. */
void x86_tagged_tlb_post_load(X86CPU *cpu)
{
    CPUX86State *env = &cpu->env;

    x86_tagged_tlb_reset(cpu);
    if (cpu->tagged_tlb && (env->hflags & HF_GUEST_MASK)) {
        env->svm_asid = x86_ldl_phys(CPU(cpu), env->vm_vmcb +
                                     offsetof(struct vmcb, control.asid));
    }
}

bool x86_tagged_tlb_invlpgb(CPUX86State *env, uint64_t rax, uint32_t ecx,
                            uint32_t edx)
{
    X86CPU *cpu = env_archcpu(env);
    X86TaggedTLB *tlb = cpu->tagged_tlb;
    X86TLBMatch match =
        x86_tlb_match_invlpgb(rax, ecx, edx,
                              env->cr[4] & CR4_LA57_MASK ? 57 : 48);

    if (env->hflags & HF_GUEST_MASK) {
        match.by_asid = true;
        match.asid = env->svm_asid;
    }
    match.by_time = true;
    match.time = x86_tagged_tlb_tick();
    x86_tlb_pending_add(&tlb->pending, &match);
    tlb->synced = false;
    return cpu->tlb_model.early &&
           g_rand_int_range(tlb->random, 0, 100) < cpu->tlb_model.early;
}

bool x86_tagged_tlb_sync_completes(CPUX86State *env)
{
    X86CPU *cpu = env_archcpu(env);
    X86TaggedTLB *tlb = cpu->tagged_tlb;

    if (!cpu->tlb_model.erratum_1718 ||
        (env->features[FEAT_8000_0021_EAX] &
         CPUID_8000_0021_EAX_TLBSYNC_SFW_NO)) {
        return true;
    }
    tlb->synced = !tlb->synced;
    return !tlb->synced;
}

void x86_tagged_tlb_deliver(X86CPU *cpu)
{
    X86TLBPending *pending = &cpu->tagged_tlb->pending;
    CPUState *other;

    RCU_READ_LOCK_GUARD();
    CPU_FOREACH(other) {
        X86TaggedTLB *tlb = X86_CPU(other)->tagged_tlb;

        if (tlb) {
            x86_tlb_pending_apply(pending, tlb->model);
        }
    }
    x86_tlb_pending_clear(pending);
}
