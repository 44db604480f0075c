/*
 * x86 strict TLB model: who has used a translation that should be gone?
 *
 * An isolation violation needs no help to be seen: an entry says in whose
 * name it was made.  Whether an entry is out of date only software can say.
 * It rings a doorbell, through the probe device, when an address must
 * be translated anew: when all has been done that the architecture asks for.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "qemu/lockable.h"
#include "cpu.h"
#include "exec/cputlb.h"
#include "system/runstate.h"
#include "target/i386/trace.h"
#include "tlb_tagged_internal.h"
#include "tlb_witness.h"

/* No physical address, hence no root, has this bit. */
#define OWNER_IS_VM     (1ULL << 63)

typedef struct Ringing {
    X86TLBDoorbell doorbell;
    uint32_t number;
} Ringing;

/* Protects all below, of which @n_ringing and @n_tied are read without it. */
static QemuMutex witness_lock;

static Ringing ringing[X86_TLB_DOORBELLS_MAX];
static unsigned n_ringing;
static uint32_t last_number;
/* From root to number of the VM */
static GHashTable *tied;
static unsigned n_tied;
static GQueue reports = G_QUEUE_INIT;

/* CPUs that have not dropped softmmu since the last doorbell */
static unsigned n_unheard;

static void __attribute__((constructor)) witness_init(void)
{
    qemu_mutex_init(&witness_lock);
    tied = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
}

uint64_t x86_tlb_owner(uint64_t root)
{
    gpointer vm;

    if (likely(!qatomic_read(&n_tied))) {
        return root;
    }
    QEMU_LOCK_GUARD(&witness_lock);
    if (g_hash_table_lookup_extended(tied, &root, NULL, &vm)) {
        return OWNER_IS_VM | GPOINTER_TO_UINT(vm);
    }
    return root;
}

bool x86_tlb_tie(uint64_t root, uint32_t vm)
{
    QEMU_LOCK_GUARD(&witness_lock);
    if (g_hash_table_size(tied) == X86_TLB_VMS_MAX &&
        !g_hash_table_contains(tied, &root)) {
        return false;
    }
    g_hash_table_replace(tied, g_memdup2(&root, sizeof(root)),
                         GUINT_TO_POINTER(vm));
    qatomic_set(&n_tied, g_hash_table_size(tied));
    return true;
}

/*
 * The CPU has to come to the model again for what it has in softmmu.  Work is
 * done at the end of a translation block, and for a CPU that waits at once.
 */
static void hear_work(CPUState *cs, run_on_cpu_data data)
{
    tlb_flush(cs);
    qatomic_dec(&n_unheard);
}

bool x86_tlb_ring(const X86TLBDoorbell *doorbell, uint32_t *number)
{
    CPUState *cs;

    WITH_QEMU_LOCK_GUARD(&witness_lock) {
        if (n_ringing == X86_TLB_DOORBELLS_MAX) {
            return false;
        }
        *number = ++last_number;
        ringing[n_ringing] = (Ringing) {
            .doorbell = *doorbell, .number = *number,
        };
        qatomic_set(&n_ringing, n_ringing + 1);
    }
    CPU_FOREACH(cs) {
        qatomic_inc(&n_unheard);
        async_run_on_cpu(cs, hear_work, RUN_ON_CPU_NULL);
    }
    return true;
}

unsigned x86_tlb_ring_unheard(void)
{
    return qatomic_read(&n_unheard);
}

bool x86_tlb_silence(uint32_t number)
{
    QEMU_LOCK_GUARD(&witness_lock);
    for (unsigned i = 0; i < n_ringing; i++) {
        if (ringing[i].number == number) {
            ringing[i] = ringing[n_ringing - 1];
            qatomic_set(&n_ringing, n_ringing - 1);
            return true;
        }
    }
    return false;
}

void x86_tlb_witness_reset(void)
{
    QEMU_LOCK_GUARD(&witness_lock);
    qatomic_set(&n_ringing, 0);
    g_hash_table_remove_all(tied);
    qatomic_set(&n_tied, 0);
    g_queue_clear_full(&reports, g_free);
}

/*
 * An entry is old if its walk began before a time that software has taken
 * before it changed the page tables.  Time is not that of the doorbell, since
 * an entry that was filled after the change may stay.  With A that changes a
 * page and B that uses it:
 *
 *   A: t = time
 *   B: walk begins at t' < t: old, whether or not it sees the change
 *   A: changes the page table
 *   B: walk begins at t' >= t: new.  If it still sees the old page table,
 *      it is not noticed; A's invalidation is to drop it in any case.
 *   A: invalidates.  B has no entry whose walk began before that.
 *   A: rings with t
 *   B: uses an entry with t' < t: A's invalidation has missed it
 */
static bool is_meant(const X86TLBDoorbell *doorbell, const X86TLBEntry *entry)
{
    if (entry->owner != doorbell->owner || entry->time >= doorbell->time) {
        return false;
    }
    if (doorbell->physical) {
        return entry->phys >> entry->shift == doorbell->addr >> entry->shift;
    }
    /* Software knows of stage 1's page, not of its fragments. */
    return entry->kind == X86_TLB_LINEAR &&
           entry->addr >> entry->stage1_shift ==
           doorbell->addr >> entry->stage1_shift &&
           (entry->global || doorbell->any_space ||
            entry->space == doorbell->space);
}

/* Returns: number of a doorbell that means @entry, or 0. */
static uint32_t find_doorbell(const X86TLBEntry *entry)
{
    if (likely(!qatomic_read(&n_ringing))) {
        return 0;
    }
    QEMU_LOCK_GUARD(&witness_lock);
    for (unsigned i = 0; i < n_ringing; i++) {
        if (is_meant(&ringing[i].doorbell, entry)) {
            return ringing[i].number;
        }
    }
    return 0;
}

static void act(CPUX86State *env, const X86TLBReport *report)
{
    static const char *const what[] = {
        [X86_TLB_REPORT_VIOLATION] = "another's",
        [X86_TLB_REPORT_STALE] = "an old",
    };
    const X86TLBEntry *entry = &report->entry;

    switch (env_archcpu(env)->tlb_model.action_value) {
    case X86_TLB_ACTION_REPORT:
        break;
    case X86_TLB_ACTION_PAUSE:
        vm_stop(RUN_STATE_PAUSED);
        break;
    case X86_TLB_ACTION_ABORT:
        error_report("TLB model: CPU %d uses %s translation of 0x%" PRIx64
                     ", ASID %u, PCID 0x%x, that was made in the name of 0x%"
                     PRIx64 ", in the name of 0x%" PRIx64 ", %" PRIu64
                     " translations later", report->cpu_index,
                     what[report->kind], report->addr, entry->asid,
                     entry->pcid, entry->owner, report->owner, report->age);
        abort();
    }
}

static void make_report(CPUX86State *env, const X86TLBEntry *entry,
                        uint64_t addr, uint64_t owner, uint32_t doorbell)
{
    X86TaggedTLB *tlb = env_archcpu(env)->tagged_tlb;
    X86TLBStats stats;
    X86TLBReport report = {
        .entry = *entry,
        .addr = addr,
        .owner = owner,
        .cpu_index = env_cpu(env)->cpu_index,
        .doorbell = doorbell,
        .kind = doorbell ? X86_TLB_REPORT_STALE : X86_TLB_REPORT_VIOLATION,
    };

    x86_tlb_model_stats(tlb->model, &stats);
    report.age = stats.inserts - entry->number;
    if (doorbell) {
        trace_x86_tlb_stale(report.cpu_index, entry->asid, entry->pcid, addr,
                            entry->phys, entry->owner, entry->space,
                            report.age, doorbell);
    } else {
        trace_x86_tlb_violation(report.cpu_index, entry->asid, entry->pcid,
                                addr, entry->owner, owner, report.age);
    }
    WITH_QEMU_LOCK_GUARD(&witness_lock) {
        tlb->reports[report.kind]++;
        if (g_queue_get_length(&reports) < X86_TLB_REPORTS_MAX) {
            g_queue_push_tail(&reports, g_memdup2(&report, sizeof(report)));
        }
    }
    act(env, &report);
}

void x86_tlb_witness(CPUX86State *env, const X86TLBEntry *entry, vaddr addr)
{
    uint64_t owner = x86_tlb_owner(x86_tagged_tlb_root(env));
    uint32_t doorbell = find_doorbell(entry);

    if (entry->owner != owner) {
        make_report(env, entry, addr, owner, 0);
    }
    if (doorbell) {
        make_report(env, entry, addr, owner, doorbell);
    }
}

bool x86_tlb_take_report(X86TLBReport *report)
{
    g_autofree X86TLBReport *oldest = NULL;

    WITH_QEMU_LOCK_GUARD(&witness_lock) {
        oldest = g_queue_pop_head(&reports);
    }
    if (oldest) {
        *report = *oldest;
    }
    return oldest;
}

void x86_tlb_foreach_report(X86TLBReportFunc *func, void *opaque)
{
    QEMU_LOCK_GUARD(&witness_lock);
    for (GList *l = reports.head; l; l = l->next) {
        func(l->data, opaque);
    }
}
