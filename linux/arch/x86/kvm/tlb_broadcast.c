// SPDX-License-Identifier: GPL-2.0-only
/*
 * Emulation of TLB invalidations that a guest broadcasts to all of its vCPUs,
 * i.e. of AMD's INVLPGB and TLBSYNC.
 *
 * INVLPGB starts an invalidation on all CPUs and may complete at any later time.
 * TLBSYNC waits for the INVLPGBs that were issued by the same CPU.  That split
 * suits KVM: INVLPGB only marks the vCPUs, so that a guest pays for one round of
 * kicks per TLBSYNC, not per INVLPGB, and only for vCPUs that have not exited
 * for another reason in between.
 *
 * Every INVLPGB, whatever it selects, becomes a flush of all translations of the
 * guest.  To invalidate more than asked is always allowed, and SVM cannot do
 * better: the only instruction that takes an address, INVLPGA, has errata and
 * reaches the local CPU only.
 *
 * The guarantee
 * =============
 *
 * When TLBSYNC retires on vCPU A, no vCPU will ever again use a translation that
 * was covered by an INVLPGB that A has executed before, and all accesses that
 * used one are complete.
 *
 * A is the issuing vCPU, B any other vCPU of the VM, FLUSH is the request
 * KVM_REQ_TLB_FLUSH_GUEST in B->requests:
 *
 *	vCPU A				vCPU B
 *	======				======
 *	PTE = new
 *	INVLPGB:			enter:
 *	    smp_mb()			    if (FLUSH is set) {
 *	    set FLUSH				clear FLUSH
 *						smp_mb()
 *	TLBSYNC:				flush at VMRUN
 *	    if (FLUSH is set) {		    }
 *		smp_mb()		    mode = IN_GUEST_MODE
 *		kick B if mode is not	    smp_mb()
 *		  OUTSIDE_GUEST_MODE,	    if (FLUSH is set)
 *		  and wait for that	        goto enter
 *	    }				    VMRUN
 *
 * B cannot miss the flush:
 *
 *  - B is in guest mode with FLUSH pending.  A reads mode after it has set FLUSH,
 *    B reads FLUSH after it has set mode, so that either A sees B's mode and
 *    kicks it, or B sees FLUSH and does not enter.  (The barriers are in
 *    kvm_vcpu_exiting_guest_mode() and vcpu_enter_guest(), see "Ensuring Requests
 *    Are Seen" in Documentation/virt/kvm/vcpu-requests.rst.)  B acknowledges the
 *    IPI with interrupts enabled, i.e. after it has left the guest and set mode,
 *    and it sees FLUSH before it enters again.  The same holds for its fastpath,
 *    which re-enters with interrupts disabled but checks for requests.
 *
 *  - A sees FLUSH clear.  Then B has cleared it after A had set it, and it did so
 *    at the top of vcpu_enter_guest(), outside of guest mode.  From then on B
 *    cannot execute guest code without the flush.  That includes the time before
 *    the next VMRUN: TLB_CONTROL stays set in the VMCB until a VMRUN succeeds,
 *    also if the entry is cancelled or B is moved to another CPU.  If B switches
 *    between L1 and L2 then the switch requests a flush of its own.  B's accesses
 *    from before the exit are complete, as #VMEXIT and the atomic clear order
 *    them before A's read.
 *
 *  - B is outside of guest mode with FLUSH pending, e.g. preempted, halted or in
 *    userspace.  There is nothing to wait for, with one exception: KVM may be
 *    acting for the guest in B's context, using a translation that it looked up
 *    before.  A waits until that has finished, see gva_access.h.  As that can take
 *    long, e.g. until userspace has resolved a page fault, A does not sleep but
 *    executes TLBSYNC again, and handles signals and interrupts in between.
 *
 *  - B is walking shadow page tables, READING_SHADOW_PAGE_TABLES.  It is in KVM,
 *    not in the guest, so that A need not wait.  It does, because
 *    KVM_REQ_OUTSIDE_GUEST_MODE waits for every mode but one.
 *
 *  - B uses shadow paging.  When it serves FLUSH then KVM also synchronises the
 *    unsync shadow pages, i.e. takes over what the guest has changed.
 *
 *  - B is running L2.  L1 and L2 share one ASID, so that the flush drops the
 *    translations of both, whoever of them A flushed for.
 *
 *  - B is created after A has looked for vCPUs.  It starts with a new ASID and
 *    thus without translations.  B walks page tables only after it has become
 *    visible to kvm_for_each_vcpu(), and A looks for vCPUs only after a full
 *    barrier: either A sees B, or B sees A's new PTE.
 *
 *  - A itself: it serves its own FLUSH before the next VMRUN, i.e. at INVLPGB.
 *
 *  - The VM is saved and restored between INVLPGB and TLBSYNC.  Requests are not
 *    part of the saved state, but neither are TLBs.
 *
 * A may be moved to another physical CPU between INVLPGB and TLBSYNC.  All state
 * is in the vCPUs, so nothing is lost.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bitmap.h>
#include <linux/kvm_host.h>

#include "cpuid.h"
#include "gva_access.h"
#include "invlpgb_operands.h"
#include "regs.h"
#include "tlb_broadcast.h"
#include "x86.h"

static struct invlpgb_limits kvm_invlpgb_limits(struct kvm_vcpu *vcpu)
{
	struct kvm_cpuid_entry2 *entry = kvm_find_cpuid_entry(vcpu, 0x80000008);

	return (struct invlpgb_limits) {
		.count_max = entry ? entry->edx & GENMASK(15, 0) : 0,
		.nested = entry && (entry->ebx & BIT(21)),
		.pcide = kvm_is_cr4_bit_set(vcpu, X86_CR4_PCIDE),
	};
}

/**
 * kvm_invlpgb - execute INVLPGB on behalf of the guest
 * @vcpu: the vCPU that issues it; its CPUID and CR4 decide what is legal
 * @rax: rAX, zero-extended if the address size is 32 bits
 * @ecx: ECX
 * @edx: EDX
 *
 * Request a flush from all vCPUs but do not wait for any of them.  The caller
 * has checked for CPL 0 and that the vCPU has the instruction.
 *
 * Return: false if the instruction takes a #GP(0); it has had no effect then.
 */
bool kvm_invlpgb(struct kvm_vcpu *vcpu, unsigned long rax, u32 ecx, u32 edx)
{
	struct invlpgb_limits limits = kvm_invlpgb_limits(vcpu);
	struct kvm_vcpu *target;
	unsigned long i;

	lockdep_assert_held(&vcpu->mutex);

	if (!invlpgb_operands_legal(rax, ecx, edx, &limits))
		return false;

	/*
	 * Order the guest's changes to its page tables before the search for
	 * vCPUs; a vCPU that is not found must see the changes.  Pairs with the
	 * atomic increment of kvm->online_vcpus when a vCPU is created.
	 */
	smp_mb();

	kvm_for_each_vcpu(i, target, vcpu->kvm) {
		/*
		 * Hardware drops guest-physical translations together with the
		 * ASID, but KVM's shadow of L1's nested page tables is to be
		 * brought up to date, too.
		 */
		if (rax & INVLPGB_RAX_NESTED)
			kvm_make_request(KVM_REQ_MMU_SYNC, target);

		kvm_make_request(KVM_REQ_TLB_FLUSH_GUEST, target);
	}

	return true;
}
EXPORT_SYMBOL_FOR_KVM_INTERNAL(kvm_invlpgb);

/**
 * kvm_tlbsync - execute TLBSYNC on behalf of the guest
 * @vcpu: the vCPU that issues it
 *
 * Kick the vCPUs that are in guest mode and still have to serve a flush request,
 * whoever made it, and wait until they have left.
 *
 * Return: true if TLBSYNC is complete.  If false then a vCPU is still using an
 * old translation in KVM: let the guest execute TLBSYNC again.
 */
bool kvm_tlbsync(struct kvm_vcpu *vcpu)
{
	DECLARE_BITMAP(pending, KVM_MAX_VCPUS);
	struct kvm *kvm = vcpu->kvm;
	struct kvm_vcpu *target;
	unsigned long i;

	lockdep_assert_held(&vcpu->mutex);
	lockdep_assert_irqs_enabled();

	bitmap_zero(pending, KVM_MAX_VCPUS);

	kvm_for_each_vcpu(i, target, kvm) {
		if (target != vcpu &&
		    kvm_test_request(KVM_REQ_TLB_FLUSH_GUEST, target))
			__set_bit(i, pending);
	}

	/*
	 * If a request is clear then the accesses that its vCPU has made before
	 * it served the request are complete.  Order them before whatever this
	 * vCPU's guest does next.  Pairs with the atomic clear of the request in
	 * kvm_check_request().
	 */
	smp_mb();

	if (kvm_make_vcpus_request_mask(kvm, KVM_REQ_OUTSIDE_GUEST_MODE, pending))
		++vcpu->stat.tlbsync_kicks;

	for_each_set_bit(i, pending, KVM_MAX_VCPUS) {
		target = kvm_get_vcpu(kvm, i);

		if (!kvm_gva_access_in_progress(target) ||
		    !kvm_test_request(KVM_REQ_TLB_FLUSH_GUEST, target))
			continue;

		++vcpu->stat.tlbsync_retries;
		kvm_vcpu_yield_to(target);
		return false;
	}

	return true;
}
EXPORT_SYMBOL_FOR_KVM_INTERNAL(kvm_tlbsync);
