/*
 * x86 CPU model: numbers that belong to broadcast TLB invalidation
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef I386_CPU_INVLPGB_H
#define I386_CPU_INVLPGB_H

#include "cpu.h"

/* What every processor with INVLPGB has: eight pages per instruction. */
#define INVLPGB_COUNT_MAX_DEFAULT   7

/* What QEMU has always reported. */
#define SVM_NASID_DEFAULT           16

/**
 * x86_cpu_check_invlpgb_properties: check "invlpgb-count-max" and "svm-nasid"
 * @cpu: CPU that is being realized
 * @errp: set if a value is out of range, naming the value and the range
 *
 * Returns: true if both are in range.
 */
bool x86_cpu_check_invlpgb_properties(X86CPU *cpu, Error **errp);

/**
 * x86_cpu_filter_invlpgb_count_max: lower the page count to what KVM allows
 * @cpu: CPU whose features have been filtered already
 * @supported: largest count that the accelerator supports
 * @prefix: start of the warning, or NULL for no warning
 *
 * An instruction with a larger count than the host's raises #GP if the guest
 * executes it natively, so a larger value must not be promised.
 *
 * Returns: true if the value was lowered.
 */
bool x86_cpu_filter_invlpgb_count_max(X86CPU *cpu, uint16_t supported,
                                      const char *prefix);

/**
 * x86_cpu_invlpgb_count_max: CPUID Fn8000_0008_EDX[15:0]
 * @cpu: CPU
 *
 * Returns: pages that one INVLPGB covers in addition to the first; 0 if the
 * CPU does not have the instruction.
 */
uint16_t x86_cpu_invlpgb_count_max(X86CPU *cpu);

/**
 * x86_cpu_register_invlpgb_vmstate: have migration compare what the guest sees
 * @cpu: CPU that is being realized, with its final features
 *
 * If the CPU has INVLPGB then an incoming migration, or a snapshot, fails
 * before its memory is loaded unless both ends agree on the feature bits and
 * the page count.  Streams of CPUs without it are not changed.
 */
void x86_cpu_register_invlpgb_vmstate(X86CPU *cpu);

/**
 * x86_cpu_unregister_invlpgb_vmstate: undo x86_cpu_register_invlpgb_vmstate()
 * @cpu: CPU that is being unrealized
 */
void x86_cpu_unregister_invlpgb_vmstate(X86CPU *cpu);

#endif /* I386_CPU_INVLPGB_H */
