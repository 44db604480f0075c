/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What INVLPGB and TLBSYNC must do with given operands, written from
 * spec.md A.1, A.2 and B.3 and from nothing else.
 */
#ifndef REFERENCE_H
#define REFERENCE_H

#include "cpu.h"

struct state {
    bool guest;                 /* execution in a guest */
    bool enabled;               /* VMCB 090h[7], or the bit does not exist */
    bool pcide;                 /* CR4.PCIDE */
    bool svme;                  /* EFER.SVME */
    bool hosts_rules;           /* CPUID may hide what the CPU can do */
    unsigned cpl;
    unsigned address_bits;      /* effective address size: 16, 32 or 64 */
};

struct expectation {
    unsigned vector;            /* of the fault, or VECTOR_DONE if it retires */
    bool open;                  /* that is assumed only */
};

struct expectation reference_invlpgb(const struct machine *m,
                                     const struct state *s,
                                     u64 rax, u64 rcx, u64 rdx);
struct expectation reference_tlbsync(const struct machine *m,
                                     const struct state *s);

#endif
