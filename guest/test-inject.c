/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Event injection: APM2 15.20. */
#include "tests.h"

/* Where guests of this file begin and, by next_rip, go on. */
CODE(begin, "ud2");
CODE(go_on, "vmmcall");

/*
 * Reads the local APIC until the timer interrupt is pending; nothing in the
 * loop makes an emulator leave it but the interrupt request itself.
 */
static void wait_for_timer(void *unused)
{
    unsigned reg = APIC_IRR + VECTOR_TIMER / 32 * 0x10;

    while (!(apic_read(reg) & BIT(VECTOR_TIMER % 32))) {
    }
}

static void interrupt_once(void)
{
    struct cpu *c = this_cpu();
    u64 exit_code;

    guest_reset();
    guest_prepare_call(wait_for_timer, NULL);
    this_vmcb()->event = EVENT_VALID | EVENT_INTR | VECTOR_INJECT;
    c->absorb = true;
    c->absorbed[VECTOR_INJECT] = 0;

    /* Pending while the guest, which has RFLAGS.IF clear, cannot take it. */
    apic_write(APIC_TIMER_DIV, 0xb);
    apic_write(APIC_LVT_TIMER, VECTOR_TIMER);
    apic_write(APIC_TIMER_INIT, 1000);
    exit_code = guest_run();
    interrupts_on();
    interrupts_off();
    c->absorb = false;
    report(guest_call_returned(exit_code) && c->absorbed[VECTOR_INJECT] == 1,
           "APM2 15.20 guest: an injected interrupt is delivered once (%u)",
           c->absorbed[VECTOR_INJECT]);
}

/*
 * RIP is that of the instruction which the hypervisor intercepted, next_rip
 * the one to return to.
 */
static void pushes_next_rip(const char *what, u32 type, unsigned vector)
{
    struct cpu *c = this_cpu();
    struct regs regs = { 0 };
    u64 exit_code;

    guest_reset();
    guest_prepare_execute(&begin, MODE_64, &regs);
    this_vmcb()->exceptions = 0;
    this_vmcb()->next_rip = (u64)go_on.start;
    this_vmcb()->event = EVENT_VALID | type | vector;
    c->absorb = true;
    c->absorbed[vector] = 0;
    exit_code = guest_run();
    c->absorb = false;
    report(exit_code == EXIT_VMMCALL && c->absorbed[vector] == 1 &&
           c->absorbed_rip == (u64)go_on.start,
           "APM2 15.20 guest: %s pushes next_rip", what);
}

/* An exception that is a fault pushes RIP itself. */
static void fault_pushes_rip(void)
{
    struct cpu *c = this_cpu();
    struct regs regs = { 0 };
    u64 exit_code;

    guest_reset();
    guest_prepare_execute(&go_on, MODE_64, &regs);
    this_vmcb()->exceptions = 0;
    this_vmcb()->next_rip = (u64)begin.start;
    this_vmcb()->event = EVENT_VALID | EVENT_EXCEPTION | EXC_UD;
    c->absorb = true;
    c->absorbed[EXC_UD] = 0;
    exit_code = guest_run();
    c->absorb = false;
    report(exit_code == EXIT_VMMCALL && c->absorbed[EXC_UD] == 1 &&
           c->absorbed_rip == (u64)go_on.start,
           "APM2 15.20 guest: an injected #UD pushes RIP");
}

void test_inject(void)
{
    if (!machine.svm || !machine.npt) {
        skip("no SVM with nested paging", "APM2 15.20: event injection");
        return;
    }
    interrupt_once();
    fault_pushes_rip();
    if (machine.nrips) {
        pushes_next_rip("a software interrupt", EVENT_SOFT, VECTOR_INJECT);
        pushes_next_rip("an injected INT3", EVENT_EXCEPTION, EXC_BP);
    } else {
        skip("no NRIPS", "APM2 15.20 guest: next_rip of software interrupts");
    }
    guest_reset();
}
