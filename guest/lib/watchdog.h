/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ends a program that has got stuck, with a message that says where.
 *
 * The alarm of the real-time clock becomes an NMI on all CPUs.  It is put off
 * by whatever shows that the tests get on, so in a run that is right it never
 * comes, and disturbs nothing.
 */
#ifndef WATCHDOG_H
#define WATCHDOG_H

#include "x86.h"

/* @pin of the I/O APIC at @ioapic is where the clock's interrupt arrives. */
void watchdog_init(u64 ioapic, u32 pin);

/* While this program waits for somebody outside, it is not stuck. */
void watchdog_stop(void);
void watchdog_start(void);

/* The tests get on: any CPU may say so, as often as it likes. */
void progress(void);

/* What an NMI does on the CPU that it reaches, interrupted at @rip. */
void watchdog_nmi(u64 rip) __attribute__((noreturn));

#endif
