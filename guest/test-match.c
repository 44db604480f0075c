/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What INVLPGB invalidates: spec.md B.2, and C.4 for the ASID of a guest.
 * Every form must reach every entry that it covers, on every CPU, whoever
 * issued it, once that CPU's TLBSYNC is done.
 */
#include "tlb.h"

CODE(invlpgb_plain, ".byte 0x0f, 0x01, 0xfe");
CODE(invlpgb_67, ".byte 0x67, 0x0f, 0x01, 0xfe");

struct operands {
    u64 rax;
    u32 ecx, edx;
    const struct code *code;    /* instead of INVLPGB as such */
    enum mode mode;
    bool retired;
};

static void issue(void *arg)
{
    struct operands *o = arg;

    order_stores_before_invlpgb();
    if (o->code) {
        struct regs regs = { .rax = o->rax, .rcx = o->ecx, .rdx = o->edx };

        o->retired = retired(execute(o->code, o->mode, &regs), o->code);
    } else {
        invlpgb(o->rax, o->ecx, o->edx);
        o->retired = true;
    }
    tlbsync();
}

/* With the first CPU as issuer, and with the last if there are several. */
static bool reaches_all(struct experiment *e, struct operands *o)
{
    struct cpu *last = &cpus[cpu_count - 1];
    bool ok;

    e->invalidate = issue;
    e->arg = o;
    e->issuer = NULL;
    ok = experiment(e) && o->retired;
    if (last != this_cpu()) {
        e->issuer = last;
        ok &= experiment(e) && o->retired;
    }
    return ok;
}

/*
 * The ASID operand for "here": the host's is 0; a guest's does not matter
 * (C.4), so it is one that is not its own.
 */
static u32 asid_operand(void)
{
    return in_guest() || machine.kvm ? 0x7ffe : 0;
}

static bool flags_reach(u64 flags, enum window w, bool by_table)
{
    bool pcide = read_cr4() & CR4_PCIDE;
    u32 count = machine.count_max;
    struct experiment e = { .window = w, .by_table = by_table };
    struct operands o = {
        .rax = flags | window_probe(w, 3 * PAGE_SIZE),
        .ecx = count,
        .edx = asid_operand() | CONTEXT_PCID(0) << 16,
    };

    if (pcide) {
        e.contexts = flags & INVLPGB_PCID ? 1 : MAX_CONTEXTS;
    }
    if (flags & INVLPGB_VA) {
        add_probes_in_range(&e, 3 * PAGE_SIZE, (count + 1) * PAGE_SIZE);
    } else {
        add_probes_everywhere(&e);
    }
    return reaches_all(&e, &o);
}

static void check_flags(u64 flags)
{
    bool global = flags & INVLPGB_GLOBAL;
    bool ok = flags_reach(flags, WINDOW_4K, false) &&
              flags_reach(flags | INVLPGB_FINAL, WINDOW_4K, false) &&
              flags_reach(flags, WINDOW_4K, true) &&
              flags_reach(flags, WINDOW_2M, false);

    if (global) {
        ok = ok && flags_reach(flags, WINDOW_4K_GLOBAL, false) &&
             flags_reach(flags | INVLPGB_FINAL, WINDOW_4K_GLOBAL, false) &&
             flags_reach(flags, WINDOW_2M_GLOBAL, false);
    }
    report(ok, "spec B.2 %s: rAX[3:0]=%lu (%s%s%s%s) reaches what it names%s",
           here(), flags,
           flags & INVLPGB_VA ? "VA " : "any VA ",
           flags & INVLPGB_PCID ? "PCID " : "any PCID ",
           flags & INVLPGB_ASID ? "ASID " : "any ASID ",
           global ? "global" : "non-global",
           read_cr4() & CR4_PCIDE ? "" : ", CR4.PCIDE clear");
}

/* A global page that was read through one PCID, and INVLPGB of another. */
static void check_global_of_other_pcid(void)
{
    struct experiment e = {
        .window = WINDOW_4K_GLOBAL, .contexts = MAX_CONTEXTS,
    };
    struct operands o = {
        .rax = INVLPGB_PCID | INVLPGB_ASID | INVLPGB_GLOBAL,
        .edx = asid_operand() | CONTEXT_PCID(1) << 16,
    };

    add_probes_everywhere(&e);
    report_open(reaches_all(&e, &o), "spec B.2 %s: INVLPGB of a PCID and "
                "globals reaches global pages of any PCID", here());
}

struct range {
    const char *text;
    u64 offset;                 /* in the window */
    bool step_2m;
    u32 pages;                  /* MAX_PAGES: as many as may be */
};

#define MAX_PAGES       0x10000

static void check_range(const struct range *r, enum window w, u64 flags,
                        const char *kind)
{
    u64 step = r->step_2m ? SIZE_2M : PAGE_SIZE;
    u64 room = (SIZE_1G - r->offset) / step;
    u64 max = machine.count_max + 1;
    u64 pages = r->pages < max ? r->pages : max;
    struct experiment e = { .window = w };
    struct operands o = {
        .rax = flags | INVLPGB_VA | window_probe(w, r->offset),
        .edx = asid_operand(),
    };

    if (pages > room) {         /* stay in the window */
        pages = room;
    }
    o.ecx = (pages - 1) | (r->step_2m ? INVLPGB_STEP_2M : 0);
    add_probes_in_range(&e, r->offset, pages * step);
    /* What a 2 MiB step does to smaller pages is open. */
    (r->step_2m && !window_is_large(w) ? report_open : report)(
        reaches_all(&e, &o), "spec B.2 %s: %s, %s", here(), r->text, kind);
}

static void check_ranges(void)
{
    static const struct range small[] = {
        { "one 4 KiB page", 5 * PAGE_SIZE, false, 1 },
        { "two 4 KiB pages", 5 * PAGE_SIZE, false, 2 },
        { "maximal count", 5 * PAGE_SIZE, false, MAX_PAGES },
        { "maximal count over the end of a page table", SIZE_2M - PAGE_SIZE,
          false, MAX_PAGES },
        { "2 MiB step, count 0", 3 * SIZE_2M, true, 1 },
        { "2 MiB step, maximal count", 0, true, MAX_PAGES },
        { "2 MiB step from within a unit", 5 * SIZE_2M + 7 * PAGE_SIZE, true,
          MAX_PAGES },
    };
    static const struct range large[] = {
        { "one 2 MiB page", 3 * SIZE_2M, true, 1 },
        { "maximal count of 2 MiB pages", 0, true, MAX_PAGES },
        { "4 KiB step inside a 2 MiB page", 7 * SIZE_2M + 9 * PAGE_SIZE, false,
          1 },
    };
    static const struct range huge[] = {
        { "4 KiB step inside a 1 GiB page", 9 * PAGE_SIZE, false, 1 },
        { "2 MiB step inside a 1 GiB page", 0, true, 1 },
    };
    static const struct range top[] = {
        { "the last page of the address space", SIZE_1G - PAGE_SIZE, false,
          1 },
    };

    for (unsigned i = 0; i < ARRAY_SIZE(small); i++) {
        check_range(&small[i], WINDOW_4K, INVLPGB_ASID, "4 KiB pages");
        check_range(&small[i], WINDOW_4K_GLOBAL, INVLPGB_ASID | INVLPGB_GLOBAL,
                    "global 4 KiB pages");
    }
    for (unsigned i = 0; i < ARRAY_SIZE(large); i++) {
        check_range(&large[i], WINDOW_2M, INVLPGB_ASID, "non-global");
        check_range(&large[i], WINDOW_2M_GLOBAL, INVLPGB_ASID | INVLPGB_GLOBAL,
                    "global");
    }
    for (unsigned i = 0; i < ARRAY_SIZE(huge); i++) {
        if (machine.page_1g) {
            check_range(&huge[i], WINDOW_1G, INVLPGB_ASID, "non-global");
        } else {
            skip("no 1 GiB pages", "spec B.2 %s: %s", here(), huge[i].text);
        }
    }
    check_range(&top[0], WINDOW_TOP, INVLPGB_ASID, "4 KiB pages");
}

/* Addresses and ranges that turn the instruction into a full flush. */
static void check_full(bool open, const char *clause, const char *text,
                       u64 rax, u32 ecx)
{
    struct operands o = {
        .rax = rax | INVLPGB_ASID, .ecx = ecx, .edx = asid_operand(),
        .code = &invlpgb_plain, .mode = MODE_64,    /* it may be a fault */
    };
    struct operands global = {
        .rax = o.rax | INVLPGB_GLOBAL, .ecx = ecx, .edx = o.edx,
        .code = o.code, .mode = o.mode,
    };
    struct experiment e = { .window = WINDOW_4K };
    struct experiment e_global = { .window = WINDOW_4K_GLOBAL };
    struct experiment e_large = { .window = WINDOW_2M };

    add_probes_everywhere(&e);
    add_probes_everywhere(&e_global);
    add_probes_everywhere(&e_large);
    (open ? report_open : report)(
        reaches_all(&e, &o) && reaches_all(&e_large, &o) &&
        reaches_all(&e_global, &global),
        "spec %s %s: %s flushes everything", clause, here(), text);
}

static void check_full_flushes(void)
{
    check_full(false, "B.2", "address, count and step without VA valid",
               0x0000123456789000, 7 | INVLPGB_STEP_2M);
    check_full(true, "B.3/5", "a count too large without VA valid",
               0xffffffff81000000, 0xffff);
    check_full(true, "B.3/12", "a non-canonical address",
               INVLPGB_VA | 0x0000800000000000, 0);
    if (machine.count_max) {
        check_full(true, "B.3/13", "a range into the canonical hole",
                   INVLPGB_VA | 0x00007ffffffff000, 1);
        check_full(true, "B.3/13", "a range that wraps",
                   INVLPGB_VA | 0xfffffffffffff000, 1);
        check_full(true, "B.3/13", "a 2 MiB range that wraps",
                   INVLPGB_VA | 0xffffffffffe00000, 1 | INVLPGB_STEP_2M);
    } else {
        skip("the maximal count is 0", "spec B.3/13 %s: ranges", here());
    }
}

/* Pages of WINDOW_4K, each with an INVLPGB of its own before one TLBSYNC. */
struct several {
    const char *text;
    unsigned n;
    u64 offset[5];
};

static void issue_several(void *arg)
{
    const struct several *s = arg;
    u32 asid = asid_operand();

    order_stores_before_invlpgb();
    for (unsigned i = 0; i < s->n; i++) {
        invlpgb(window_probe(WINDOW_4K, s->offset[i]) | INVLPGB_VA |
                INVLPGB_ASID, 0, asid);
    }
    tlbsync();
}

static void check_several(void)
{
    static struct several several[] = {
        { "two pages, upwards", 2, { 3 * PAGE_SIZE, 4 * PAGE_SIZE } },
        { "two pages, downwards", 2, { 4 * PAGE_SIZE, 3 * PAGE_SIZE } },
        { "five pages, scattered", 5, { 40 * SIZE_2M, 3 * PAGE_SIZE,
          300 * SIZE_2M + 5 * PAGE_SIZE, 40 * SIZE_2M + 9 * PAGE_SIZE, 0 } },
    };

    for (unsigned i = 0; i < ARRAY_SIZE(several); i++) {
        struct experiment e = {
            .window = WINDOW_4K,
            .invalidate = issue_several,
            .arg = &several[i],
        };

        for (unsigned j = 0; j < several[i].n; j++) {
            add_probe(&e, several[i].offset[j]);
        }
        report(experiment(&e), "spec C.6 %s: one TLBSYNC covers several "
               "INVLPGBs: %s", here(), several[i].text);
    }
}

/* RAX[63:32] is not part of the address with 32-bit address size. */
static void check_address_size(const char *what, const struct code *code,
                               enum mode mode)
{
    struct experiment e = { .window = WINDOW_LOW };
    struct operands o = {
        .rax = 0x00004000ull << 32 | window_probe(WINDOW_LOW, SIZE_2M) |
               INVLPGB_VA | INVLPGB_ASID,
        .edx = asid_operand(),
        .code = code,
        .mode = mode,
    };

    add_probe(&e, SIZE_2M);
    report(reaches_all(&e, &o), "spec A.1 %s: %s takes its address from EAX",
           here(), what);
}

static void body(void *unused)
{
    for (u64 flags = 0; flags < 16; flags++) {
        if (!(flags & INVLPGB_PCID)) {
            check_flags(flags);
        }
    }
    if (machine.pcid) {
        set_pcide(true);
        for (u64 flags = 0; flags < 16; flags++) {
            check_flags(flags);
        }
        check_global_of_other_pcid();
        set_pcide(false);
    } else {
        skip("no PCID", "spec B.2 %s: forms with CR4.PCIDE set", here());
    }
    check_ranges();
    check_full_flushes();
    check_several();
    check_address_size("67h", &invlpgb_67, MODE_64);
    check_address_size("compatibility mode", &invlpgb_plain, MODE_32);
    note_stale_count("match");
}

void test_match(void)
{
    if (skip_without_invlpgb("B.2: what is invalidated")) {
        return;
    }
    run_in_each(body, NULL);
}
