/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What INVLPGB and TLBSYNC must do with given operands, written from
 * spec.md A.1, A.2 and B.3 and from nothing else.
 */
#ifndef REFERENCE_H
#define REFERENCE_H

#include "cpu.h"

struct state {
    bool guest;                 /* native execution in a guest */
    bool enabled;               /* VMCB 090h[7], or the bit does not exist */
    bool pcide;                 /* CR4.PCIDE */
    bool svme;                  /* EFER.SVME */
    unsigned cpl;
    unsigned address_bits;      /* effective address size: 16, 32 or 64 */
};

/* The vector of the fault due, or VECTOR_DONE if the instruction retires. */
unsigned reference_invlpgb(const struct machine *m, const struct state *s,
                           u64 rax, u64 rcx, u64 rdx);
unsigned reference_tlbsync(const struct machine *m, const struct state *s);

#endif
