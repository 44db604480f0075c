/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A TLB that is a list, searched from end to end: what tlb_model.c must be
 * indistinguishable from.  Written from spec.md and the manuals, and shares
 * nothing with the model, so that one mistake cannot be in both.
 */
#ifndef TLB_MODEL_NAIVE_H
#define TLB_MODEL_NAIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NAIVE_MAX       4096    /* translations; the caller must not add more */

struct naive_translation {
    uint64_t id;                /* unique, not 0, rising with time */
    unsigned asid, pcid;
    bool global, nested;
    uint64_t start, end;        /* end is the last byte */
    uint64_t page_start, page_end;      /* the page of stage 1 around it */
};

struct naive_tlb {
    size_t n;
    struct naive_translation list[NAIVE_MAX];   /* by rising id */
};

enum naive_type {
    NAIVE_EVERYTHING,           /* reset, SMI, RSM */
    NAIVE_PAGING_MODE,          /* CR0.PG, CR4.PGE, ... */
    NAIVE_MOV_CR3,
    NAIVE_TLB_CONTROL,
    NAIVE_INVLPG,
    NAIVE_INVLPGA,
    NAIVE_INVPCID,
    NAIVE_INVLPGB,
    NAIVE_TYPES,
};

struct naive_operation {
    enum naive_type type;
    unsigned asid;              /* the current one; INVLPGA: the operand */
    unsigned pcid;              /* the current one; INVPCID: the operand */
    uint64_t addr;              /* INVLPG, INVLPGA, INVPCID */
    unsigned variant;           /* of TLB_CONTROL and INVPCID */
    uint64_t rax;               /* INVLPGB */
    uint32_t ecx, edx;
    bool la57;
    uint64_t before;            /* spares this id and later ones; 0: none */
};

/* The translation of an address, or 0; aborts if there are two. */
uint64_t naive_find(const struct naive_tlb *tlb, unsigned asid, unsigned pcid,
                    bool nested, uint64_t addr);

/* Adds one and removes those that answer to the same addresses. */
void naive_add(struct naive_tlb *tlb, const struct naive_translation *new);

void naive_remove(struct naive_tlb *tlb, uint64_t id);

bool naive_has(const struct naive_tlb *tlb, uint64_t id);

void naive_perform(struct naive_tlb *tlb, const struct naive_operation *op);

#endif
