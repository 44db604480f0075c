/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * KVM's pool of VM-wide ASIDs, linux/arch/x86/kvm/svm/asid.c, against a naive one: VMs of
 * several cgroups come and go at random, with quotas that change and failures that are made,
 * and after each step both must agree on who has which ASID and what each cgroup is charged.
 *
 *     asid-pool-random [--seed=N] [--steps=N]
 */
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "asid-pool.h"

#define MAX_ASIDS	65536
#define VMS		48
#define GROUPS		7
#define EPISODE		2000	/* steps with one pool */

/* Two slices with tenants below the root, one of them two levels down. */
static const int parents[GROUPS] = { -1, 0, 0, 1, 1, 2, 4 };

static struct misc_cg groups[GROUPS];
static struct svm_vm_asid vms[VMS];

/* The naive pool. */
static struct {
	unsigned int nr_asids, last_sev, size;
	unsigned int last;		/* handed out last, 0: none yet */
	unsigned char owner[MAX_ASIDS];	/* VM + 1, 0: free */
	unsigned int asid[VMS];		/* 0: none */
	int group[VMS];			/* that is charged */
	u64 events[GROUPS];
	unsigned int allocations, empty, over_quota, injected;
} naive;

static u64 seed, step, state;

static void __attribute__((noreturn, format(printf, 1, 2))) fail(const char *format, ...)
{
	va_list args;

	printf("seed %lu, step %lu, %u ASIDs, %u in the pool: ", seed, step, naive.nr_asids,
	       naive.size);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	exit(1);
}

/* splitmix64 */
static unsigned int choose(unsigned int n)
{
	u64 z = state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return (z ^ z >> 31) % n;
}

static u64 charged(int group)
{
	u64 sum = 0;
	int vm, i;

	for (vm = 0; vm < VMS; vm++)
		for (i = naive.asid[vm] ? naive.group[vm] : -1; i >= 0; i = parents[i])
			sum += i == group;
	return sum;
}

static void check(void)
{
	unsigned int dynamic_max = svm_asid_dynamic_max(naive.nr_asids);
	unsigned int all = naive.nr_asids - 1 - naive.last_sev;
	int references[GROUPS] = {}, vm, other, i;

	if (dynamic_max - naive.last_sev < (all < PROMISED ? all : PROMISED))
		fail("ASIDs up to %u are dynamic, those up to %u are SEV's", dynamic_max,
		     naive.last_sev);
	for (vm = 0; vm < VMS; vm++) {
		unsigned int asid = vms[vm].asid;

		if (asid != naive.asid[vm])
			fail("VM %d has ASID %u, not %u", vm, asid, naive.asid[vm]);
		if (!asid) {
			if (vms[vm].misc_cg)
				fail("VM %d has no ASID, but a cgroup", vm);
			continue;
		}
		if (asid <= naive.last_sev || asid <= dynamic_max || asid >= naive.nr_asids)
			fail("ASID %u of VM %d is not the pool's", asid, vm);
		for (other = 0; other < vm; other++)
			if (vms[other].asid == asid)
				fail("VMs %d and %d have ASID %u", vm, other, asid);
		references[naive.group[vm]]++;
	}
	for (i = 0; i < GROUPS; i++) {
		if (groups[i].usage != charged(i))
			fail("cgroup %d is charged %lu, not %lu", i, groups[i].usage, charged(i));
		if (groups[i].references != references[i])
			fail("cgroup %d has %d references, not %d", i, groups[i].references,
			     references[i]);
		if (groups[i].events != naive.events[i])
			fail("cgroup %d has %lu events, not %lu", i, groups[i].events,
			     naive.events[i]);
	}
	if (kernel_capacity != naive.size)
		fail("a capacity of %lu", kernel_capacity);
	if (kernel_bugs)
		fail("KVM WARNs");
}

/* What an allocation for a VM of a group should give, and do. */
static int naive_alloc(int vm, int group, int injected)
{
	unsigned int asid, first = naive.nr_asids - naive.size, i;
	int g;

	if (!naive.size)
		return -EOPNOTSUPP;
	asid = naive.last ? naive.last : naive.nr_asids - 1;
	for (i = 0; i < naive.size; i++) {
		asid = asid == naive.nr_asids - 1 ? first : asid + 1;
		if (!naive.owner[asid])
			break;
	}
	if (i == naive.size) {
		naive.empty++;
		return -ENOSPC;
	}
	for (g = group; g >= 0; g = parents[g])
		if (g == injected || charged(g) >= groups[g].max) {
			naive.events[g]++;
			naive.over_quota += g != injected;
			naive.injected += g == injected;
			return -EBUSY;
		}
	naive.owner[asid] = vm + 1;
	naive.asid[vm] = naive.last = asid;
	naive.group[vm] = group;
	naive.allocations++;
	return 0;
}

static void alloc(int vm)
{
	int group = choose(GROUPS), injected = choose(16) ? -1 : (int)choose(GROUPS), r, expected;

	kernel_current_cg = &groups[group];
	kernel_no_charge = injected < 0 ? NULL : &groups[injected];
	r = svm_asid_alloc(&vms[vm]);
	kernel_no_charge = NULL;
	expected = naive_alloc(vm, group, injected);
	if (r != expected)
		fail("VM %d of cgroup %d gets %d, not %d", vm, group, r, expected);
}

static void release(int vm)
{
	/* Whoever does it. */
	kernel_current_cg = &groups[choose(GROUPS)];
	svm_asid_free(&vms[vm]);
	naive.owner[naive.asid[vm]] = 0;
	naive.asid[vm] = 0;
}

static void start(void)
{
	char value[16];
	unsigned int limit, wanted, all, no_memory = !choose(16);

	naive.nr_asids = choose(8) ? 1024 + choose(2048) : 2 + choose(MAX_ASIDS - 2);
	naive.last_sev = choose(2) ? 0 : choose(naive.nr_asids < 600 ? naive.nr_asids : 600);
	all = naive.nr_asids - 1 - naive.last_sev;
	limit = all < PROMISED ? 0 : all - PROMISED;
	/* Mostly so few that VMs take all, and now and then more than there are. */
	wanted = choose(8) ? choose(VMS + 8) : choose(MAX_ASIDS);
	naive.size = wanted < limit ? wanted : limit;
	sprintf(value, "%u", wanted);
	if (!choose(16)) {
		strcpy(value, "auto");
		naive.size = all / 2 < limit ? all / 2 : limit;
	}
	if (no_memory)
		naive.size = 0;
	naive.last = 0;

	param_vm_asids->set(value, NULL);
	kernel_no_memory = no_memory;
	wanted = svm_asid_pool_init(naive.nr_asids, naive.last_sev);
	kernel_no_memory = false;
	if (wanted != naive.size)
		fail("vm_asids=%s gives %u", value, wanted);
}

static void end(void)
{
	int vm;

	for (vm = 0; vm < VMS; vm++)
		if (naive.asid[vm])
			release(vm);
	check();
	svm_asid_pool_destroy();
	if (kernel_capacity || kernel_allocations || kernel_bugs)
		fail("something remains of the pool");
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "seed", required_argument, NULL, 's' },
		{ "steps", required_argument, NULL, 'n' },
		{}
	};
	unsigned long steps = 1000000;
	int option, vm, i;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == '?')
			return 2;
		*(option == 's' ? &seed : &steps) = strtoul(optarg, NULL, 0);
	}
	state = seed;
	for (i = 0; i < GROUPS; i++) {
		groups[i].parent = parents[i] < 0 ? NULL : &groups[parents[i]];
		groups[i].max = U64_MAX;
	}

	for (step = 0; step < steps; step++) {
		if (step % EPISODE == 0) {
			if (step)
				end();
			start();
		}
		vm = choose(VMS);
		if (!choose(16))
			/* The root has no quota. */
			groups[1 + choose(GROUPS - 1)].max = choose(2) ? choose(20) : U64_MAX;
		else if (!naive.asid[vm])
			alloc(vm);
		/* More VMs in some episodes than in others. */
		else if (choose(8) > step / EPISODE % 8)
			release(vm);
		check();
	}
	end();
	printf("seed %lu: %u ASIDs handed out, %u times none left, %u times over a quota, %u failures made\n",
	       seed, naive.allocations, naive.empty, naive.over_quota, naive.injected);
	return 0;
}
