/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Page tables, and the windows that TLB tests look through.
 *
 * A window is 1 GiB of address space all of whose pages map one and the same
 * frame, the shown one, of a pair.  The frames hold different values, so
 * reading any page of the window says which translation the CPU used.
 */
#ifndef PAGING_H
#define PAGING_H

#include "x86.h"

#define PTE_P           BIT(0)
#define PTE_W           BIT(1)
#define PTE_U           BIT(2)
#define PTE_A           BIT(5)
#define PTE_D           BIT(6)
#define PTE_PS          BIT(7)
#define PTE_G           BIT(8)
#define PTE_NX          BIT(63)
#define PTE_ADDRESS     0x000ffffffffff000ull
/* A and D are set from the start: no CPU has reason to write to a PTE. */
#define PTE_TABLE       (PTE_P | PTE_W | PTE_U | PTE_A)
#define PTE_LEAF        (PTE_P | PTE_W | PTE_U | PTE_A | PTE_D)

extern u64 boot_pml4[512];

enum window {
    WINDOW_4K,                  /* one page table, shared by 512 PDEs */
    WINDOW_4K_GLOBAL,
    WINDOW_2M,
    WINDOW_2M_GLOBAL,
    WINDOW_1G,                  /* one 1 GiB page, or 2 MiB pages */
    WINDOW_LOW,                 /* 4 KiB pages at 2 GiB, in reach of EAX */
    WINDOW_TOP,                 /* 4 KiB pages up to the end of the space */
    WINDOWS
};

extern const u64 window_base[WINDOWS];

void paging_init(void);

/* A zeroed page of memory; there is no way to free it. */
void *page_alloc(void);

/* Where @size bytes at physical address @pa can be read; for good. */
void *map_physical(u64 pa, u64 size);

/*
 * The entry for @va at @level (1 is the last) of the tables at @root, with the
 * tables above it made if absent.
 */
u64 *pte_at(u64 *root, u64 va, unsigned level);

/*
 * None of these tells any TLB.  window_reset() makes all pages of @w map frame
 * 0; window_change() then makes them map frame 1 by writing the leaf entries,
 * window_change_table() by replacing the page table (4 KiB windows only).
 */
void window_reset(enum window w);
void window_change(enum window w);
/* Any frame, but 4 KiB windows only. */
void window_change_to(enum window w, unsigned frame);
void window_change_table(enum window w);

/* Whether its pages are larger than 4 KiB. */
bool window_is_large(enum window w);

/* What a read at the start of any page of @w gives while it maps @frame. */
u64 window_value(enum window w, unsigned frame);

/*
 * An address in @w that shows the value: at @offset, but in the 1 GiB window
 * only in the 2 MiB that hold the frame.
 */
u64 window_probe(enum window w, u64 offset);

/* Two 4 KiB frames for tests with page tables of their own. */
extern u8 frames_4k[2][PAGE_SIZE];

/*
 * Five levels of page tables on this CPU, or four again.  With five, what
 * boot_pml4 maps is seen three times: where it was, LA57_LOW higher, and
 * LA57_HIGH higher, which is in the upper half.
 */
void set_la57(bool on);
#define LA57_LOW        0x0001000000000000ull
#define LA57_HIGH       0xff00000000000000ull

/* Drops all of this CPU's entries of the current ASID, globals too. */
void flush_local(void);

#endif
