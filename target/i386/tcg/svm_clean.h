/*
 * x86 strict TLB model: VMCB clean bits
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef I386_TCG_SVM_CLEAN_H
#define I386_TCG_SVM_CLEAN_H

#include "cpu.h"

/**
 * svm_clean_vmrun: have the VMCB say what the CPU believes that it says
 * @env: CPU state, with the address of the VMCB
 *
 * Called before VMRUN reads the first field.
 */
void svm_clean_vmrun(CPUX86State *env);

/**
 * svm_clean_vmexit: give the VMCB back to the hypervisor
 * @env: CPU state
 *
 * Called when #VMEXIT has stored the guest's state.
 */
void svm_clean_vmexit(CPUX86State *env);

/**
 * svm_clean_forget: forget all VMCBs
 * @cpu: CPU that is not executing
 */
#if defined(CONFIG_TCG) && !defined(CONFIG_USER_ONLY)
void svm_clean_forget(X86CPU *cpu);
#else
static inline void svm_clean_forget(X86CPU *cpu) {}
#endif

#endif /* I386_TCG_SVM_CLEAN_H */
