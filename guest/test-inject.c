/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Event injection: APM2 15.20. */
#include "tests.h"

#define ROUNDS          10

/* Where guests of this file begin and, by next_rip, go on; both end them. */
CODE(begin, "vmmcall");
CODE(go_on, "vmmcall");

#define PIC_1           0x20            /* command; mask at the next port */
#define PIC_2           0xa0
#define PIT_0           0x40            /* its interrupt is the first */
#define PIT_COMMAND     0x43
#define PIT_ONCE        0x30            /* low when set, high at 0 */
#define PIT_TICKS       1200            /* a millisecond */

/* Edge-triggered, nothing pending, only the timer's interrupt unmasked. */
static void pic_init(void)
{
    static const u16 port[2] = { PIC_1, PIC_2 };
    static const u8 vector[2] = { 0x20, 0x28 };
    static const u8 cascade[2] = { BIT(2), 2 };
    static const u8 mask[2] = { 0xff & ~BIT(0), 0xff };

    for (unsigned i = 0; i < 2; i++) {
        out8(port[i], 0x11);
        out8(port[i] + 1, vector[i]);
        out8(port[i] + 1, cascade[i]);
        out8(port[i] + 1, 0x01);
        out8(port[i] + 1, mask[i]);
        out8(port[i], 0x0a);            /* reads give the pending requests */
    }
}

/*
 * Lets the timer raise its interrupt, which the guest, with RFLAGS.IF clear,
 * cannot take; waits until it is pending and withdraws it.
 *
 * It must be a line of the old interrupt controller, for in QEMU that reaches
 * the CPU as a bare request: the CPU leaves the translated code and finds
 * nothing to do.  A message to the local APIC would be looked at first, and
 * that hides a left-over of the injection.  For the same reason the loop has
 * nothing else in it that makes an emulator leave it.
 */
static void wait_for_timer(void *unused)
{
    out8(PIT_COMMAND, PIT_ONCE);
    out8(PIT_0, PIT_TICKS & 0xff);
    out8(PIT_0, PIT_TICKS >> 8);
    while (!(in8(PIC_1) & 1)) {
    }
    out8(PIT_COMMAND, PIT_ONCE);
    out8(PIC_1 + 1, 0xff);
    out8(PIC_2 + 1, 0xff);
}

static void interrupt_once(void)
{
    struct cpu *c = this_cpu();
    bool returned = true;

    c->absorb = true;
    c->absorbed[VECTOR_INJECT] = 0;
    for (unsigned i = 0; i < ROUNDS; i++) {
        guest_reset();
        guest_prepare_call(wait_for_timer, NULL);
        this_vmcb()->event = EVENT_VALID | EVENT_INTR | VECTOR_INJECT;
        pic_init();
        apic_write(APIC_LVT_LINT0, APIC_EXTINT);
        returned &= guest_call_returned(guest_run());
        apic_write(APIC_LVT_LINT0, APIC_MASKED);
    }
    c->absorb = false;
    report(returned && c->absorbed[VECTOR_INJECT] == ROUNDS,
           "APM2 15.20 guest: an injected interrupt is delivered once");
    note("%u interrupts injected, %u delivered", ROUNDS,
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
