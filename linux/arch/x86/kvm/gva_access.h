/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Accesses to guest memory that KVM itself makes by guest-virtual address.
 */
#ifndef ARCH_X86_KVM_GVA_ACCESS_H
#define ARCH_X86_KVM_GVA_ACCESS_H

#include <linux/cleanup.h>
#include <linux/kvm_host.h>

/*
 * KVM sometimes acts as the guest CPU: the emulator, the task switch code and a
 * few hypercalls translate a guest-virtual address by walking the guest's page
 * tables and then access the guest-physical address that they found.  Until the
 * access is done that translation is a TLB entry in all but name, and whoever
 * tells a guest that a remote TLB flush has completed must wait for it.  It is
 * not enough that the vCPU is outside guest mode with a flush request pending:
 *
 *	vCPU A				vCPU B
 *	======				======
 *					exit, emulate: GVA -> GPA 1
 *	PTE: GPA 1 -> GPA 2
 *	flush vCPU B, wait		(not in guest mode)
 *	free GPA 1 and reuse it
 *					write GPA 1, i.e. corrupt memory
 *
 * Bracket such code with guard(kvm_gva_access), so that others can wait for its
 * end with kvm_gva_access_in_progress().  The guard nests.
 */
static inline void kvm_gva_access_begin(struct kvm_vcpu *vcpu)
{
	lockdep_assert_held(&vcpu->mutex);

	WRITE_ONCE(vcpu->arch.gva_access_depth, vcpu->arch.gva_access_depth + 1);

	/*
	 * Announce the access before walking page tables, and before looking at
	 * pending requests to decide if a translation made earlier may be used.
	 * Pairs with the barrier in kvm_gva_access_in_progress().
	 */
	smp_mb();
}

static inline void kvm_gva_access_end(struct kvm_vcpu *vcpu)
{
	/*
	 * Complete the access before announcing its end.  Pairs with the acquire
	 * in kvm_gva_access_in_progress().
	 */
	smp_store_release(&vcpu->arch.gva_access_depth,
			  vcpu->arch.gva_access_depth - 1);
}

DEFINE_GUARD(kvm_gva_access, struct kvm_vcpu *,
	     kvm_gva_access_begin(_T), kvm_gva_access_end(_T))

/**
 * kvm_gva_access_in_progress - test if a vCPU may be using an old translation
 * @vcpu: the other vCPU, with KVM_REQ_TLB_FLUSH_GUEST pending and not in guest
 *	  mode.
 *
 * If this returns false, then @vcpu has completed all accesses that used a
 * translation from before the request was made, and will make no more of them:
 * a new access either walks the guest's page tables, and then sees everything
 * that the caller saw before making the request, or it has a translation from
 * elsewhere and checks for the request, see kvm_may_use_known_gpa().
 */
static inline bool kvm_gva_access_in_progress(struct kvm_vcpu *vcpu)
{
	/*
	 * Make the request before reading the depth.  Pairs with the barrier
	 * in kvm_gva_access_begin().
	 */
	smp_mb();

	/* Pairs with the release in kvm_gva_access_end(). */
	return smp_load_acquire(&vcpu->arch.gva_access_depth);
}

/**
 * kvm_may_use_known_gpa - test if a GPA from an earlier translation is usable
 * @vcpu: the running vCPU, inside guard(kvm_gva_access).
 *
 * KVM can spare the emulator the walk of the guest's page tables if it knows the
 * GPA: hardware reports that of a nested page fault, and shadow paging remembers
 * that of the last MMIO access.  Both were translated before KVM announced the
 * access.  Whoever has requested a flush of the guest's TLB since then may not
 * be waiting for this vCPU.
 *
 * There is no choice if the page tables are encrypted.  KVM then emulates nothing
 * but accesses to emulated devices.
 */
static inline bool kvm_may_use_known_gpa(struct kvm_vcpu *vcpu)
{
	return vcpu->arch.guest_pt_encrypted ||
	       !kvm_test_request(KVM_REQ_TLB_FLUSH_GUEST, vcpu);
}

#endif /* ARCH_X86_KVM_GVA_ACCESS_H */
