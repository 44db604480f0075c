/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Gets stuck on purpose, to see the watchdog at work.  hang= says where: "host",
 * "guest", "snippet"; always on the last CPU.
 */
#include "tests.h"

CODE(endless, "1: jmp 1b");

/* In a snippet, too, as its address is known then. */
static void hang(void *unused)
{
    asm volatile("cli; jmp endless_start");
}

static void hang_as_guest(void *unused)
{
    guest_reset();
    guest_call(hang, NULL);
}

static void hang_in_snippet(void *unused)
{
    struct regs regs = { 0 };

    execute(&endless, MODE_64, &regs);
}

void test_hang(void)
{
    struct cpu *last = &cpus[cpu_count - 1];

    note("CPU %u is going to hang at RIP %lx", last->index,
         (u64)endless.start);
    if (param_lists("hang", "guest", false)) {
        cpu_call(last, hang_as_guest, NULL);
    } else if (param_lists("hang", "snippet", false)) {
        cpu_call(last, hang_in_snippet, NULL);
    } else {
        cpu_call(last, hang, NULL);
    }
}
