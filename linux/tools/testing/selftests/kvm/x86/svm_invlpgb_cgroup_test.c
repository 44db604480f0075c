// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test the quota of VM-wide ASIDs, svm_vm_asid of the misc cgroup.
 *
 * Two tenants in two cgroups, one of which may have one ASID:
 *
 * o its second VM gets EBUSY, an event of its cgroup, and no ASID
 * o the other tenant gets all that are left, and then ENOSPC, which is no event
 * o the charge stays where it was made when the task moves, and goes when the VM is
 *   destroyed
 */
#include "kvm_util.h"
#include "processor.h"
#include "test_util.h"

#include "cgroup_util.h"

#define RESOURCE	"svm_vm_asid"

struct tenant {
	char *cgroup;
	struct kvm_vm *vm[16];
	int nr_vms;
};

static long misc_value(struct tenant *t, const char *file, const char *key)
{
	return cg_read_key_long(t->cgroup, file, key);
}

static void expect_charge(struct tenant *t, long nr)
{
	TEST_ASSERT_EQ(misc_value(t, "misc.current", RESOURCE " "), nr);
}

static void expect_events(struct tenant *t, long nr)
{
	TEST_ASSERT_EQ(misc_value(t, "misc.events", RESOURCE ".max "), nr);
	TEST_ASSERT_EQ(misc_value(t, "misc.events.local", RESOURCE ".max "), nr);
}

static void join_cgroup(struct tenant *t)
{
	TEST_ASSERT(!cg_enter_current(t->cgroup), "Cannot join %s, errno %d", t->cgroup, errno);
}

/* One more VM of a tenant; 0 if it gets an ASID, else the error. */
static int add_vm(struct tenant *t)
{
	struct kvm_vm *vm;
	int r;

	join_cgroup(t);
	vm = vm_create(1);
	r = __vm_enable_cap(vm, KVM_CAP_X86_DISABLE_EXITS, KVM_X86_DISABLE_EXITS_INVLPGB);
	TEST_ASSERT_EQ(!vm_get_stat(vm, vm_asid), !!r);
	if (!r) {
		t->vm[t->nr_vms++] = vm;
		return 0;
	}

	r = errno;
	kvm_vm_free(vm);
	return r;
}

static void remove_vm(struct tenant *t)
{
	kvm_vm_free(t->vm[--t->nr_vms]);
}

static void test_tenants(struct tenant *limited, struct tenant *other, int nr_asids)
{
	int i;

	TEST_ASSERT_EQ(add_vm(limited), 0);
	expect_charge(limited, 1);
	expect_events(limited, 0);

	TEST_ASSERT_EQ(add_vm(limited), EBUSY);
	expect_charge(limited, 1);
	expect_events(limited, 1);

	for (i = 1; i < nr_asids; i++)
		TEST_ASSERT_EQ(add_vm(other), 0);
	TEST_ASSERT_EQ(add_vm(other), ENOSPC);
	expect_charge(other, nr_asids - 1);
	expect_events(other, 0);

	/* This task is in the other cgroup now. */
	remove_vm(limited);
	expect_charge(limited, 0);
	expect_charge(other, nr_asids - 1);

	TEST_ASSERT_EQ(add_vm(limited), 0);
	expect_charge(limited, 1);
	expect_events(limited, 1);

	while (other->nr_vms)
		remove_vm(other);
	expect_charge(other, 0);
	remove_vm(limited);
	expect_charge(limited, 0);
}

static struct tenant create_tenant(const char *root, const char *name)
{
	struct tenant t = { .cgroup = cg_name(root, name) };

	TEST_ASSERT(!cg_create(t.cgroup), "Cannot create %s, errno %d", t.cgroup, errno);
	return t;
}

static void destroy_tenant(struct tenant *t)
{
	TEST_ASSERT(!cg_destroy(t->cgroup), "Cannot remove %s, errno %d", t->cgroup, errno);
	free(t->cgroup);
}

int main(int argc, char *argv[])
{
	struct tenant limited, other;
	char root[PATH_MAX];
	int nr_asids;

	TEST_REQUIRE(kvm_cpu_has(X86_FEATURE_INVLPGB));
	__TEST_REQUIRE(kvm_check_cap(KVM_CAP_X86_DISABLE_EXITS) & KVM_X86_DISABLE_EXITS_INVLPGB,
		       "KVM does not offer it, is kvm_amd.invlpgb=passthrough set?");
	__TEST_REQUIRE(!cg_find_unified_root(root, sizeof(root), NULL) &&
		       !cg_write(root, "cgroup.subtree_control", "+misc"),
		       "No misc controller, or this is not root");

	limited = create_tenant(root, "kvm_tenant_limited");
	other = create_tenant(root, "kvm_tenant_other");
	nr_asids = kvm_get_module_param_integer("kvm_amd", "vm_asids");
	__TEST_REQUIRE(nr_asids <= ARRAY_SIZE(other.vm),
		       "Set kvm_amd.vm_asids, %d VMs are too many", nr_asids);

	TEST_ASSERT(!cg_write(limited.cgroup, "misc.max", RESOURCE " 1"), "errno %d", errno);
	test_tenants(&limited, &other, nr_asids);

	TEST_ASSERT(!cg_enter_current(root), "errno %d", errno);
	destroy_tenant(&limited);
	destroy_tenant(&other);
	return 0;
}
