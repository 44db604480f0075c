/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The strict TLB model against a naive one: a string of bytes is a sequence
 * of operations, and after each of them both must hold the same translations
 * and give the same answers.
 *
 *     tlb-model-fuzz [--seed N] [--operations N]
 *
 * makes its own sequences.  At a difference it prints the seed and the
 * shortest part of the sequence that it finds to show it, and exits with 1.
 * Built with TLB_MODEL_LIBFUZZER it is a target of libFuzzer instead.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "target/i386/tcg/system/tlb_model.h"
#include "tlb-model-naive.h"

#define EPISODE         400     /* operations on one model */
#define LIVE_MAX        300     /* comparing more is not worth its time */
#define BURST           (X86_TLB_PENDING_MAX + 16)
#define RUN             16

/* One operation is made from one of these. */
struct record {
    uint8_t what, tag, base, offset, size, flags, count, variant;
};

enum action {
    INSERT,
    INSERT_RUN,                 /* neighbours, to get many entries */
    INVALIDATE,
    PENDING_ADD,
    PENDING_BURST,              /* more than fit */
    PENDING_APPLY,
    DROP,
    EVICT,
};

struct operation {
    enum action action;
    struct naive_operation inv; /* INVALIDATE, PENDING_ADD, PENDING_BURST */
    X86TLBEntry entry;          /* INSERT, INSERT_RUN */
    X86TLBContext context;      /* DROP, and where comparison starts */
    uint64_t addr;
};

struct run {
    X86TLBModel *model;
    struct naive_tlb naive;
    X86TLBPending pending;
    struct naive_operation naive_pending[4 * BURST];
    unsigned n_pending;
    uint32_t capacity;
    uint64_t next_id;
    char difference[200];       /* empty: none */
};

static const uint16_t asids[] = { 0, 1, 2, 0xffff };
static const uint16_t pcids[] = { 0, 1, 2, 0xfff };
static const uint8_t shifts[] = { 12, 12, 12, 12, 21, 21, 22, 30 };
static const uint32_t counts[] = {
    0, 0, 1, 2, 7, 15, 255, 511, 512, 1023, 0x7fff, 0xfffe, 0xffff,
};

/* Around them pages meet larger pages, wrap, or stop to be canonical. */
static const uint64_t bases[] = {
    0x0000000000000000, 0x0000000000200000, 0x0000000000400000,
    0x0000000040000000, 0x0000000080000000, 0x00007fffffe00000,
    0x00007ffffffff000, 0x0000800000000000, 0xffff7ffffffff000,
    0xffff800000000000, 0x00ffffffffe00000, 0x00fffffffffff000,
    0x0100000000000000, 0xff00000000000000, 0xffffffff80000000,
    0xffffffffc0000000, 0xffffffffffe00000, 0xfffffffffffff000,
};

static uint64_t address(const struct record *r)
{
    int64_t pages = (int8_t)(r->offset << 2) / 4;
    unsigned shift = shifts[4 * (r->offset >> 6 == 3) + (r->size >> 6)];

    return bases[r->base % G_N_ELEMENTS(bases)] +
           ((uint64_t)pages << shift) + (r->size & 32 ? 0xfff : 0);
}

static void decode_invlpgb(struct naive_operation *inv, const struct record *r,
                           uint64_t addr)
{
    inv->type = NAIVE_INVLPGB;
    inv->rax = (addr & ~0xfffULL) | (r->flags & 0x3f);
    inv->ecx = counts[r->count % G_N_ELEMENTS(counts)] |
               (uint32_t)(r->count >> 7) << 31;
    inv->edx = (uint32_t)inv->pcid << 16 | inv->asid;
    inv->la57 = r->variant & 1;
    inv->before = r->variant & 2;       /* if set, a time is to be chosen */
}

static struct operation decode(const struct record *r)
{
    static const unsigned controls[] = { 1, 3, 7, 3 };
    struct operation op = {
        .addr = address(r),
        .inv.asid = asids[r->tag % 4],
        .inv.pcid = pcids[r->tag / 4 % 4],
    };
    bool nested = (r->tag >> 4) % 4 == 3;

    op.context = (X86TLBContext) {
        .asid = op.inv.asid, .pcid = nested ? 0 : op.inv.pcid,
        .kind = nested ? X86_TLB_NESTED : X86_TLB_LINEAR,
    };
    op.inv.addr = op.addr;
    switch (r->what % 32) {
    case 0 ... 11:
        op.action = INSERT;
        break;
    case 12 ... 14:
        op.action = INSERT_RUN;
        break;
    case 15:
        op.action = DROP;
        break;
    case 16:
        op.action = EVICT;
        break;
    case 17 ... 19:
        op.action = PENDING_ADD;
        decode_invlpgb(&op.inv, r, op.addr);
        break;
    case 20:
        op.action = r->variant < 16 ? PENDING_BURST : PENDING_ADD;
        decode_invlpgb(&op.inv, r, op.addr);
        break;
    case 21:
        op.action = PENDING_APPLY;
        break;
    case 22 ... 25:
        op.action = INVALIDATE;
        decode_invlpgb(&op.inv, r, op.addr);
        break;
    default:
        op.action = INVALIDATE;
        /* Everything goes too often otherwise. */
        op.inv.type = r->flags % NAIVE_INVLPGB;
        op.inv.variant = r->variant % 4;
        if (op.inv.type == NAIVE_TLB_CONTROL) {
            op.inv.variant = controls[op.inv.variant];
        }
        if (op.inv.type == NAIVE_EVERYTHING && r->variant % 16) {
            op.inv.type = NAIVE_INVLPG;
        }
    }

    if (op.action == INSERT || op.action == INSERT_RUN) {
        uint8_t shift = shifts[r->size % 8];

        op.entry = (X86TLBEntry) {
            .addr = op.addr >> shift << shift,
            .phys = (uint64_t)r->variant << shift,
            .owner = r->variant,
            .stage1_attrs = r->flags,
            .stage2_attrs = r->count,
            .asid = op.context.asid,
            .pcid = op.context.pcid,
            .kind = op.context.kind,
            .shift = shift,
            .stage1_shift = nested ? shift :
                            MAX(shift, shifts[r->flags / 8 % 8]),
            .global = !nested && r->flags % 4 == 0,
        };
    }
    return op;
}

static void print_operation(const struct operation *op)
{
    static const char *const types[] = {
        "everything", "paging mode", "MOV CR3", "TLB_CONTROL", "INVLPG",
        "INVLPGA", "INVPCID", "INVLPGB",
    };
    static const char *const actions[] = {
        "insert", "insert run", "", "pending add", "pending burst",
        "pending apply", "drop", "evict",
    };
    const X86TLBEntry *e = &op->entry;

    switch (op->action) {
    case INSERT:
    case INSERT_RUN:
        printf("%s asid 0x%x pcid 0x%x %s%s 0x%" PRIx64 " size %u stage 1 %u\n",
               actions[op->action], e->asid, e->pcid,
               e->kind == X86_TLB_NESTED ? "nested" : "linear",
               e->global ? " global" : "", e->addr, e->shift, e->stage1_shift);
        return;
    case INVALIDATE:
    case PENDING_ADD:
    case PENDING_BURST:
        printf("%s %s ", actions[op->action], types[op->inv.type]);
        if (op->inv.type == NAIVE_INVLPGB) {
            printf("rax 0x%" PRIx64 " ecx 0x%x edx 0x%x la57 %d\n", op->inv.rax,
                   op->inv.ecx, op->inv.edx, op->inv.la57);
        } else {
            printf("asid 0x%x pcid 0x%x address 0x%" PRIx64 " variant %u\n",
                   op->inv.asid, op->inv.pcid, op->inv.addr, op->inv.variant);
        }
        return;
    default:
        printf("%s asid 0x%x pcid 0x%x kind %u address 0x%" PRIx64 "\n",
               actions[op->action], op->context.asid, op->context.pcid,
               op->context.kind, op->addr);
    }
}

static void differ(struct run *run, const char *what, uint64_t a, uint64_t b)
{
    if (!run->difference[0]) {
        snprintf(run->difference, sizeof(run->difference),
                 "%s: model 0x%" PRIx64 ", naive 0x%" PRIx64, what, a, b);
    }
}

static X86TLBMatch match_of_type(const struct naive_operation *inv)
{
    switch (inv->type) {
    case NAIVE_EVERYTHING:
        return x86_tlb_match_all();
    case NAIVE_PAGING_MODE:
        return x86_tlb_match_paging_mode(inv->asid);
    case NAIVE_MOV_CR3:
        return x86_tlb_match_mov_cr3(inv->asid, inv->pcid);
    case NAIVE_TLB_CONTROL:
        return x86_tlb_match_tlb_control(inv->asid, inv->variant);
    case NAIVE_INVLPG:
        return x86_tlb_match_invlpg(inv->asid, inv->pcid, inv->addr);
    case NAIVE_INVLPGA:
        return x86_tlb_match_invlpga(inv->asid, inv->addr);
    case NAIVE_INVPCID:
        return x86_tlb_match_invpcid(inv->asid, inv->variant, inv->pcid,
                                     inv->addr);
    default:
        return x86_tlb_match_invlpgb(inv->rax, inv->ecx, inv->edx,
                                     inv->la57 ? 57 : 48);
    }
}

static X86TLBMatch match_of(const struct naive_operation *inv)
{
    X86TLBMatch match = match_of_type(inv);

    match.by_time = inv->before;
    match.time = inv->before;
    return match;
}

struct visit {
    struct run *run;
    uint64_t seen[LIVE_MAX + RUN];
    unsigned n;
};

static void visit(const X86TLBEntry *entry, void *opaque)
{
    struct visit *v = opaque;

    if (!naive_has(&v->run->naive, entry->time)) {
        differ(v->run, "an entry should be gone", entry->time, 0);
    }
    if (v->n < G_N_ELEMENTS(v->seen)) {
        v->seen[v->n++] = entry->time;
    }
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* Both hold the same, save for @may_miss entries, which the naive TLB loses. */
static void compare_sets(struct run *run, unsigned may_miss)
{
    struct visit v = { .run = run };
    X86TLBStats stats;
    uint64_t dropped = 0;
    uint32_t by_asid = 0;
    unsigned i;

    x86_tlb_model_foreach(run->model, visit, &v);
    x86_tlb_model_stats(run->model, &stats);
    if (stats.live != v.n || v.n > run->naive.n ||
        run->naive.n - v.n > may_miss) {
        differ(run, "number of entries", stats.live, run->naive.n);
        return;
    }
    if (run->capacity && stats.live > run->capacity) {
        differ(run, "more than the capacity", stats.live, run->capacity);
    }
    if (v.n < run->naive.n) {
        qsort(v.seen, v.n, sizeof(v.seen[0]), by_value);
        for (i = 0; i < run->naive.n; ) {
            uint64_t id = run->naive.list[i].id;

            if (i < v.n && v.seen[i] == id) {
                i++;
            } else {
                naive_remove(&run->naive, id);
            }
        }
    }

    for (i = 0; i < X86_TLB_DROP__MAX; i++) {
        dropped += stats.drops[i];
    }
    if (stats.inserts - dropped != stats.live) {
        differ(run, "inserts minus drops", stats.inserts - dropped, stats.live);
    }
    for (i = 0; i < G_N_ELEMENTS(asids); i++) {
        by_asid += x86_tlb_model_count_asid(run->model, asids[i]);
    }
    if (by_asid != stats.live) {
        differ(run, "sum over ASIDs", by_asid, stats.live);
    }
}

static void compare_lookup(struct run *run, X86TLBContext context,
                           uint64_t addr)
{
    const X86TLBEntry *entry = x86_tlb_model_lookup(run->model, &context,
                                                    addr);
    uint64_t id = naive_find(&run->naive, context.asid, context.pcid,
                             context.kind == X86_TLB_NESTED, addr);

    if ((entry ? entry->time : 0) != id) {
        differ(run, "lookup", entry ? entry->time : 0, id);
    }
}

/* Addresses near the last operation and elsewhere, in several contexts. */
static void compare_lookups(struct run *run, const struct operation *op,
                            const struct record *r)
{
    X86TLBContext other = {
        .asid = asids[r->variant % 4], .pcid = pcids[r->count % 4],
    };
    unsigned i;

    for (i = 0; i < 3; i++) {
        uint64_t addr = op->addr + (uint64_t)(i - 1) * 0x1000;

        compare_lookup(run, op->context, addr);
        compare_lookup(run, other, addr);
        compare_lookup(run, other, bases[(r->offset + i) %
                                         G_N_ELEMENTS(bases)]);
    }
    other.kind = X86_TLB_NESTED;
    compare_lookup(run, other, op->addr);
}

static void insert(struct run *run, X86TLBEntry entry)
{
    uint64_t stage1 = entry.addr >> entry.stage1_shift << entry.stage1_shift;
    struct naive_translation t;
    X86TLBEntry copy;

    entry.time = run->next_id++;
    t = (struct naive_translation) {
        .id = entry.time,
        .asid = entry.asid,
        .pcid = entry.pcid,
        .global = entry.global,
        .nested = entry.kind == X86_TLB_NESTED,
        .start = entry.addr,
        .end = entry.addr + ((1ULL << entry.shift) - 1),
        .page_start = stage1,
        .page_end = stage1 + ((1ULL << entry.stage1_shift) - 1),
    };
    naive_add(&run->naive, &t);
    copy = *x86_tlb_model_insert(run->model, &entry);
    copy.number = entry.number;
    if (memcmp(&copy, &entry, sizeof(entry))) {
        differ(run, "the copy of an entry", entry.time, entry.time);
    }
    compare_sets(run, run->capacity && run->naive.n > run->capacity);
    if (!naive_has(&run->naive, entry.time)) {
        differ(run, "the new entry was evicted", 0, entry.time);
    }
}

static void add_pending(struct run *run, struct naive_operation inv)
{
    X86TLBMatch match;

    /* What is filled until they are applied stays. */
    inv.before = inv.before ? run->next_id : 0;
    match = match_of(&inv);
    if (run->n_pending == G_N_ELEMENTS(run->naive_pending)) {
        return;
    }
    x86_tlb_pending_add(&run->pending, &match);
    run->naive_pending[run->n_pending++] = inv;
    if (x86_tlb_pending_is_empty(&run->pending)) {
        differ(run, "pending", 0, run->n_pending);
    }
}

static void apply_pending(struct run *run)
{
    /* What does not fit is joined, which may drop more than each alone. */
    bool may_drop_more = run->n_pending > X86_TLB_PENDING_MAX;
    unsigned i;

    for (i = 0; i < run->n_pending; i++) {
        naive_perform(&run->naive, &run->naive_pending[i]);
    }
    x86_tlb_pending_apply(&run->pending, run->model);
    x86_tlb_pending_clear(&run->pending);
    run->n_pending = 0;
    compare_sets(run, may_drop_more ? run->naive.n : 0);
}

static void drop(struct run *run, const struct operation *op)
{
    const X86TLBEntry *entry = x86_tlb_model_lookup(run->model, &op->context,
                                                    op->addr);

    if (entry) {
        naive_remove(&run->naive, entry->time);
        x86_tlb_model_drop(run->model, entry, X86_TLB_DROP_PERMISSION);
    }
}

static void perform(struct run *run, const struct operation *op)
{
    struct naive_operation inv = op->inv;
    X86TLBEntry entry = op->entry;
    uint64_t before = run->naive.n;
    X86TLBMatch match;
    uint32_t dropped;
    unsigned i;

    switch (op->action) {
    case INSERT:
        if (run->naive.n < LIVE_MAX) {
            insert(run, entry);
        }
        break;
    case INSERT_RUN:
        for (i = 0; i < RUN && run->naive.n < LIVE_MAX; i++) {
            insert(run, entry);
            entry.addr += 1ULL << entry.shift;
        }
        break;
    case INVALIDATE:
        inv.before = inv.before ? run->next_id / 2 + 1 : 0;
        match = match_of(&inv);
        naive_perform(&run->naive, &inv);
        dropped = x86_tlb_model_invalidate(run->model, &match);
        if (dropped != before - run->naive.n) {
            differ(run, "entries dropped", dropped, before - run->naive.n);
        }
        break;
    case PENDING_ADD:
        add_pending(run, inv);
        break;
    case PENDING_BURST:
        for (i = 0; i < BURST; i++) {
            add_pending(run, inv);
            inv.rax += 0x2000;
        }
        break;
    case PENDING_APPLY:
        apply_pending(run);
        break;
    case DROP:
        drop(run, op);
        break;
    case EVICT:
        if (x86_tlb_model_evict(run->model) != !!before) {
            differ(run, "eviction", !before, before);
        }
        compare_sets(run, before ? 1 : 0);
        if (before && run->naive.n != before - 1) {
            differ(run, "evicted", before - run->naive.n, 1);
        }
        break;
    }
}

/*
 * Returns: how many records it took to see a difference, or 0.  @why is its
 * description, at least 200 bytes.
 */
static size_t run_records(const struct record *records, size_t n, char *why)
{
    static const uint32_t capacities[] = { 0, 0, 0, 1, 8, 100 };
    static struct run run;
    size_t i;

    if (!n) {
        return 0;
    }
    run.naive.n = 0;
    run.n_pending = 0;
    run.next_id = 1;
    run.difference[0] = 0;
    run.capacity = capacities[records[0].count % G_N_ELEMENTS(capacities)];
    run.model = x86_tlb_model_new(run.capacity, records[0].tag);
    x86_tlb_pending_clear(&run.pending);

    for (i = 0; i < n && !run.difference[0]; i++) {
        struct operation op = decode(&records[i]);

        perform(&run, &op);
        compare_sets(&run, 0);
        compare_lookups(&run, &op, &records[i]);
    }
    x86_tlb_model_free(run.model);
    strcpy(why, run.difference);
    return run.difference[0] ? i : 0;
}

static void print_records(const struct record *records, size_t n)
{
    size_t i;

    for (i = 0; i < n; i++) {
        struct operation op = decode(&records[i]);

        print_operation(&op);
    }
}

#ifdef TLB_MODEL_LIBFUZZER

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t n = MIN(size / sizeof(struct record), EPISODE);
    struct record records[EPISODE];
    char why[200];

    memcpy(records, data, n * sizeof(records[0]));
    n = run_records(records, n, why);
    if (n) {
        print_records(records, n);
        printf("%s\n", why);
        fflush(stdout);
        abort();
    }
    return 0;
}

#else

/* Leave out what can be left out, the large parts first. */
static size_t minimise(struct record *records, size_t n)
{
    struct record shorter[EPISODE];
    char why[200];
    size_t part, at, found;

    for (part = n / 2; part; part /= 2) {
        /* The first record also says what the model is like. */
        for (at = 1; at + part <= n; ) {
            memcpy(shorter, records, at * sizeof(records[0]));
            memcpy(shorter + at, records + at + part,
                   (n - at - part) * sizeof(records[0]));
            found = run_records(shorter, n - part, why);
            if (found) {
                memcpy(records, shorter, found * sizeof(records[0]));
                n = found;
            } else {
                at += part;
            }
        }
    }
    return n;
}

static uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15ULL;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
    return z ^ z >> 31;
}

int main(int argc, char **argv)
{
    static struct record records[EPISODE];
    int64_t seed = g_get_real_time(), operations = 10000000;
    int64_t start = g_get_monotonic_time(), done, report = 0;
    GOptionEntry options[] = {
        { "seed", 0, 0, G_OPTION_ARG_INT64, &seed,
          "what the sequences are made from", "N" },
        { "operations", 0, 0, G_OPTION_ARG_INT64, &operations,
          "how many to try", "N" },
        { NULL }
    };
    GOptionContext *context = g_option_context_new(NULL);
    GError *error = NULL;
    uint64_t state;
    double seconds;
    char why[200];
    size_t n;

    g_option_context_add_main_entries(context, options, NULL);
    if (!g_option_context_parse(context, &argc, &argv, &error)) {
        fprintf(stderr, "%s\n", error->message);
        return 2;
    }
    g_option_context_free(context);
    printf("seed %" PRId64 "\n", seed);
    fflush(stdout);

    state = seed;
    for (done = 0; done < operations; done += EPISODE) {
        for (n = 0; n < EPISODE; n++) {
            uint64_t value = random_next(&state);

            memcpy(&records[n], &value, sizeof(value));
        }
        n = run_records(records, EPISODE, why);
        if (n) {
            n = minimise(records, n);
            run_records(records, n, why);
            printf("seed %" PRId64 ", operation %" PRId64 ": %s\n", seed,
                   done, why);
            print_records(records, n);
            return 1;
        }
        if (done >= report) {
            fprintf(stderr, "%" PRId64 " of %" PRId64 " operations\n", done,
                    operations);
            report += operations / 10 + 1;
        }
    }
    seconds = (g_get_monotonic_time() - start) / 1e6;
    printf("%" PRId64 " operations, no difference, %.1f s, %.0f per second\n",
           done, seconds, done / seconds);
    return 0;
}

#endif
