/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Legality of operands, random triples in random states against the reference
 * model.  Fields are drawn so that about half of the triples are legal.
 *
 * seed= repeats a run, count= sets its length.  A difference is printed as one
 * line with all that is needed to try it again.
 */
#include "tests.h"
#include "reference.h"

#define MAX_PRINTED     10

CODE(invlpgb_plain, ".byte 0x0f, 0x01, 0xfe");
CODE(invlpgb_67, ".byte 0x67, 0x0f, 0x01, 0xfe");
CODE(tlbsync_plain, ".byte 0x0f, 0x01, 0xff");

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

static u64 draw_rcx(void)
{
    u64 rcx = random() & 0xffffffff80000000;    /* upper half does not matter */

    rcx |= one_in(16) ? BIT(16 + below(15)) : 0;
    switch (below(4)) {
    case 0:
        return rcx | below(0x10000);
    case 1:
        return rcx | ((machine.count_max + below(3) - 1) & 0xffff);
    default:
        return rcx | below(machine.count_max + 1);
    }
}

static u64 draw_rdx(void)
{
    u64 rdx = random() & 0xffffffff0fff0000;

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

static void compare(const struct state *s, enum mode mode, bool prefix_67,
                    bool sync, unsigned *differences)
{
    struct regs regs = { draw_rax(), 0, draw_rcx(), draw_rdx(), 0, 0 };
    struct regs in = regs;
    const struct code *code = sync ? &tlbsync_plain :
                              prefix_67 ? &invlpgb_67 : &invlpgb_plain;
    unsigned expected = sync ? reference_tlbsync(&machine, s) :
                        reference_invlpgb(&machine, s, in.rax, in.rcx, in.rdx);
    struct outcome o = execute(code, mode, &regs);
    bool same;

    if (expected == VECTOR_DONE) {
        same = retired(o, code);
    } else {
        same = faulted(o, code, expected);
    }
    if (!same && (*differences)++ < MAX_PRINTED) {
        note("%s%s RAX=%016lx RCX=%016lx RDX=%016lx in %s mode as %s, PCIDE=%d "
             "SVME=%d: vector %lx error %lx RIP+%ld, expected vector %x",
             code == &invlpgb_67 ? "67h " : "", sync ? "TLBSYNC" : "INVLPGB",
             in.rax, in.rcx, in.rdx, mode_selectors[mode].name, here(),
             s->pcide, s->svme, o.vector, o.error, o.rip - (u64)code->start,
             expected);
    }
}

static void body(void *unused)
{
    u64 efer = read_msr(MSR_EFER);
    struct state s = { .guest = in_guest(), .enabled = true };
    unsigned differences = 0;

    for (u64 i = 0; i < count; i++) {
        enum mode mode = one_in(4) ? below(MODES) : MODE_64;
        bool sync = one_in(16);
        bool prefix_67 = !sync && one_in(8);
        unsigned bits = mode_selectors[mode].code_bits;

        /* The two states that cost a register write change now and then. */
        if (i % 64 == 0) {
            tlbsync();
            if (machine.pcid) {
                s.pcide = one_in(2);
                set_pcide_here(s.pcide);
            }
            if (!s.guest) {
                s.svme = machine.svm && !one_in(4);
                write_msr(MSR_EFER, s.svme ? efer | EFER_SVME :
                                             efer & ~EFER_SVME);
            }
        }
        s.cpl = mode_selectors[mode].cpl;
        s.address_bits = !prefix_67 ? bits : bits == 32 ? 16 : 32;
        if (s.cpl && s.address_bits == 16 && !sync) {
            continue;           /* #UD or #GP first: spec.md does not say */
        }
        compare(&s, mode, prefix_67, sync, &differences);
    }
    if (machine.pcid) {
        set_pcide_here(false);
    }
    if (!s.guest) {
        write_msr(MSR_EFER, efer);
    }
    report(differences == 0, "spec B.3 %s: %lu random operand triples agree "
           "with the reference model (seed=0x%lx)", here(), count, first_seed);
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
    note("seed=0x%lx count=%lu", first_seed, count);
    run_in_each(body, NULL);
}
