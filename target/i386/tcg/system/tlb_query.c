/*
 * x86 strict TLB model: QMP
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/qapi-commands-tlb-model-target.h"
#include "cpu.h"
#include "tlb_tagged_internal.h"
#include "tlb_witness.h"

/**
 * Query: what is asked of one CPU
 * @info: the answer
 * @fills: X86TLBStats.inserts
 * @address: list the translations of this address, if @by_address
 * @asid: of this ASID only, if @by_asid
 * @by_address: likewise
 * @by_asid: likewise
 * @entries_in: number of translations by ASID
 * @misuses: end of the list
 */
typedef struct Query {
    X86TLBInfo *info;
    uint64_t fills;
    uint64_t address;
    uint16_t asid;
    bool by_address;
    bool by_asid;
    GHashTable *entries_in;
    X86TLBMisuseList **misuses;
} Query;

static X86TLBTranslation *translation(const X86TLBEntry *entry, uint64_t age)
{
    X86TLBTranslation *t = g_new0(X86TLBTranslation, 1);

    t->kind = entry->kind == X86_TLB_NESTED ? X86_TLB_ENTRY_KIND_NESTED :
                                              X86_TLB_ENTRY_KIND_LINEAR;
    t->address = entry->addr;
    t->physical_address = entry->phys;
    t->size = 1ULL << entry->shift;
    t->asid = entry->asid;
    t->pcid = entry->pcid;
    t->global = entry->global;
    t->owner = entry->owner;
    t->space = entry->space;
    t->age = age;
    return t;
}

static void query_entry(const X86TLBEntry *entry, void *opaque)
{
    Query *query = opaque;
    gpointer asid = GUINT_TO_POINTER(entry->asid);
    guint n = GPOINTER_TO_UINT(g_hash_table_lookup(query->entries_in, asid));

    g_hash_table_insert(query->entries_in, asid, GUINT_TO_POINTER(n + 1));
    if (query->by_address &&
        (!query->by_asid || entry->asid == query->asid) &&
        entry->addr >> entry->shift == query->address >> entry->shift) {
        QAPI_LIST_PREPEND(query->info->translations,
                          translation(entry, query->fills - entry->number));
    }
}

static void query_report(const X86TLBReport *report, void *opaque)
{
    Query *query = opaque;
    X86TLBMisuse *misuse;

    if (report->cpu_index == query->info->cpu_index) {
        misuse = g_new0(X86TLBMisuse, 1);
        misuse->stale = report->kind == X86_TLB_REPORT_STALE;
        misuse->address = report->addr;
        misuse->user = report->owner;
        misuse->translation = translation(&report->entry, report->age);
        QAPI_LIST_APPEND(query->misuses, misuse);
    }
}

/* On the CPU's thread: no other may look into its model. */
static void query_work(CPUState *cs, run_on_cpu_data data)
{
    const X86TaggedTLB *tlb = X86_CPU(cs)->tagged_tlb;
    Query *query = data.host_ptr;
    X86TLBInfo *info = query->info;
    gpointer asid, entries;
    GHashTableIter iter;
    X86TLBStats stats;

    x86_tlb_model_stats(tlb->model, &stats);
    info->cpu_index = cs->cpu_index;
    info->entries = stats.live;
    info->peak_entries = stats.peak;
    info->bytes = stats.bytes;
    info->hits = stats.hits;
    info->misses = stats.misses;
    info->fills = query->fills = stats.inserts;
    info->invalidated = stats.drops[X86_TLB_DROP_INVALIDATE];
    info->replaced = stats.drops[X86_TLB_DROP_REPLACE];
    info->denied = stats.drops[X86_TLB_DROP_PERMISSION];
    info->evicted = stats.drops[X86_TLB_DROP_EVICT];
    info->pending_invalidations = tlb->pending.n;
    info->violations = tlb->reports[X86_TLB_REPORT_VIOLATION];
    info->stale_uses = tlb->reports[X86_TLB_REPORT_STALE];
    info->has_translations = query->by_address;

    x86_tlb_model_foreach(tlb->model, query_entry, query);
    g_hash_table_iter_init(&iter, query->entries_in);
    while (g_hash_table_iter_next(&iter, &asid, &entries)) {
        X86TLBAsid *in_asid = g_new0(X86TLBAsid, 1);

        in_asid->asid = GPOINTER_TO_UINT(asid);
        in_asid->entries = GPOINTER_TO_UINT(entries);
        QAPI_LIST_PREPEND(info->asids, in_asid);
    }
    x86_tlb_foreach_report(query_report, query);
}

X86TLBInfoList *qmp_x_query_tlb_model(bool has_address, uint64_t address,
                                      bool has_asid, uint16_t asid,
                                      Error **errp)
{
    X86TLBInfoList *list = NULL, **tail = &list;
    CPUState *cs;

    if (has_asid && !has_address) {
        error_setg(errp, "'asid' needs 'address'");
        return NULL;
    }
    CPU_FOREACH(cs) {
        g_autoptr(GHashTable) entries_in = g_hash_table_new(NULL, NULL);
        X86TLBInfo *info;
        Query query = {
            .address = address,
            .asid = asid,
            .by_address = has_address,
            .by_asid = has_asid,
            .entries_in = entries_in,
        };

        if (!X86_CPU(cs)->tagged_tlb) {
            continue;
        }
        info = query.info = g_new0(X86TLBInfo, 1);
        query.misuses = &info->misuses;
        run_on_cpu(cs, query_work, RUN_ON_CPU_HOST_PTR(&query));
        QAPI_LIST_APPEND(tail, info);
    }
    return list;
}
