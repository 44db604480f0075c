/*
 * x86 broadcast TLB invalidation: INVLPGB and TLBSYNC
 *
 * An INVLPGB is published to all CPUs and forgotten; the TLBSYNC of the same
 * CPU waits until no CPU can use what was invalidated.
 *
 * softmmu entries carry neither ASID nor PCID, so an invalidation drops what
 * its addresses cover for all of them, and in guest and host mode alike.
 * That is allowed; dropping too little is not.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qemu/units.h"
#include "qemu/lockable.h"
#include "cpu.h"
#include "exec/helper-proto.h"
#include "exec/cputlb.h"
#include "tcg/helper-tcg.h"
#include "tcg/tlb_tagged.h"
#include "target/i386/trace.h"

#define RAX_VA_VALID            (1U << 0)
#define RAX_PCID_VALID          (1U << 1)
#define RAX_NESTED              (1U << 5)
#define RAX_RESERVED            MAKE_64BIT_MASK(6, 6)
#define RAX_VA                  MAKE_64BIT_MASK(12, 52)
#define ECX_COUNT               MAKE_64BIT_MASK(0, 16)
#define ECX_RESERVED            MAKE_64BIT_MASK(16, 15)
#define ECX_STEP_2M             (1U << 31)
#define EDX_ASID                MAKE_64BIT_MASK(0, 16)
#define EDX_RESERVED            MAKE_64BIT_MASK(28, 4)

/* Larger ranges are not worth keeping apart from a flush of everything. */
#define PENDING_RANGE_MAX       (64 * MiB)

/* Protects the ranges of all CPUs, and orders them before @any. */
static QemuMutex pending_lock;

static void __attribute__((constructor)) invlpgb_init(void)
{
    qemu_mutex_init(&pending_lock);
}

/**
 * svm_load_tlbi_controls: load what VMRUN says about INVLPGB and TLBSYNC
 * @env: CPU state; the intercepts are loaded
 * @nested_ctl: VMCB offset 90h
 *
 * Without TlbiCtl neither the enable bit nor the intercept of TLBSYNC
 * exists, and a guest has the instructions whenever the CPU has them.
 */
void svm_load_tlbi_controls(CPUX86State *env, uint64_t nested_ctl)
{
    env->tlbi_enabled = env->features[FEAT_8000_0008_EBX] &
                        CPUID_8000_0008_EBX_INVLPGB;
    if (env->features[FEAT_SVM] & CPUID_SVM_TLBICTL) {
        env->tlbi_enabled &= !!(nested_ctl & SVM_TLBI_ENABLED);
    } else {
        env->intercept_word5 &= ~(1U << (SVM_EXIT_TLBSYNC - SVM_EXIT_INVLPGB));
    }
}

static bool in_guest(CPUX86State *env)
{
    return env->hflags & HF_GUEST_MASK;
}

/*
 * The exception cases of INVLPGB's operands.  The ones that the public
 * manuals leave open are decided on the side of a fault, except where the
 * field is not used and where the instruction may simply do more.
 */
static bool operands_legal(CPUX86State *env, uint64_t rax, uint32_t ecx,
                           uint32_t edx)
{
    uint32_t asid = edx & EDX_ASID;

    if ((rax & RAX_RESERVED) || (ecx & ECX_RESERVED) || (edx & EDX_RESERVED)) {
        return false;
    }
    if ((rax & RAX_VA_VALID) && (ecx & ECX_COUNT) > env->invlpgb_count_max) {
        return false;
    }
    if ((rax & RAX_PCID_VALID) && !(env->cr[4] & CR4_PCIDE_MASK)) {
        return false;
    }
    if ((rax & RAX_NESTED) && !(env->features[FEAT_8000_0008_EBX] &
                                CPUID_8000_0008_EBX_INVLPGB_NESTED)) {
        return false;
    }
    if (in_guest(env)) {
        /* The guest's own ASID replaces the field, whatever it says. */
        return true;
    }
    return asid == 0 || ((env->efer & MSR_EFER_SVME) && asid < env->svm_nasid);
}

/*
 * The linear addresses to flush, rounded out to whole steps.
 *
 * Returns: false if it should be all of them: no address is given, the range
 * is not canonical or wraps, or the translations of guest-physical addresses
 * are meant as well.
 */
static bool operands_to_range(CPUX86State *env, uint32_t aflag, uint64_t rax,
                              uint32_t ecx, vaddr *first, vaddr *last)
{
    uint64_t step = ecx & ECX_STEP_2M ? 2 * MiB : 4 * KiB;
    int shift = env->cr[4] & CR4_LA57_MASK ? 56 : 47;
    int64_t sext_first, sext_last;

    if (!(rax & RAX_VA_VALID) || (rax & RAX_NESTED)) {
        return false;
    }
    *first = QEMU_ALIGN_DOWN(rax & RAX_VA, step);
    *last = ROUND_UP((rax & RAX_VA) + ((ecx & ECX_COUNT) + 1) * step, step) - 1;
    if (aflag != MO_64) {
        return *last <= UINT32_MAX;
    }
    sext_first = (int64_t)*first >> shift;
    sext_last = (int64_t)*last >> shift;
    return sext_first == sext_last && (sext_first == 0 || sext_first == -1);
}

/* Called with pending_lock held. */
static void pending_add(X86PendingTLBI *pending, vaddr first, vaddr last)
{
    bool all = last < first;

    if (pending->any) {
        all |= pending->last < pending->first;
        first = MIN(first, pending->first);
        last = MAX(last, pending->last);
        all |= last - first >= PENDING_RANGE_MAX;
    }
    pending->first = all ? 1 : first;
    pending->last = all ? 0 : last;
    qatomic_set(&pending->any, true);
}

static void flush_range(CPUState *cs, vaddr first, vaddr last)
{
    if (last < first) {
        tlb_flush(cs);
    } else {
        tlb_flush_range_by_mmuidx(cs, first, last - first + 1,
                                  MAKE_64BIT_MASK(0, NB_MMU_MODES),
                                  TARGET_LONG_BITS);
    }
}

/**
 * x86_flush_pending_tlbi: apply the INVLPGBs of other CPUs
 * @cs: CPU that is about to execute guest code, on its own thread
 *
 * This is what makes TLBSYNC sufficient.  With A and B two CPUs:
 *
 *   A: INVLPGB         publishes to B
 *   A: TLBSYNC         waits until no CPU is between cpu_exec_start() and
 *                      cpu_exec_end()
 *   B: cpu_exec_start()
 *   B: flushes here (cpu_exec_enter hook), before anything that uses the TLB
 *
 * If B executed guest code when A began to wait, A waits until B has left,
 * and B comes here before it executes more.  If B did not, then it passes
 * cpu_exec_start() after A's exclusive section has begun, which orders its
 * look at the pending invalidations after A's publication.
 *
 * Queued work would not do.  It is drained before cpu_exec_start(), so that
 * B could find its queue empty, then lose the race against A's INVLPGB and
 * TLBSYNC, and deliver an interrupt, which writes to the stack, before it
 * notices the request to leave.
 */
void x86_flush_pending_tlbi(CPUState *cs)
{
    X86PendingTLBI *pending = &cpu_env(cs)->pending_tlbi;
    vaddr first, last;

    if (likely(!qatomic_read(&pending->any))) {
        return;
    }
    WITH_QEMU_LOCK_GUARD(&pending_lock) {
        first = pending->first;
        last = pending->last;
        qatomic_set(&pending->any, false);
    }
    flush_range(cs, first, last);
}

/* Called on the thread of @cs. */
static void publish_range(CPUState *cs, vaddr first, vaddr last)
{
    CPUState *other;

    WITH_QEMU_LOCK_GUARD(&pending_lock) {
        CPU_FOREACH(other) {
            if (other != cs) {
                pending_add(&cpu_env(other)->pending_tlbi, first, last);
            }
        }
    }
    flush_range(cs, first, last);
}

/*
 * Let the INVLPGBs of a CPU that has the strict TLB model take effect.  No
 * CPU executes guest code, hence none can fill softmmu from an entry of the
 * model between its own flush and the end of the entry.
 */
static void deliver_work(CPUState *cs, run_on_cpu_data data)
{
    x86_tagged_tlb_deliver(X86_CPU(cs));
    publish_range(cs, 1, 0);
}

/*
 * INVLPGB.  Translation has checked CPUID, the mode and CPL.  The intercept
 * has priority over all other exceptions, the one of an instruction that is
 * not enabled included; that of illegal operands takes their place.
 */
void helper_invlpgb(CPUX86State *env, uint32_t aflag)
{
    CPUState *cs = env_cpu(env);
    uint64_t rax = env->regs[R_EAX];
    uint32_t ecx = env->regs[R_ECX];
    uint32_t edx = env->regs[R_EDX];
    vaddr first, last;

    cpu_svm_check_intercept_param(env, SVM_EXIT_INVLPGB, 0, GETPC());
    if (in_guest(env) && !env->tlbi_enabled) {
        raise_exception_ra(env, EXCP06_ILLOP, GETPC());
    }

    if (aflag != MO_64) {
        rax = (uint32_t)rax;
    }
    if (!operands_legal(env, rax, ecx, edx)) {
        cpu_svm_check_intercept_param(env, SVM_EXIT_INVLPGB_ILLEGAL, 0,
                                      GETPC());
        raise_exception_err_ra(env, EXCP0D_GPF, 0, GETPC());
    }

    trace_x86_invlpgb(cs->cpu_index, in_guest(env), rax, ecx, edx);

    if (x86_tagged_tlb_active(env)) {
        if (x86_tagged_tlb_invlpgb(env, rax, ecx, edx)) {
            async_safe_run_on_cpu(cs, deliver_work, RUN_ON_CPU_NULL);
        }
        return;
    }

    if (!operands_to_range(env, aflag, rax, ecx, &first, &last)) {
        first = 1;
        last = 0;
    }
    publish_range(cs, first, last);
}

/*
 * Runs while no CPU executes guest code, and without the strict TLB model
 * that is all that is needed.
 */
static void tlbsync_work(CPUState *cs, run_on_cpu_data data)
{
    if (x86_tagged_tlb_active(cpu_env(cs)) &&
        x86_tagged_tlb_sync_completes(cpu_env(cs))) {
        deliver_work(cs, data);
    }
    trace_x86_tlbsync(cs->cpu_index, in_guest(cpu_env(cs)));
}

/* TLBSYNC.  Translation has checked CPUID, the mode and CPL. */
void helper_tlbsync(CPUX86State *env)
{
    if (in_guest(env) && !env->tlbi_enabled) {
        raise_exception_ra(env, EXCP06_ILLOP, GETPC());
    }
    cpu_svm_check_intercept_param(env, SVM_EXIT_TLBSYNC, 0, GETPC());

    async_safe_run_on_cpu(env_cpu(env), tlbsync_work, RUN_ON_CPU_NULL);
}
