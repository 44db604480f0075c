/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * KVM's pool of VM-wide ASIDs, linux/arch/x86/kvm/svm/asid.c, in user space: each rule alone.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "asid-pool.h"

#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))

static unsigned int failures;
static const char *rule;

static void expect(bool right, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void expect(bool right, const char *format, ...)
{
	va_list args;

	if (right)
		return;

	printf("%s: ", rule);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	failures++;
}

static struct misc_cg root = { .max = U64_MAX };

static void set_vm_asids(const char *value)
{
	expect(!param_vm_asids->set(value, NULL), "vm_asids=%s is refused", value);
}

static unsigned int get_vm_asids(void)
{
	char buffer[4096];

	param_vm_asids->get(buffer, NULL);
	return atoi(buffer);
}

/* What must hold whenever a test ends. */
static void clean(void)
{
	svm_asid_pool_destroy();
	expect(!kernel_bugs, "%u WARNs", kernel_bugs);
	expect(!kernel_allocations, "%d bitmaps leaked", kernel_allocations);
	expect(!kernel_capacity, "the capacity is still %lu", kernel_capacity);
	expect(!root.usage, "%lu still charged", root.usage);
	expect(!root.references, "%d references to a cgroup leaked", root.references);
	expect(!root.events, "%lu events without a quota", root.events);
	expect(svm_asid_dynamic_max(100) == 99, "ASIDs that did not become dynamic again");
	kernel_bugs = 0;
	set_vm_asids("auto");
}

/*
 * Take all ASIDs of the pool: they are those that are neither the host's, nor SEV's, nor
 * dynamic, each exactly once.
 */
static void check_ranges(unsigned int nr_asids, unsigned int last_sev, unsigned int size)
{
	unsigned int dynamic_max = svm_asid_dynamic_max(nr_asids), i;
	struct svm_vm_asid *vms = calloc(size + 1, sizeof(*vms));
	bool *taken = calloc(nr_asids, sizeof(*taken));

	for (i = 0; i < size; i++) {
		unsigned int asid;
		int r = svm_asid_alloc(&vms[i]);

		asid = vms[i].asid;
		expect(!r, "allocation %u of %u fails with %d", i, size, r);
		expect(asid > last_sev, "ASID %u is SEV's", asid);
		expect(asid > dynamic_max, "ASID %u is dynamic", asid);
		expect(asid < nr_asids, "ASID %u does not exist", asid);
		if (asid < nr_asids) {
			expect(!taken[asid], "ASID %u has two owners", asid);
			taken[asid] = true;
		}
		if (failures)
			exit(1);
	}
	expect(svm_asid_alloc(&vms[size]) == (size ? -ENOSPC : -EOPNOTSUPP),
	       "one ASID more than there are");
	for (i = 0; i <= size; i++)
		svm_asid_free(&vms[i]);
	free(taken);
	free(vms);
}

static void test_sizes(void)
{
	static const struct {
		unsigned int nr_asids, last_sev;
		const char *vm_asids;
		unsigned int size;
		const char *warning;
	} rows[] = {
		/* Real parts, with the SEV ranges that they have. */
		{ 32768, 0, "auto", 16383 },
		{ 32768, 509, "auto", 16129 },
		{ 32768, 1006, "auto", 15880 },
		/* Older parts, and hypervisors. */
		{ 8, 0, "auto", 0 },
		{ 16, 0, "auto", 0 },
		{ 64, 15, "auto", 0 },
		/* Around the smallest that can have a pool, and the smallest that can halve. */
		{ 1025, 0, "auto", 0 },
		{ 1026, 0, "auto", 1 },
		{ 1525, 500, "auto", 0 },
		{ 1526, 500, "auto", 1 },
		{ 2048, 0, "auto", 1023 },
		{ 2049, 0, "auto", 1024 },
		{ 2051, 0, "auto", 1025 },
		/* SEV has all, or claims more. */
		{ 510, 509, "auto", 0 },
		{ 510, 509, "1", 0, "vm_asids=1 is too large, using 0" },
		{ 500, 509, "auto", 0 },
		/* More than INVLPGB can name. */
		{ 65536, 0, "auto", 32767 },
		{ 65537, 0, "auto", 32767 },
		{ 200000, 100, "auto", 32717 },
		{ 200000, 100000, "auto", 0 },
		/* As many as asked for. */
		{ 32768, 1006, "0", 0 },
		{ 32768, 1006, "1", 1 },
		{ 32768, 1006, "0x20", 32 },
		{ 32768, 1006, "30737", 30737 },
		{ 32768, 1006, "30738", 30737, "vm_asids=30738 is too large, using 30737" },
		{ 32768, 1006, "2147483647", 30737, "vm_asids=2147483647 is too large, using 30737" },
		{ 2049, 0, "1024", 1024 },
		{ 2049, 0, "1025", 1024, "vm_asids=1025 is too large, using 1024" },
		{ 1025, 0, "5", 0, "vm_asids=5 is too large, using 0" },
		{ 16, 0, "0", 0 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		unsigned int nr_asids = rows[i].nr_asids, last_sev = rows[i].last_sev;
		unsigned int size = rows[i].size, warnings = kernel_warnings, r, end;
		char name[80];

		snprintf(name, sizeof(name), "%u ASIDs, SEV up to %u, vm_asids=%s", nr_asids,
			 last_sev, rows[i].vm_asids);
		rule = name;
		set_vm_asids(rows[i].vm_asids);
		expect(!get_vm_asids(), "there is a pool before there is one");

		r = svm_asid_pool_init(nr_asids, last_sev);
		expect(r == size, "%u, not %u, in the pool", r, size);
		expect(get_vm_asids() == size, "the parameter shows %u", get_vm_asids());
		expect(kernel_capacity == size, "a capacity of %lu", kernel_capacity);
		warnings = kernel_warnings - warnings;
		expect(warnings == !!rows[i].warning, "%u warnings", warnings);
		expect(!warnings || (rows[i].warning && strstr(kernel_warning, rows[i].warning)),
		       "it warns: %s", kernel_warning);

		end = nr_asids < 65536 ? nr_asids : 65536;
		if (size) {
			char text[80];

			snprintf(text, sizeof(text), "kvm_amd: %u VM-wide ASIDs (%u - %u)\n",
				 size, end - size, end - 1);
			expect(!strcmp(kernel_message, text), "it says: %s", kernel_message);
		}
		expect(svm_asid_dynamic_max(nr_asids) == (size ? end - size : nr_asids) - 1,
		       "%u is the last dynamic ASID", svm_asid_dynamic_max(nr_asids));
		check_ranges(end, last_sev, size);
		clean();
	}
}

static void test_dynamic_asids_remain(void)
{
	unsigned int nr_asids, last_sev;

	rule = "the dynamic range is never smaller than promised";
	for (nr_asids = 2; nr_asids < 6000; nr_asids++) {
		static const char *const values[] = { "auto", "100", "100000" };
		unsigned int all, left, i;

		last_sev = nr_asids % 7 * 100;
		if (last_sev >= nr_asids)
			continue;
		all = nr_asids - 1 - last_sev;
		for (i = 0; i < ARRAY_SIZE(values); i++) {
			set_vm_asids(values[i]);
			svm_asid_pool_init(nr_asids, last_sev);
			left = svm_asid_dynamic_max(nr_asids) - last_sev;
			expect(left >= (all < PROMISED ? all : PROMISED),
			       "vm_asids=%s leaves %u of %u", values[i], left, all);
			if (failures)
				exit(1);
			svm_asid_pool_destroy();
		}
	}
	clean();
}

static void test_parameter(void)
{
	static const char *const good[] = { "auto", "auto\n", "0", "7\n", "0x10", "2147483647" };
	static const char *const bad[] = {
		"", "-1", "x", "7 ", "automatic", "2147483648", "4294967295", "99999999999999999999",
	};
	unsigned int i;

	rule = "values of the parameter";
	for (i = 0; i < ARRAY_SIZE(good); i++)
		set_vm_asids(good[i]);
	set_vm_asids("3");
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		expect(param_vm_asids->set(bad[i], NULL) < 0, "'%s' is accepted", bad[i]);
	expect(svm_asid_pool_init(32768, 0) == 3, "a refused value has an effect");
	clean();
}

static void test_no_memory(void)
{
	struct svm_vm_asid vm = {};

	rule = "no memory for the bitmap";
	kernel_no_memory = true;
	expect(!svm_asid_pool_init(32768, 0), "there is a pool");
	expect(!kernel_capacity, "there is a capacity");
	expect(svm_asid_dynamic_max(32768) == 32767, "there are dynamic ASIDs missing");
	expect(svm_asid_alloc(&vm) == -EOPNOTSUPP, "there are ASIDs");
	clean();
}

static void test_no_pool(void)
{
	struct svm_vm_asid vm = {};

	rule = "no pool at all";
	expect(svm_asid_dynamic_max(32768) == 32767, "there are dynamic ASIDs missing");
	expect(svm_asid_alloc(&vm) == -EOPNOTSUPP && !vm.asid, "there are ASIDs");
	svm_asid_free(&vm);
	clean();
}

static void test_reuse(void)
{
	struct svm_vm_asid a = {}, b = {}, c = {}, d = {};

	rule = "reuse";
	set_vm_asids("3");
	svm_asid_pool_init(32768, 0);
	expect(!svm_asid_alloc(&a) && a.asid == 32765, "%u is the first", a.asid);
	expect(!svm_asid_alloc(&b) && b.asid == 32766, "%u is the second", b.asid);

	svm_asid_free(&a);
	expect(!a.asid && !a.misc_cg, "a VM keeps what was freed");
	expect(!svm_asid_alloc(&c) && c.asid == 32767,
	       "%u comes before one that was never used", c.asid);

	expect(!svm_asid_alloc(&d) && d.asid == 32765, "%u is not the one that is free", d.asid);
	svm_asid_free(&c);
	expect(!svm_asid_alloc(&c) && c.asid == 32767, "%u, and not at once", c.asid);

	svm_asid_free(&b);
	svm_asid_free(&c);
	svm_asid_free(&d);
	svm_asid_free(&d);
	clean();
}

static void expect_usage(unsigned int size, unsigned int used)
{
	unsigned int nr_found, used_found;

	svm_asid_pool_usage(&nr_found, &used_found);
	expect(nr_found == size && used_found == used, "%u of %u in use, not %u of %u",
	       used_found, nr_found, used, size);
}

static void test_usage(void)
{
	struct svm_vm_asid a = {}, b = {}, c = {};

	rule = "what is in use";
	expect_usage(0, 0);
	set_vm_asids("2");
	svm_asid_pool_init(32768, 0);
	expect_usage(2, 0);
	svm_asid_alloc(&a);
	svm_asid_alloc(&b);
	svm_asid_alloc(&c);
	expect_usage(2, 2);
	svm_asid_free(&a);
	expect_usage(2, 1);
	svm_asid_free(&b);
	expect_usage(2, 0);
	clean();
	expect_usage(0, 0);
}

static void test_owner_has_one(void)
{
	struct svm_vm_asid vm = {};

	rule = "a second ASID for a VM";
	svm_asid_pool_init(32768, 0);
	expect(!svm_asid_alloc(&vm) && vm.asid == 16385, "%u is the first", vm.asid);
	expect(svm_asid_alloc(&vm) == -EINVAL, "it gets one");
	expect(vm.asid == 16385 && root.usage == 1, "it has an effect");
	expect(kernel_bugs == 1, "KVM does not WARN");
	kernel_bugs = 0;
	svm_asid_free(&vm);
	clean();
}

static void test_destroyed_in_use(void)
{
	struct svm_vm_asid vm = {};

	rule = "a pool destroyed while a VM has an ASID";
	svm_asid_pool_init(32768, 0);
	svm_asid_alloc(&vm);
	svm_asid_pool_destroy();
	expect(kernel_bugs == 1, "KVM does not WARN");
	kernel_bugs = 0;
	root.usage = 0;
	root.references = 0;
	clean();
}

static void test_quota(void)
{
	struct misc_cg slice = { .parent = &root, .max = 3 };
	struct misc_cg small = { .parent = &slice, .max = 1 };
	struct misc_cg other = { .parent = &slice, .max = U64_MAX };
	struct svm_vm_asid a = {}, b = {}, c = {}, d = {};

	rule = "quota";
	set_vm_asids("4");
	svm_asid_pool_init(32768, 0);

	kernel_current_cg = &small;
	expect(!svm_asid_alloc(&a) && small.usage == 1, "nothing within it");
	expect(svm_asid_alloc(&b) == -EBUSY && !b.asid && !b.misc_cg, "too many");
	expect(small.events == 1 && !slice.events, "%lu events, not 1", small.events);
	expect(small.usage == 1 && slice.usage == 1 && root.usage == 1, "a charge remains");
	expect(small.references == 1, "a reference remains");

	kernel_current_cg = &other;
	expect(!svm_asid_alloc(&b) && !svm_asid_alloc(&c), "nothing for another cgroup");
	expect(svm_asid_alloc(&d) == -EBUSY && slice.events == 1, "too many for that above");
	expect(other.usage == 2 && slice.usage == 3 && other.references == 2,
	       "a charge or reference remains");

	/* Whoever destroys the VM, and however the quota changed. */
	small.max = 0;
	svm_asid_free(&a);
	expect(!small.usage && slice.usage == 2 && !small.references, "still charged");
	expect(!svm_asid_alloc(&a) && a.asid == 32767, "%u: a failure took an ASID", a.asid);

	svm_asid_free(&a);
	svm_asid_free(&b);
	svm_asid_free(&c);
	expect(!other.usage && !slice.usage && !other.references, "still charged");

	kernel_current_cg = &root;
	clean();
}

static void test_empty_is_no_quota(void)
{
	struct misc_cg tenant = { .parent = &root, .max = 1 };
	struct svm_vm_asid a = {}, b = {};

	rule = "empty pool";
	set_vm_asids("1");
	svm_asid_pool_init(32768, 0);
	kernel_current_cg = &tenant;
	expect(!svm_asid_alloc(&a), "it is not there");
	expect(svm_asid_alloc(&b) == -ENOSPC && !b.asid && !b.misc_cg, "it is not empty");
	expect(tenant.usage == 1 && root.usage == 1 && tenant.references == 1,
	       "a charge or reference remains");
	expect(!tenant.events, "it counts as an event of the quota");
	svm_asid_free(&a);
	expect(!tenant.usage && !tenant.references, "still charged");
	kernel_current_cg = &root;
	clean();
}

int main(void)
{
	kernel_current_cg = &root;
	test_sizes();
	test_dynamic_asids_remain();
	test_parameter();
	test_no_memory();
	test_no_pool();
	test_reuse();
	test_usage();
	test_owner_has_one();
	test_destroyed_in_use();
	test_quota();
	test_empty_is_no_quota();
	return !!failures;
}
