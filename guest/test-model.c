/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random operations on few pages, PCIDs, ASIDs and CPUs, and after each read
 * what a TLB that loses nothing must have given: APM2 5.5 and 15.16, spec.md
 * B.2, C.4 and C.6.  The table here is the whole of that TLB and shares
 * nothing with QEMU's model but the rules.
 */
#include "tlb.h"

#define OPERATIONS      20000
#define BASE            0x0000600800000000ull

#define CPUS            2
#define ASIDS           3               /* 0 is the host's */
#define PCIDS           3
#define PAGES           5
#define FRAMES          4
#define PENDING         8

/* Pages 3 and 4 are global; those are kept under PCID 0. */
static bool is_global(unsigned page)
{
    return page >= 3;
}

/* A translation, and when it was filled; 0 if there is none. */
static struct translation {
    u64 time;
    unsigned frame;
} tlb[CPUS][ASIDS][PCIDS][PAGES];

/* What an invalidation covers; a time of 0 is no limit. */
struct match {
    bool by_asid, by_pcid, by_page, globals;
    unsigned asid, pcid, first, last;
    u64 before;
};

static struct match pending[CPUS][PENDING];
static unsigned n_pending[CPUS];

static u64 *frames[FRAMES];
static unsigned mapped[PAGES];          /* to what frame, in the page table */
static u64 now;

enum kind {
    MAP, READ, INVLPG, MOV_CR3, INVPCID_0, INVPCID_1, INVPCID_2, INVPCID_3,
    TOGGLE_PGE, INVLPGA, TLB_CONTROL, INVLPGB, TLBSYNC, KINDS
};

/* How often each is chosen; the rest is for READ. */
static const unsigned weights[KINDS] = {
    [MAP] = 18, [READ] = 50, [INVLPG] = 6, [MOV_CR3] = 3, [INVPCID_0] = 3,
    [INVPCID_1] = 2, [INVPCID_2] = 1, [INVPCID_3] = 2, [TOGGLE_PGE] = 1,
    [INVLPGA] = 3, [TLB_CONTROL] = 2, [INVLPGB] = 6, [TLBSYNC] = 3,
};

static const char *const names[KINDS] = {
    "map", "read", "INVLPG", "MOV CR3", "INVPCID 0", "INVPCID 1", "INVPCID 2",
    "INVPCID 3", "CR4.PGE", "INVLPGA", "TLB_CONTROL", "INVLPGB", "TLBSYNC",
};

struct operation {
    enum kind kind;
    unsigned cpu, asid, pcid, page;
    unsigned operand_asid, operand_pcid, count;
    u64 flags;                          /* of INVLPGB */
    u8 tlb_control;
    u64 value;                          /* that was read */
};

static u64 address(unsigned page)
{
    return BASE + page * PAGE_SIZE;
}

/* The operation itself, by its CPU as host or in its guest. */

static void load_pcid(unsigned pcid, u64 noflush)
{
    write_cr3((u64)boot_pml4 | pcid | noflush);
}

static void act(void *operation)
{
    struct operation *o = operation;
    u64 va = address(o->page);

    load_pcid(o->pcid, CR3_NOFLUSH);
    switch (o->kind) {
    case READ:
        o->value = *(volatile u64 *)va;
        break;
    case INVLPG:
        invlpg(va);
        break;
    case MOV_CR3:
        load_pcid(o->pcid, 0);
        break;
    case INVPCID_0 ... INVPCID_3:
        invpcid(o->kind - INVPCID_0,
                o->kind <= INVPCID_1 ? o->operand_pcid : 0, va);
        break;
    case TOGGLE_PGE:
        flush_local();
        break;
    case INVLPGA:
        invlpga(va, o->operand_asid);
        break;
    case INVLPGB:
        order_stores_before_invlpgb();
        invlpgb(o->flags | va, o->count,
                o->operand_asid | o->operand_pcid << 16);
        break;
    case TLBSYNC:
        tlbsync();
        break;
    default:
        break;
    }
    load_pcid(0, CR3_NOFLUSH);
}

static void act_as_host_or_guest(void *operation)
{
    struct operation *o = operation;

    if (o->asid) {
        this_vmcb()->asid = o->asid;
        this_vmcb()->tlb_control = o->tlb_control;
        guest_call(act, o);
    } else {
        act(o);
    }
}

/* The same in the table. */

static bool covers(const struct match *m, unsigned asid, unsigned pcid,
                   unsigned page, u64 time)
{
    return (!m->by_asid || m->asid == asid) &&
           (!m->by_page || (m->first <= page && page <= m->last)) &&
           (is_global(page) ? m->globals : !m->by_pcid || m->pcid == pcid) &&
           (!m->before || time < m->before);
}

static void drop(unsigned cpu, const struct match *m)
{
    for (unsigned a = 0; a < ASIDS; a++) {
        for (unsigned p = 0; p < PCIDS; p++) {
            for (unsigned i = 0; i < PAGES; i++) {
                struct translation *t = &tlb[cpu][a][p][i];

                if (covers(m, a, p, i, t->time)) {
                    t->time = 0;
                }
            }
        }
    }
}

static void sync(unsigned cpu)
{
    for (unsigned i = 0; i < n_pending[cpu]; i++) {
        for (unsigned c = 0; c < CPUS; c++) {
            drop(c, &pending[cpu][i]);
        }
    }
    n_pending[cpu] = 0;
}

static struct match match_of(const struct operation *o)
{
    struct match m = {
        .by_asid = true, .asid = o->asid, .pcid = o->pcid,
        .first = o->page, .last = o->page,
    };

    switch (o->kind) {
    case INVLPG:
        m.by_page = m.by_pcid = m.globals = true;
        break;
    case MOV_CR3:
        m.by_pcid = true;
        break;
    case INVPCID_0:
        m.by_page = true;
        /* fall through */
    case INVPCID_1:
        m.by_pcid = true;
        m.pcid = o->operand_pcid;
        break;
    case INVPCID_2:
    case TOGGLE_PGE:
        m.globals = true;
        break;
    case INVLPGA:
        m.asid = o->operand_asid;
        m.by_page = m.globals = true;
        break;
    case TLB_CONTROL:
        m.by_asid = o->tlb_control != TLB_FLUSH_ALL;
        m.globals = o->tlb_control != TLB_FLUSH_ASID_NON_GLOBAL;
        break;
    case INVLPGB:
        m.by_asid = o->asid || (o->flags & INVLPGB_ASID);
        m.asid = o->asid ? o->asid : o->operand_asid;
        m.by_pcid = o->flags & INVLPGB_PCID;
        m.pcid = o->operand_pcid;
        m.by_page = o->flags & INVLPGB_VA;
        m.last = o->page + o->count;
        m.globals = o->flags & INVLPGB_GLOBAL;
        m.before = now;
        break;
    default:
        break;
    }
    return m;
}

/* Carries it out in both; false if a read gave something else. */
static bool perform(struct operation *o)
{
    struct match m = match_of(o);
    struct translation *t;
    unsigned frame;

    now++;
    if (m.before) {
        m.before = now;
    }
    if (o->kind == MAP) {
        mapped[o->page] = o->count % FRAMES;
        store_release(pte_at(boot_pml4, address(o->page), 1),
                      (u64)frames[mapped[o->page]] | PTE_LEAF |
                      (is_global(o->page) ? PTE_G : 0));
        return true;
    }
    cpu_call(&cpus[o->cpu], act_as_host_or_guest, o);
    switch (o->kind) {
    case READ:
        t = &tlb[o->cpu][o->asid][is_global(o->page) ? 0 : o->pcid][o->page];
        frame = t->time ? t->frame : mapped[o->page];
        if (!t->time) {
            *t = (struct translation) { now, frame };
        }
        if (o->value != frame) {
            note("operation %lu: CPU %u, ASID %u, PCID %u, page %u: frame %lu "
                 "instead of %u, %s", now, o->cpu, o->asid, o->pcid, o->page,
                 o->value, frame, frame == mapped[o->page] ? "new" : "old");
        }
        return o->value == frame;
    case TLBSYNC:
        sync(o->cpu);
        break;
    case INVLPGB:
        pending[o->cpu][n_pending[o->cpu]++] = m;
        break;
    default:
        drop(o->cpu, &m);
    }
    return true;
}

static u64 random_state;

static unsigned below(unsigned n)
{
    return (random_from(&random_state) >> 32) * n >> 32;
}

static enum kind random_kind(void)
{
    unsigned dice = below(100);

    for (enum kind kind = 0; kind < KINDS; kind++) {
        if (dice < weights[kind]) {
            return kind;
        }
        dice -= weights[kind];
    }
    bail_out("the weights are no percentages");
}

static struct operation random_operation(void)
{
    static const u8 tlb_controls[] = {
        TLB_FLUSH_ALL, TLB_FLUSH_ASID, TLB_FLUSH_ASID_NON_GLOBAL,
    };
    struct operation o = {
        .kind = random_kind(),
        .cpu = below(CPUS),
        .asid = below(ASIDS),
        .pcid = below(PCIDS),
        .page = below(PAGES),
        .operand_asid = below(ASIDS),
        .operand_pcid = below(PCIDS),
        .count = below(FRAMES),
        .flags = below(16),             /* VA, PCID, ASID, global */
    };

    switch (o.kind) {
    case INVLPGA:
        o.asid = 0;
        break;
    case TLB_CONTROL:
        o.asid = 1 + below(ASIDS - 1);
        o.tlb_control = tlb_controls[below(ARRAY_SIZE(tlb_controls))];
        break;
    case INVLPGB:
        if (n_pending[o.cpu] == PENDING) {
            o.kind = TLBSYNC;
        }
        break;
    default:
        break;
    }
    return o;
}

static void start_afresh(void *unused)
{
    struct operation o = { .kind = TLB_CONTROL, .asid = 1,
                           .tlb_control = TLB_FLUSH_ALL };

    guest_reset();
    tlbsync();
    act_as_host_or_guest(&o);
}

void test_model(void)
{
    struct operation last[8];
    u64 n = 0;
    bool ok = true;

    if (!strict() || cpu_count < CPUS || !machine.pcid || !machine.invpcid ||
        !machine.flush_by_asid || !machine.npt || machine.count_max < FRAMES) {
        skip("no strict TLB model, or one CPU, or too little in CPUID",
             "APM2 5.5 host: random operations");
        return;
    }
    if (skip_without_invlpgb("B.2: random operations")) {
        return;
    }
    for (unsigned i = 0; i < FRAMES; i++) {
        frames[i] = page_alloc();
        *frames[i] = i;
    }
    for (unsigned page = 0; page < PAGES; page++) {
        struct operation o = { .kind = MAP, .page = page };

        perform(&o);
    }
    set_pcide(true);
    start_afresh(NULL);
    cpu_call(&cpus[1], start_afresh, NULL);

    random_state = random_seed();
    while (ok && n < OPERATIONS) {
        struct operation *o = &last[n++ % ARRAY_SIZE(last)];

        *o = random_operation();
        ok = perform(o);
        progress();
    }
    report(ok, "APM2 5.5 host: %u random operations on a TLB that loses "
           "nothing (seed=0x%lx)", OPERATIONS, random_seed());
    for (u64 i = n < ARRAY_SIZE(last) ? 0 : n - ARRAY_SIZE(last); !ok && i < n;
         i++) {
        struct operation *o = &last[i % ARRAY_SIZE(last)];

        note("%lu: %s, CPU %u, ASID %u, PCID %u, page %u; ASID %u, PCID %u, "
             "count %u, flags %lx, TLB_CONTROL %u", i + 1, names[o->kind],
             o->cpu, o->asid, o->pcid, o->page, o->operand_asid,
             o->operand_pcid, o->count, o->flags, o->tlb_control);
    }
    start_afresh(NULL);
    cpu_call(&cpus[1], start_afresh, NULL);
    set_pcide(false);
}
