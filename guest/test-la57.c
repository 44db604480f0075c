/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * INVLPGB with five levels of page tables, where addresses have 57 bits:
 * spec.md B.2 and B.3.
 */
#include "tlb.h"

CODE(invlpgb_plain, ".byte 0x0f, 0x01, 0xfe");

static void set_la57_work(void *on)
{
    set_la57(*(bool *)on);
}

static void set_la57_everywhere(bool on)
{
    set_la57(on);
    cpu_call_others(set_la57_work, &on);
}

struct operands {
    u64 rax;
    u32 count;
    bool retired;
};

static void issue(void *arg)
{
    struct operands *o = arg;
    struct regs regs = { .rax = o->rax, .rcx = o->count };

    order_stores_before_invlpgb();
    o->retired = retired(execute(&invlpgb_plain, MODE_64, &regs),
                         &invlpgb_plain);
    tlbsync();
}

/* Reads at @alias, INVLPGB at @va. */
static bool reaches(enum window w, u64 alias, u64 va, u32 count, u64 flags)
{
    struct operands o = { va | flags | INVLPGB_ASID, count };
    struct experiment e = {
        .window = w,
        .alias = alias,
        .invalidate = issue,
        .arg = &o,
    };

    if (flags & INVLPGB_VA && va == window_probe(w, 0) + alias) {
        add_probes_in_range(&e, 0, (count + 1) * PAGE_SIZE);
    } else {
        add_probes_everywhere(&e);
    }
    return experiment(&e) && o.retired;
}

static void body(void *unused)
{
    static const u64 aliases[] = { 0, LA57_LOW, LA57_HIGH };
    u64 last = 0x00fffffffffff000, beyond = 0x0100000000000000;
    u64 page = window_probe(WINDOW_4K, 0);

    set_la57_everywhere(true);
    for (unsigned i = 0; i < ARRAY_SIZE(aliases); i++) {
        u64 alias = aliases[i];

        report(reaches(WINDOW_4K, alias, page + alias, 0, INVLPGB_VA) &&
               reaches(WINDOW_4K, alias, page + alias, machine.count_max,
                       INVLPGB_VA) &&
               reaches(WINDOW_2M, alias, window_probe(WINDOW_2M, 0) + alias, 0,
                       INVLPGB_VA),
               "spec B.2 %s: with CR4.LA57 INVLPGB reaches pages at %lx",
               here(), page + alias);
        report(reaches(WINDOW_4K, alias, 0, 0, 0),
               "spec B.2 %s: with CR4.LA57 INVLPGB of an ASID reaches %lx",
               here(), page + alias);
    }
    report_open(reaches(WINDOW_4K, LA57_LOW, beyond, 0, INVLPGB_VA),
                "spec B.3/12 %s: with CR4.LA57 a non-canonical address flushes "
                "everything", here());
    if (machine.count_max) {
        report_open(reaches(WINDOW_4K, LA57_LOW, last, 1, INVLPGB_VA),
                    "spec B.3/13 %s: with CR4.LA57 a range into the canonical "
                    "hole flushes everything", here());
    } else {
        skip("the maximal count is 0", "spec B.3/13 %s: ranges", here());
    }
    set_la57_everywhere(false);
    note_stale_count("la57");
}

void test_la57(void)
{
    if (skip_without_invlpgb("B.2: five levels")) {
        return;
    }
    if (!machine.la57) {
        skip("no LA57", "spec B.2 host: five levels of page tables");
        return;
    }
    run_in_each(body, NULL);
}
