/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * INVLPGB and TLBSYNC for SVM guests.
 */
#ifndef __ARCH_X86_KVM_SVM_INVLPGB_H__
#define __ARCH_X86_KVM_SVM_INVLPGB_H__

#include <linux/kvm_host.h>

__init void svm_invlpgb_hardware_setup(void);
__init void svm_invlpgb_set_cpu_caps(void);

void svm_invlpgb_recalc_intercepts(struct kvm_vcpu *vcpu);

int invlpgb_interception(struct kvm_vcpu *vcpu);
int tlbsync_interception(struct kvm_vcpu *vcpu);

#endif /* __ARCH_X86_KVM_SVM_INVLPGB_H__ */
