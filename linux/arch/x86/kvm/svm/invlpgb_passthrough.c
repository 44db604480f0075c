// SPDX-License-Identifier: GPL-2.0-only
/*
 * Native INVLPGB and TLBSYNC for SVM guests.
 *
 * A guest that executes INVLPGB natively flushes the ASID that it is running
 * with, on all CPUs; hardware sees to it that it is no other.  That is what the
 * guest means if, and only if, all of its vCPUs run with that ASID on all CPUs,
 * and nobody else does: with a VM-wide ASID, see asid.c.
 *
 * The ASID does not change when a vCPU moves, so what the vCPU leaves behind
 * stays usable for whoever comes next with the same ASID.  Three rules make up
 * for it:
 *
 * 1. Flush the ASID on a CPU before the VM's first VMRUN there, and before the
 *    first one since the CPU came online.  Whoever had the ASID before may have
 *    left translations behind.
 *
 * 2. Flush it when another vCPU of the VM was the last to run there.  Two vCPUs
 *    may use the same PCID for different page tables.
 *
 * 3. Flush it when the vCPU has run elsewhere in between.  What it flushed there
 *    by INVLPG or a load of CR3, and what KVM flushed on its behalf, e.g. after
 *    it had unmapped a page, did not reach this CPU.  Flush requests are served
 *    at the next VMRUN, on the CPU where that happens:
 *
 *	vCPU 0 on CPU A			KVM
 *	===============			===
 *	uses page P on CPU A
 *	moves to CPU B
 *					unmaps P
 *					KVM_REQ_TLB_FLUSH
 *	flushes CPU B
 *	moves to CPU A
 *	has to flush CPU A
 *
 * With these, everything that relies on a vCPU finding nothing of its own when it
 * arrives on a CPU works as with a dynamic ASID.
 *
 * TLBSYNC waits for the INVLPGBs of the CPU that it is executed on.  A vCPU may be
 * moved between the two, and nothing says that #VMEXIT or VMRUN wait:
 *
 *	CPU A				CPU B
 *	=====				=====
 *	guest: INVLPGB
 *	#VMEXIT, vCPU is put
 *					vCPU is loaded
 *					guest: TLBSYNC, waits for nothing
 *					guest: frees the page
 *	INVLPGB is still in flight
 *
 * So execute TLBSYNC whenever a vCPU is put, and when a TLBSYNC is emulated.  KVM
 * cannot know whether the guest has executed an INVLPGB.  Do so as long as the VM
 * has the ASID, as a vCPU may be put, or its TLBSYNC emulated, when
 * the VM has just been demoted.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/debugfs.h>
#include <linux/kstrtox.h>
#include <linux/kvm_host.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include <asm/cpuid/api.h>
#include <asm/tlb.h>

#include "cpuid.h"
#include "svm.h"
#include "x86.h"
#include "invlpgb_passthrough.h"

#define CREATE_TRACE_POINTS
#include "invlpgb_passthrough_trace.h"

/**
 * struct svm_last_run - who ran with a VM-wide ASID last on a CPU
 * @generation: asid_generation of the CPU at that time, never 0.  It changes
 *	when the CPU comes online, so that no record outlives what the CPU holds.
 * @vcpu_id: the vCPU
 *
 * Only used on its own CPU, with preemption disabled.
 */
struct svm_last_run {
	u64 generation;
	int vcpu_id;
};

static u16 __ro_after_init host_count_max;

/*
 * Protects what follows, and svm_invlpgb_passthrough.enabled of all VMs.  Taken
 * inside kvm->lock.
 */
static DEFINE_MUTEX(passthrough_lock);

/* All VMs that have a VM-wide ASID. */
static LIST_HEAD(passthrough_vms);

/* Root does not want more of them. */
static bool passthrough_blocked;

static struct dentry *passthrough_debugfs;

static struct svm_invlpgb_passthrough *to_passthrough(struct kvm *kvm)
{
	return &to_kvm_svm(kvm)->invlpgb;
}

/* SEV guests have a VM-wide ASID already. */
static bool svm_vm_has_sev_asid(struct kvm *kvm)
{
#ifdef CONFIG_KVM_AMD_SEV
	return to_kvm_sev_info(kvm)->active;
#else
	return false;
#endif
}

bool svm_has_vm_asid(struct kvm *kvm)
{
	return to_passthrough(kvm)->asid.asid;
}

/**
 * svm_invlpgb_passthrough_hardware_setup - offer to disable the exits
 *
 * To be called if the host has the instructions, nested paging and a pool of
 * VM-wide ASIDs.
 */
__init void svm_invlpgb_passthrough_hardware_setup(void)
{
	host_count_max = cpuid_edx(0x80000008) & GENMASK(15, 0);
	kvm_caps.supported_disable_exits |= KVM_X86_DISABLE_EXITS_INVLPGB;
}

/**
 * svm_vm_disable_invlpgb_exits - let the vCPUs of a VM execute both natively
 * @kvm: a VM without vCPUs; its lock is held
 *
 * To be called only if KVM has offered KVM_X86_DISABLE_EXITS_INVLPGB.  Whether a
 * vCPU is intercepted depends on its CPUID, too, see svm_invlpgb_is_native().
 *
 * Return: 0, or -EINVAL if it is an SEV guest or if root has blocked it, -ENOSPC if
 * there is no ASID left, -EBUSY if the quota of the cgroup is used up, -ENOMEM
 */
int svm_vm_disable_invlpgb_exits(struct kvm *kvm)
{
	struct svm_invlpgb_passthrough *passthrough = to_passthrough(kvm);
	struct svm_last_run __percpu *last_run;
	int r;

	lockdep_assert_held(&kvm->lock);

	if (kvm->arch.vm_type != KVM_X86_DEFAULT_VM || svm_vm_has_sev_asid(kvm))
		return -EINVAL;

	if (svm_has_vm_asid(kvm))
		return 0;

	guard(mutex)(&passthrough_lock);

	if (passthrough_blocked)
		return -EINVAL;

	last_run = alloc_percpu_gfp(struct svm_last_run, GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (!last_run)
		return -ENOMEM;

	r = svm_asid_alloc(&passthrough->asid);
	if (r) {
		free_percpu(last_run);
		return r;
	}

	passthrough->last_run = last_run;
	kvm->stat.vm_asid = passthrough->asid.asid;
	list_add_tail(&passthrough->list, &passthrough_vms);
	WRITE_ONCE(passthrough->enabled, true);
	trace_kvm_vm_asid_alloc(kvm->userspace_pid, passthrough->asid.asid);
	return 0;
}

static void svm_vm_demote(struct svm_invlpgb_passthrough *passthrough, bool root)
{
	struct kvm *kvm = &container_of(passthrough, struct kvm_svm, invlpgb)->kvm;

	lockdep_assert_held(&passthrough_lock);

	if (!passthrough->enabled)
		return;

	WRITE_ONCE(passthrough->enabled, false);
	kvm_make_all_cpus_request(kvm, KVM_REQ_RECALC_INTERCEPTS | KVM_REQUEST_WAIT);
	++kvm->stat.invlpgb_demotions;
	trace_kvm_invlpgb_demote(kvm->userspace_pid, passthrough->asid.asid, root);
}

/**
 * svm_vm_enable_invlpgb_exits - intercept the instructions on all vCPUs of a VM
 * @kvm: the VM
 *
 * When this returns, no vCPU executes them natively, nor ever will:
 *
 *	this task			vCPU
 *	=========			====
 *	enabled = false			enter:
 *	set RECALC_INTERCEPTS		    if (RECALC_INTERCEPTS is set)
 *	smp_mb()				clear it, read enabled
 *	kick if in guest mode,		    mode = IN_GUEST_MODE
 *	  and wait			    smp_mb()
 *					    if (RECALC_INTERCEPTS is set)
 *						goto enter
 *					    VMRUN
 *
 * A vCPU that is not found here has not run: it gets its CPUID, and with that the
 * same request, after it has become visible.
 *
 * The VM keeps its ASID.  INVLPGBs that are in flight still have to be waited for.
 */
int svm_vm_enable_invlpgb_exits(struct kvm *kvm)
{
	guard(mutex)(&passthrough_lock);
	svm_vm_demote(to_passthrough(kvm), false);
	return 0;
}

/**
 * svm_vm_pre_destroy - root can no longer reach the VM, whose vCPUs will be freed
 * @kvm: the VM
 */
void svm_vm_pre_destroy(struct kvm *kvm)
{
	scoped_guard(mutex, &passthrough_lock) {
		if (svm_has_vm_asid(kvm))
			list_del_init(&to_passthrough(kvm)->list);
	}

	if (enable_apicv)
		avic_vm_pre_destroy(kvm);
}

/**
 * svm_vm_release_asid - take the VM-wide ASID away from a VM, if it has one
 * @kvm: a VM none of whose vCPUs runs: it is being destroyed, or becomes an SEV
 *	guest, which has an ASID of its own
 */
void svm_vm_release_asid(struct kvm *kvm)
{
	struct svm_invlpgb_passthrough *passthrough = to_passthrough(kvm);

	if (!svm_has_vm_asid(kvm))
		return;

	scoped_guard(mutex, &passthrough_lock) {
		WRITE_ONCE(passthrough->enabled, false);
		list_del_init(&passthrough->list);
	}
	kvm_make_all_cpus_request(kvm, KVM_REQ_RECALC_INTERCEPTS);

	trace_kvm_vm_asid_free(kvm->userspace_pid, passthrough->asid.asid);
	kvm->stat.vm_asid = 0;
	svm_asid_free(&passthrough->asid);
	free_percpu(passthrough->last_run);
	passthrough->last_run = NULL;
}

/**
 * svm_vm_asid_pre_run - run a vCPU with its VM's ASID, flush it if need be
 * @svm: the vCPU, about to be run on this CPU
 * @sd: of this CPU
 *
 * Return: 0
 */
int svm_vm_asid_pre_run(struct vcpu_svm *svm, struct svm_cpu_data *sd)
{
	struct kvm_vcpu *vcpu = &svm->vcpu;
	struct svm_invlpgb_passthrough *passthrough = to_passthrough(vcpu->kvm);
	struct svm_last_run *last = this_cpu_ptr(passthrough->last_run);

	svm->asid = passthrough->asid.asid;

	if (last->generation == sd->asid_generation &&
	    last->vcpu_id == vcpu->vcpu_id &&
	    vcpu->arch.last_vmentry_cpu == vcpu->cpu)
		return 0;

	/*
	 * The flush is not lost if this entry is cancelled.  TLB_CONTROL stays set
	 * until a VMRUN succeeds, and if the vCPU goes on to run L2, then entering
	 * L2 flushes.  If anybody else runs here first then the record will tell.
	 */
	last->generation = sd->asid_generation;
	last->vcpu_id = vcpu->vcpu_id;
	svm->vmcb->control.tlb_ctl = TLB_CONTROL_FLUSH_ASID;
	return 0;
}

/**
 * svm_vm_asid_sync - wait for the INVLPGBs that a vCPU has executed on this CPU
 * @vcpu: the vCPU
 *
 * Twice if the CPU needs it, see __tlbsync().
 */
void svm_vm_asid_sync(struct kvm_vcpu *vcpu)
{
	if (!svm_has_vm_asid(vcpu->kvm))
		return;

	guard(preempt)();
	__tlbsync();
	++vcpu->stat.host_tlbsyncs;
}

static bool svm_has_host_count_max(struct kvm_vcpu *vcpu)
{
	struct kvm_cpuid_entry2 *entry = kvm_find_cpuid_entry(vcpu, 0x80000008);

	return entry && (entry->edx & GENMASK(15, 0)) == host_count_max;
}

/**
 * svm_invlpgb_is_native - may a vCPU execute INVLPGB without an exit?
 * @vcpu: the vCPU, which has INVLPGB in its CPUID
 *
 * If it has SVM then its guest expects INVLPGB to flush the ASIDs that it chooses,
 * as hypervisor.  If its maximum of pages is not that of the CPU, then hardware
 * would accept what it must not, or the other way round.
 */
bool svm_invlpgb_is_native(struct kvm_vcpu *vcpu)
{
	return READ_ONCE(to_passthrough(vcpu->kvm)->enabled) &&
	       !guest_cpu_cap_has(vcpu, X86_FEATURE_SVM) &&
	       svm_has_host_count_max(vcpu);
}

/**
 * svm_tlbsync_is_native - may a vCPU execute TLBSYNC without an exit?
 * @vcpu: the vCPU, which has INVLPGB in its CPUID
 *
 * If the CPU needs every TLBSYNC twice then the guest does not know it.
 */
bool svm_tlbsync_is_native(struct kvm_vcpu *vcpu)
{
	return svm_invlpgb_is_native(vcpu) && !boot_cpu_has_bug(X86_BUG_TLBI);
}

/*
 * What root can do at any time, in kvm_amd/ in debugfs.
 */

static int passthrough_blocked_get(void *data, u64 *val)
{
	*val = READ_ONCE(passthrough_blocked);
	return 0;
}

static int passthrough_blocked_set(void *data, u64 val)
{
	if (val > 1)
		return -EINVAL;

	guard(mutex)(&passthrough_lock);
	WRITE_ONCE(passthrough_blocked, val);
	if (val)
		kvm_caps.supported_disable_exits &= ~KVM_X86_DISABLE_EXITS_INVLPGB;
	else
		kvm_caps.supported_disable_exits |= KVM_X86_DISABLE_EXITS_INVLPGB;
	return 0;
}

DEFINE_DEBUGFS_ATTRIBUTE(passthrough_blocked_fops, passthrough_blocked_get,
			 passthrough_blocked_set, "%llu\n");

/* Demote the VMs of the process that is written, or with "all" those of all. */
static ssize_t passthrough_demote_write(struct file *file, const char __user *buf,
					size_t count, loff_t *ppos)
{
	struct svm_invlpgb_passthrough *passthrough;
	char text[16] = {};
	bool found = false;
	pid_t pid = 0;

	if (count >= sizeof(text))
		return -EINVAL;
	if (copy_from_user(text, buf, count))
		return -EFAULT;
	if (!sysfs_streq(text, "all") && (kstrtoint(text, 0, &pid) || pid <= 0))
		return -EINVAL;

	guard(mutex)(&passthrough_lock);
	list_for_each_entry(passthrough, &passthrough_vms, list) {
		struct kvm_svm *kvm_svm = container_of(passthrough, struct kvm_svm, invlpgb);

		if (pid && kvm_svm->kvm.userspace_pid != pid)
			continue;
		svm_vm_demote(passthrough, true);
		found = true;
	}

	return found || !pid ? count : -ESRCH;
}

static const struct file_operations passthrough_demote_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = passthrough_demote_write,
};

/* One line per VM: the process, the ASID, and the mode. */
static int passthrough_vms_show(struct seq_file *m, void *unused)
{
	struct svm_invlpgb_passthrough *passthrough;

	guard(mutex)(&passthrough_lock);
	list_for_each_entry(passthrough, &passthrough_vms, list) {
		struct kvm_svm *kvm_svm = container_of(passthrough, struct kvm_svm, invlpgb);

		seq_printf(m, "%d %u %s\n", kvm_svm->kvm.userspace_pid, passthrough->asid.asid,
			   passthrough->enabled ? "passthrough" : "intercept");
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(passthrough_vms);

static int vm_asids_show(struct seq_file *m, void *unused)
{
	unsigned int nr, used;

	svm_asid_pool_usage(&nr, &used);
	seq_printf(m, "size %u\nused %u\n", nr, used);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(vm_asids);

/**
 * svm_invlpgb_passthrough_debugfs_init - let root look at VMs and demote them
 */
__init void svm_invlpgb_passthrough_debugfs_init(void)
{
	if (!(kvm_caps.supported_disable_exits & KVM_X86_DISABLE_EXITS_INVLPGB))
		return;

	passthrough_debugfs = debugfs_create_dir("kvm_amd", NULL);
	debugfs_create_file("vm_asids", 0400, passthrough_debugfs, NULL, &vm_asids_fops);
	debugfs_create_file("invlpgb_vms", 0400, passthrough_debugfs, NULL,
			    &passthrough_vms_fops);
	debugfs_create_file("invlpgb_demote", 0200, passthrough_debugfs, NULL,
			    &passthrough_demote_fops);
	debugfs_create_file("invlpgb_blocked", 0600, passthrough_debugfs, NULL,
			    &passthrough_blocked_fops);
}

void svm_invlpgb_passthrough_debugfs_remove(void)
{
	debugfs_remove_recursive(passthrough_debugfs);
}
