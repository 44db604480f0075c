/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reset of the machine.  The program comes here twice; what it must know the
 * second time stands in memory that neither firmware nor loader touches.
 */
#include "tests.h"

#define PAGE            0x0000480000000000ull
#define MAGIC           0x7465736572ull

static struct {
    u64 magic;
    u64 frames[2][PAGE_SIZE / 8] __attribute__((aligned(PAGE_SIZE)));
} *const kept = (void *)0x8000000;

#define RESET_CONTROL   0xcf9
#define RESET_HARD      0x06

static u64 values[2];           /* seen by the host, by its guest */

static void look(void *value)
{
    *(u64 *)value = *(volatile u64 *)PAGE;
}

static void look_in_each(unsigned frame)
{
    *pte_at(boot_pml4, PAGE, 1) = (u64)kept->frames[frame] | PTE_LEAF | PTE_G;
    guest_reset();
    this_vmcb()->tlb_control = TLB_KEEP;
    look(&values[0]);
    guest_call(look, &values[1]);
}

void test_reset(void)
{
    if (!machine.svm || !machine.npt) {
        skip("no SVM with nested paging", "APM2 14.1: reset");
        return;
    }
    kept->frames[0][0] = 1;
    kept->frames[1][0] = 2;
    if (kept->magic != MAGIC) {
        look_in_each(0);
        if (values[0] != 1 || values[1] != 1) {
            bail_out("the page reads %lx and %lx", values[0], values[1]);
        }
        kept->magic = MAGIC;
        out8(RESET_CONTROL, RESET_HARD);
        for (;;) {
            pause();
        }
    }
    kept->magic = 0;
    look_in_each(1);
    report(values[0] == 2, "APM2 14.1 host: reset drops the host's "
           "translations");
    report(values[1] == 2, "APM2 14.1 host: reset drops the guests' "
           "translations");
}
