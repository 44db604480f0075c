/*
 * x86 strict TLB model: translations that go only when the architecture says
 *
 * An entry is on three lists:
 *
 * - by page, in a hash table: what a lookup searches, once for each page size
 *   in use.  The PCID is not part of the key, as a global entry has none;
 * - by stage-1 page, in a hash table: what an invalidation of addresses
 *   searches, so that it meets all fragments of a page;
 * - by context, that is ASID and PCID: what an invalidation without an
 *   address empties.
 *
 * All lists are doubly linked: dropping an entry takes constant time.  Their
 * order depends on nothing but the calls made, so that evictions can be
 * reproduced.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "tlb_model.h"

/* Stage 1 has pages of 4 MiB without PAE. */
static const uint8_t page_shifts[] = { 12, 21, 22, 30 };

/* Index structures, and an array of all entries, start with so many slots. */
#define SLOTS_MIN       64

/* Tags of contexts: a PCID, or one of these. */
#define TAG_GLOBAL      0x1000
#define TAG_NESTED      0x1001
#define TAG_BITS        13

enum {
    BY_PAGE,
    BY_STAGE1_PAGE,
    N_TABLES,
    BY_CONTEXT = N_TABLES,
    N_LISTS,
};

typedef struct Node Node;
typedef struct Context Context;
typedef struct Space Space;

/**
 * Node: an entry of the model
 * @entry: what the caller sees; first, to get from it to the node
 * @link: its place in the lists; @pprev is what points to this node
 * @context: whose it is
 * @index: its place in the array of all entries
 */
struct Node {
    X86TLBEntry entry;
    struct {
        Node *next;
        Node **pprev;
    } link[N_LISTS];
    Context *context;
    uint32_t index;
};

/**
 * Context: all entries with one tag in one ASID; exists only if there are any
 * @space: the ASID
 * @nodes: the entries
 * @siblings: place in the ASID's list of contexts
 * @tag: PCID or TAG_*
 */
struct Context {
    Space *space;
    Node *nodes;
    GList siblings;
    uint16_t tag;
};

/**
 * Space: all entries of one ASID; exists only if there are any
 * @contexts: its contexts
 * @siblings: place in the model's list of ASIDs
 * @live: number of entries
 * @asid: the ASID
 */
struct Space {
    GQueue contexts;
    GList siblings;
    uint32_t live;
    uint16_t asid;
};

/**
 * X86TLBModel:
 * @table: hash tables, each with @slots lists
 * @nodes: all entries, for random choice; room for @slots
 * @slots: a power of two, not less than the number of entries
 * @size_live: entries of each page size, by the size that a table looks at
 * @contexts: from context_key() to Context
 * @spaces: from ASID to Space
 * @space_list: all of @spaces
 * @capacity: largest number of entries, or 0
 * @random: state of the generator, never 0
 * @stats: counters, without @bytes
 */
struct X86TLBModel {
    Node **table[N_TABLES];
    Node **nodes;
    uint32_t slots;
    uint32_t size_live[N_TABLES][G_N_ELEMENTS(page_shifts)];
    GHashTable *contexts;
    GHashTable *spaces;
    GQueue space_list;
    uint32_t capacity;
    uint64_t random;
    X86TLBStats stats;
};

static unsigned size_index(uint8_t shift)
{
    return (shift > 12) + (shift > 21) + (shift > 22);
}

static uint8_t shift_in(const X86TLBEntry *entry, unsigned table)
{
    return table == BY_PAGE ? entry->shift : entry->stage1_shift;
}

static uint16_t tag_of(const X86TLBEntry *entry)
{
    return entry->kind == X86_TLB_NESTED ? TAG_NESTED :
           entry->global ? TAG_GLOBAL : entry->pcid;
}

static gpointer context_key(uint16_t asid, uint16_t tag)
{
    return GUINT_TO_POINTER((guint)asid << TAG_BITS | tag);
}

static uint64_t random_next(X86TLBModel *model)
{
    /* xorshift64*, Vigna 2016 */
    model->random ^= model->random >> 12;
    model->random ^= model->random << 25;
    model->random ^= model->random >> 27;
    return model->random * 0x2545f4914f6cdd1dULL;
}

static Node **bucket(const X86TLBModel *model, unsigned table, uint16_t asid,
                     uint8_t kind, uint8_t shift, uint64_t addr)
{
    uint64_t hash = (uint64_t)asid << 16 | kind << 8 | shift;

    /* The multiplier and shifts of splitmix64, Steele et al. 2014 */
    hash = hash * 0x9e3779b97f4a7c15ULL + (addr >> shift);
    hash = (hash ^ hash >> 30) * 0xbf58476d1ce4e5b9ULL;
    hash = (hash ^ hash >> 27) * 0x94d049bb133111ebULL;
    hash ^= hash >> 31;
    return &model->table[table][hash & (model->slots - 1)];
}

static void link_node(Node **head, Node *node, unsigned list)
{
    node->link[list].next = *head;
    node->link[list].pprev = head;
    if (*head) {
        (*head)->link[list].pprev = &node->link[list].next;
    }
    *head = node;
}

static void unlink_node(Node *node, unsigned list)
{
    Node *next = node->link[list].next;

    *node->link[list].pprev = next;
    if (next) {
        next->link[list].pprev = node->link[list].pprev;
    }
}

static void link_in_tables(X86TLBModel *model, Node *node)
{
    const X86TLBEntry *entry = &node->entry;
    unsigned table;

    for (table = 0; table < N_TABLES; table++) {
        link_node(bucket(model, table, entry->asid, entry->kind,
                         shift_in(entry, table), entry->addr), node, table);
    }
}

static void resize(X86TLBModel *model, uint32_t slots)
{
    unsigned table;
    uint32_t i;

    model->slots = slots;
    model->nodes = g_renew(Node *, model->nodes, slots);
    for (table = 0; table < N_TABLES; table++) {
        g_free(model->table[table]);
        model->table[table] = g_new0(Node *, slots);
    }
    for (i = 0; i < model->stats.live; i++) {
        link_in_tables(model, model->nodes[i]);
    }
}

static Context *get_context(X86TLBModel *model, uint16_t asid, uint16_t tag)
{
    gpointer key = context_key(asid, tag);
    Context *context = g_hash_table_lookup(model->contexts, key);
    Space *space;

    if (context) {
        return context;
    }
    space = g_hash_table_lookup(model->spaces, GUINT_TO_POINTER(asid));
    if (!space) {
        space = g_new0(Space, 1);
        space->asid = asid;
        space->siblings.data = space;
        g_hash_table_insert(model->spaces, GUINT_TO_POINTER(asid), space);
        g_queue_push_tail_link(&model->space_list, &space->siblings);
    }
    context = g_new0(Context, 1);
    context->space = space;
    context->tag = tag;
    context->siblings.data = context;
    g_hash_table_insert(model->contexts, key, context);
    g_queue_push_tail_link(&space->contexts, &context->siblings);
    return context;
}

/* To be called when an entry has left a context. */
static void put_context(X86TLBModel *model, Context *context)
{
    Space *space = context->space;

    if (!context->nodes) {
        g_hash_table_remove(model->contexts,
                            context_key(space->asid, context->tag));
        g_queue_unlink(&space->contexts, &context->siblings);
        g_free(context);
    }
    if (!space->live) {
        g_hash_table_remove(model->spaces, GUINT_TO_POINTER(space->asid));
        g_queue_unlink(&model->space_list, &space->siblings);
        g_free(space);
    }
}

static void drop_node(X86TLBModel *model, Node *node, X86TLBDropCause cause)
{
    Node *last = model->nodes[--model->stats.live];
    unsigned list, table;

    last->index = node->index;
    model->nodes[last->index] = last;
    for (list = 0; list < N_LISTS; list++) {
        unlink_node(node, list);
    }
    for (table = 0; table < N_TABLES; table++) {
        model->size_live[table][size_index(shift_in(&node->entry, table))]--;
    }
    node->context->space->live--;
    put_context(model, node->context);
    g_free(node);
    model->stats.drops[cause]++;
}

X86TLBModel *x86_tlb_model_new(uint32_t capacity, uint64_t seed)
{
    X86TLBModel *model = g_new0(X86TLBModel, 1);

    model->contexts = g_hash_table_new(NULL, NULL);
    model->spaces = g_hash_table_new(NULL, NULL);
    model->capacity = capacity;
    /* The generator would never leave 0. */
    model->random = seed ? seed : UINT64_MAX;
    resize(model, SLOTS_MIN);
    return model;
}

void x86_tlb_model_free(X86TLBModel *model)
{
    X86TLBMatch all = x86_tlb_match_all();

    if (!model) {
        return;
    }
    x86_tlb_model_invalidate(model, &all);
    g_hash_table_destroy(model->contexts);
    g_hash_table_destroy(model->spaces);
    g_free(model->table[BY_PAGE]);
    g_free(model->table[BY_STAGE1_PAGE]);
    g_free(model->nodes);
    g_free(model);
}

const X86TLBEntry *x86_tlb_model_peek(const X86TLBModel *model,
                                      const X86TLBContext *context,
                                      uint64_t addr)
{
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(page_shifts); i++) {
        uint8_t shift = page_shifts[i];
        Node *node;

        if (!model->size_live[BY_PAGE][i]) {
            continue;
        }
        node = *bucket(model, BY_PAGE, context->asid, context->kind, shift,
                       addr);
        for (; node; node = node->link[BY_PAGE].next) {
            const X86TLBEntry *entry = &node->entry;

            if (entry->addr >> shift == addr >> shift &&
                entry->shift == shift &&
                entry->asid == context->asid &&
                entry->kind == context->kind &&
                (entry->global || entry->kind == X86_TLB_NESTED ||
                 entry->pcid == context->pcid)) {
                return entry;
            }
        }
    }
    return NULL;
}

const X86TLBEntry *x86_tlb_model_lookup(X86TLBModel *model,
                                        const X86TLBContext *context,
                                        uint64_t addr)
{
    const X86TLBEntry *entry = x86_tlb_model_peek(model, context, addr);

    if (entry) {
        model->stats.hits++;
    } else {
        model->stats.misses++;
    }
    return entry;
}

/* Does @match cover the entries of @kind that have @tag? */
static bool covers_tag(const X86TLBMatch *match, X86TLBKind kind, uint16_t tag)
{
    if (kind == X86_TLB_NESTED || tag == TAG_NESTED) {
        return kind == X86_TLB_NESTED && tag == TAG_NESTED;
    }
    if (tag == TAG_GLOBAL) {
        return match->globals;
    }
    return !match->by_pcid || match->pcid == tag;
}

/* Does @match cover a part of the page that @table knows the entry by? */
static bool covers_addr(const X86TLBMatch *match, const X86TLBEntry *entry,
                        unsigned table)
{
    uint8_t shift = shift_in(entry, table);

    return !match->by_address ||
           (match->first >> shift <= entry->addr >> shift &&
            match->last >> shift >= entry->addr >> shift);
}

static bool covers_time(const X86TLBMatch *match, const X86TLBEntry *entry)
{
    return !match->by_time || entry->time < match->time;
}

/* The entries that have their pages in the range, found page by page. */
static void drop_by_page(X86TLBModel *model, uint16_t asid, X86TLBKind kind,
                         const X86TLBMatch *match, unsigned table,
                         X86TLBDropCause cause)
{
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(page_shifts); i++) {
        uint8_t shift = page_shifts[i];
        uint64_t pages = (match->last >> shift) - (match->first >> shift) + 1;
        uint64_t n;

        for (n = 0; model->size_live[table][i] && n < pages; n++) {
            Node *node = *bucket(model, table, asid, kind, shift,
                                 match->first + (n << shift));
            Node *next;

            for (; node; node = next) {
                next = node->link[table].next;
                if (node->entry.asid == asid &&
                    covers_tag(match, kind, node->context->tag) &&
                    covers_addr(match, &node->entry, table) &&
                    covers_time(match, &node->entry)) {
                    drop_node(model, node, cause);
                }
            }
        }
    }
}

/* The same, or those of all addresses, found by going through all contexts. */
static void drop_by_context(X86TLBModel *model, Space *space, X86TLBKind kind,
                            const X86TLBMatch *match, unsigned table,
                            X86TLBDropCause cause)
{
    GList *l, *next_context;
    Node *node, *next;

    /* The last entry takes its context with it, and that the space. */
    for (l = space->contexts.head; l; l = next_context) {
        Context *context = l->data;

        next_context = l->next;
        if (!covers_tag(match, kind, context->tag)) {
            continue;
        }
        for (node = context->nodes; node; node = next) {
            next = node->link[BY_CONTEXT].next;
            if (covers_addr(match, &node->entry, table) &&
                covers_time(match, &node->entry)) {
                drop_node(model, node, cause);
            }
        }
    }
}

/*
 * Drop what @match covers among the entries of one ASID and kind.  @table
 * says which pages count: those of the entries, or those of stage 1.
 */
static void drop_in_asid(X86TLBModel *model, uint16_t asid, X86TLBKind kind,
                         const X86TLBMatch *match, unsigned table,
                         X86TLBDropCause cause)
{
    Space *space = g_hash_table_lookup(model->spaces, GUINT_TO_POINTER(asid));
    uint64_t probes = 0;
    unsigned i;

    if (!space) {
        return;
    }
    for (i = 0; i < G_N_ELEMENTS(page_shifts); i++) {
        if (model->size_live[table][i]) {
            probes += (match->last >> page_shifts[i]) -
                      (match->first >> page_shifts[i]) + 1;
        }
    }
    if (match->by_address && probes < space->live) {
        drop_by_page(model, asid, kind, match, table, cause);
    } else {
        drop_by_context(model, space, kind, match, table, cause);
    }
}

const X86TLBEntry *x86_tlb_model_insert(X86TLBModel *model,
                                        const X86TLBEntry *entry)
{
    X86TLBMatch same = {
        .by_address = true,
        .first = entry->addr,
        .last = entry->addr + (1ULL << entry->shift) - 1,
        .by_pcid = !entry->global,
        .pcid = entry->pcid,
        .globals = true,
    };
    unsigned table;
    Node *node;

    g_assert(entry->shift == page_shifts[size_index(entry->shift)]);
    g_assert(entry->stage1_shift ==
             page_shifts[size_index(entry->stage1_shift)]);
    g_assert(entry->stage1_shift >= entry->shift);
    g_assert(entry->addr % (1ULL << entry->shift) == 0);
    g_assert(entry->pcid < TAG_GLOBAL);
    g_assert(entry->kind == X86_TLB_LINEAR ||
             (entry->kind == X86_TLB_NESTED && !entry->global &&
              !entry->pcid));

    drop_in_asid(model, entry->asid, entry->kind, &same, BY_PAGE,
                 X86_TLB_DROP_REPLACE);
    if (model->capacity && model->stats.live == model->capacity) {
        x86_tlb_model_evict(model);
    }
    if (model->stats.live == model->slots) {
        resize(model, model->slots * 2);
    }

    node = g_new(Node, 1);
    node->entry = *entry;
    node->context = get_context(model, entry->asid, tag_of(entry));
    node->context->space->live++;
    link_node(&node->context->nodes, node, BY_CONTEXT);
    link_in_tables(model, node);
    for (table = 0; table < N_TABLES; table++) {
        model->size_live[table][size_index(shift_in(entry, table))]++;
    }
    node->index = model->stats.live;
    model->nodes[model->stats.live++] = node;
    model->stats.peak = MAX(model->stats.peak, model->stats.live);
    node->entry.number = ++model->stats.inserts;
    return &node->entry;
}

void x86_tlb_model_drop(X86TLBModel *model, const X86TLBEntry *entry,
                        X86TLBDropCause cause)
{
    drop_node(model, (Node *)entry, cause);
}

bool x86_tlb_model_evict(X86TLBModel *model)
{
    uint64_t live = model->stats.live;

    if (!live) {
        return false;
    }
    drop_node(model, model->nodes[(random_next(model) >> 32) * live >> 32],
              X86_TLB_DROP_EVICT);
    return true;
}

static void invalidate_asid(X86TLBModel *model, uint16_t asid,
                            const X86TLBMatch *match)
{
    X86TLBMatch any = { .by_time = match->by_time, .time = match->time };

    drop_in_asid(model, asid, X86_TLB_LINEAR, match, BY_STAGE1_PAGE,
                 X86_TLB_DROP_INVALIDATE);
    if (match->nested) {
        drop_in_asid(model, asid, X86_TLB_NESTED, &any, BY_STAGE1_PAGE,
                     X86_TLB_DROP_INVALIDATE);
    }
}

uint32_t x86_tlb_model_invalidate(X86TLBModel *model, const X86TLBMatch *match)
{
    uint32_t live = model->stats.live;
    uint32_t slots = model->slots;
    GList *l, *next;

    if (match->by_asid) {
        invalidate_asid(model, match->asid, match);
    } else {
        for (l = model->space_list.head; l; l = next) {
            Space *space = l->data;

            next = l->next;
            invalidate_asid(model, space->asid, match);
        }
    }
    while (slots > SLOTS_MIN && model->stats.live < slots / 8) {
        slots /= 2;
    }
    if (slots != model->slots) {
        resize(model, slots);
    }
    return live - model->stats.live;
}

void x86_tlb_model_stats(const X86TLBModel *model, X86TLBStats *stats)
{
    *stats = model->stats;
    stats->bytes = model->stats.live * sizeof(Node) +
                   model->slots * (N_TABLES + 1) * sizeof(Node *) +
                   g_hash_table_size(model->contexts) * sizeof(Context) +
                   g_hash_table_size(model->spaces) * sizeof(Space);
}

uint32_t x86_tlb_model_count_asid(const X86TLBModel *model, uint16_t asid)
{
    const Space *space = g_hash_table_lookup(model->spaces,
                                             GUINT_TO_POINTER(asid));

    return space ? space->live : 0;
}

void x86_tlb_model_foreach(const X86TLBModel *model, X86TLBEntryFunc *func,
                           void *opaque)
{
    uint32_t i;

    for (i = 0; i < model->stats.live; i++) {
        func(&model->nodes[i]->entry, opaque);
    }
}

X86TLBMatch x86_tlb_match_all(void)
{
    return (X86TLBMatch) { .globals = true, .nested = true };
}

X86TLBMatch x86_tlb_match_paging_mode(uint16_t asid)
{
    return (X86TLBMatch) { .by_asid = true, .asid = asid, .globals = true };
}

X86TLBMatch x86_tlb_match_mov_cr3(uint16_t asid, uint16_t pcid)
{
    return (X86TLBMatch) {
        .by_asid = true, .asid = asid,
        .by_pcid = true, .pcid = pcid,
    };
}

X86TLBMatch x86_tlb_match_tlb_control(uint16_t asid, uint8_t tlb_control)
{
    switch (tlb_control) {
    case 1:
        return x86_tlb_match_all();
    case 3:
        return (X86TLBMatch) {
            .by_asid = true, .asid = asid, .globals = true, .nested = true,
        };
    case 7:
        return (X86TLBMatch) { .by_asid = true, .asid = asid };
    default:
        g_assert_not_reached();
    }
}

X86TLBMatch x86_tlb_match_invlpg(uint16_t asid, uint16_t pcid, uint64_t addr)
{
    return (X86TLBMatch) {
        .by_asid = true, .asid = asid,
        .by_pcid = true, .pcid = pcid,
        .by_address = true, .first = addr, .last = addr,
        .globals = true,
    };
}

X86TLBMatch x86_tlb_match_invlpga(uint16_t asid, uint64_t addr)
{
    return (X86TLBMatch) {
        .by_asid = true, .asid = asid,
        .by_address = true, .first = addr, .last = addr,
        .globals = true,
    };
}

X86TLBMatch x86_tlb_match_invpcid(uint16_t asid, unsigned type, uint16_t pcid,
                                  uint64_t addr)
{
    return (X86TLBMatch) {
        .by_asid = true, .asid = asid,
        .by_pcid = type <= 1, .pcid = pcid,
        .by_address = type == 0, .first = addr, .last = addr,
        .globals = type == 2,
    };
}

static bool is_canonical(uint64_t addr, unsigned va_bits)
{
    int64_t sext = (int64_t)addr >> (va_bits - 1);

    return sext == 0 || sext == -1;
}

X86TLBMatch x86_tlb_match_invlpgb(uint64_t rax, uint32_t ecx, uint32_t edx,
                                  unsigned va_bits)
{
    uint64_t step = ecx & (1U << 31) ? 1 << 21 : 1 << 12;
    uint64_t first = rax & ~0xfffULL;
    uint64_t last = first + ((ecx & 0xffff) + 1) * step - 1;

    return (X86TLBMatch) {
        .first = first,
        .last = last,
        .asid = edx & 0xffff,
        .pcid = edx >> 16 & 0xfff,
        /* Both ends in the same half: the range is too short for another. */
        .by_address = (rax & (1U << 0)) &&
                      is_canonical(first, va_bits) &&
                      is_canonical(last, va_bits) &&
                      first >> 63 == last >> 63,
        .by_pcid = rax & (1U << 1),
        .by_asid = rax & (1U << 2),
        .globals = rax & (1U << 3),
        .nested = rax & (1U << 5),
    };
}

/* Does @a cover all that @b does? */
static bool match_contains(const X86TLBMatch *a, const X86TLBMatch *b)
{
    return (!a->by_asid || (b->by_asid && a->asid == b->asid)) &&
           (!a->by_pcid || (b->by_pcid && a->pcid == b->pcid)) &&
           (!a->by_address || (b->by_address && a->first <= b->first &&
                               a->last >= b->last)) &&
           (!a->by_time || (b->by_time && a->time >= b->time)) &&
           a->globals >= b->globals && a->nested >= b->nested;
}

/* Something that covers all that @a and @b do. */
static X86TLBMatch match_join(const X86TLBMatch *a, const X86TLBMatch *b)
{
    return (X86TLBMatch) {
        .first = MIN(a->first, b->first),
        .last = MAX(a->last, b->last),
        .time = MAX(a->time, b->time),
        .asid = a->asid,
        .pcid = a->pcid,
        .by_asid = a->by_asid && b->by_asid && a->asid == b->asid,
        .by_pcid = a->by_pcid && b->by_pcid && a->pcid == b->pcid,
        .by_address = a->by_address && b->by_address,
        .by_time = a->by_time && b->by_time,
        .globals = a->globals || b->globals,
        .nested = a->nested || b->nested,
    };
}

void x86_tlb_pending_add(X86TLBPending *pending, const X86TLBMatch *match)
{
    X86TLBMatch new = *match;
    unsigned i, kept = 0;

    for (i = 0; i < pending->n; i++) {
        if (match_contains(&pending->match[i], &new)) {
            return;
        }
    }
    for (i = 0; i < pending->n; i++) {
        if (!match_contains(&new, &pending->match[i])) {
            pending->match[kept++] = pending->match[i];
        }
    }
    if (kept == X86_TLB_PENDING_MAX) {
        while (kept) {
            new = match_join(&new, &pending->match[--kept]);
        }
    }
    pending->match[kept++] = new;
    pending->n = kept;
}

uint32_t x86_tlb_pending_apply(const X86TLBPending *pending,
                               X86TLBModel *model)
{
    uint32_t dropped = 0;
    unsigned i;

    for (i = 0; i < pending->n; i++) {
        dropped += x86_tlb_model_invalidate(model, &pending->match[i]);
    }
    return dropped;
}

void x86_tlb_pending_clear(X86TLBPending *pending)
{
    pending->n = 0;
}

bool x86_tlb_pending_is_empty(const X86TLBPending *pending)
{
    return !pending->n;
}
