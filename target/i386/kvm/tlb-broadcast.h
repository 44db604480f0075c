/*
 * Broadcast TLB invalidation (INVLPGB, TLBSYNC) under KVM
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef I386_KVM_TLB_BROADCAST_H
#define I386_KVM_TLB_BROADCAST_H

#include "cpu.h"
#include "qom/object.h"
#include "system/kvm.h"

/**
 * kvm_x86_tlb_broadcast_class_init: add the property "tlb-broadcast"
 * @oc: class of the accelerator
 */
void kvm_x86_tlb_broadcast_class_init(ObjectClass *oc);

/**
 * kvm_x86_tlb_broadcast_init: ask KVM for what the property says
 * @s: accelerator, with a VM but no vCPU
 *
 * Returns: 0, or a negative errno after the error has been reported.
 */
int kvm_x86_tlb_broadcast_init(KVMState *s);

/**
 * kvm_x86_tlb_broadcast_check_cpu: refuse a CPU that cannot have what the
 *     property says
 * @cpu: CPU that is being realized, with its final features
 * @errp: set if it is refused, with what to do instead
 *
 * Returns: true if the CPU can have it.
 */
bool kvm_x86_tlb_broadcast_check_cpu(X86CPU *cpu, Error **errp);

#endif /* I386_KVM_TLB_BROADCAST_H */
