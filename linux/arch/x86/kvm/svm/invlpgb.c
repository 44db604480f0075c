// SPDX-License-Identifier: GPL-2.0-only
/*
 * INVLPGB and TLBSYNC for SVM guests.
 *
 * A guest that executes INVLPGB natively flushes the ASID that it is running
 * with, on all CPUs.  Unless the VM has a VM-wide ASID, KVM gives a vCPU another
 * ASID on every CPU and recycles them, so the flush would hit other guests and
 * miss the guest's own vCPUs.  So KVM intercepts both instructions and does the
 * work itself, except as described in invlpgb_passthrough.c.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kvm_host.h>
#include <linux/moduleparam.h>
#include <linux/string.h>

#include <asm/cpuid/api.h>

#include "svm.h"
#include "tlb_broadcast.h"
#include "asid.h"
#include "invlpgb.h"
#include "invlpgb_passthrough.h"

#define CREATE_TRACE_POINTS
#include "invlpgb_trace.h"

/**
 * enum svm_invlpgb_mode - the most that KVM offers to guests on this host
 * @SVM_INVLPGB_OFF: neither CPUID nor the VMCB show that the feature exists
 * @SVM_INVLPGB_INTERCEPT: guests can have the feature, every use of it exits
 * @SVM_INVLPGB_PASSTHROUGH: in addition, userspace can disable these exits
 */
enum svm_invlpgb_mode {
	SVM_INVLPGB_OFF,
	SVM_INVLPGB_INTERCEPT,
	SVM_INVLPGB_PASSTHROUGH,
};

static const char * const svm_invlpgb_mode_names[] = {
	[SVM_INVLPGB_OFF]		= "off",
	[SVM_INVLPGB_INTERCEPT]		= "intercept",
	[SVM_INVLPGB_PASSTHROUGH]	= "passthrough",
};

static enum svm_invlpgb_mode __ro_after_init invlpgb_mode = SVM_INVLPGB_OFF;

/*
 * Refuse what is not a mode rather than falling back to the default.  That fails
 * the load of the module; if KVM is built in, then the kernel reports the bad
 * parameter and the mode stays "off".
 */
static int invlpgb_mode_set(const char *val, const struct kernel_param *kp)
{
	int mode = sysfs_match_string(svm_invlpgb_mode_names, val);

	if (mode < 0) {
		pr_err("invlpgb=%s is unknown, use \"off\", \"intercept\" or \"passthrough\"\n",
		       val);
		return mode;
	}

	invlpgb_mode = mode;
	return 0;
}

static int invlpgb_mode_get(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "%s\n", svm_invlpgb_mode_names[invlpgb_mode]);
}

static const struct kernel_param_ops invlpgb_mode_ops = {
	.set = invlpgb_mode_set,
	.get = invlpgb_mode_get,
};

module_param_cb(invlpgb, &invlpgb_mode_ops, NULL, 0444);
MODULE_PARM_DESC(invlpgb, "INVLPGB and TLBSYNC for guests: off (default), intercept, passthrough");

static __init const char *svm_invlpgb_missing_feature(void)
{
	/* Also clear if the host was told not to use INVLPGB, e.g. by tlbi=ipi. */
	if (!cpu_feature_enabled(X86_FEATURE_INVLPGB))
		return "INVLPGB";

	/*
	 * Without TlbiCtl, guests execute INVLPGB whether KVM offers it or not,
	 * and TLBSYNC cannot be intercepted.
	 */
	if (!cpu_feature_enabled(X86_FEATURE_TLBI_CTL))
		return "TlbiCtl";

	if (!cpu_feature_enabled(X86_FEATURE_FLUSHBYASID))
		return "FlushByAsid";

	/*
	 * KVM's emulator does not decode the instructions, and so cannot skip
	 * them.
	 */
	if (!nrips)
		return "next RIP save";

	return NULL;
}

static __init const char *svm_invlpgb_missing_for_passthrough(void)
{
	if (!npt_enabled)
		return "nested paging";

	if (!svm_asid_pool_init(cpuid_ebx(SVM_CPUID_FUNC), max_sev_asid))
		return "VM-wide ASIDs";

	return NULL;
}

/**
 * svm_invlpgb_hardware_setup - offer less than asked for if the host lacks support
 *
 * To be called when "nrips", "npt" and the ASIDs of SEV guests are final, and
 * before CPU capabilities are set.
 */
__init void svm_invlpgb_hardware_setup(void)
{
	const char *missing;

	if (invlpgb_mode == SVM_INVLPGB_OFF)
		return;

	missing = svm_invlpgb_missing_feature();
	if (missing) {
		pr_warn("invlpgb=%s ignored, the host has no %s\n",
			svm_invlpgb_mode_names[invlpgb_mode], missing);
		invlpgb_mode = SVM_INVLPGB_OFF;
		return;
	}

	if (invlpgb_mode == SVM_INVLPGB_PASSTHROUGH) {
		missing = svm_invlpgb_missing_for_passthrough();
		if (missing) {
			pr_warn("invlpgb=passthrough reduced to intercept, the host has no %s\n",
				missing);
			invlpgb_mode = SVM_INVLPGB_INTERCEPT;
		} else {
			svm_invlpgb_passthrough_hardware_setup();
		}
	}

	pr_info("INVLPGB and TLBSYNC for guests: %s\n",
		svm_invlpgb_mode_names[invlpgb_mode]);
}

/**
 * svm_invlpgb_set_cpu_caps - let userspace offer the feature to guests
 *
 * Do not offer TlbiCtl: L2 can not be given the instructions.  CPUID
 * 0x80000008.EBX[21], nested translations, is not offered either.
 */
__init void svm_invlpgb_set_cpu_caps(void)
{
	if (invlpgb_mode == SVM_INVLPGB_OFF)
		return;

	kvm_cpu_cap_set(X86_FEATURE_INVLPGB);

	/*
	 * A CPU without this flag needs every TLBSYNC twice.  On such a host, the
	 * guest's are emulated and complete the first time.
	 */
	kvm_cpu_cap_set(X86_FEATURE_TLBSYNC_SFW_NO);
}

/**
 * svm_invlpgb_recalc_intercepts - enable and intercept, or disable for a vCPU
 * @vcpu: the vCPU, after a change of its CPUID or a reset of its VMCB
 *
 * Hide the feature by clearing the enable bit together with the intercepts, as
 * the intercept of INVLPGB takes precedence over the #UD.
 *
 * SEV-ES guests execute both instructions natively, the enable bit has no effect
 * for them.  That is fine as an SEV guest has one ASID for all of its vCPUs on
 * all CPUs.  KVM could not emulate them, as it has no access to the registers.
 */
void svm_invlpgb_recalc_intercepts(struct kvm_vcpu *vcpu)
{
	struct vcpu_svm *svm = to_svm(vcpu);
	struct vmcb *vmcb01 = svm->vmcb01.ptr;

	if (invlpgb_mode == SVM_INVLPGB_OFF)
		return;

	svm_clr_intercept(svm, INTERCEPT_INVLPGB);
	svm_clr_intercept(svm, INTERCEPT_INVLPGB_ILLEGAL);
	svm_clr_intercept(svm, INTERCEPT_TLBSYNC);
	vmcb01->control.misc_ctl &= ~SVM_MISC_ENABLE_INVLPGB;

	if (guest_cpu_cap_has(vcpu, X86_FEATURE_INVLPGB) && !is_sev_es_guest(vcpu)) {
		vmcb01->control.misc_ctl |= SVM_MISC_ENABLE_INVLPGB;

		if (!svm_invlpgb_is_native(vcpu)) {
			svm_set_intercept(svm, INTERCEPT_INVLPGB);
			svm_set_intercept(svm, INTERCEPT_INVLPGB_ILLEGAL);
		}
		if (!svm_tlbsync_is_native(vcpu))
			svm_set_intercept(svm, INTERCEPT_TLBSYNC);
	}

	/* No clean bit is documented to cover the enable bit. */
	vmcb_mark_all_dirty(vmcb01);
}

/*
 * Neither instruction exists in real mode.
 *
 * L2 never has the instructions: vmcb02 does not enable them, as L1 has no
 * TlbiCtl with which to ask for it.  But L0's intercepts, which are merged into
 * vmcb02, take precedence over the resulting #UD, so that L2's attempts arrive
 * here unless L1 intercepts them.
 */
static bool svm_has_invlpgb(struct kvm_vcpu *vcpu)
{
	return is_protmode(vcpu) && !is_guest_mode(vcpu) &&
	       guest_cpu_cap_has(vcpu, X86_FEATURE_INVLPGB);
}

/*
 * The INVLPGB intercept takes precedence over all exceptions but the #GP for
 * CPL > 0, so check for everything else here.
 *
 * The width of rAX depends on the address size, and 16 bits are not supported.
 * The exit does not say if there was an address size prefix, so assume that any
 * prefix, i.e. a length other than 3 bytes, was one.  It matters only in 16-bit
 * code, where it selects 32 bits: the rules do not concern the upper half of RAX,
 * and every legal INVLPGB becomes a full flush.
 */
static bool svm_invlpgb_address_size_valid(struct kvm_vcpu *vcpu)
{
	struct vmcb *vmcb = to_svm(vcpu)->vmcb;

	return is_64_bit_mode(vcpu) ||
	       (vmcb->save.cs.attrib & SVM_SELECTOR_DB_MASK) ||
	       vmcb->control.next_rip - kvm_rip_read(vcpu) != 3;
}

/* Return the vector of the exception that the guest takes instead, or -1. */
static int svm_emulate_invlpgb(struct kvm_vcpu *vcpu)
{
	if (!svm_has_invlpgb(vcpu) || !svm_invlpgb_address_size_valid(vcpu))
		return UD_VECTOR;

	if (!kvm_invlpgb(vcpu, kvm_rax_read(vcpu), kvm_ecx_read(vcpu),
			 kvm_edx_read(vcpu)))
		return GP_VECTOR;

	return -1;
}

/* Handle SVM_EXIT_INVLPGB and SVM_EXIT_INVLPGB_ILLEGAL. */
int invlpgb_interception(struct kvm_vcpu *vcpu)
{
	struct vcpu_svm *svm = to_svm(vcpu);
	int vector;

	/*
	 * Both intercepts are set, and it is not documented which of the two
	 * hardware reports for an illegal INVLPGB.  If L1 intercepts every
	 * INVLPGB, then do not swallow one that was reported as illegal.
	 */
	if (is_guest_mode(vcpu) &&
	    vmcb12_is_intercept(&svm->nested.ctl, INTERCEPT_INVLPGB)) {
		nested_svm_simple_vmexit(svm, SVM_EXIT_INVLPGB);
		return 1;
	}

	++vcpu->stat.invlpgb_exits;

	vector = svm_emulate_invlpgb(vcpu);
	trace_kvm_invlpgb(vcpu->vcpu_id, kvm_rip_read(vcpu), kvm_rax_read(vcpu),
			  kvm_ecx_read(vcpu), kvm_edx_read(vcpu), vector);

	if (vector < 0)
		return kvm_skip_emulated_instruction(vcpu);

	++vcpu->stat.invlpgb_illegal_exits;

	if (vector == GP_VECTOR)
		kvm_inject_gp(vcpu, 0);
	else
		kvm_queue_exception(vcpu, vector);
	return 1;
}

/* Handle SVM_EXIT_TLBSYNC. */
int tlbsync_interception(struct kvm_vcpu *vcpu)
{
	bool done;

	++vcpu->stat.tlbsync_exits;

	if (!svm_has_invlpgb(vcpu)) {
		kvm_queue_exception(vcpu, UD_VECTOR);
		return 1;
	}

	svm_vm_asid_sync(vcpu);
	done = kvm_tlbsync(vcpu);
	trace_kvm_tlbsync(vcpu->vcpu_id, kvm_rip_read(vcpu), done);

	return done ? kvm_skip_emulated_instruction(vcpu) : 1;
}
