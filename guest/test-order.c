/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * INVLPGB and TLBSYNC while other CPUs use the page: spec.md C.6.
 *
 * Nothing here depends on who runs when.  A round that other CPUs happen to
 * miss proves little, but no order of events makes a right machine fail.
 */
#include "tlb.h"

#define ROUNDS          100
#define FRAMES          4
#define PAGE            0x0000500000000000ull
#define SLOT(cpu)       ((cpu) * 8)     /* u64s: one cache line per CPU */

static u64 *frames[FRAMES];
static u64 generation;
static bool stop;
static u64 wrong[MAX_CPUS], writes[MAX_CPUS];

/* For CPUs that write, which takes longer; for CPUs that read, all 16. */
static const struct form {
    const char *name;
    u64 rax;
} forms[] = {
    { "VA and ASID", PAGE | INVLPGB_VA | INVLPGB_ASID },
    { "VA and ASID, final only", PAGE | INVLPGB_VA | INVLPGB_ASID |
                                 INVLPGB_FINAL },
    { "ASID", INVLPGB_ASID },
    { "ASID and global", INVLPGB_ASID | INVLPGB_GLOBAL },
};

/* Of the page, for forms that reach global ones. */
static u64 global;

static u64 *pte(void)
{
    return pte_at(boot_pml4, PAGE, 1);
}

static void switch_to(unsigned frame, u64 rax)
{
    store_release(pte(), (u64)frames[frame] | PTE_LEAF | global);
    order_stores_before_invlpgb();
    invlpgb(rax, 0, 0);
    tlbsync();
}

/*
 * The page holds its generation.  Whoever has seen generation N announced must
 * not find an older one, nor 0, which old frames are overwritten with.
 */
static void reader(void *unused)
{
    unsigned cpu = this_cpu()->index;

    for (u64 n = 1; !load_acquire(&stop); n++) {
        u64 announced = load_acquire(&generation);
        u64 found = *(volatile u64 *)PAGE;

        wrong[cpu] += found < announced;
        if (n % 16 == 0) {
            pause();
        }
    }
}

/* Each CPU writes to a slot of its own in the page, and counts its writes. */
static void writer(void *unused)
{
    unsigned cpu = this_cpu()->index;
    volatile u64 *slot = (u64 *)PAGE + SLOT(cpu);

    for (u64 n = 1; !load_acquire(&stop); n++) {
        *slot = n;
        store_release(&writes[cpu], n);
        if (n % 16 == 0) {
            pause();
        }
    }
}

static u64 total_wrong(void)
{
    u64 sum = 0;

    for (unsigned i = 0; i < cpu_count; i++) {
        sum += wrong[i];
        wrong[i] = 0;
    }
    return sum;
}

static void read_rounds(u64 rax)
{
    u64 last = generation + ROUNDS / 4;

    for (u64 g = generation + 1; g <= last; g++) {
        *frames[g % FRAMES] = g;
        switch_to(g % FRAMES, rax);
        store_release(&generation, g);
        *frames[(g - 1) % FRAMES] = 0;
        progress();
        pause();
    }
}

/* Until every other CPU has started and finished a write since the call. */
static void wait_for_progress(void)
{
    u64 start[MAX_CPUS];

    for_each_other_cpu(c) {
        start[c->index] = load_acquire(&writes[c->index]);
    }
    for_each_other_cpu(c) {
        while (load_acquire(&writes[c->index]) < start[c->index] + 2) {
            pause();
        }
    }
}

/* After TLBSYNC no write arrives in the old frame any more. */
static void write_rounds(u64 rax)
{
    for (unsigned round = 0; round < ROUNDS / 10; round++) {
        u64 *old = frames[round % FRAMES];
        u64 seen[MAX_CPUS];

        switch_to((round + 1) % FRAMES, rax);
        for_each_other_cpu(c) {
            seen[c->index] = load_acquire(&old[SLOT(c->index)]);
        }
        wait_for_progress();
        progress();
        for_each_other_cpu(c) {
            wrong[0] += old[SLOT(c->index)] != seen[c->index];
        }
    }
}

static void with_others(void (*theirs)(void *), void (*mine)(u64), u64 arg)
{
    struct work works[MAX_CPUS];

    stop = false;
    for_each_other_cpu(c) {
        writes[c->index] = 0;
        works[c->index] = (struct work) { theirs };
        cpu_post(c, &works[c->index]);
    }
    mine(arg);
    store_release(&stop, true);
    for_each_other_cpu(c) {
        cpu_wait(&works[c->index]);
    }
}

static void flush_here(void *unused)
{
    flush_local();
}

static void flush_everywhere(void)
{
    flush_local();
    cpu_call_others(flush_here, NULL);
}

/* One set of flags, with and without final only; all CPUs have PCID 0. */
static void check_readers(u64 flags)
{
    bool pcid = flags & INVLPGB_PCID;

    if (pcid && !machine.pcid) {
        skip("no PCID", "spec C.6 %s: readers, rAX[3:0]=%lu", here(), flags);
        return;
    }
    if (pcid) {
        set_pcide(true);
    }
    global = flags & INVLPGB_GLOBAL ? PTE_G : 0;
    with_others(reader, read_rounds, PAGE | flags);
    with_others(reader, read_rounds, PAGE | flags | INVLPGB_FINAL);
    if (pcid) {
        set_pcide(false);
    }
    if (global) {
        global = 0;
        *pte() &= ~PTE_G;
        flush_everywhere();
    }
    report(total_wrong() == 0, "spec C.6 %s: after TLBSYNC no CPU reads "
           "through the old translation, rAX[3:0]=%lu", here(), flags);
}

static void body(void *unused)
{
    /* The page may be cached from an earlier run with other frames. */
    *frames[generation % FRAMES] = generation;
    *pte() = (u64)frames[generation % FRAMES] | PTE_LEAF;
    flush_everywhere();

    for (u64 flags = 0; flags < 16; flags++) {
        check_readers(flags);
    }
    for (unsigned i = 0; i < ARRAY_SIZE(forms); i++) {
        with_others(writer, write_rounds, forms[i].rax);
        report(total_wrong() == 0, "spec C.6 %s: after TLBSYNC no CPU writes "
               "through the old translation, %s", here(), forms[i].name);
    }
}

static void look(void *value)
{
    *(u64 *)value = *(volatile u64 *)window_probe(WINDOW_4K, 0);
}

/*
 * A kernel that invalidates before it changes the page table.  What another
 * CPU fills in between was filled after the INVLPGB and may stay for good.
 */
static void test_invlpgb_too_early(struct cpu *other)
{
    u64 before, after;

    window_reset(WINDOW_4K);
    flush_local();
    cpu_call(other, flush_here, NULL);
    invlpgb(INVLPGB_ASID | INVLPGB_GLOBAL, 0, 0);
    cpu_call(other, look, &before);
    window_change(WINDOW_4K);
    tlbsync();
    cpu_call(other, look, &after);
    report(before == window_value(WINDOW_4K, 0) && after == before,
           "spec B.2 host: INVLPGB before the change of the page table lets "
           "another CPU read the old page");
    cpu_call(other, flush_here, NULL);
}

void test_order(void)
{
    if (skip_without_invlpgb("C.6: order")) {
        return;
    }
    if (cpu_count == 1) {
        skip("one CPU only", "spec C.6 host: order against other CPUs");
        return;
    }
    for (unsigned i = 0; i < FRAMES; i++) {
        frames[i] = page_alloc();
    }
    run_in_each(body, NULL);
    /* On other machines the other CPU may drop more than it was asked. */
    if (strict()) {
        test_invlpgb_too_early(&cpus[1]);
    }
}
