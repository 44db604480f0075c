/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The numeric-error signals of one CPU must not disturb world switches of
 * another.
 *
 * QEMU keeps IGNNE# with the first CPU's flags, among them those for nested
 * paging and the global interrupt flag.  Other CPUs change it by reloading the
 * FPU environment; when that races with VMRUN and #VMEXIT an update can get
 * lost, and then the host goes on with the guest's nested paging or the guest
 * without.  A page that nested paging moves makes both visible.
 */
#include "tests.h"

#define ROUNDS          40000

static u64 *page, *moved_page;
static bool stop;

static void reload_fpu(void *unused)
{
    u32 environment[7];

    asm volatile("fninit; fnstenv %0" : "=m"(environment));
    while (!load_acquire(&stop)) {
        for (unsigned i = 0; i < 100; i++) {
            asm volatile("fldenv %0" : : "m"(environment));
        }
        pause();
    }
}

static void read_page(void *seen)
{
    *(u64 *)seen = *(volatile u64 *)page;
}

void test_ferr(void)
{
    struct work works[MAX_CPUS];
    unsigned host_wrong = 0, guest_wrong = 0;

    if (!machine.svm || !machine.npt) {
        skip("no SVM with nested paging", "APM2 15.5 host: world switches "
             "while other CPUs use their FPU");
        return;
    }
    if (cpu_count == 1) {
        skip("one CPU only", "APM2 15.5 host: world switches while other CPUs "
             "use their FPU");
        return;
    }
    page = page_alloc();
    moved_page = page_alloc();
    *page = 1;
    *moved_page = 2;
    npt_map((u64)page, (u64)moved_page);
    guest_reset();

    stop = false;
    for_each_other_cpu(c) {
        works[c->index] = (struct work) { reload_fpu };
        cpu_post(c, &works[c->index]);
    }
    for (unsigned i = 0; i < ROUNDS; i++) {
        u64 seen;

        guest_call(read_page, &seen);
        guest_wrong += seen != 2;
        read_page(&seen);
        host_wrong += seen != 1;
    }
    store_release(&stop, true);
    for_each_other_cpu(c) {
        cpu_wait(&works[c->index]);
    }
    report(!host_wrong && !guest_wrong, "APM2 15.5 host: world switches while "
           "other CPUs use their FPU (%u and %u of %u reads went wrong)",
           host_wrong, guest_wrong, ROUNDS);
}
