/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Native INVLPGB and TLBSYNC for SVM guests.
 */
#ifndef __ARCH_X86_KVM_SVM_INVLPGB_PASSTHROUGH_H__
#define __ARCH_X86_KVM_SVM_INVLPGB_PASSTHROUGH_H__

#include <linux/kvm_host.h>

#include "asid.h"

struct svm_cpu_data;
struct svm_last_run;
struct vcpu_svm;

/**
 * struct svm_invlpgb_passthrough - a VM's VM-wide ASID and what it is good for
 * @asid: the ASID; kept until the VM is destroyed
 * @last_run: who ran with the ASID last, per CPU; NULL if there is no ASID
 * @list: place in the list of VMs that have one
 * @enabled: vCPUs may execute the instructions natively; false once the VM has
 *	been demoted.  Read without a lock.
 */
struct svm_invlpgb_passthrough {
	struct svm_vm_asid asid;
	struct svm_last_run __percpu *last_run;
	struct list_head list;
	bool enabled;
};

__init void svm_invlpgb_passthrough_hardware_setup(void);
__init void svm_invlpgb_passthrough_debugfs_init(void);
void svm_invlpgb_passthrough_debugfs_remove(void);

int svm_vm_disable_invlpgb_exits(struct kvm *kvm);
int svm_vm_enable_invlpgb_exits(struct kvm *kvm);
void svm_vm_pre_destroy(struct kvm *kvm);
void svm_vm_release_asid(struct kvm *kvm);

bool svm_has_vm_asid(struct kvm *kvm);
int svm_vm_asid_pre_run(struct vcpu_svm *svm, struct svm_cpu_data *sd);
void svm_vm_asid_sync(struct kvm_vcpu *vcpu);

bool svm_invlpgb_is_native(struct kvm_vcpu *vcpu);
bool svm_tlbsync_is_native(struct kvm_vcpu *vcpu);

#endif /* __ARCH_X86_KVM_SVM_INVLPGB_PASSTHROUGH_H__ */
