/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A machine that goes back to a state that was saved.  Nothing that a CPU has
 * learnt since may be left.
 */
#include "tlb.h"

static u64 page_value(void)
{
    return *(volatile u64 *)window_probe(WINDOW_4K, 0);
}

static void look_at_cr2(void *cr2)
{
    *(u64 *)cr2 = read_cr2();
}

/* CR2 of a guest whose VMCB says @cr2. */
static u64 cr2_of_guest(u64 cr2, u32 clean)
{
    struct vmcb *v = this_vmcb();
    u64 seen;

    v->cr2 = cr2;
    v->clean = clean;
    guest_call(look_at_cr2, &seen);
    return seen;
}

void test_loadvm(void)
{
    bool hypervisor = machine.svm && machine.npt;

    window_reset(WINDOW_4K);
    flush_local();
    if (hypervisor) {
        guest_reset();
        cr2_of_guest(0x1000, 0);
    }
    /* What the suite waits for; it types 1 when the machine is saved. */
    note("ready to be saved");
    if (console_wait() == '1') {
        window_change(WINDOW_4K);
        flush_local();
        page_value();
        if (hypervisor) {
            cr2_of_guest(0x2000, 0);
        }
        note("ready to be loaded");
        console_wait();
        bail_out("the machine was not loaded");
    }
    report(page_value() == window_value(WINDOW_4K, 0),
           "APM2 5.5 host: no translation is left when a state is loaded");
    if (hypervisor) {
        report(cr2_of_guest(0x3000, 0xffffffff) == 0x3000,
               "APM2 15.15.2 host: no VMCB is known when a state was loaded");
        guest_reset();
    } else {
        skip("no SVM with nested paging", "APM2 15.15.2 host: loaded states");
    }
}
