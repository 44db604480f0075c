/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * INIT: a CPU that is started anew still has its guests' translations, and
 * whoever brings it online has to flush.  design.md 5.2, I4.
 */
#include "tlb.h"

static void look(void *value)
{
    *(u64 *)value = *(volatile u64 *)window_probe(WINDOW_4K, 0);
}

static void look_as_guest(void *value)
{
    guest_call(look, value);
}

/* Without translations of the window, the guest's after its first VMRUN. */
static void start_afresh(void *unused)
{
    flush_local();
    guest_reset();
}

static void set_tlb_control(void *tlb_control)
{
    this_vmcb()->tlb_control = *(u8 *)tlb_control;
}

static bool reads(struct cpu *c, void (*how)(void *), unsigned frame)
{
    u64 value;

    cpu_call(c, how, &value);
    return value == window_value(WINDOW_4K, frame);
}

/* Whether the first look after INIT is at the old page. */
static bool stale_after_init(struct cpu *c, void (*how)(void *), u8 tlb_control)
{
    bool stale;

    window_reset(WINDOW_4K);
    cpu_call(c, start_afresh, NULL);
    if (!reads(c, how, 0)) {
        bail_out("CPU %u does not read the page", c->index);
    }
    window_change(WINDOW_4K);
    cpu_restart(c);
    cpu_call(c, svm_init, NULL);
    cpu_call(c, set_tlb_control, &tlb_control);
    stale = reads(c, how, 0);
    return stale || !reads(c, how, 1);
}

void test_init(void)
{
    struct cpu *other = &cpus[1];
    bool stale;

    if (!machine.svm || !machine.npt) {
        skip("no SVM with nested paging", "APM2 14.1.3: INIT");
        return;
    }
    if (cpu_count < 2) {
        skip("one CPU only", "APM2 14.1.3: INIT of another one");
        return;
    }
    report(!stale_after_init(other, look, TLB_KEEP),
           "APM2 14.1.3 host: INIT drops the host's translations");
    stale = stale_after_init(other, look_as_guest, TLB_KEEP);
    if (strict()) {
        report(stale, "APM2 14.1.3 host: INIT spares the guests' translations");
    }
    report(!stale_after_init(other, look_as_guest, TLB_FLUSH_ALL),
           "APM2 14.1.3 host: TLB_CONTROL 1 drops what INIT has spared");
}
