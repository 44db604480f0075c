/*
 * x86 paging: what a translation permits
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "cpu.h"
#include "exec/page-protection.h"
#include "tcg/helper-tcg.h"

/**
 * x86_leaf_prot: what a translation permits under the CPU's present registers
 * @env: CPU state
 * @pg_mode: PG_MODE_* of the page tables
 * @mmu_idx: MMU index of the access
 * @ptep: U and R/W of all levels combined, and NX
 * @pte: the leaf, for its protection key
 * @pkr_prot: set to the PAGE_* bits that the protection key permits; all of
 *     them if an access by the user does not get that far
 *
 * Returns: the PAGE_* bits that all the rest permits.
 */
int x86_leaf_prot(CPUX86State *env, int pg_mode, int mmu_idx, uint64_t ptep,
                  uint64_t pte, int *pkr_prot)
{
    const bool is_user = is_mmu_index_user(mmu_idx);
    uint32_t pkr;
    int prot = 0;

    *pkr_prot = PAGE_READ | PAGE_WRITE | PAGE_EXEC;
    if (is_user && !(ptep & PG_USER_MASK)) {
        return 0;
    }

    if (!is_mmu_index_smap(mmu_idx) || !(ptep & PG_USER_MASK)) {
        prot |= PAGE_READ;
        if ((ptep & PG_RW_MASK) || !(is_user || (pg_mode & PG_MODE_WP))) {
            prot |= PAGE_WRITE;
        }
    }
    if (!(ptep & PG_NX_MASK) &&
        (is_user ||
         !((pg_mode & PG_MODE_SMEP) && (ptep & PG_USER_MASK)))) {
        prot |= PAGE_EXEC;
    }

    if (ptep & PG_USER_MASK) {
        pkr = pg_mode & PG_MODE_PKE ? env->pkru : 0;
    } else {
        pkr = pg_mode & PG_MODE_PKS ? env->pkrs : 0;
    }
    if (pkr) {
        uint32_t pk = (pte & PG_PKRU_MASK) >> PG_PKRU_BIT;
        uint32_t pkr_ad = (pkr >> pk * 2) & 1;
        uint32_t pkr_wd = (pkr >> pk * 2) & 2;

        if (pkr_ad) {
            *pkr_prot &= ~(PAGE_READ | PAGE_WRITE);
        } else if (pkr_wd && (is_user || (pg_mode & PG_MODE_WP))) {
            *pkr_prot &= ~PAGE_WRITE;
        }
    }
    return prot;
}
