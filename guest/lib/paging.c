/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "console.h"
#include "cpu.h"
#include "paging.h"

#define POOL_PAGES      160

/* What map_physical() maps begins here. */
#define PHYSICAL        0x0000300000000000ull

const u64 window_base[WINDOWS] = {
    [WINDOW_4K]        = 0x0000400000000000,
    [WINDOW_4K_GLOBAL] = 0x0000400040000000,
    [WINDOW_2M]        = 0x0000400080000000,
    [WINDOW_2M_GLOBAL] = 0x00004000c0000000,
    [WINDOW_1G]        = 0x0000400100000000,
    [WINDOW_LOW]       = 0x0000000080000000,
    [WINDOW_TOP]       = 0xffffffffc0000000,
};

static const struct {
    unsigned level;
    u64 flags;
} shape[WINDOWS] = {
    [WINDOW_4K]        = { 1, PTE_LEAF },
    [WINDOW_4K_GLOBAL] = { 1, PTE_LEAF | PTE_G },
    [WINDOW_2M]        = { 2, PTE_LEAF | PTE_PS },
    [WINDOW_2M_GLOBAL] = { 2, PTE_LEAF | PTE_PS | PTE_G },
    [WINDOW_1G]        = { 3, PTE_LEAF | PTE_PS },
    [WINDOW_LOW]       = { 1, PTE_LEAF },
    [WINDOW_TOP]       = { 1, PTE_LEAF },
};

void switch_paging(u64 cr3, u64 cr4);

u8 frames_4k[2][PAGE_SIZE] __attribute__((aligned(PAGE_SIZE)));
static u8 frames_2m[2][SIZE_2M] __attribute__((aligned(SIZE_2M)));
static u8 pool[POOL_PAGES][PAGE_SIZE] __attribute__((aligned(PAGE_SIZE)));
static unsigned pool_used;

/*
 * Per 4 KiB window two page tables, the second for window_change_table(); for
 * the 1 GiB window the table that replaces the large page.
 */
static u64 *tables[WINDOWS][2];

void *page_alloc(void)
{
    if (pool_used == POOL_PAGES) {
        bail_out("out of pages");
    }
    return pool[pool_used++];
}

u64 *pte_at(u64 *root, u64 va, unsigned level)
{
    u64 *table = root;

    for (unsigned l = 4; ; l--) {
        u64 *entry = &table[va >> (12 + 9 * (l - 1)) & 511];

        if (l == level) {
            return entry;
        }
        if (!(*entry & PTE_P)) {
            *entry = (u64)page_alloc() | PTE_TABLE;
        }
        table = (u64 *)(*entry & PTE_ADDRESS);
    }
}

void *map_physical(u64 pa, u64 size)
{
    for (u64 at = pa & ~(SIZE_2M - 1); at < pa + size; at += SIZE_2M) {
        *pte_at(boot_pml4, PHYSICAL + at, 2) = at | PTE_LEAF | PTE_PS;
    }
    return (void *)(PHYSICAL + pa);
}

u64 window_probe(enum window w, u64 offset)
{
    u64 va = window_base[w] + (offset & (SIZE_1G - 1));

    if (w == WINDOW_1G) {
        va = window_base[w] + (u64)frames_2m[0] + (offset & (SIZE_2M - 1));
    }
    return va;
}

bool window_is_large(enum window w)
{
    return shape[w].level > 1;
}

u64 window_value(enum window w, unsigned frame)
{
    return (shape[w].level == 1 ? 0x4b34 : 0x4d32) << 8 | frame;
}

static void fill_table(u64 *table, u64 entry)
{
    for (unsigned i = 0; i < 512; i++) {
        table[i] = entry;
    }
}

static u64 *pde(enum window w)
{
    return pte_at(boot_pml4, window_base[w], 2);
}

void window_reset(enum window w)
{
    switch (shape[w].level) {
    case 1:
        fill_table(tables[w][0], (u64)frames_4k[0] | shape[w].flags);
        fill_table(pde(w), (u64)tables[w][0] | PTE_TABLE);
        break;
    case 2:
        fill_table(pde(w), (u64)frames_2m[0] | shape[w].flags);
        break;
    case 3:
        /* The first gigabyte of memory; see window_probe(). */
        *pte_at(boot_pml4, window_base[w], 3) = shape[w].flags;
        break;
    }
}

void window_change_to(enum window w, unsigned frame)
{
    fill_table(tables[w][0], (u64)frames_4k[frame] | shape[w].flags);
}

void window_change(enum window w)
{
    switch (shape[w].level) {
    case 1:
        window_change_to(w, 1);
        break;
    case 2:
        fill_table(pde(w), (u64)frames_2m[1] | shape[w].flags);
        break;
    case 3:
        *pte_at(boot_pml4, window_base[w], 3) = (u64)tables[w][1] | PTE_TABLE;
        break;
    }
}

void window_change_table(enum window w)
{
    fill_table(tables[w][1], (u64)frames_4k[1] | shape[w].flags);
    fill_table(pde(w), (u64)tables[w][1] | PTE_TABLE);
}

void paging_init(void)
{
    for (unsigned frame = 0; frame < 2; frame++) {
        *(u64 *)frames_4k[frame] = window_value(WINDOW_4K, frame);
        for (u64 page = 0; page < SIZE_2M; page += PAGE_SIZE) {
            *(u64 *)(frames_2m[frame] + page) = window_value(WINDOW_2M, frame);
        }
    }
    for (unsigned w = 0; w < WINDOWS; w++) {
        if (shape[w].level != 2) {
            tables[w][0] = page_alloc();
            tables[w][1] = page_alloc();
        }
        if (w == WINDOW_1G) {
            fill_table(tables[w][1], (u64)frames_2m[1] | PTE_LEAF | PTE_PS);
            if (!machine.page_1g) {
                continue;
            }
        }
        window_reset(w);
    }
}

void set_la57(bool on)
{
    static u64 pml5[512] __attribute__((aligned(PAGE_SIZE)));
    u64 entry = (u64)boot_pml4 | PTE_TABLE, cr4 = read_cr4();

    pml5[0] = pml5[1] = pml5[256] = pml5[511] = entry;
    interrupts_off();
    switch_paging(on ? (u64)pml5 : (u64)boot_pml4,
                  on ? cr4 | CR4_LA57 : cr4 & ~CR4_LA57);
}

void flush_local(void)
{
    u64 cr4 = read_cr4();

    write_cr4(cr4 ^ CR4_PGE);
    write_cr4(cr4);
}
