/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The probe device of QEMU's strict TLB model: docs/specs/tlb-probe.rst. */
#ifndef PROBE_H
#define PROBE_H

#include "hw/misc/tlb-probe.h"
#include "lib/x86.h"

/* Looks for the device on PCI bus 0; false if there is none. */
bool probe_init(void);

u64 probe_read(u32 reg);
void probe_write(u32 reg, u64 value);
u64 probe_result(unsigned n);

/* Sets all operands of this CPU to what they are after a reset. */
void probe_defaults(void);

/* Lets this CPU give a command; its status. */
u64 probe_command(u64 command);

/* The time, for probe_ring(). */
u64 probe_time(void);

/*
 * From now on @va, in this CPU's address space, must not be translated by what
 * was filled before @time.  Returns, when all CPUs have noticed, the status.
 */
u64 probe_ring(u64 va, u64 time);

#endif
