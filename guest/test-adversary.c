/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What QEMU's strict TLB model may be told to do to software, and does only
 * then.  Words of the command line repeat what QEMU was told:
 *   early=PERCENT      that many INVLPGBs take effect before TLBSYNC
 *   capacity=N         no more than N translations are kept
 *   erratum-1718=1     the first TLBSYNC completes nothing
 */
#include "tlb.h"

#define ROUNDS          200

static u64 early, capacity, erratum;

/* INVLPGBs and TLBSYNCs, in the order of a string of B and S. */
static void by_string(void *order)
{
    for (const char *s = order; *s; s++) {
        if (*s == 'B') {
            order_stores_before_invlpgb();
            invlpgb(INVLPGB_ASID, 0, 0);
        } else {
            tlbsync();
        }
    }
}

/* 1 if all CPUs read the new page afterwards, 0 if all read the old one. */
static int completes(const char *order)
{
    struct experiment e = {
        .window = WINDOW_4K,
        .invalidate = by_string,
        .arg = (void *)order,
    };
    bool complete, spared;

    add_probe(&e, 0);
    complete = experiment(&e);
    by_string("BSS");
    spared = !complete && experiment_spares(&e);
    by_string("BSS");
    return complete ? 1 : spared ? 0 : -1;
}

static void check_tlbsync(void)
{
    static const struct {
        const char *order;
        bool despite_erratum;
    } orders[] = {
        { "B" , false }, { "BS", false }, { "BSS", true }, { "SBS", false },
        { "BSBS", false }, { "BSBSS", true }, { "SBSS", true },
        { "BSSS", true },
    };
    bool suffers = erratum && !machine.tlbsync_sfw_no;

    for (unsigned i = 0; i < ARRAY_SIZE(orders); i++) {
        const char *order = orders[i].order;
        bool expected = order[1] && (!suffers || orders[i].despite_erratum);

        if (!expected && (early || capacity)) {
            continue;           /* it may be complete by chance */
        }
        report(completes(order) == expected, "spec E.1 %s: INVLPGB (B) and "
               "TLBSYNC (S) as %s: %s", here(), order,
               expected ? "complete" : "without effect");
    }
}

/* How many of INVLPGBs take effect before TLBSYNC. */
static void check_early(void)
{
    u64 page = window_probe(WINDOW_4K, 0), *entry;
    unsigned n = 0;
    bool ok;

    window_reset(WINDOW_4K);
    entry = pte_at(boot_pml4, page, 1);
    for (unsigned round = 0; round < ROUNDS; round++) {
        store_release(entry, (u64)frames_4k[round % 2] | PTE_LEAF);
        order_stores_before_invlpgb();
        invlpgb(page | INVLPGB_VA | INVLPGB_ASID, 0, 0);
        if (round) {
            n += *(volatile u64 *)page == window_value(WINDOW_4K, round % 2);
        }
        tlbsync();
        by_string("BSS");
        (void)*(volatile u64 *)page;
    }
    switch (early) {
    case 0:
        ok = n == 0;
        break;
    case 100:
        ok = n == ROUNDS - 1;
        break;
    default:
        ok = n > 0 && n < ROUNDS - 1;
    }
    report(ok, "spec C.6 %s: of INVLPGBs, %lu percent take effect before "
           "TLBSYNC", here(), early);
    note("%u of %u", n, ROUNDS - 1);
}

#define PAGES           32

/* How many translations are left of more than there is room for. */
static void check_capacity(void)
{
    unsigned old = 0, least = PAGES, most = 0;
    bool ok;

    for (unsigned round = 0; round < 8; round++) {
        unsigned n = 0;

        window_reset(WINDOW_4K);
        flush_local();
        for (unsigned i = 0; i < PAGES; i++) {
            (void)*(volatile u64 *)window_probe(WINDOW_4K, i * PAGE_SIZE);
        }
        window_change(WINDOW_4K);
        for (unsigned i = PAGES; i-- > 0; ) {
            n += *(volatile u64 *)window_probe(WINDOW_4K, i * PAGE_SIZE) ==
                 window_value(WINDOW_4K, 0);
        }
        old += n;
        least = n < least ? n : least;
        most = n > most ? n : most;
    }
    ok = capacity ? old && most <= capacity : least == PAGES;
    report(ok, "APM2 5.5 %s: of %u translations, %s are kept", here(), PAGES,
           capacity ? "as many as there is room for" : "all");
    note("%u to %u", least, most);
}

static void body(void *unused)
{
    check_tlbsync();
    if (!capacity) {
        check_early();
    }
    check_capacity();
}

void test_adversary(void)
{
    param_number("early", &early);
    param_number("capacity", &capacity);
    param_number("erratum-1718", &erratum);
    if (skip_without_invlpgb("C.6: an adversary")) {
        return;
    }
    run_in_each(body, NULL);
}
