/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>

#include "tlb-model-naive.h"

/* Wide enough for the end of a range that leaves the address space. */
typedef unsigned __int128 wide;

static bool answers(const struct naive_translation *t, unsigned asid,
                    unsigned pcid, bool nested)
{
    if (t->asid != asid || t->nested != nested) {
        return false;
    }
    return nested || t->global || t->pcid == pcid;
}

uint64_t naive_find(const struct naive_tlb *tlb, unsigned asid, unsigned pcid,
                    bool nested, uint64_t addr)
{
    uint64_t found = 0;

    for (size_t i = 0; i < tlb->n; i++) {
        const struct naive_translation *t = &tlb->list[i];

        if (answers(t, asid, pcid, nested) && t->start <= addr &&
            addr <= t->end) {
            if (found) {
                abort();
            }
            found = t->id;
        }
    }
    return found;
}

static void remove_at(struct naive_tlb *tlb, size_t at)
{
    tlb->n--;
    for (size_t i = at; i < tlb->n; i++) {
        tlb->list[i] = tlb->list[i + 1];
    }
}

void naive_add(struct naive_tlb *tlb, const struct naive_translation *new)
{
    for (size_t i = tlb->n; i-- > 0; ) {
        const struct naive_translation *old = &tlb->list[i];
        bool touch = old->start <= new->end && new->start <= old->end;

        if (touch && (answers(old, new->asid, new->pcid, new->nested) ||
                      answers(new, old->asid, old->pcid, old->nested))) {
            remove_at(tlb, i);
        }
    }
    tlb->list[tlb->n++] = *new;
}

void naive_remove(struct naive_tlb *tlb, uint64_t id)
{
    for (size_t i = 0; i < tlb->n; i++) {
        if (tlb->list[i].id == id) {
            remove_at(tlb, i);
            return;
        }
    }
    abort();
}

bool naive_has(const struct naive_tlb *tlb, uint64_t id)
{
    size_t low = 0, high = tlb->n;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (tlb->list[middle].id < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < tlb->n && tlb->list[low].id == id;
}

/* Halves of the address space: the lower, the upper, or in the hole between */
static int half(wide addr, bool la57)
{
    wide size = (wide)1 << (la57 ? 56 : 47);
    wide top = (wide)1 << 64;

    if (addr < size) {
        return 0;
    }
    return addr >= top - size && addr < top ? 1 : -1;
}

/* spec B.2, B.3/12, B.3/13 */
static bool invlpgb_reaches(const struct naive_translation *t,
                            const struct naive_operation *op)
{
    wide step = op->ecx >> 31 ? 0x200000 : 0x1000;
    wide from = op->rax - op->rax % 0x1000;
    wide to = from + step * (1 + op->ecx % 0x10000) - 1;
    int half_from = half(from, op->la57), half_to = half(to, op->la57);

    if (half_from < 0 || half_from != half_to) {
        return true;
    }
    return !(t->page_end < from || to < t->page_start);
}

static bool invlpgb(const struct naive_translation *t,
                    const struct naive_operation *op)
{
    bool va = op->rax & 1, pcid = op->rax & 2, asid = op->rax & 4;
    bool global = op->rax & 8, nested = op->rax & 32;

    if (asid && t->asid != op->edx % 0x10000) {
        return false;
    }
    if (t->nested) {
        return nested;
    }
    if (va && !invlpgb_reaches(t, op)) {
        return false;
    }
    if (t->global) {
        return global;
    }
    return !pcid || t->pcid == (op->edx >> 16) % 0x1000;
}

static bool invpcid(const struct naive_translation *t,
                    const struct naive_operation *op)
{
    bool here = t->page_start <= op->addr && op->addr <= t->page_end;

    if (t->nested || t->asid != op->asid) {
        return false;
    }
    switch (op->variant) {
    case 0:
        return !t->global && t->pcid == op->pcid && here;
    case 1:
        return !t->global && t->pcid == op->pcid;
    case 2:
        return true;
    case 3:
        return !t->global;
    }
    abort();
}

/* APM2 table 15-9, and the paragraph on nested page tables below it */
static bool tlb_control(const struct naive_translation *t,
                        const struct naive_operation *op)
{
    switch (op->variant) {
    case 1:
        return true;
    case 3:
        return t->asid == op->asid;
    case 7:
        return t->asid == op->asid && !t->global && !t->nested;
    }
    abort();
}

static bool goes(const struct naive_translation *t,
                 const struct naive_operation *op)
{
    bool ours = t->asid == op->asid && !t->nested;
    bool here = t->page_start <= op->addr && op->addr <= t->page_end;

    switch (op->type) {
    case NAIVE_EVERYTHING:
        return true;
    case NAIVE_PAGING_MODE:
        return ours;
    case NAIVE_MOV_CR3:
        return ours && !t->global && t->pcid == op->pcid;
    case NAIVE_TLB_CONTROL:
        return tlb_control(t, op);
    case NAIVE_INVLPG:
        return ours && here && (t->global || t->pcid == op->pcid);
    case NAIVE_INVLPGA:
        return ours && here;
    case NAIVE_INVPCID:
        return invpcid(t, op);
    case NAIVE_INVLPGB:
        return invlpgb(t, op);
    case NAIVE_TYPES:
        break;
    }
    abort();
}

void naive_perform(struct naive_tlb *tlb, const struct naive_operation *op)
{
    size_t kept = 0;

    for (size_t i = 0; i < tlb->n; i++) {
        bool later = op->before && tlb->list[i].id >= op->before;

        if (later || !goes(&tlb->list[i], op)) {
            tlb->list[kept++] = tlb->list[i];
        }
    }
    tlb->n = kept;
}
