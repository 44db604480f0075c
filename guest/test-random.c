/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Legality of operands, random triples in random states against the reference
 * model.  Fields are drawn so that about half of the triples are legal, and
 * most of them decided by what spec.md does not leave open.
 *
 * seed= repeats a run, count= sets its length.  The first differences are
 * shrunk and printed as a line of words for the command line that tries only
 * that triple again.
 */
#include "tests.h"
#include "reference.h"

#define MAX_PRINTED     3

CODE(invlpgb_plain, ".byte 0x0f, 0x01, 0xfe");
CODE(invlpgb_67, ".byte 0x67, 0x0f, 0x01, 0xfe");
CODE(tlbsync_plain, ".byte 0x0f, 0x01, 0xff");

static const struct instruction {
    const char *name;
    const struct code *code;
    bool sync, prefix_67;
} instructions[] = {
    { "INVLPGB", &invlpgb_plain },
    { "67h INVLPGB", &invlpgb_67, .prefix_67 = true },
    { "TLBSYNC", &tlbsync_plain, .sync = true },
};

struct trial {
    u64 rax, rcx, rdx;
    u64 instruction, mode, pcide, svme;
};

static u64 count = 10000;
static u64 first_seed, random_state;

/* xorshift64*, Vigna 2014. */
u64 random_from(u64 *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545f4914f6cdd1dull;
}

u64 random_seed(void)
{
    return first_seed;
}

u64 random(void)
{
    return random_from(&random_state);
}

static u32 below(u32 n)
{
    return (random() >> 32) * (u64)n >> 32;
}

static bool one_in(u32 n)
{
    return below(n) == 0;
}

static u64 draw_rax(void)
{
    u64 rax = random() & (INVLPGB_VA | INVLPGB_ASID | INVLPGB_GLOBAL |
                          INVLPGB_FINAL);

    rax |= one_in(4) ? INVLPGB_PCID : 0;
    rax |= one_in(8) ? INVLPGB_NESTED : 0;
    rax |= one_in(16) ? BIT(6 + below(6)) : 0;
    switch (below(4)) {
    case 0:                                     /* lower half */
        return rax | (random() & 0x00007ffffffff000);
    case 1:                                     /* upper half */
        return rax | ((random() | 0xffff800000000000) & ~0xfffull);
    case 2:                                     /* the last pages of a half */
        return rax | (one_in(2) ? 0x00007ffffffff000 : 0xfffffffffffff000);
    default:                                    /* anything */
        return rax | (random() & ~0xfffull);
    }
}

static u64 draw_rcx(u64 rax)
{
    u64 rcx = random() & 0xffffffff80000000;    /* upper half does not matter */

    if (!(rax & INVLPGB_VA) && !one_in(8)) {
        rcx &= ~(u64)INVLPGB_STEP_2M;
    }

    rcx |= one_in(16) ? BIT(16 + below(15)) : 0;
    switch (below(8)) {
    case 0:
        return rcx | below(0x10000);
    case 1:
        return rcx | ((machine.count_max + below(3) - 1) & 0xffff);
    default:
        return rcx | below(machine.count_max + 1);
    }
}

static u64 draw_rdx(u64 rax)
{
    u64 rdx = random() & 0xffffffff0fff0000;

    if (!(rax & INVLPGB_PCID) && !one_in(8)) {
        rdx &= ~0xfff0000ull;
    }
    rdx |= one_in(16) ? BIT(28 + below(4)) : 0;
    switch (below(4)) {
    case 0:
        return rdx | below(0x10000);
    case 1:
        return rdx | ((machine.nasid + below(3) - 1) & 0xffff);
    case 2:
        return rdx | below(machine.nasid ? machine.nasid : 1);
    default:
        return rdx;
    }
}

static u64 host_efer;           /* while trials are made as host */

/* The two states that cost a register write; the trials leave them behind. */
static void enter_state(const struct trial *t)
{
    if (machine.pcid && !!(read_cr4() & CR4_PCIDE) != t->pcide) {
        set_pcide_here(t->pcide);
    }
    if (!in_guest() && machine.svm &&
        !!(read_msr(MSR_EFER) & EFER_SVME) != t->svme) {
        write_msr(MSR_EFER, t->svme ? host_efer | EFER_SVME :
                                      host_efer & ~EFER_SVME);
    }
}

static unsigned address_bits(const struct trial *t)
{
    unsigned bits = mode_selectors[t->mode].code_bits;

    return !instructions[t->instruction].prefix_67 ? bits :
           bits == 32 ? 16 : 32;
}

static struct expectation expect(const struct trial *t)
{
    struct state s = {
        .guest = in_guest() || machine.kvm,
        .enabled = true,
        .pcide = t->pcide,
        .svme = t->svme,
        .hosts_rules = hosts_rules(),
        .cpl = mode_selectors[t->mode].cpl,
        .address_bits = address_bits(t),
    };

    return instructions[t->instruction].sync ? reference_tlbsync(&machine, &s) :
           reference_invlpgb(&machine, &s, t->rax, t->rcx, t->rdx);
}

static struct outcome try(const struct trial *t)
{
    struct regs regs = { .rax = t->rax, .rcx = t->rcx, .rdx = t->rdx };

    return execute(instructions[t->instruction].code, t->mode, &regs);
}

static bool agrees(const struct trial *t, struct expectation e)
{
    const struct code *code = instructions[t->instruction].code;
    struct outcome o = try(t);

    return e.vector == VECTOR_DONE ? retired(o, code) :
           faulted(o, code, e.vector);
}

static bool differs(const struct trial *t)
{
    struct expectation e = expect(t);

    enter_state(t);
    return !e.open && !agrees(t, e);
}

static bool differs_where_open(const struct trial *t)
{
    struct expectation e = expect(t);

    enter_state(t);
    return e.open && !agrees(t, e);
}

/* Takes away @bits of @field if @t stays @wrong without; true if it did. */
static bool take_away(struct trial *t, u64 *field, u64 bits,
                      bool (*wrong)(const struct trial *t))
{
    u64 before = *field;

    *field &= ~bits;
    if (*field != before && wrong(t)) {
        return true;
    }
    *field = before;
    return false;
}

/* Takes away from @t all that is not needed for it to be @wrong. */
static void shrink(struct trial *t, bool (*wrong)(const struct trial *t))
{
    u64 *const states[] = { &t->mode, &t->instruction, &t->pcide, &t->svme };
    u64 *const operands[] = { &t->rdx, &t->rcx, &t->rax };
    bool smaller;

    /* A state may be needed only as long as some bit is there. */
    do {
        smaller = false;
        for (unsigned i = 0; i < ARRAY_SIZE(states); i++) {
            smaller |= take_away(t, states[i], ~0ull, wrong);
        }
        for (unsigned i = 0; i < ARRAY_SIZE(operands); i++) {
            for (unsigned bit = 64; bit-- > 0; ) {
                smaller |= take_away(t, operands[i], BIT(bit), wrong);
            }
        }
    } while (smaller);
}

/* With bit 5 of RAX it needs EFER.SVME, too. */
static bool needs_some_bits(const struct trial *t)
{
    return (t->rax & 0x42) == 0x42 && (t->rdx & BIT(31)) && t->pcide &&
           (t->svme || !(t->rax & BIT(5)));
}

static void check_shrink(void)
{
    struct trial t = {
        .rax = ~0ull, .rcx = 77, .rdx = 0xffff0000, .instruction = 1,
        .mode = MODE_32, .pcide = 1, .svme = 1,
    };

    shrink(&t, needs_some_bits);
    report(t.rax == 0x42 && t.rdx == BIT(31) && t.pcide && !t.rcx &&
           !t.instruction && !t.mode && !t.svme,
           "guest random: a difference is shrunk to what it needs");
}

static void print_trial(const struct trial *t)
{
    struct expectation e = expect(t);
    struct outcome o;

    enter_state(t);
    o = try(t);
    note("%s in %s mode as %s: vector %lx error %lx RIP+%ld, expected vector "
         "%x%s", instructions[t->instruction].name,
         mode_selectors[t->mode].name, here(), o.vector, o.error,
         o.rip - (u64)instructions[t->instruction].code->start, e.vector,
         e.open ? " (open)" : "");
    note("replay: run=random replay=%s instruction=%lu mode=%lu pcide=%lu "
         "svme=%lu rax=0x%lx rcx=0x%lx rdx=0x%lx", here(), t->instruction,
         t->mode, t->pcide, t->svme, t->rax, t->rcx, t->rdx);
}

static void leave_states(void)
{
    if (machine.pcid) {
        set_pcide_here(false);
    }
    if (!in_guest()) {
        write_msr(MSR_EFER, host_efer);
    }
    tlbsync();
}

static struct trial draw(const struct trial *last)
{
    struct trial t = { .pcide = last->pcide, .svme = last->svme };

    do {
        t.mode = one_in(4) ? below(MODES) : MODE_64;
        t.instruction = one_in(16) ? 2 : one_in(8);
        /* #UD or #GP first: spec.md does not even assume something. */
    } while (mode_selectors[t.mode].cpl && address_bits(&t) == 16 &&
             !instructions[t.instruction].sync);
    t.rax = draw_rax();
    t.rcx = draw_rcx(t.rax);
    t.rdx = draw_rdx(t.rax);
    return t;
}

static void body(void *unused)
{
    struct trial t = { 0 };
    u64 open = 0, differences[2] = { 0 };       /* judged, open */

    if (!in_guest()) {
        host_efer = read_msr(MSR_EFER);
    }
    for (u64 i = 0; i < count; i++) {
        struct expectation e;

        if (i % 64 == 0) {
            tlbsync();
            t.pcide = machine.pcid && one_in(2);
            t.svme = !in_guest() && machine.svm && !one_in(4);
            enter_state(&t);
        }
        t = draw(&t);
        e = expect(&t);
        open += e.open;
        if (!agrees(&t, e) && differences[e.open]++ < MAX_PRINTED) {
            struct trial small = t;

            shrink(&small, e.open ? differs_where_open : differs);
            print_trial(&small);
            enter_state(&t);
        }
    }
    leave_states();
    report(differences[0] == 0, "spec B.3 %s: %lu random operand triples agree "
           "with the reference model (seed=0x%lx)", here(), count - open,
           first_seed);
    report_open(differences[1] == 0, "spec B.3 %s: %lu random operand "
                "triples of open rows are as assumed (seed=0x%lx)", here(),
                open, first_seed);
}

static void replay(void *unused)
{
    struct trial t = { 0 };
    struct expectation e;

    if (!in_guest()) {
        host_efer = read_msr(MSR_EFER);
    }
    param_number("instruction", &t.instruction);
    param_number("mode", &t.mode);
    param_number("pcide", &t.pcide);
    param_number("svme", &t.svme);
    param_number("rax", &t.rax);
    param_number("rcx", &t.rcx);
    param_number("rdx", &t.rdx);
    if (t.instruction >= ARRAY_SIZE(instructions) || t.mode >= MODES ||
        (t.pcide && !machine.pcid)) {
        bail_out("there is no such instruction or mode here");
    }
    e = expect(&t);
    print_trial(&t);
    (e.open ? report_open : report)(agrees(&t, e), "spec B.3 %s: this operand "
                                    "triple agrees with the reference model",
                                    here());
    leave_states();
}

void random_init(void)
{
    u64 seed = read_tsc();

    param_number("count", &count);
    param_number("seed", &seed);
    first_seed = random_state = seed ? seed : 1;
}

void test_random(void)
{
    if (skip_without_invlpgb("B.3: random operands")) {
        return;
    }
    if (param_lists("replay", "host", false)) {
        run_in(HOST, replay, NULL);
    } else if (param_lists("replay", "guest", false) && machine.npt) {
        run_in(GUEST, replay, NULL);
    } else {
        check_shrink();
        note("seed=0x%lx count=%lu", first_seed, count);
        run_in_each(body, NULL);
    }
}
