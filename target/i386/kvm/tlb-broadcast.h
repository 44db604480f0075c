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
 * kvm_x86_tlb_broadcast_init_vcpu: refuse a CPU that cannot have what the
 *     property says
 * @cpu: CPU that is about to get its CPUID
 *
 * Returns: 0, or a negative errno after the error has been reported.
 */
int kvm_x86_tlb_broadcast_init_vcpu(X86CPU *cpu);

#endif /* I386_KVM_TLB_BROADCAST_H */
