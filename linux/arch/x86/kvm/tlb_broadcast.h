/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Emulation of TLB invalidations that a guest broadcasts to all of its vCPUs.
 */
#ifndef ARCH_X86_KVM_TLB_BROADCAST_H
#define ARCH_X86_KVM_TLB_BROADCAST_H

#include <linux/kvm_host.h>

bool kvm_has_invlpgb(struct kvm_vcpu *vcpu);
int kvm_invlpgb(struct kvm_vcpu *vcpu, bool addr16);
bool kvm_tlbsync(struct kvm_vcpu *vcpu);

#endif /* ARCH_X86_KVM_TLB_BROADCAST_H */
