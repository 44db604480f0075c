/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * KVM's pool of VM-wide ASIDs, linux/arch/x86/kvm/svm/asid.c, under several threads, each a
 * tenant with VMs in a cgroup of its own. To be built with ThreadSanitizer.
 *
 * The quotas add up to one ASID less than there are. So a tenant must always be served up to
 * its quota, and never beyond, whatever the others do that keep on asking for more.
 *
 *     asid-pool-stress [--seed=N] [--steps=N]
 */
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "asid-pool.h"

#define TENANTS		4
#define VMS		12
#define NR_ASIDS	32768

static struct misc_cg root = { .max = U64_MAX };
static struct misc_cg groups[TENANTS];
static const unsigned int quotas[TENANTS] = { 1, 2, 5, 9 };
#define POOL		18

/* Who has it: tenant + 1, 0: nobody. */
static _Atomic int owner[NR_ASIDS];
static _Atomic unsigned int failures;
static unsigned long seed, steps = 100000;

static void expect(bool right, const char *what, unsigned int tenant, long value)
{
	if (right)
		return;
	if (failures++ < 10)
		printf("tenant %u: %s: %ld\n", tenant, what, value);
}

static void *tenant(void *argument)
{
	unsigned int self = (uintptr_t)argument, used = 0, seen = 0, vm;
	unsigned int state = seed * TENANTS + self;
	struct svm_vm_asid vms[VMS] = {};
	unsigned long step;

	kernel_current_cg = &groups[self];
	for (step = 0; step < steps; step++) {
		int r;

		vm = rand_r(&state) % VMS;
		if (vms[vm].asid) {
			int had = atomic_exchange(&owner[vms[vm].asid], 0);

			expect(had == self + 1, "somebody else had its ASID", self, had);
			svm_asid_free(&vms[vm]);
			used--;
			continue;
		}

		r = svm_asid_alloc(&vms[vm]);
		if (used == quotas[self]) {
			expect(r == -EBUSY, "it has its quota and gets", self, r);
			seen++;
		} else {
			expect(!r, "it is below its quota and gets", self, r);
		}
		if (!r) {
			unsigned int asid = vms[vm].asid;

			expect(asid >= NR_ASIDS - POOL && asid < NR_ASIDS,
			       "it gets an ASID that is not the pool's", self, asid);
			expect(!atomic_exchange(&owner[asid], self + 1),
			       "it gets an ASID that has an owner", self, asid);
			used++;
		}
	}
	for (vm = 0; vm < VMS; vm++) {
		if (vms[vm].asid)
			owner[vms[vm].asid] = 0;
		svm_asid_free(&vms[vm]);
	}
	expect(groups[self].events == seen, "events of its quota", self, groups[self].events);
	return NULL;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "seed", required_argument, NULL, 's' },
		{ "steps", required_argument, NULL, 'n' },
		{}
	};
	pthread_t threads[TENANTS];
	int option;
	uintptr_t i;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == '?')
			return 2;
		*(option == 's' ? &seed : &steps) = strtoul(optarg, NULL, 0);
	}

	param_vm_asids->set("18", NULL);
	expect(svm_asid_pool_init(NR_ASIDS, 0) == POOL, "not the pool asked for", 0, 0);
	for (i = 0; i < TENANTS; i++) {
		groups[i].parent = &root;
		groups[i].max = quotas[i];
	}
	for (i = 0; i < TENANTS; i++)
		pthread_create(&threads[i], NULL, tenant, (void *)i);
	for (i = 0; i < TENANTS; i++) {
		pthread_join(threads[i], NULL);
		expect(!groups[i].usage, "still charged", i, groups[i].usage);
		expect(!groups[i].references, "references", i, groups[i].references);
	}
	expect(!root.usage, "the root is still charged", 0, root.usage);
	svm_asid_pool_destroy();
	expect(!kernel_bugs, "KVM WARNs", 0, kernel_bugs);
	printf("seed %lu, %lu steps of each of %d threads\n", seed, steps, TENANTS);
	return !!failures;
}
