/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Emulation of TLB invalidations that a guest broadcasts to all of its vCPUs.
 */
#ifndef ARCH_X86_KVM_TLB_BROADCAST_H
#define ARCH_X86_KVM_TLB_BROADCAST_H

#include <linux/kvm_host.h>

bool kvm_invlpgb(struct kvm_vcpu *vcpu, unsigned long rax, u32 ecx, u32 edx);
bool kvm_tlbsync(struct kvm_vcpu *vcpu);

#endif /* ARCH_X86_KVM_TLB_BROADCAST_H */
