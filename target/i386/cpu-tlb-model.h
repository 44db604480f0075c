/*
 * x86 CPU model: properties of the strict TLB model
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef I386_CPU_TLB_MODEL_H
#define I386_CPU_TLB_MODEL_H

/**
 * X86TLBAction: what follows the use of an entry that should not have been
 * @X86_TLB_ACTION_REPORT: no more than the report
 * @X86_TLB_ACTION_PAUSE: the machine is paused
 * @X86_TLB_ACTION_ABORT: QEMU aborts
 */
typedef enum X86TLBAction {
    X86_TLB_ACTION_REPORT,
    X86_TLB_ACTION_PAUSE,
    X86_TLB_ACTION_ABORT,
} X86TLBAction;

/**
 * X86TLBModelOptions: see docs/system/i386/tlb-model.rst
 * @model: "off", "tagged", or NULL for the default
 * @action: "report", "pause", "abort", or NULL for the default
 * @seed: of random choices
 * @capacity: number of translations, 0 for no limit
 * @early: percentage of INVLPGBs that take effect at once
 * @erratum_1718: only every second TLBSYNC completes
 * @tagged: set by x86_cpu_check_tlb_model(): the model is asked for
 * @action_value: likewise, what @action says
 */
typedef struct X86TLBModelOptions {
    char *model;
    char *action;
    uint64_t seed;
    uint32_t capacity;
    uint8_t early;
    bool erratum_1718;
    bool tagged;
    X86TLBAction action_value;
} X86TLBModelOptions;

/**
 * x86_cpu_check_tlb_model: check the values, and whether the model can be
 * @cpu: CPU that is being realized
 * @errp: set if a value is unknown or out of range, or if the model is asked
 *     for and the accelerator is not TCG
 *
 * Returns: true if there is nothing to refuse.
 */
bool x86_cpu_check_tlb_model(struct ArchCPU *cpu, Error **errp);

#endif /* I386_CPU_TLB_MODEL_H */
