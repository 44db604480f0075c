/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A load whose results depend on which translations a CPU has lost and when:
 * the suite runs it more than once and compares what it prints.  All CPUs but
 * this one read pages, this one changes and invalidates them.
 */
#include "tlb.h"

#define ROUNDS          300
#define PAGES           24

static bool stop;
static u64 hashes[MAX_CPUS], old_reads[MAX_CPUS], reads[MAX_CPUS];
static u64 generation;

static volatile u64 *page(unsigned i)
{
    return (u64 *)window_probe(WINDOW_4K, i * PAGE_SIZE);
}

/* One read, and whether it found what the page table says. */
static void read_page(unsigned i)
{
    unsigned cpu = this_cpu()->index;
    u64 now = window_value(WINDOW_4K, load_acquire(&generation) % 2);
    bool old = *page(i) != now;

    hashes[cpu] = (hashes[cpu] ^ (i * 2 + old)) * 0x100000001b3;
    old_reads[cpu] += old;
    reads[cpu]++;
}

static void reader(void *unused)
{
    for (u64 i = 0; !load_acquire(&stop); i++) {
        read_page(i * 7 % PAGES);
    }
}

static void change_rounds(void)
{
    for (u64 round = 1; round <= ROUNDS; round++) {
        window_change_to(WINDOW_4K, round % 2);
        store_release(&generation, round);
        order_stores_before_invlpgb();
        invlpgb((u64)page(round % PAGES) | INVLPGB_VA | INVLPGB_ASID, 0, 0);
        for (unsigned i = 0; i < PAGES; i++) {
            read_page(i);
        }
        if (round % 4 == 0) {
            tlbsync();
        }
    }
}

void test_replay(void)
{
    struct work works[MAX_CPUS];
    u64 hash = 0, old = 0, total = 0;

    if (skip_without_invlpgb("C.6: replay")) {
        return;
    }
    window_reset(WINDOW_4K);
    flush_local();
    for_each_other_cpu(c) {
        works[c->index] = (struct work) { reader };
        cpu_post(c, &works[c->index]);
    }
    change_rounds();
    store_release(&stop, true);
    for_each_other_cpu(c) {
        cpu_wait(&works[c->index]);
    }
    for (unsigned i = 0; i < cpu_count; i++) {
        hash = hash * 31 + hashes[i];
        old += old_reads[i];
        total += reads[i];
    }
    note("replay: %016lx, %lu of %lu reads were of old pages", hash, old,
         total);
    report(old && old < total, "spec C.6 host: some reads are of old pages, "
           "some of new ones");
}
