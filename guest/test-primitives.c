/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What ways of flushing cost, each measured alike: pages are read, then the
 * flush is timed by the TSC, many times over.  Figures only; nothing passes or
 * fails by them.
 *
 * exits=1 says that somebody answers the line "# exits?" with the number of
 * exits so far, emulated=1 that this runs on an emulator even if CPUID names
 * another hypervisor.
 */
#include "tlb.h"

#define ROUNDS          33
#define WAIT            BIT(26)         /* 20 to 70 ms, by the TSC */

static u64 exits, emulated;
static u64 question;            /* how many exits asking for them causes */
static u64 page;
static unsigned others;         /* how many CPUs are interrupted */

static u64 count_exits(void)
{
    u64 n = 0, start;
    u8 c;

    print("# exits?\n");
    /* Polls the console, each time an exit, only when they have been read. */
    start = read_tsc();
    while (read_tsc() - start < WAIT) {
        pause();
    }
    while ((c = console_wait()) != '\n') {
        n = n * 10 + c - '0';
    }
    return n;
}

static void by_cr3(void)
{
    write_cr3(read_cr3());
}

static void by_invpcid_0(void)
{
    invpcid(0, 0, page);
}

static void by_invpcid_1(void)
{
    invpcid(1, 0, 0);
}

static void by_invpcid_2(void)
{
    invpcid(2, 0, 0);
}

static void by_invpcid_3(void)
{
    invpcid(3, 0, 0);
}

static void by_invlpg(void)
{
    invlpg(page);
}

static void broadcast(u64 rax, u32 count)
{
    order_stores_before_invlpgb();
    invlpgb(rax, count, 0);
    tlbsync();
}

static void by_invlpgb_page(void)
{
    broadcast(page | INVLPGB_VA | INVLPGB_ASID, 0);
}

static void by_invlpgb_pages(void)
{
    broadcast(page | INVLPGB_VA | INVLPGB_ASID, 7);
}

static void by_invlpgb_pcid(void)
{
    broadcast(INVLPGB_PCID | INVLPGB_ASID, 0);
}

static void by_invlpgb_all(void)
{
    broadcast(INVLPGB_ASID, 0);
}

static void by_invlpgb_all_globals(void)
{
    broadcast(INVLPGB_ASID | INVLPGB_GLOBAL, 0);
}

static void invlpg_there(void *unused)
{
    invlpg(page);
}

static void by_ipis(void)
{
    struct work works[MAX_CPUS];

    invlpg(page);
    for (unsigned i = 1; i <= others; i++) {
        works[i] = (struct work) { invlpg_there };
        cpu_post(&cpus[i], &works[i]);
    }
    for (unsigned i = 1; i <= others; i++) {
        cpu_wait(&works[i]);
    }
}

static void sort(u64 *v, unsigned n)
{
    for (unsigned i = 1; i < n; i++) {
        u64 x = v[i];
        unsigned j = i;

        for (; j && v[j - 1] > x; j--) {
            v[j] = v[j - 1];
        }
        v[j] = x;
    }
}

static void measure(const char *name, void (*flush)(void))
{
    u64 cycles[ROUNDS], before = 0, tenths = 0;

    for (unsigned i = 0; i < ROUNDS; i++) {
        u64 start;

        if (i == 1 && exits) {
            before = count_exits();
        }
        for (u64 p = 0; p < 8; p++) {
            (void)*(volatile u64 *)(page + p * PAGE_SIZE);
        }
        start = read_tsc();
        flush();
        cycles[i] = read_tsc() - start;
        progress();
    }
    if (exits) {
        u64 after = count_exits() - before;

        tenths = after > question ? (after - question) * 10 / (ROUNDS - 1) : 0;
    }
    sort(cycles, ROUNDS);
    print("# primitive %s: %lu cycles (%lu to %lu)", name, cycles[ROUNDS / 2],
          cycles[ROUNDS / 10], cycles[ROUNDS - 1 - ROUNDS / 10]);
    if (exits) {
        print(", %lu.%lu exits", tenths / 10, tenths % 10);
    }
    print("\n");
}

static void measure_ipis(void)
{
    static const struct {
        unsigned n;
        const char *name;
    } steps[] = {
        { 1, "IPI to 1 CPU" }, { 2, "IPIs to 2 CPUs" },
        { 3, "IPIs to 3 CPUs" }, { 7, "IPIs to 7 CPUs" },
        { 15, "IPIs to 15 CPUs" }, { 31, "IPIs to 31 CPUs" },
        { 63, "IPIs to 63 CPUs" },
    };

    for (unsigned i = 0; i < ARRAY_SIZE(steps); i++) {
        others = steps[i].n;
        if (others < cpu_count) {
            measure(steps[i].name, by_ipis);
        }
    }
}

void test_primitives(void)
{
    param_number("exits", &exits);
    param_number("emulated", &emulated);
    page = window_probe(WINDOW_4K, 0);
    window_reset(WINDOW_4K);
    note("primitives: median and spread of %u, by the TSC%s", ROUNDS,
         machine.tcg || emulated ? "; emulated, so that cycles mean nothing" :
         "");
    if (exits) {
        question = count_exits();
        question = count_exits() - question;
    }
    measure("nothing", compiler_barrier);
    measure("CR3 reload", by_cr3);
    measure("CR4.PGE toggle", flush_local);
    measure("INVLPG", by_invlpg);
    if (machine.invpcid) {
        measure("INVPCID 0", by_invpcid_0);
        measure("INVPCID 1", by_invpcid_1);
        measure("INVPCID 2", by_invpcid_2);
        measure("INVPCID 3", by_invpcid_3);
    }
    if (machine.invlpgb) {
        measure("INVLPGB 1 page", by_invlpgb_page);
        if (machine.count_max >= 7) {
            measure("INVLPGB 8 pages", by_invlpgb_pages);
        }
        if (machine.pcid) {
            set_pcide_here(true);
            measure("INVLPGB PCID", by_invlpgb_pcid);
            set_pcide_here(false);
        }
        measure("INVLPGB all", by_invlpgb_all);
        measure("INVLPGB all, globals", by_invlpgb_all_globals);
    }
    measure_ipis();
}
