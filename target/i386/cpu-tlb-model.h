/*
 * x86 CPU model: properties of the strict TLB model
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef I386_CPU_TLB_MODEL_H
#define I386_CPU_TLB_MODEL_H

/**
 * X86TLBModelOptions: see docs/system/i386/tlb-model.rst
 * @model: "off", "tagged", or NULL for the default
 * @action: "report", "pause", "abort", or NULL for the default
 * @seed: of random choices
 * @capacity: number of translations, 0 for no limit
 * @early: percentage of INVLPGBs that take effect at once
 * @erratum_1718: only every second TLBSYNC completes
 */
typedef struct X86TLBModelOptions {
    char *model;
    char *action;
    uint64_t seed;
    uint32_t capacity;
    uint8_t early;
    bool erratum_1718;
} X86TLBModelOptions;

#define DEFINE_TLB_MODEL_PROPERTIES(_state, _field)                           \
    DEFINE_PROP_STRING("x-tlb-model", _state, _field.model),                  \
    DEFINE_PROP_STRING("x-tlb-model-action", _state, _field.action),          \
    DEFINE_PROP_UINT64("x-tlb-model-seed", _state, _field.seed, 0),           \
    DEFINE_PROP_UINT32("x-tlb-model-capacity", _state, _field.capacity, 0),   \
    DEFINE_PROP_UINT8("x-tlb-model-early", _state, _field.early, 0),          \
    DEFINE_PROP_BOOL("x-tlb-model-erratum-1718", _state,                      \
                     _field.erratum_1718, false)

#endif /* I386_CPU_TLB_MODEL_H */
