// SPDX-License-Identifier: GPL-2.0-only
/*
 * VM-wide ASIDs for SVM guests.
 *
 * KVM gives a vCPU another ASID on every CPU, and a new one each time it arrives
 * there.  That does not do for a guest that executes INVLPGB natively: hardware
 * broadcasts the flush for the ASID that the vCPU is running with, so the ASID
 * must be the same for all vCPUs of the VM on all CPUs, must not change, and
 * nobody else may have it as long as the VM lives.
 *
 * Such ASIDs come from a pool at the top of the ASID space:
 *
 *	0	the host
 *	1..	SEV guests, up to max_sev_asid
 *	...	dynamic ASIDs, up to svm_asid_dynamic_max()
 *	...	the pool, up to the largest ASID
 *
 * The borders do not move while KVM is loaded, so the ranges cannot meet, and
 * neither VMs with a VM-wide ASID nor those without can use up what is meant for
 * the others.
 *
 * A freed ASID can be handed out again at once, there is nothing to reclaim:
 * whoever gets an ASID must flush it on each CPU before using it there for the
 * first time, and on each CPU that has come online since.
 *
 * This file needs no other KVM header so that it can be tested in user space.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bitmap.h>
#include <linux/bug.h>
#include <linux/errno.h>
#include <linux/gfp.h>
#include <linux/kstrtox.h>
#include <linux/limits.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/misc_cgroup.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "asid.h"

/*
 * The number of dynamic ASIDs that the pool leaves at least, or all if there are
 * not that many.
 *
 * A CPU that runs out of dynamic ASIDs flushes all ASIDs and starts over.  As
 * every arrival of a vCPU takes one, that happens once in so many arrivals.  An
 * arriving vCPU finds no translations anyway, so that the flushes cost R refills
 * of a TLB more per 1024, where R is the number of vCPUs that take turns on the
 * CPU: little, unless R is absurd.
 */
#define SVM_MIN_DYNAMIC_ASIDS	1024

#define VM_ASIDS_AUTO		-1

/*
 * Everything but @used, its bits and @next is constant from the end of
 * svm_asid_pool_init() to svm_asid_pool_destroy().
 */
static struct {
	/* Bit n is set if ASID @first + n has an owner.  Protected by pool_lock. */
	unsigned long *used;
	/* Where the search for a free ASID starts.  Protected by pool_lock. */
	unsigned int next;
	unsigned int first;
	unsigned int nr;
} pool;

/* Also taken for charging, see svm_asid_take(). */
static DEFINE_MUTEX(pool_lock);

static int __ro_after_init vm_asids = VM_ASIDS_AUTO;

static int vm_asids_set(const char *val, const struct kernel_param *kp)
{
	int n, r;

	if (sysfs_streq(val, "auto")) {
		vm_asids = VM_ASIDS_AUTO;
		return 0;
	}

	r = kstrtoint(val, 0, &n);
	if (r)
		return r;

	if (n < 0)
		return -EINVAL;

	vm_asids = n;
	return 0;
}

/* Show what became of it: only the size of the pool is of interest. */
static int vm_asids_get(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "%u\n", pool.nr);
}

static const struct kernel_param_ops vm_asids_ops = {
	.set = vm_asids_set,
	.get = vm_asids_get,
};

module_param_cb(vm_asids, &vm_asids_ops, NULL, 0444);
MODULE_PARM_DESC(vm_asids, "Number of ASIDs for VMs that keep theirs: auto (default), 0 for none");

static unsigned int __init svm_asid_pool_size(unsigned int nr_asids,
					      unsigned int last_sev_asid)
{
	unsigned int available = nr_asids - min(nr_asids, last_sev_asid + 1);
	unsigned int limit = available - min(available, SVM_MIN_DYNAMIC_ASIDS);
	unsigned int wanted = vm_asids;

	/*
	 * All CPUs with INVLPGB so far have more than 31000 that are not SEV's.
	 * Half of them is plenty for the pool, and for the others.
	 */
	if (vm_asids == VM_ASIDS_AUTO)
		return min(available / 2, limit);

	if (wanted > limit)
		pr_warn("vm_asids=%u is too large, using %u\n", wanted, limit);

	return min(wanted, limit);
}

/**
 * svm_asid_pool_init - set aside ASIDs for VMs
 * @nr_asids: the number of ASIDs that the CPU has, including 0 for the host
 * @last_sev_asid: the largest ASID that is reserved for SEV guests, 0 if none is
 *
 * To be called before any CPU enables virtualization.  Until then, and if there
 * is no pool, all ASIDs that SEV leaves are dynamic.
 *
 * Return: the number of ASIDs in the pool, 0 if there is no pool
 */
unsigned int __init svm_asid_pool_init(unsigned int nr_asids,
				       unsigned int last_sev_asid)
{
	unsigned int nr;

	/* INVLPGB has 16 bits for the ASID. */
	nr_asids = min(nr_asids, U16_MAX + 1);

	nr = svm_asid_pool_size(nr_asids, last_sev_asid);
	if (!nr)
		return 0;

	pool.used = bitmap_zalloc(nr, GFP_KERNEL);
	if (!pool.used)
		return 0;

	WARN_ON_ONCE(misc_cg_set_capacity(MISC_CG_RES_SVM_VM_ASID, nr));

	pool.next = 0;
	pool.first = nr_asids - nr;
	pool.nr = nr;

	pr_info("%u VM-wide ASIDs (%u - %u)\n", nr, pool.first, nr_asids - 1);
	return nr;
}

/**
 * svm_asid_pool_destroy - undo svm_asid_pool_init(), if it was called
 *
 * To be called after the last VM was destroyed.
 */
void svm_asid_pool_destroy(void)
{
	if (!pool.nr)
		return;

	WARN_ON_ONCE(!bitmap_empty(pool.used, pool.nr));

	misc_cg_set_capacity(MISC_CG_RES_SVM_VM_ASID, 0);
	bitmap_free(pool.used);
	pool.nr = 0;
}

/**
 * svm_asid_pool_usage - how large the pool is, and how much of it has owners
 * @nr: set to the number of ASIDs in the pool
 * @used: set to the number of those that VMs have
 */
void svm_asid_pool_usage(unsigned int *nr, unsigned int *used)
{
	mutex_lock(&pool_lock);
	*nr = pool.nr;
	*used = bitmap_weight(pool.used, pool.nr);
	mutex_unlock(&pool_lock);
}

/**
 * svm_asid_dynamic_max - where the ASIDs end that vCPUs get per CPU
 * @nr_asids: the number of ASIDs that the CPU has
 *
 * Return: the largest ASID that is not the pool's
 */
unsigned int svm_asid_dynamic_max(unsigned int nr_asids)
{
	return (pool.nr ? pool.first : nr_asids) - 1;
}

/*
 * Return an ASID that is charged to @cg, or an error.
 *
 * The search goes on behind the ASID that was handed out last, and around the end
 * of the pool.  That finds those that have been free for long first, usually at
 * once.  If the pool is nearly full, then the search may have to look at all of
 * the bitmap, which is 8 KiB at most.
 *
 * Do not charge before there is an ASID, so that an empty pool neither counts as
 * an event of the cgroup nor looks like a quota.  As the lock is held, no attempt
 * that fails keeps an ASID, or a bit of a quota that cgroups share, from somebody
 * else who would have succeeded.
 */
static int svm_asid_take(struct misc_cg *cg)
{
	unsigned int n;
	int r;

	lockdep_assert_held(&pool_lock);

	n = find_next_zero_bit(pool.used, pool.nr, pool.next);
	if (n >= pool.nr)
		n = find_first_zero_bit(pool.used, pool.nr);
	if (n >= pool.nr)
		return -ENOSPC;

	r = misc_cg_try_charge(MISC_CG_RES_SVM_VM_ASID, cg, 1);
	if (r)
		return r;

	__set_bit(n, pool.used);
	pool.next = n + 1;
	return pool.first + n;
}

/**
 * svm_asid_alloc - give a VM-wide ASID to a VM
 * @vm_asid: where the VM keeps it, without an ASID so far
 *
 * Charges the misc cgroup of the current task.  The charge stays there until
 * svm_asid_free(), whatever becomes of the task.
 *
 * Other VMs may have had the ASID.  The caller must flush it on each CPU before
 * it is first used there, see above.
 *
 * Return: 0; or, with @vm_asid unchanged, -EOPNOTSUPP if there is no pool,
 * -ENOSPC if all ASIDs of it have owners, or -EBUSY if the quota of the cgroup,
 * or of one above it, is used up
 */
int svm_asid_alloc(struct svm_vm_asid *vm_asid)
{
	struct misc_cg *cg;
	int asid;

	if (WARN_ON_ONCE(vm_asid->asid))
		return -EINVAL;

	if (!pool.nr)
		return -EOPNOTSUPP;

	cg = get_current_misc_cg();

	mutex_lock(&pool_lock);
	asid = svm_asid_take(cg);
	mutex_unlock(&pool_lock);

	if (asid < 0) {
		put_misc_cg(cg);
		return asid;
	}

	vm_asid->asid = asid;
	vm_asid->misc_cg = cg;
	return 0;
}

/**
 * svm_asid_free - take the VM-wide ASID away from a VM, if it has one
 * @vm_asid: where the VM keeps it
 *
 * No vCPU may run with the ASID any more, on any CPU.
 */
void svm_asid_free(struct svm_vm_asid *vm_asid)
{
	if (!vm_asid->asid)
		return;

	mutex_lock(&pool_lock);
	__clear_bit(vm_asid->asid - pool.first, pool.used);
	misc_cg_uncharge(MISC_CG_RES_SVM_VM_ASID, vm_asid->misc_cg, 1);
	mutex_unlock(&pool_lock);

	put_misc_cg(vm_asid->misc_cg);
	vm_asid->misc_cg = NULL;
	vm_asid->asid = 0;
}
