/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * Numbers of KVM's interface for INVLPGB and TLBSYNC that are provisional, and
 * so are kept far away from those that are assigned.
 */
#ifndef _ASM_X86_KVM_TLB_BROADCAST_H
#define _ASM_X86_KVM_TLB_BROADCAST_H

/* Flag of KVM_CAP_X86_DISABLE_EXITS */
#define KVM_X86_DISABLE_EXITS_INVLPGB	(1 << 30)

/* Capability of a VM; args[0] is one of the flags below */
#define KVM_CAP_X86_TLB_BROADCAST	0x7e1b0001

#define KVM_X86_TLB_BROADCAST_INTERCEPT	(1 << 0)

#endif /* _ASM_X86_KVM_TLB_BROADCAST_H */
