/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The experiment behind every test of invalidation: all CPUs read pages of a
 * window, the window is changed, something invalidates, all CPUs read again
 * and must see the new frame.
 *
 * CPUs may always drop more than asked, so only what must be gone is checked.
 * Between change and invalidation the CPUs read once more: the number of old
 * values then tells how much the machine's TLB really held, and so what a pass
 * is worth.  It is printed, and judged only on QEMU's strict TLB model, which
 * has to hold everything.
 */
#ifndef TLB_H
#define TLB_H

#include "tests.h"

#define MAX_PROBES      16
#define MAX_CONTEXTS    2

struct experiment {
    enum window window;
    unsigned probes;
    u64 offset[MAX_PROBES];     /* of the pages to read, in the window */
    u64 alias;                  /* the window is read that much higher */
    bool by_table;              /* change the page table, not its entries */
    /*
     * With CR4.PCIDE set, the reads go through CONTEXT_PCID(0) up to
     * CONTEXT_PCID(contexts - 1), all with the same page tables; with 0
     * contexts through the PCID that is loaded.
     */
    unsigned contexts;
    bool alone;                 /* leave other CPUs out */
    /* How this CPU gets to where the reads are to be done; NULL: it is there */
    void (*through)(void (*fn)(void *), void *arg);
    /* Who invalidates, and how. */
    struct cpu *issuer;
    void (*invalidate)(void *arg);
    void *arg;
};

#define CONTEXT_PCID(i) ((i) + 1u)

/*
 * True if all reads before the change saw the old frame and all those after
 * the invalidation the new one.
 */
bool experiment(const struct experiment *e);
/* True if all those after the invalidation saw the old frame, too. */
bool experiment_spares(const struct experiment *e);

/* Prints and clears the count of old values seen before invalidations. */
void note_stale_count(const char *group);

void add_probe(struct experiment *e, u64 offset);
/* Probes all over the window. */
void add_probes_everywhere(struct experiment *e);
/* Some probes in [@offset, @offset + @size), the first and last page too. */
void add_probes_in_range(struct experiment *e, u64 offset, u64 size);

#endif
