/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * VM-wide ASIDs for SVM guests.
 */
#ifndef __ARCH_X86_KVM_SVM_ASID_H__
#define __ARCH_X86_KVM_SVM_ASID_H__

#include <linux/init.h>

struct misc_cg;

/**
 * struct svm_vm_asid - the VM-wide ASID of a VM
 * @asid: the ASID, 0 if the VM has none
 * @misc_cg: the cgroup that is charged for it
 *
 * svm_asid_alloc() and svm_asid_free() change it and must not be called for the
 * same VM at the same time.
 */
struct svm_vm_asid {
	unsigned int asid;
	struct misc_cg *misc_cg;
};

unsigned int __init svm_asid_pool_init(unsigned int nr_asids,
				       unsigned int last_sev_asid);
void svm_asid_pool_destroy(void);
void svm_asid_pool_usage(unsigned int *nr, unsigned int *used);

unsigned int svm_asid_dynamic_max(unsigned int nr_asids);

int svm_asid_alloc(struct svm_vm_asid *vm_asid);
void svm_asid_free(struct svm_vm_asid *vm_asid);

#endif /* __ARCH_X86_KVM_SVM_ASID_H__ */
