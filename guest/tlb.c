/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tlb.h"

/* What one round of reading saw, per CPU. */
struct look {
    const struct experiment *e;
    unsigned frame[MAX_CPUS][2];
    unsigned total[MAX_CPUS];
};

static u64 stale_seen, stale_possible;

static void look_here(void *arg)
{
    struct look *l = arg;
    const struct experiment *e = l->e;
    unsigned cpu = this_cpu()->index;

    for (unsigned i = 0; i < (e->contexts ? e->contexts : 1); i++) {
        if (e->contexts) {
            write_cr3((u64)boot_pml4 | CONTEXT_PCID(i) | CR3_NOFLUSH);
        }
        for (unsigned p = 0; p < e->probes; p++) {
            u64 va = window_probe(e->window, e->offset[p]) + e->alias;
            u64 value = *(volatile u64 *)va;

            l->total[cpu]++;
            l->frame[cpu][0] += value == window_value(e->window, 0);
            l->frame[cpu][1] += value == window_value(e->window, 1);
        }
    }
    if (e->contexts) {
        write_cr3((u64)boot_pml4 | CR3_NOFLUSH);
    }
}

static void flush_here(void *unused)
{
    flush_local();
}

static void on_all(const struct experiment *e, void (*fn)(void *), void *arg)
{
    if (!e->alone) {
        cpu_call_others(fn, arg);
    }
    if (e->through) {
        e->through(fn, arg);
    } else {
        fn(arg);
    }
}

/* Reads everywhere; the number of times that @frame was seen. */
static unsigned look(const struct experiment *e, unsigned frame,
                     unsigned *total)
{
    struct look l = { .e = e };
    unsigned seen = 0;

    progress();
    on_all(e, look_here, &l);
    *total = 0;
    for (unsigned i = 0; i < cpu_count; i++) {
        seen += l.frame[i][frame];
        *total += l.total[i];
    }
    return seen;
}

/*
 * The number of reads that saw the new frame after the invalidation, or -1 if
 * the reads before the change were not right.
 */
static int perform(const struct experiment *e, unsigned *total)
{
    unsigned old;

    window_reset(e->window);
    on_all(e, flush_here, NULL);
    old = look(e, 0, total);
    if (old != *total) {
        note("%u of %u reads before the change saw something else",
             *total - old, *total);
        return -1;
    }

    if (e->by_table) {
        window_change_table(e->window);
    } else {
        window_change(e->window);
    }
    stale_seen += look(e, 0, total);
    stale_possible += *total;

    if (e->issuer) {
        cpu_call(e->issuer, e->invalidate, e->arg);
    } else {
        e->invalidate(e->arg);
    }
    return look(e, 1, total);
}

bool experiment(const struct experiment *e)
{
    unsigned total;
    int new = perform(e, &total);

    if (new >= 0 && new < (int)total) {
        note("%u of %u reads after the invalidation saw the old page",
             total - new, total);
    }
    return new == (int)total;
}

bool experiment_spares(const struct experiment *e)
{
    unsigned total;
    int new = perform(e, &total);

    if (new > 0) {
        note("%u of %u reads after the invalidation saw the new page", new,
             total);
    }
    return new == 0;
}

void note_stale_count(const char *group)
{
    note("%s %s: %lu of %lu reads before the invalidation were served from "
         "a TLB", group, here(), stale_seen, stale_possible);
    if (strict()) {
        report(stale_seen == stale_possible, "spec B.2 %s: the TLB model keeps "
               "what nothing has invalidated (%s)", here(), group);
    }
    stale_seen = stale_possible = 0;
}

void add_probe(struct experiment *e, u64 offset)
{
    if (e->probes == MAX_PROBES) {
        bail_out("more than %u probes", MAX_PROBES);
    }
    e->offset[e->probes++] = offset;
}

void add_probes_everywhere(struct experiment *e)
{
    add_probe(e, 0);
    add_probe(e, PAGE_SIZE);
    add_probe(e, SIZE_2M - PAGE_SIZE);
    add_probe(e, 77 * SIZE_2M + 99 * PAGE_SIZE);
    add_probe(e, SIZE_1G - PAGE_SIZE);
}

void add_probes_in_range(struct experiment *e, u64 offset, u64 size)
{
    u64 pages = size / PAGE_SIZE;

    if (pages <= 8) {
        for (u64 i = 0; i < pages; i++) {
            add_probe(e, offset + i * PAGE_SIZE);
        }
        return;
    }
    for (u64 i = 0; i < 8; i++) {
        add_probe(e, offset + i * (pages - 1) / 7 * PAGE_SIZE);
    }
}
