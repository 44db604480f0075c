/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TRAP_H
#define TRAP_H

#include "cpu.h"

struct descriptor_pointer {
    u16 limit;
    u64 base;
} __attribute__((packed));

/* Fills the IDT that all CPUs share; idt_load() makes this CPU use it. */
void idt_init(void);
void idt_load(void);

#endif
