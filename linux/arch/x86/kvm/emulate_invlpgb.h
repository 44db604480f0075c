/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * INVLPGB and TLBSYNC in KVM's instruction emulator.
 */
#ifndef ARCH_X86_KVM_EMULATE_INVLPGB_H
#define ARCH_X86_KVM_EMULATE_INVLPGB_H

struct kvm_cpuid_entry2;
struct x86_emulate_ctxt;

int invlpgb_cpuid_func_emulated(struct kvm_cpuid_entry2 *entry);

int check_invlpgb(struct x86_emulate_ctxt *ctxt);
int em_invlpgb(struct x86_emulate_ctxt *ctxt);
int em_tlbsync(struct x86_emulate_ctxt *ctxt);

#endif /* ARCH_X86_KVM_EMULATE_INVLPGB_H */
