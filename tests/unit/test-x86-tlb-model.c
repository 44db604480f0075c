/*
 * Unit tests of the strict TLB model
 *
 * Each invalidation has to drop what its rule says, and nothing else.  Rules
 * are named as in tlb_model.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>
#include <string.h>

#include "target/i386/tcg/system/tlb_model.h"

#define SIZE_4K         (1ULL << 12)
#define SIZE_2M         (1ULL << 21)
#define SIZE_4M         (1ULL << 22)
#define SIZE_1G         (1ULL << 30)

/* INVLPGB: rAX and ECX */
#define VA              (1U << 0)
#define PCID            (1U << 1)
#define ASID            (1U << 2)
#define GLOBAL          (1U << 3)
#define FINAL           (1U << 4)
#define NESTED          (1U << 5)
#define STEP_2M         (1U << 31)

#define HERE            0x00007f0000000000ULL
#define ELSEWHERE       0xffff888000000000ULL

static X86TLBEntry linear(uint16_t asid, uint16_t pcid, uint64_t addr,
                          uint8_t shift)
{
    return (X86TLBEntry) {
        .addr = addr, .phys = addr & ((1ULL << 40) - 1),
        .asid = asid, .pcid = pcid, .kind = X86_TLB_LINEAR,
        .shift = shift, .stage1_shift = shift,
    };
}

static X86TLBEntry global(uint16_t asid, uint64_t addr, uint8_t shift)
{
    X86TLBEntry entry = linear(asid, 0, addr, shift);

    entry.global = true;
    return entry;
}

static X86TLBEntry nested(uint16_t asid, uint64_t addr, uint8_t shift)
{
    X86TLBEntry entry = linear(asid, 0, addr, shift);

    entry.kind = X86_TLB_NESTED;
    return entry;
}

static X86TLBEntry fragment(uint64_t addr, uint8_t shift, uint8_t stage1_shift)
{
    X86TLBEntry entry = linear(1, 1, addr, shift);

    entry.stage1_shift = stage1_shift;
    return entry;
}

static void insert(X86TLBModel *model, X86TLBEntry entry)
{
    x86_tlb_model_insert(model, &entry);
}

static const X86TLBEntry *lookup(X86TLBModel *model, uint16_t asid,
                                 uint16_t pcid, uint64_t addr)
{
    X86TLBContext context = {
        .asid = asid, .pcid = pcid, .kind = X86_TLB_LINEAR,
    };

    return x86_tlb_model_lookup(model, &context, addr);
}

static const X86TLBEntry *lookup_nested(X86TLBModel *model, uint16_t asid,
                                        uint64_t addr)
{
    X86TLBContext context = { .asid = asid, .kind = X86_TLB_NESTED };

    return x86_tlb_model_lookup(model, &context, addr);
}

static uint32_t live(const X86TLBModel *model)
{
    X86TLBStats stats;

    x86_tlb_model_stats(model, &stats);
    return stats.live;
}

/*
 * A population in which any two differ in what an invalidation may look at.
 * Capital letters are HERE or on the next page, small ones ELSEWHERE; N is HERE
 * only as a number.
 */
static const char letters[] = "ABCDGHabcdghNn";

static X86TLBModel *populate(void)
{
    X86TLBEntry entries[] = {
        linear(1, 1, HERE, 12), linear(1, 2, HERE, 12),
        linear(2, 1, HERE, 12), linear(0, 1, HERE, 12),
        global(1, HERE + SIZE_4K, 12), global(2, HERE + SIZE_4K, 12),
        linear(1, 1, ELSEWHERE, 12), linear(1, 2, ELSEWHERE, 12),
        linear(2, 1, ELSEWHERE, 12), linear(0, 1, ELSEWHERE, 12),
        global(1, ELSEWHERE + SIZE_4K, 12), global(2, ELSEWHERE + SIZE_4K, 12),
        nested(1, HERE, 12), nested(2, 5 * SIZE_4K, 12),
    };
    X86TLBModel *model = x86_tlb_model_new(0, 0);
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(entries); i++) {
        entries[i].time = letters[i];
        insert(model, entries[i]);
    }
    g_assert_cmpuint(live(model), ==, strlen(letters));
    return model;
}

static void strike_out(const X86TLBEntry *entry, void *opaque)
{
    char *gone = opaque;

    *strchr(gone, entry->time) = ' ';
}

/* Does the invalidation drop exactly these? */
static void expect_gone(X86TLBMatch match, const char *expected)
{
    X86TLBModel *model = populate();
    uint32_t dropped = x86_tlb_model_invalidate(model, &match);
    char gone[] = "ABCDGHabcdghNn";
    unsigned i, n = 0;

    x86_tlb_model_foreach(model, strike_out, gone);
    for (i = 0; letters[i]; i++) {
        if (gone[i] != ' ') {
            gone[n++] = gone[i];
        }
    }
    gone[n] = 0;
    g_assert_cmpstr(gone, ==, expected);
    g_assert_cmpuint(dropped, ==, n);
    x86_tlb_model_free(model);
}

/* Does the invalidation drop this entry, if it is the only one? */
static bool drops(X86TLBMatch match, X86TLBEntry entry)
{
    X86TLBModel *model = x86_tlb_model_new(0, 0);
    bool dropped;

    insert(model, entry);
    dropped = x86_tlb_model_invalidate(model, &match);
    x86_tlb_model_free(model);
    return dropped;
}

/* INVLPGB of a range in ASID 1, and a page of that ASID. */
static bool reaches(uint64_t va, uint32_t ecx, uint64_t addr, uint8_t shift)
{
    return drops(x86_tlb_match_invlpgb(va | VA | ASID, ecx, 1, 48),
                 linear(1, 1, addr, shift));
}

static void test_lookup_tags(void)
{
    X86TLBModel *model = populate();

    g_assert_cmpuint(lookup(model, 1, 1, HERE)->time, ==, 'A');
    g_assert_cmpuint(lookup(model, 1, 2, HERE)->time, ==, 'B');
    g_assert_cmpuint(lookup(model, 2, 1, HERE)->time, ==, 'C');
    g_assert_cmpuint(lookup(model, 0, 1, HERE)->time, ==, 'D');
    g_assert_cmpuint(lookup_nested(model, 1, HERE)->time, ==, 'N');
    g_assert_cmpuint(lookup_nested(model, 2, 5 * SIZE_4K)->time, ==,
                     'n');
    g_assert_null(lookup(model, 1, 3, HERE));
    g_assert_null(lookup(model, 3, 1, HERE));
    g_assert_null(lookup(model, 2, 1, 5 * SIZE_4K));
    g_assert_null(lookup_nested(model, 0, HERE));
    g_assert_cmpuint(lookup(model, 1, 1, HERE + 0xfff)->time, ==, 'A');
    g_assert_null(lookup(model, 1, 1, HERE - 1));
    x86_tlb_model_free(model);
}

static void test_lookup_global(void)
{
    X86TLBModel *model = populate();
    unsigned asid;

    g_assert_cmpuint(lookup(model, 1, 1, HERE + SIZE_4K)->time, ==, 'G');
    g_assert_cmpuint(lookup(model, 1, 77, HERE + SIZE_4K)->time, ==, 'G');
    g_assert_cmpuint(lookup(model, 2, 77, HERE + SIZE_4K)->time, ==, 'H');
    g_assert_null(lookup(model, 0, 1, HERE + SIZE_4K));
    /* So many that some meet the global entries in the hash table. */
    for (asid = 3; asid < 1000; asid++) {
        g_assert_null(lookup(model, asid, 1, HERE + SIZE_4K));
    }
    x86_tlb_model_free(model);
}

static void test_lookup_sizes(void)
{
    static const uint8_t shifts[] = { 12, 21, 22, 30 };
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(shifts); i++) {
        uint64_t last = (1ULL << shifts[i]) - 1;
        X86TLBModel *model = x86_tlb_model_new(0, 0);

        insert(model, linear(1, 1, ELSEWHERE, shifts[i]));
        g_assert_nonnull(lookup(model, 1, 1, ELSEWHERE));
        g_assert_nonnull(lookup(model, 1, 1, ELSEWHERE + last));
        g_assert_null(lookup(model, 1, 1, ELSEWHERE + last + 1));
        g_assert_null(lookup(model, 1, 1, ELSEWHERE - 1));
        x86_tlb_model_free(model);
    }
}

/* The first and last pages of both halves, with 57 bits too */
static void test_lookup_edges(void)
{
    static const uint64_t addrs[] = {
        0, 0x00007ffffffff000, 0xffff800000000000, 0xfffffffffffff000,
        0x00fffffffffff000, 0xff00000000000000,
    };
    X86TLBModel *model = x86_tlb_model_new(0, 0);
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(addrs); i++) {
        insert(model, linear(1, 1, addrs[i], 12));
    }
    for (i = 0; i < G_N_ELEMENTS(addrs); i++) {
        g_assert_cmphex(lookup(model, 1, 1, addrs[i] + 0xfff)->addr, ==,
                        addrs[i]);
    }
    x86_tlb_model_free(model);
}

static void test_entry_fields(void)
{
    X86TLBModel *model = x86_tlb_model_new(0, 0);
    X86TLBEntry entry = {
        .addr = HERE, .phys = 0x123456000, .owner = 0x789000,
        .space = 0xabc000, .time = 42, .number = 1,
        .stage1_attrs = 0xffffffff, .stage2_attrs = 0x80000001,
        .asid = 0xffff, .pcid = 0xfff, .kind = X86_TLB_LINEAR,
        .shift = 12, .stage1_shift = 30,
    };

    g_assert_cmpmem(x86_tlb_model_insert(model, &entry), sizeof(entry),
                    &entry, sizeof(entry));
    g_assert_cmpmem(lookup(model, 0xffff, 0xfff, HERE), sizeof(entry),
                    &entry, sizeof(entry));
    x86_tlb_model_free(model);
}

static void test_insert_replaces(void)
{
    X86TLBModel *model = x86_tlb_model_new(0, 0);
    X86TLBEntry entry = linear(1, 1, HERE, 12);
    X86TLBStats stats;

    insert(model, entry);
    entry.phys = 0x5000;
    insert(model, entry);
    g_assert_cmphex(lookup(model, 1, 1, HERE)->phys, ==, 0x5000);
    x86_tlb_model_stats(model, &stats);
    g_assert_cmpuint(stats.live, ==, 1);
    g_assert_cmpuint(stats.drops[X86_TLB_DROP_REPLACE], ==, 1);
    x86_tlb_model_free(model);
}

static void test_insert_keeps_others(void)
{
    X86TLBModel *model = x86_tlb_model_new(0, 0);

    insert(model, linear(1, 1, HERE, 12));
    insert(model, linear(1, 2, HERE, 12));
    insert(model, linear(2, 1, HERE, 12));
    insert(model, nested(1, HERE, 12));
    insert(model, nested(2, HERE, 12));
    insert(model, global(3, HERE, 12));
    insert(model, linear(1, 1, HERE + SIZE_4K, 12));
    insert(model, linear(1, 1, HERE - SIZE_4K, 12));
    g_assert_cmpuint(live(model), ==, 8);
    x86_tlb_model_free(model);
}

/* A global entry and one with a PCID answer to the same lookup. */
static void test_insert_global(void)
{
    X86TLBModel *model = x86_tlb_model_new(0, 0);

    insert(model, linear(1, 1, HERE, 12));
    insert(model, linear(1, 2, HERE, 12));
    insert(model, linear(2, 1, HERE, 12));
    insert(model, global(1, HERE, 12));
    g_assert_cmpuint(live(model), ==, 2);
    g_assert_nonnull(lookup(model, 2, 1, HERE));
    g_assert_true(lookup(model, 1, 2, HERE)->global);

    insert(model, linear(1, 1, HERE, 12));
    g_assert_cmpuint(live(model), ==, 2);
    g_assert_false(lookup(model, 1, 1, HERE)->global);
    x86_tlb_model_free(model);
}

static void test_insert_sizes(void)
{
    X86TLBModel *model = x86_tlb_model_new(0, 0);

    insert(model, linear(1, 1, HERE, 12));
    insert(model, linear(1, 1, HERE + SIZE_2M - SIZE_4K, 12));
    insert(model, linear(1, 1, HERE + SIZE_2M, 12));
    insert(model, linear(1, 1, HERE, 21));
    g_assert_cmpuint(live(model), ==, 2);
    g_assert_cmpuint(lookup(model, 1, 1, HERE)->shift, ==, 21);
    g_assert_cmpuint(lookup(model, 1, 1, HERE + SIZE_2M)->shift, ==, 12);

    insert(model, linear(1, 1, HERE, 30));
    g_assert_cmpuint(live(model), ==, 1);
    insert(model, linear(1, 1, HERE + 5 * SIZE_2M, 12));
    g_assert_cmpuint(live(model), ==, 1);
    g_assert_null(lookup(model, 1, 1, HERE));

    insert(model, nested(1, HERE + 5 * SIZE_2M, 21));
    insert(model, nested(1, HERE + 5 * SIZE_2M, 12));
    g_assert_cmpuint(live(model), ==, 2);
    x86_tlb_model_free(model);
}

/* Fragments of one stage-1 page are neighbours, not replacements. */
static void test_insert_fragments(void)
{
    X86TLBModel *model = x86_tlb_model_new(0, 0);

    insert(model, fragment(HERE, 12, 21));
    insert(model, fragment(HERE + SIZE_4K, 12, 21));
    g_assert_cmpuint(live(model), ==, 2);
    g_assert_null(lookup(model, 1, 1, HERE + 2 * SIZE_4K));
    x86_tlb_model_free(model);
}

static void test_invlpg(void)
{
    expect_gone(x86_tlb_match_invlpg(1, 1, HERE), "A");
    expect_gone(x86_tlb_match_invlpg(1, 1, HERE + 0x123), "A");
    expect_gone(x86_tlb_match_invlpg(0, 1, HERE), "D");
    expect_gone(x86_tlb_match_invlpg(1, 3, HERE), "");
}

static void test_invlpg_global(void)
{
    expect_gone(x86_tlb_match_invlpg(1, 1, HERE + SIZE_4K), "G");
    expect_gone(x86_tlb_match_invlpg(1, 3, HERE + 2 * SIZE_4K - 1), "G");
    expect_gone(x86_tlb_match_invlpg(0, 1, HERE + SIZE_4K), "");
}

static void test_invlpg_large(void)
{
    X86TLBEntry page = linear(1, 1, HERE, 21);

    g_assert_true(drops(x86_tlb_match_invlpg(1, 1, HERE), page));
    g_assert_true(drops(x86_tlb_match_invlpg(1, 1, HERE + SIZE_2M - 1), page));
    g_assert_false(drops(x86_tlb_match_invlpg(1, 1, HERE + SIZE_2M), page));
    g_assert_false(drops(x86_tlb_match_invlpg(1, 1, HERE - 1), page));
    page = linear(1, 1, HERE, 22);
    g_assert_true(drops(x86_tlb_match_invlpg(1, 1, HERE + SIZE_4M - 1), page));
    page = linear(1, 1, HERE, 30);
    g_assert_true(drops(x86_tlb_match_invlpg(1, 1, HERE + SIZE_1G - 1), page));
    g_assert_false(drops(x86_tlb_match_invlpg(1, 1, HERE + SIZE_1G), page));
}

static void test_invlpg_not_canonical(void)
{
    expect_gone(x86_tlb_match_invlpg(1, 1, 1ULL << 48 | HERE), "");
}

static void test_invlpga(void)
{
    expect_gone(x86_tlb_match_invlpga(1, HERE), "AB");
    expect_gone(x86_tlb_match_invlpga(2, HERE + SIZE_4K), "H");
    expect_gone(x86_tlb_match_invlpga(0, HERE), "D");
}

static void test_invpcid_0(void)
{
    expect_gone(x86_tlb_match_invpcid(1, 0, 1, HERE), "A");
    expect_gone(x86_tlb_match_invpcid(1, 0, 2, HERE), "B");
    expect_gone(x86_tlb_match_invpcid(1, 0, 1, HERE + SIZE_4K), "");
}

static void test_invpcid_1(void)
{
    expect_gone(x86_tlb_match_invpcid(1, 1, 1, 0), "Aa");
    expect_gone(x86_tlb_match_invpcid(1, 1, 2, HERE), "Bb");
}

static void test_invpcid_2(void)
{
    expect_gone(x86_tlb_match_invpcid(1, 2, 1, HERE), "ABGabg");
}

static void test_invpcid_3(void)
{
    expect_gone(x86_tlb_match_invpcid(1, 3, 1, HERE), "ABab");
}

static void test_mov_cr3(void)
{
    expect_gone(x86_tlb_match_mov_cr3(1, 1), "Aa");
    expect_gone(x86_tlb_match_mov_cr3(0, 1), "Dd");
    expect_gone(x86_tlb_match_mov_cr3(1, 0), "");
}

static void test_paging_mode(void)
{
    expect_gone(x86_tlb_match_paging_mode(1), "ABGabg");
    expect_gone(x86_tlb_match_paging_mode(0), "Dd");
}

static void test_tlb_control(void)
{
    expect_gone(x86_tlb_match_tlb_control(1, 1), letters);
    expect_gone(x86_tlb_match_tlb_control(1, 3), "ABGabgN");
    expect_gone(x86_tlb_match_tlb_control(1, 7), "ABab");
}

static void test_all(void)
{
    expect_gone(x86_tlb_match_all(), letters);
}

/* spec B.2: all 16 values of rAX[3:0], with and without nested */
static void test_invlpgb_forms(void)
{
    static const char *const gone[] = {
        [0]                             = "ABCDabcd",
        [VA]                            = "ABCD",
        [PCID]                          = "ACDacd",
        [PCID | VA]                     = "ACD",
        [ASID]                          = "ABab",
        [ASID | VA]                     = "AB",
        [ASID | PCID]                   = "Aa",
        [ASID | PCID | VA]              = "A",
        [GLOBAL]                        = "ABCDGHabcdgh",
        [GLOBAL | VA]                   = "ABCDGH",
        [GLOBAL | PCID]                 = "ACDGHacdgh",
        [GLOBAL | PCID | VA]            = "ACDGH",
        [GLOBAL | ASID]                 = "ABGabg",
        [GLOBAL | ASID | VA]            = "ABG",
        [GLOBAL | ASID | PCID]          = "AGag",
        [GLOBAL | ASID | PCID | VA]     = "AG",
    };
    uint32_t edx = 1 << 16 | 1;
    unsigned flags;

    for (flags = 0; flags < G_N_ELEMENTS(gone); flags++) {
        char *with_nested = g_strconcat(gone[flags], "N",
                                        flags & ASID ? NULL : "n", NULL);

        expect_gone(x86_tlb_match_invlpgb(HERE | flags, 1, edx, 48),
                    gone[flags]);
        expect_gone(x86_tlb_match_invlpgb(HERE | flags | NESTED, 1, edx, 48),
                    with_nested);
        g_free(with_nested);
    }
}

/* spec B.2: there are no upper-level entries that could be spared. */
static void test_invlpgb_final(void)
{
    expect_gone(x86_tlb_match_invlpgb(HERE | VA | ASID | FINAL, 0, 1, 48),
                "AB");
}

/* spec B.2: as Linux flushes ranges of the kernel */
static void test_invlpgb_without_va(void)
{
    expect_gone(x86_tlb_match_invlpgb(HERE | ASID | GLOBAL, STEP_2M | 7, 1,
                                      48), "ABGabg");
}

static void test_invlpgb_count(void)
{
    static const uint32_t counts[] = { 0, 1, 7, 0xfffe, 0xffff };
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(counts); i++) {
        uint64_t end = HERE + (counts[i] + 1) * SIZE_4K;

        g_assert_false(reaches(HERE, counts[i], HERE - SIZE_4K, 12));
        g_assert_true(reaches(HERE, counts[i], HERE, 12));
        g_assert_true(reaches(HERE, counts[i], end - SIZE_4K, 12));
        g_assert_false(reaches(HERE, counts[i], end, 12));
    }
}

/* spec B.2: the span, not only the stepped addresses */
static void test_invlpgb_step_2m(void)
{
    static const uint32_t counts[] = { 0, 1, 7, 0xfffe, 0xffff };
    uint64_t inside = HERE + 7 * SIZE_4K;
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(counts); i++) {
        uint64_t end = HERE + (counts[i] + 1) * SIZE_2M;
        uint32_t ecx = STEP_2M | counts[i];

        g_assert_false(reaches(HERE, ecx, HERE - SIZE_4K, 12));
        g_assert_true(reaches(HERE, ecx, HERE, 12));
        g_assert_true(reaches(HERE, ecx, HERE + 77 * SIZE_4K, 12));
        g_assert_true(reaches(HERE, ecx, end - SIZE_4K, 12));
        g_assert_true(reaches(HERE, ecx, end - SIZE_2M, 21));
        g_assert_false(reaches(HERE, ecx, end, 12));
        g_assert_false(reaches(HERE, ecx, end, 21));
    }

    /* It starts at VA even if that is inside of a 2 MiB unit. */
    g_assert_false(reaches(inside, STEP_2M, inside - SIZE_4K, 12));
    g_assert_true(reaches(inside, STEP_2M, inside, 12));
    g_assert_true(reaches(inside, STEP_2M, inside + SIZE_2M - SIZE_4K, 12));
    g_assert_false(reaches(inside, STEP_2M, inside + SIZE_2M, 12));
}

/* spec B.2: a page goes if the range covers a part of it. */
static void test_invlpgb_large_pages(void)
{
    g_assert_true(reaches(HERE + 9 * SIZE_4K, 0, HERE, 21));
    g_assert_true(reaches(HERE + 9 * SIZE_4K, 0, HERE, 30));
    g_assert_true(reaches(HERE - SIZE_4K, 1, HERE, 21));
    g_assert_false(reaches(HERE - SIZE_4K, 0, HERE, 21));
    g_assert_true(reaches(HERE + SIZE_2M - SIZE_4K, 1, HERE, 21));
    g_assert_false(reaches(HERE + SIZE_2M, 1, HERE, 21));
    g_assert_true(reaches(HERE - SIZE_2M, STEP_2M | 1, HERE, 30));
    g_assert_false(reaches(HERE - SIZE_2M, STEP_2M, HERE, 30));
    g_assert_true(reaches(HERE + SIZE_1G - SIZE_2M, STEP_2M, HERE, 30));
    g_assert_false(reaches(HERE + SIZE_1G, STEP_2M, HERE, 30));
}

/* spec B.3/13: but a range may end where the address space ends. */
static void test_invlpgb_wrap(void)
{
    uint64_t last = 0xfffffffffffff000;

    g_assert_true(reaches(last, 0, last, 12));
    g_assert_false(reaches(last, 0, HERE, 12));
    g_assert_true(reaches(last, 1, HERE, 12));
    g_assert_true(reaches(last, STEP_2M, HERE, 12));
    g_assert_false(reaches(last - 7 * SIZE_4K, 7, HERE, 12));
    g_assert_true(reaches(last - 7 * SIZE_4K, 8, HERE, 12));
    g_assert_false(reaches(-SIZE_2M, STEP_2M, HERE, 12));
    g_assert_true(reaches(-SIZE_2M, STEP_2M | 1, HERE, 12));
}

static void check_hole(unsigned va_bits)
{
    uint64_t hole = 1ULL << (va_bits - 1), upper = -hole;
    X86TLBEntry other = linear(1, 1, 5 * SIZE_2M, 12);
    struct {
        uint64_t va;
        uint32_t ecx;
        bool full;
    } ranges[] = {
        { hole - SIZE_4K, 0, false },
        { hole - SIZE_4K, 1, true },
        { hole - 8 * SIZE_4K, 7, false },
        { hole - 8 * SIZE_4K, 8, true },
        { hole - SIZE_4K, STEP_2M, true },
        { hole - SIZE_2M, STEP_2M, false },
        { hole, 0, true },
        { upper - SIZE_4K, 0, true },
        { upper - SIZE_4K, 1, true },
        { upper, 0, false },
        { upper, 0xffff, false },
    };
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(ranges); i++) {
        X86TLBMatch match = x86_tlb_match_invlpgb(ranges[i].va | VA | ASID,
                                                  ranges[i].ecx, 1, va_bits);

        g_assert_cmpint(drops(match, other), ==, ranges[i].full);
    }
}

static void test_invlpgb_hole_48(void)
{
    check_hole(48);
}

static void test_invlpgb_hole_57(void)
{
    check_hole(57);
}

/* spec B.3/12: everything that the other fields select, and no more */
static void test_invlpgb_not_canonical(void)
{
    uint64_t bad = (1ULL << 47) | VA;

    expect_gone(x86_tlb_match_invlpgb(bad, 0, 0, 48), "ABCDabcd");
    expect_gone(x86_tlb_match_invlpgb(bad | ASID | PCID, 0, 1 << 16 | 1, 48),
                "Aa");
    expect_gone(x86_tlb_match_invlpgb(bad | ASID | GLOBAL, 0, 1, 48),
                "ABGabg");
    expect_gone(x86_tlb_match_invlpgb(bad | ASID | GLOBAL, 0, 1, 57), "");
}

static void test_invlpgb_wide_operands(void)
{
    X86TLBEntry entry = linear(0xffff, 0xfff, HERE, 12);
    uint32_t edx = 0x0fffffff;

    g_assert_true(drops(x86_tlb_match_invlpgb(ASID | PCID, 0, edx, 48),
                        entry));
    g_assert_false(drops(x86_tlb_match_invlpgb(ASID | PCID, 0, edx - 1, 48),
                         entry));
    g_assert_false(drops(x86_tlb_match_invlpgb(ASID | PCID, 0,
                                               edx - (1 << 27), 48), entry));
}

/*
 * With many entries, addresses are looked up instead of entries compared:
 * the same must go.
 */
static void test_many_entries(void)
{
    X86TLBModel *model = x86_tlb_model_new(0, 0);
    X86TLBMatch match;
    unsigned i;

    for (i = 0; i < 4096; i++) {
        insert(model, linear(1, 1, HERE + i * SIZE_4K, 12));
        insert(model, linear(1, 2, HERE + i * SIZE_4K, 12));
        insert(model, global(2, HERE + i * SIZE_4K, 12));
    }
    match = x86_tlb_match_invlpg(1, 1, HERE + 100 * SIZE_4K);
    g_assert_cmpuint(x86_tlb_model_invalidate(model, &match), ==, 1);
    match = x86_tlb_match_invlpg(2, 1, HERE + 100 * SIZE_4K);
    g_assert_cmpuint(x86_tlb_model_invalidate(model, &match), ==, 1);
    match = x86_tlb_match_invpcid(2, 0, 0, HERE + 101 * SIZE_4K);
    g_assert_cmpuint(x86_tlb_model_invalidate(model, &match), ==, 0);
    match = x86_tlb_match_invlpgb((HERE + 98 * SIZE_4K) | VA, 7, 0, 48);
    g_assert_cmpuint(x86_tlb_model_invalidate(model, &match), ==, 15);
    match = x86_tlb_match_invlpgb((HERE + SIZE_2M) | VA | ASID, STEP_2M, 1,
                                  48);
    g_assert_cmpuint(x86_tlb_model_invalidate(model, &match), ==, 1024);
    match = x86_tlb_match_mov_cr3(1, 2);
    g_assert_cmpuint(x86_tlb_model_invalidate(model, &match), ==,
                     4096 - 8 - 512);
    g_assert_nonnull(lookup(model, 1, 1, HERE + 97 * SIZE_4K));
    g_assert_null(lookup(model, 1, 1, HERE + 98 * SIZE_4K));
    g_assert_null(lookup(model, 1, 1, HERE + 105 * SIZE_4K));
    g_assert_nonnull(lookup(model, 1, 1, HERE + 106 * SIZE_4K));
    x86_tlb_model_free(model);
}

/* An INVLPG of any address of stage 1's page drops every fragment. */
static void check_fragments(unsigned others)
{
    X86TLBModel *model = x86_tlb_model_new(0, 0);
    X86TLBMatch match;
    unsigned i;

    insert(model, fragment(HERE, 12, 21));
    insert(model, fragment(HERE + 511 * SIZE_4K, 12, 21));
    insert(model, fragment(HERE + SIZE_2M, 12, 21));
    insert(model, fragment(HERE + SIZE_1G, 21, 30));
    insert(model, fragment(HERE + 2 * SIZE_1G - SIZE_4K, 12, 30));
    for (i = 0; i < others; i++) {
        insert(model, linear(1, 2, HERE + i * SIZE_4K, 12));
    }

    match = x86_tlb_match_invlpg(1, 2, HERE + SIZE_2M - 1);
    x86_tlb_model_invalidate(model, &match);
    g_assert_nonnull(lookup(model, 1, 1, HERE));

    match = x86_tlb_match_invlpg(1, 1, HERE + 77 * SIZE_4K);
    g_assert_cmpuint(x86_tlb_model_invalidate(model, &match), ==, 2);
    g_assert_null(lookup(model, 1, 1, HERE));
    g_assert_nonnull(lookup(model, 1, 1, HERE + SIZE_2M));

    match = x86_tlb_match_invlpgb((HERE + SIZE_1G + 5 * SIZE_2M) | VA | ASID,
                                  0, 1, 48);
    g_assert_cmpuint(x86_tlb_model_invalidate(model, &match), ==, 2);
    g_assert_nonnull(lookup(model, 1, 1, HERE + SIZE_2M));
    x86_tlb_model_free(model);
}

static void test_fragments(void)
{
    check_fragments(0);
}

static void test_fragments_among_many(void)
{
    check_fragments(300);
}

static void test_drop(void)
{
    X86TLBModel *model = populate();
    X86TLBStats stats;

    x86_tlb_model_drop(model, lookup(model, 1, 1, HERE),
                       X86_TLB_DROP_PERMISSION);
    g_assert_null(lookup(model, 1, 1, HERE));
    g_assert_nonnull(lookup(model, 1, 2, HERE));
    x86_tlb_model_stats(model, &stats);
    g_assert_cmpuint(stats.drops[X86_TLB_DROP_PERMISSION], ==, 1);
    g_assert_cmpuint(stats.live, ==, strlen(letters) - 1);
    x86_tlb_model_drop(model, lookup(model, 1, 2, HERE), X86_TLB_DROP_EVICT);
    x86_tlb_model_stats(model, &stats);
    g_assert_cmpuint(stats.drops[X86_TLB_DROP_EVICT], ==, 1);
    x86_tlb_model_free(model);
}

/* A look from outside is not one of the CPU's. */
static void test_peek(void)
{
    X86TLBModel *model = populate();
    X86TLBContext context = { .asid = 1, .pcid = 1, .kind = X86_TLB_LINEAR };
    X86TLBStats stats;

    g_assert_cmpuint(x86_tlb_model_peek(model, &context, HERE)->time, ==, 'A');
    g_assert_null(x86_tlb_model_peek(model, &context, HERE - 1));
    x86_tlb_model_stats(model, &stats);
    g_assert_cmpuint(stats.hits + stats.misses, ==, 0);
    x86_tlb_model_free(model);
}

/* What was filled later than the invalidation was asked for stays. */
static void test_by_time(void)
{
    X86TLBMatch match = x86_tlb_match_all();

    match.by_time = true;
    match.time = 'C';
    expect_gone(match, "AB");
    match.time = 'D';
    expect_gone(match, "ABC");
    match.time = 'N' + 1;
    expect_gone(match, "ABCDGHN");
    match.by_asid = true;
    match.asid = 1;
    expect_gone(match, "ABGN");
    match = x86_tlb_match_invlpgb(HERE | VA | ASID | GLOBAL, 1, 1, 48);
    expect_gone(match, "ABG");
    match.by_time = true;
    match.time = 'B';
    expect_gone(match, "A");
}

static void test_capacity(void)
{
    X86TLBModel *model = x86_tlb_model_new(10, 1);
    X86TLBStats stats;
    unsigned i;

    for (i = 0; i < 100; i++) {
        insert(model, linear(1, 1, HERE + i * SIZE_4K, 12));
        g_assert_nonnull(lookup(model, 1, 1, HERE + i * SIZE_4K));
        g_assert_cmpuint(live(model), ==, MIN(i + 1, 10));
    }
    /* One that replaces another needs no room. */
    insert(model, linear(1, 1, HERE + 99 * SIZE_4K, 12));
    x86_tlb_model_stats(model, &stats);
    g_assert_cmpuint(stats.live, ==, 10);
    g_assert_cmpuint(stats.drops[X86_TLB_DROP_EVICT], ==, 90);
    x86_tlb_model_free(model);
}

static void append_addr(const X86TLBEntry *entry, void *opaque)
{
    g_string_append_printf(opaque, "%" G_GINT64_MODIFIER "x ", entry->addr);
}

/* What is left after invalidations, evictions and a growing table */
static char *survivors(uint64_t seed)
{
    X86TLBModel *model = x86_tlb_model_new(150, seed);
    X86TLBMatch match = x86_tlb_match_mov_cr3(1, 3);
    GString *list = g_string_new("");
    unsigned i;

    for (i = 0; i < 1000; i++) {
        insert(model, linear(i % 3, i % 7, HERE + i * SIZE_4K, 12));
        if (i % 50 == 0) {
            x86_tlb_model_invalidate(model, &match);
            x86_tlb_model_evict(model);
        }
    }
    x86_tlb_model_foreach(model, append_addr, list);
    x86_tlb_model_free(model);
    return g_string_free(list, FALSE);
}

static void test_seed(void)
{
    char *first = survivors(1), *again = survivors(1), *other = survivors(2);
    char *zero = survivors(0);

    g_assert_cmpstr(first, ==, again);
    g_assert_cmpstr(first, !=, other);
    g_assert_cmpstr(first, !=, zero);
    g_free(first);
    g_free(again);
    g_free(other);
    g_free(zero);
}

/* Every entry can be chosen, the first and the last included. */
static void test_evict(void)
{
    bool seen[4] = { false };
    X86TLBModel *model;
    unsigned i, seed;

    for (seed = 0; seed < 100; seed++) {
        model = x86_tlb_model_new(0, seed);
        g_assert_false(x86_tlb_model_evict(model));
        for (i = 0; i < 4; i++) {
            insert(model, linear(1, 1, HERE + i * SIZE_4K, 12));
        }
        g_assert_true(x86_tlb_model_evict(model));
        g_assert_cmpuint(live(model), ==, 3);
        for (i = 0; i < 4; i++) {
            seen[i] |= !lookup(model, 1, 1, HERE + i * SIZE_4K);
        }
        x86_tlb_model_free(model);
    }
    for (i = 0; i < 4; i++) {
        g_assert_true(seen[i]);
    }
}

static void test_stats(void)
{
    X86TLBModel *model = populate();
    X86TLBMatch match = x86_tlb_match_mov_cr3(1, 1);
    X86TLBStats stats;

    lookup(model, 1, 1, HERE);
    lookup(model, 1, 2, HERE);
    lookup(model, 1, 3, HERE);
    x86_tlb_model_invalidate(model, &match);
    x86_tlb_model_stats(model, &stats);
    g_assert_cmpuint(stats.hits, ==, 2);
    g_assert_cmpuint(stats.misses, ==, 1);
    g_assert_cmpuint(stats.inserts, ==, 14);
    g_assert_cmpuint(stats.drops[X86_TLB_DROP_INVALIDATE], ==, 2);
    g_assert_cmpuint(stats.drops[X86_TLB_DROP_EVICT], ==, 0);
    g_assert_cmpuint(stats.live, ==, 12);
    g_assert_cmpuint(stats.peak, ==, 14);
    g_assert_cmpuint(x86_tlb_model_count_asid(model, 0), ==, 2);
    g_assert_cmpuint(x86_tlb_model_count_asid(model, 1), ==, 5);
    g_assert_cmpuint(x86_tlb_model_count_asid(model, 2), ==, 5);
    g_assert_cmpuint(x86_tlb_model_count_asid(model, 3), ==, 0);
    x86_tlb_model_free(model);
}

/* A million entries in less than 256 MiB, and none after a flush */
static void test_memory(void)
{
    X86TLBModel *model = x86_tlb_model_new(0, 0);
    X86TLBMatch match = x86_tlb_match_all();
    X86TLBStats empty, full;
    uint64_t i;

    x86_tlb_model_stats(model, &empty);
    for (i = 0; i < 1 << 17; i++) {
        insert(model, linear(i % 5, i % 11, HERE + i * SIZE_4K, 12));
    }
    /* The tables have just doubled, so this is as large as it gets. */
    insert(model, linear(1, 1, ELSEWHERE, 12));
    x86_tlb_model_stats(model, &full);
    g_assert_cmpuint(full.bytes / full.live, <=, 256);
    x86_tlb_model_invalidate(model, &match);
    x86_tlb_model_stats(model, &full);
    g_assert_cmpuint(full.bytes, ==, empty.bytes);
    x86_tlb_model_free(model);
}

static void pend(X86TLBPending *pending, X86TLBMatch match)
{
    x86_tlb_pending_add(pending, &match);
}

static void test_pending_merge(void)
{
    X86TLBPending pending = { .n = 0 };
    uint32_t edx = 1 << 16 | 1;

    g_assert_true(x86_tlb_pending_is_empty(&pending));
    pend(&pending, x86_tlb_match_invlpgb(HERE | VA | ASID, 7, 1, 48));
    g_assert_false(x86_tlb_pending_is_empty(&pending));
    /* The same, a part of it, and with less that it covers */
    pend(&pending, x86_tlb_match_invlpgb(HERE | VA | ASID, 7, 1, 48));
    pend(&pending, x86_tlb_match_invlpgb((HERE + SIZE_4K) | VA | ASID, 0, 1,
                                         48));
    pend(&pending, x86_tlb_match_invlpgb(HERE | VA | ASID | PCID, 7, edx, 48));
    g_assert_cmpuint(pending.n, ==, 1);
    /* Not parts of it: one page more, globals, nested, another ASID */
    pend(&pending, x86_tlb_match_invlpgb(HERE | VA | ASID, 8, 1, 48));
    g_assert_cmpuint(pending.n, ==, 1);
    pend(&pending, x86_tlb_match_invlpgb(HERE | VA | ASID | GLOBAL, 0, 1, 48));
    g_assert_cmpuint(pending.n, ==, 2);
    pend(&pending, x86_tlb_match_invlpgb(HERE | VA | ASID | NESTED, 0, 1, 48));
    g_assert_cmpuint(pending.n, ==, 3);
    pend(&pending, x86_tlb_match_invlpgb(HERE | VA | ASID, 0, 2, 48));
    g_assert_cmpuint(pending.n, ==, 4);
    pend(&pending, x86_tlb_match_invlpgb(ASID | PCID, 0, edx, 48));
    g_assert_cmpuint(pending.n, ==, 5);
    /* More than all of them */
    pend(&pending, x86_tlb_match_all());
    g_assert_cmpuint(pending.n, ==, 1);
    x86_tlb_pending_clear(&pending);
    g_assert_true(x86_tlb_pending_is_empty(&pending));
}

/* An older one covers less of the same range. */
static void test_pending_time(void)
{
    X86TLBMatch old = x86_tlb_match_invlpgb(HERE | VA | ASID, 7, 1, 48);
    X86TLBMatch new = x86_tlb_match_invlpgb(HERE | VA | ASID, 0, 1, 48);
    X86TLBPending pending = { .n = 0 };

    old.by_time = new.by_time = true;
    old.time = 'A';
    new.time = 'B';
    pend(&pending, old);
    pend(&pending, new);
    g_assert_cmpuint(pending.n, ==, 2);
    pend(&pending, old);
    g_assert_cmpuint(pending.n, ==, 2);
    old.time = 'B';
    pend(&pending, old);
    g_assert_cmpuint(pending.n, ==, 1);
    old.by_time = false;
    pend(&pending, old);
    g_assert_cmpuint(pending.n, ==, 1);
    g_assert_false(pending.match[0].by_time);
    pend(&pending, new);
    g_assert_cmpuint(pending.n, ==, 1);
}

/* What fits takes effect on each CPU exactly. */
static void test_pending_apply(void)
{
    X86TLBPending pending = { .n = 0 };
    X86TLBModel *cpus[] = { populate(), populate() };
    unsigned i;

    g_assert_cmpuint(x86_tlb_pending_apply(&pending, cpus[0]), ==, 0);
    pend(&pending, x86_tlb_match_invlpgb(HERE | VA | ASID, 0, 2, 48));
    pend(&pending, x86_tlb_match_invlpgb(ASID | PCID, 0, 2 << 16 | 1, 48));
    for (i = 0; i < G_N_ELEMENTS(cpus); i++) {
        g_assert_nonnull(lookup(cpus[i], 2, 1, HERE));
        g_assert_cmpuint(x86_tlb_pending_apply(&pending, cpus[i]), ==, 3);
        g_assert_null(lookup(cpus[i], 2, 1, HERE));
        g_assert_null(lookup(cpus[i], 1, 2, HERE));
        g_assert_null(lookup(cpus[i], 1, 2, ELSEWHERE));
        g_assert_nonnull(lookup(cpus[i], 2, 1, ELSEWHERE));
        x86_tlb_model_free(cpus[i]);
    }
}

static void test_pending_full(void)
{
    X86TLBPending pending = { .n = 0 };
    X86TLBModel *model = x86_tlb_model_new(0, 0);
    uint64_t i;

    for (i = 0; i < 2 * X86_TLB_PENDING_MAX; i++) {
        insert(model, linear(1, 1, HERE + i * SIZE_4K, 12));
    }
    for (i = 0; i < X86_TLB_PENDING_MAX; i++) {
        pend(&pending, x86_tlb_match_invlpgb((HERE + 2 * i * SIZE_4K) | VA |
                                             ASID, 0, 1, 48));
    }
    g_assert_cmpuint(x86_tlb_pending_apply(&pending, model), ==,
                     X86_TLB_PENDING_MAX);
    x86_tlb_model_free(model);
}

/* With one too many, all that was asked for goes, and maybe more. */
static void test_pending_overflow(void)
{
    static const struct {
        uint64_t rax;
        uint32_t ecx, edx;
    } last[] = {
        { (HERE - SIZE_2M) | VA | ASID | PCID, 0, 1 << 16 | 1 },
        { (HERE + SIZE_1G) | VA | ASID | PCID, 0, 1 << 16 | 1 },
        { ASID | PCID, 0, 2 << 16 | 1 },
        { HERE | VA | ASID | PCID, 0, 1 << 16 | 2 },
        { HERE | VA | ASID | PCID, 0, 2 << 16 | 1 },
        { PCID, 0, 2 << 16 },
        { HERE | VA | ASID | PCID | GLOBAL, 1, 1 << 16 | 1 },
        { HERE | VA | ASID | PCID | NESTED, 0, 1 << 16 | 1 },
        { NESTED | GLOBAL, 0, 0 },
    };
    unsigned i, j;

    for (i = 0; i < 2 * G_N_ELEMENTS(last); i++) {
        X86TLBMatch match = x86_tlb_match_invlpgb(last[i / 2].rax,
                                                  last[i / 2].ecx,
                                                  last[i / 2].edx, 48);
        X86TLBPending pending = { .n = 0 };
        X86TLBModel *model = populate();

        match.by_time = i % 2;
        match.time = 'z';
        for (j = 0; j < X86_TLB_PENDING_MAX; j++) {
            X86TLBMatch first =
                x86_tlb_match_invlpgb((HERE + j * SIZE_2M) | VA | ASID | PCID,
                                      0, 1 << 16 | 1, 48);

            insert(model, linear(1, 1, HERE + j * SIZE_2M, 12));
            first.by_time = true;
            first.time = 1;
            pend(&pending, first);
        }
        insert(model, linear(1, 1, HERE - SIZE_2M, 12));
        insert(model, linear(1, 1, HERE + SIZE_1G, 12));
        pend(&pending, match);
        g_assert_cmpuint(pending.n, <=, X86_TLB_PENDING_MAX);
        x86_tlb_pending_apply(&pending, model);
        g_assert_cmpuint(x86_tlb_model_invalidate(model, &match), ==, 0);
        for (j = 0; j < X86_TLB_PENDING_MAX; j++) {
            g_assert_null(lookup(model, 1, 1, HERE + j * SIZE_2M));
        }
        x86_tlb_model_free(model);
    }
}

int main(int argc, char **argv)
{
#define TEST(path, function) g_test_add_func("/x86-tlb-model/" path, function)
    g_test_init(&argc, &argv, NULL);
    TEST("lookup/tags", test_lookup_tags);
    TEST("lookup/global-for-any-pcid", test_lookup_global);
    TEST("lookup/page-sizes", test_lookup_sizes);
    TEST("lookup/edges-of-the-address-space", test_lookup_edges);
    TEST("lookup/all-fields", test_entry_fields);
    TEST("insert/replaces-the-same-page", test_insert_replaces);
    TEST("insert/keeps-other-tags-and-pages", test_insert_keeps_others);
    TEST("insert/global-against-pcid", test_insert_global);
    TEST("insert/large-against-small", test_insert_sizes);
    TEST("insert/fragments-are-neighbours", test_insert_fragments);
    TEST("invlpg/one-pcid", test_invlpg);
    TEST("invlpg/globals", test_invlpg_global);
    TEST("invlpg/large-pages", test_invlpg_large);
    TEST("invlpg/not-canonical", test_invlpg_not_canonical);
    TEST("invlpga", test_invlpga);
    TEST("invpcid/0-address", test_invpcid_0);
    TEST("invpcid/1-pcid", test_invpcid_1);
    TEST("invpcid/2-all", test_invpcid_2);
    TEST("invpcid/3-all-but-globals", test_invpcid_3);
    TEST("mov-cr3", test_mov_cr3);
    TEST("paging-mode", test_paging_mode);
    TEST("tlb-control", test_tlb_control);
    TEST("all", test_all);
    TEST("invlpgb/all-forms", test_invlpgb_forms);
    TEST("invlpgb/final-only", test_invlpgb_final);
    TEST("invlpgb/without-va", test_invlpgb_without_va);
    TEST("invlpgb/count", test_invlpgb_count);
    TEST("invlpgb/step-2m", test_invlpgb_step_2m);
    TEST("invlpgb/large-pages", test_invlpgb_large_pages);
    TEST("invlpgb/wrap", test_invlpgb_wrap);
    TEST("invlpgb/hole-48", test_invlpgb_hole_48);
    TEST("invlpgb/hole-57", test_invlpgb_hole_57);
    TEST("invlpgb/not-canonical", test_invlpgb_not_canonical);
    TEST("invlpgb/largest-asid-and-pcid", test_invlpgb_wide_operands);
    TEST("many-entries", test_many_entries);
    TEST("by-time", test_by_time);
    TEST("fragments/few-entries", test_fragments);
    TEST("fragments/many-entries", test_fragments_among_many);
    TEST("peek", test_peek);
    TEST("drop", test_drop);
    TEST("capacity/limit", test_capacity);
    TEST("capacity/seed", test_seed);
    TEST("evict", test_evict);
    TEST("stats", test_stats);
    TEST("memory", test_memory);
    TEST("pending/merge", test_pending_merge);
    TEST("pending/time", test_pending_time);
    TEST("pending/apply", test_pending_apply);
    TEST("pending/full", test_pending_full);
    TEST("pending/overflow", test_pending_overflow);
    return g_test_run();
#undef TEST
}
