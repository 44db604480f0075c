/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A PCID that is given to other page tables, and INVLPGB among other
 * invalidations: spec.md B.2, C.6 and D.
 */
#include "tlb.h"
#include "lib/string.h"

#define PAGE            0x0000580000000000ull
#define PCID            7
#define NEXT_PCID       8
#define ROOTS           2

CODE(int_done, "");

static u64 *roots[ROOTS];

struct look {
    unsigned root, pcid;
    u64 noflush;
    u64 seen[MAX_CPUS];
};

/* Reads the page through @root, whatever the TLB holds for the PCID. */
static void look_here(void *arg)
{
    struct look *l = arg;

    write_cr3((u64)roots[l->root] | l->pcid | l->noflush);
    l->seen[this_cpu()->index] = *(volatile u64 *)PAGE;
    write_cr3((u64)boot_pml4 | CR3_NOFLUSH);
}

static bool all_see(unsigned root, unsigned pcid, u64 noflush, u64 value)
{
    struct look l = { .root = root, .pcid = pcid, .noflush = noflush };
    bool ok = true;

    progress();
    cpu_call_others(look_here, &l);
    look_here(&l);
    for (unsigned i = 0; i < cpu_count; i++) {
        ok &= l.seen[i] == value;
    }
    return ok;
}

static void check_reuse(u64 rax, const char *what)
{
    bool ok = all_see(0, PCID, 0, 0) && all_see(0, NEXT_PCID, 0, 0);

    order_stores_before_invlpgb();
    invlpgb(rax, 0, PCID << 16);
    tlbsync();
    ok = ok && all_see(1, PCID, CR3_NOFLUSH, 1);
    report(ok, "spec B.2 %s: a PCID can have other page tables after INVLPGB "
           "of %s", here(), what);
    /* Its neighbour still has the first ones. */
    report(all_see(0, NEXT_PCID, CR3_NOFLUSH, 0), "spec B.2 %s: another PCID "
           "keeps its page tables after INVLPGB of %s", here(), what);
}

/* What comes between an INVLPGB and its TLBSYNC must not lose it. */

static void nothing(void)
{
}

static void load_cr3(void)
{
    write_cr3(read_cr3());
}

static void toggle_pge(void)
{
    flush_local();
}

static void invalidate_page(void)
{
    invlpg(window_probe(WINDOW_4K, 0));
}

static void invalidate_all(void)
{
    invpcid(2, 0, 0);
}

static void take_trap(void)
{
    struct regs regs = { 0 };

    execute(&int_done, MODE_64, &regs);
}

static void use_page(void)
{
    (void)*(volatile u64 *)window_probe(WINDOW_4K, 0);
}

static void broadcast_other(void)
{
    invlpgb(INVLPGB_VA | INVLPGB_ASID | window_probe(WINDOW_2M, 0), 0, 0);
}

static void invlpgb_between_tlbsync(void *between)
{
    order_stores_before_invlpgb();
    invlpgb(window_probe(WINDOW_4K, 0) | INVLPGB_VA | INVLPGB_ASID, 0, 0);
    ((void (*)(void))between)();
    tlbsync();
}

static const struct {
    const char *what;
    void (*between)(void);
    bool invpcid;
} between[] = {
    { "nothing", nothing },
    { "a use of the page", use_page },
    { "MOV CR3", load_cr3 },
    { "toggling CR4.PGE", toggle_pge },
    { "INVLPG", invalidate_page },
    { "INVPCID", invalidate_all, true },
    { "a trap and IRET", take_trap },
    { "INVLPGB of something else", broadcast_other },
};

static void body(void *unused)
{
    if (machine.pcid) {
        set_pcide(true);
        check_reuse(INVLPGB_PCID | INVLPGB_ASID, "PCID");
        check_reuse(INVLPGB_PCID, "PCID in any ASID");
        check_reuse(INVLPGB_PCID | INVLPGB_ASID | INVLPGB_VA | PAGE,
                    "PCID and page");
        check_reuse(INVLPGB_ASID, "all PCIDs");
        set_pcide(false);
    } else {
        skip("no PCID", "spec B.2 %s: a PCID that is used again", here());
    }
    for (unsigned i = 0; i < ARRAY_SIZE(between); i++) {
        struct experiment e = {
            .window = WINDOW_4K,
            .invalidate = invlpgb_between_tlbsync,
            .arg = between[i].between,
        };

        if (between[i].invpcid && !machine.invpcid) {
            skip("no INVPCID", "spec C.6 %s: INVPCID before TLBSYNC", here());
            continue;
        }
        add_probe(&e, 0);
        report(experiment(&e), "spec C.6 %s: TLBSYNC completes INVLPGB after "
               "%s", here(), between[i].what);
    }
}

void test_reuse(void)
{
    if (skip_without_invlpgb("B.2: PCIDs that are used again")) {
        return;
    }
    for (unsigned i = 0; i < ROOTS; i++) {
        u64 *frame = page_alloc();

        roots[i] = page_alloc();
        memcpy(roots[i], boot_pml4, PAGE_SIZE);
        *frame = i;
        *pte_at(roots[i], PAGE, 1) = (u64)frame | PTE_LEAF;
    }
    run_in_each(body, NULL);
}
