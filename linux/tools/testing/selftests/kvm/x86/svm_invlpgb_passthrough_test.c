// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test SVM guests that execute INVLPGB and TLBSYNC natively, with a VM-wide ASID.
 *
 * o KVM_CAP_X86_DISABLE_EXITS with KVM_X86_DISABLE_EXITS_INVLPGB:
 *     - takes an ASID that no other VM has, and that no VM loses
 *     - ENOSPC if there is none left, until a VM is destroyed
 *     - EINVAL if the VM has a vCPU; twice is once
 * o Without it the VM has no such ASID and both instructions exit
 * o With it neither exits, unless the vCPU has SVM or another maximum count; on a
 *   CPU with erratum 1718 TLBSYNC exits and is complete, as CPUID says
 * o Without INVLPGB in CPUID both instructions #UD
 * o KVM_CAP_X86_TLB_BROADCAST, demotion:
 *     - both instructions exit, of running vCPUs too, and the ASID stays
 *     - EINVAL for anything else; harmless without passthrough, and twice
 * o debugfs, if there is one: root demotes one process's VMs, and blocks others,
 *   and sees how many ASIDs are in use
 * o Tracepoints, if there are any: who gets an ASID, and who ends passthrough
 * o Translations:
 *     - of another VM that had the ASID before are not used
 *     - are not used by VMs that have ASIDs per CPU, all of which get used
 *     - of another vCPU that ran on the same CPU are not used
 *     - of its own, left behind on a CPU, are not used when a vCPU returns: if it
 *       has invalidated them elsewhere, if KVM has unmapped the page, if KVM
 *       has write-protected it
 *     - that an INVLPGB invalidates are gone after TLBSYNC, also if the vCPU moves
 *       in between; if the VM is demoted in between; if both; if the vCPU does not
 *       exit to userspace in between
 *     - are kept from one VMRUN to the next
 *
 * The tests of translations prove nothing on a CPU that drops them without being
 * asked to, e.g. an ordinary emulator.  The last one tells.
 *
 * Each vCPU executes one step at a time, on the CPU that the test chooses.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

#include "kvm_util.h"
#include "processor.h"
#include "test_util.h"

#define INVLPGB_INSN	".byte 0x0f, 0x01, 0xfe"
#define TLBSYNC_INSN	".byte 0x0f, 0x01, 0xff"

#define INVLPGB_ASID	BIT_ULL(2)
#define INVLPGB_GLOBAL	BIT_ULL(3)

/* CPUs that vCPUs run on. */
enum { CPU_A, CPU_B, CPU_C, NR_TEST_CPUS };

#define MEM_SLOT	10
#define MEM_GPA		0xc0000000ul
#define MEM_GVA		0xc0000000ul

#define OLD		0x01d01d01dul
#define NEW		0x2ee2ee2eeul

enum step {
	STEP_READ, STEP_WRITE, STEP_INVLPG, STEP_INVLPGB, STEP_TLBSYNC,
	STEP_SPIN, STEP_FLUSH, STEP_FLUSH_END,
};

/* What a vCPU is to do, and what came of it. */
struct vcpu_step {
	enum step step;
	u64 value;
	u64 nr;
	u8 vector;
};

static void guest_worker(struct vcpu_step *s)
{
	u64 *page = (u64 *)MEM_GVA;

	for (;;) {
		s->vector = 0;

		switch (READ_ONCE(s->step)) {
		case STEP_READ:
			s->value = READ_ONCE(*page);
			break;
		case STEP_WRITE:
			WRITE_ONCE(*page, s->value);
			break;
		case STEP_INVLPG:
			invlpg(MEM_GVA);
			break;
		case STEP_INVLPGB:
			s->vector = kvm_asm_safe(INVLPGB_INSN, "a"(INVLPGB_ASID | INVLPGB_GLOBAL),
						 "c"(0), "d"(0));
			break;
		case STEP_TLBSYNC:
			s->vector = kvm_asm_safe(TLBSYNC_INSN, "a"(0));
			break;
		case STEP_SPIN:
			while (READ_ONCE(s->step) == STEP_SPIN) {
				asm volatile(INVLPGB_INSN :: "a"(INVLPGB_ASID), "c"(0), "d"(0)
					     : "memory");
				WRITE_ONCE(s->nr, s->nr + 1);
			}
			break;
		case STEP_FLUSH:
			asm volatile(INVLPGB_INSN :: "a"(INVLPGB_ASID), "c"(0), "d"(0)
				     : "memory");
			WRITE_ONCE(s->nr, 1);
			while (READ_ONCE(s->step) == STEP_FLUSH)
				cpu_relax();
			asm volatile(TLBSYNC_INSN ::: "memory");
			WRITE_ONCE(s->nr, 2);
			while (READ_ONCE(s->step) == STEP_FLUSH_END)
				cpu_relax();
			break;
		case STEP_FLUSH_END:
			break;
		}
		GUEST_SYNC(0);
	}
}

/* A VM with two pages of memory at MEM_GPA, the first one mapped at MEM_GVA. */
struct test_vm {
	struct kvm_vm *vm;
	struct kvm_vcpu *vcpu[2];
	struct vcpu_step *step[2];
	u64 *mem;
};

static u64 page_size;

/* Erratum 1718: the CPU needs every TLBSYNC twice, so that KVM intercepts them. */
static bool host_has_tlbi_bug;

static void add_vcpu(struct test_vm *t, int i)
{
	gva_t step;

	t->vcpu[i] = vm_vcpu_add(t->vm, i, guest_worker);
	vcpu_clear_cpuid_feature(t->vcpu[i], X86_FEATURE_SVM);

	step = vm_alloc_page(t->vm);
	t->step[i] = addr_gva2hva(t->vm, step);
	vcpu_args_set(t->vcpu[i], 1, step);
}

static int disable_exits(struct kvm_vm *vm)
{
	return __vm_enable_cap(vm, KVM_CAP_X86_DISABLE_EXITS, KVM_X86_DISABLE_EXITS_INVLPGB);
}

static void demote(struct kvm_vm *vm)
{
	vm_enable_cap(vm, KVM_CAP_X86_TLB_BROADCAST, KVM_X86_TLB_BROADCAST_INTERCEPT);
}

static struct test_vm create_vm(bool native)
{
	struct test_vm t = { .vm = vm_create(2) };

	if (native)
		TEST_ASSERT(!disable_exits(t.vm), "No ASID for the VM, errno %d", errno);

	vm_userspace_mem_region_add(t.vm, VM_MEM_SRC_ANONYMOUS, MEM_GPA, MEM_SLOT, 2, 0);
	virt_map(t.vm, MEM_GVA, MEM_GPA, 1);
	t.mem = addr_gpa2hva(t.vm, MEM_GPA);
	t.mem[0] = OLD;
	t.mem[page_size / sizeof(u64)] = NEW;

	add_vcpu(&t, 0);
	add_vcpu(&t, 1);
	return t;
}

static void destroy_vm(struct test_vm *t)
{
	kvm_vm_free(t->vm);
}

/* Change the guest's page table, from OLD to NEW, and tell nobody. */
static void change_page(struct test_vm *t)
{
	u64 *pte = vm_get_pte(t->vm, MEM_GVA);

	WRITE_ONCE(*pte, *pte + page_size);
}

static void run_step(struct test_vm *t, int i, int cpu, enum step step)
{
	struct ucall uc;

	pin_self_to_cpu(cpu);
	t->step[i]->step = step;
	vcpu_run(t->vcpu[i]);

	switch (get_ucall(t->vcpu[i], &uc)) {
	case UCALL_SYNC:
		return;
	case UCALL_ABORT:
		REPORT_GUEST_ASSERT(uc);
	default:
		TEST_FAIL("Unexpected exit %s", exit_reason_str(t->vcpu[i]->run->exit_reason));
	}
}

static u64 read_on(struct test_vm *t, int i, int cpu)
{
	run_step(t, i, cpu, STEP_READ);
	return t->step[i]->value;
}

static void expect(struct test_vm *t, int i, int cpu, u64 value, const char *what)
{
	u64 found = read_on(t, i, cpu);

	TEST_ASSERT(found == value, "%s: vCPU %d on CPU %d reads %lx, not %lx",
		    what, i, cpu, found, value);
}

static bool has_tlbi_bug(void)
{
	char line[4096];
	bool found = false;
	FILE *f;

	f = fopen("/proc/cpuinfo", "r");
	TEST_ASSERT(f, "open /proc/cpuinfo, errno %d", errno);
	while (!found && fgets(line, sizeof(line), f))
		found = !strncmp(line, "bugs", 4) && strstr(line, " tlbi");
	fclose(f);
	return found;
}

static u64 nr_exits(struct test_vm *t, int i)
{
	return vcpu_get_stat(t->vcpu[i], invlpgb_exits) +
	       vcpu_get_stat(t->vcpu[i], tlbsync_exits);
}

/* Both instructions by vCPU 0; the number of exits. */
static u64 exits_of_both(struct test_vm *t)
{
	u64 before = nr_exits(t, 0);

	run_step(t, 0, CPU_A, STEP_INVLPGB);
	TEST_ASSERT_EQ(t->step[0]->vector, 0);
	run_step(t, 0, CPU_A, STEP_TLBSYNC);
	TEST_ASSERT_EQ(t->step[0]->vector, 0);
	return nr_exits(t, 0) - before;
}

static void expect_native(struct test_vm *t)
{
	u64 invlpgb_exits = vcpu_get_stat(t->vcpu[0], invlpgb_exits);

	TEST_ASSERT_EQ(exits_of_both(t), host_has_tlbi_bug);
	TEST_ASSERT_EQ(vcpu_get_stat(t->vcpu[0], invlpgb_exits), invlpgb_exits);
}

/* The ASIDs ----------------------------------------------------------------- */

static void test_pool(int nr_asids)
{
	struct kvm_vm **vms = calloc(nr_asids + 1, sizeof(*vms));
	u64 *asids = calloc(nr_asids + 1, sizeof(*asids)), asid;
	int i, j;

	for (i = 0; i <= nr_asids; i++)
		vms[i] = vm_create(1);

	for (i = 0; i < nr_asids; i++) {
		TEST_ASSERT(!disable_exits(vms[i]), "VM %d gets no ASID, errno %d", i, errno);
		asids[i] = vm_get_stat(vms[i], vm_asid);
		TEST_ASSERT(asids[i], "VM %d has no ASID", i);
		for (j = 0; j < i; j++)
			TEST_ASSERT(asids[i] != asids[j], "VMs %d and %d have one ASID", i, j);
	}

	TEST_ASSERT(disable_exits(vms[nr_asids]) == -1 && errno == ENOSPC,
		    "One VM more than there are ASIDs, errno %d", errno);
	TEST_ASSERT_EQ(vm_get_stat(vms[nr_asids], vm_asid), 0);

	/* Twice is once. */
	TEST_ASSERT(!disable_exits(vms[0]), "The second time fails, errno %d", errno);
	TEST_ASSERT_EQ(vm_get_stat(vms[0], vm_asid), asids[0]);

	asid = asids[nr_asids / 2];
	kvm_vm_free(vms[nr_asids / 2]);
	TEST_ASSERT(!disable_exits(vms[nr_asids]), "A freed ASID stays away, errno %d", errno);
	TEST_ASSERT_EQ(vm_get_stat(vms[nr_asids], vm_asid), asid);

	for (i = 0; i <= nr_asids; i++) {
		if (i == nr_asids / 2)
			continue;
		if (i < nr_asids)
			TEST_ASSERT_EQ(vm_get_stat(vms[i], vm_asid), asids[i]);
		kvm_vm_free(vms[i]);
	}
	free(asids);
	free(vms);
}

static void test_late(void)
{
	struct test_vm t = create_vm(false);

	TEST_ASSERT(disable_exits(t.vm) == -1 && errno == EINVAL,
		    "The VM has vCPUs, errno %d", errno);
	TEST_ASSERT(__vm_enable_cap(t.vm, KVM_CAP_X86_TLB_BROADCAST, 2) == -1 && errno == EINVAL,
		    "An unknown flag, errno %d", errno);
	TEST_ASSERT_EQ(vm_get_stat(t.vm, vm_asid), 0);
	TEST_ASSERT_EQ(exits_of_both(&t), 2);
	TEST_ASSERT_EQ(vcpu_get_stat(t.vcpu[0], host_tlbsyncs), 0);

	/* There is nothing to demote. */
	demote(t.vm);
	TEST_ASSERT_EQ(exits_of_both(&t), 2);
	TEST_ASSERT_EQ(vm_get_stat(t.vm, invlpgb_demotions), 0);
	destroy_vm(&t);
}

/* Exits --------------------------------------------------------------------- */

static void test_native(void)
{
	struct test_vm t = create_vm(true);
	u64 asid = vm_get_stat(t.vm, vm_asid);

	expect_native(&t);
	TEST_ASSERT(vcpu_get_stat(t.vcpu[0], host_tlbsyncs), "No TLBSYNC at put");

	demote(t.vm);
	demote(t.vm);
	TEST_ASSERT_EQ(exits_of_both(&t), 2);
	TEST_ASSERT_EQ(vm_get_stat(t.vm, vm_asid), asid);
	TEST_ASSERT_EQ(vm_get_stat(t.vm, invlpgb_demotions), 1);
	destroy_vm(&t);
}

static void test_exceptions(u32 count_max)
{
	struct test_vm t = create_vm(true);

	if (kvm_cpu_has(X86_FEATURE_SVM)) {
		vcpu_set_cpuid_feature(t.vcpu[0], X86_FEATURE_SVM);
		TEST_ASSERT_EQ(exits_of_both(&t), 2);
		destroy_vm(&t);
		t = create_vm(true);
	}

	vcpu_set_cpuid_property(t.vcpu[0], X86_PROPERTY_INVLPGB_COUNT_MAX, count_max - 1);
	TEST_ASSERT_EQ(exits_of_both(&t), 2);
	/* The other one does not mind. */
	run_step(&t, 1, CPU_A, STEP_INVLPGB);
	TEST_ASSERT_EQ(nr_exits(&t, 1), 0);
	destroy_vm(&t);

	t = create_vm(true);
	vcpu_clear_cpuid_feature(t.vcpu[0], X86_FEATURE_INVLPGB);
	run_step(&t, 0, CPU_A, STEP_INVLPGB);
	TEST_ASSERT_EQ(t.step[0]->vector, UD_VECTOR);
	run_step(&t, 0, CPU_A, STEP_TLBSYNC);
	TEST_ASSERT_EQ(t.step[0]->vector, UD_VECTOR);
	TEST_ASSERT_EQ(nr_exits(&t, 0), 0);
	destroy_vm(&t);
}

static void *spin_thread(void *arg)
{
	run_step(arg, 0, CPU_B, STEP_SPIN);
	return NULL;
}

/* No INVLPGB that begins after the demotion has returned is executed natively. */
static void test_demote_running(void)
{
	struct test_vm t = create_vm(true);
	struct vcpu_step *s = t.step[0];
	u64 executed, exits;
	pthread_t thread;

	pthread_create(&thread, NULL, spin_thread, &t);
	while (READ_ONCE(s->nr) < 100)
		sched_yield();
	TEST_ASSERT_EQ(nr_exits(&t, 0), 0);

	demote(t.vm);
	/* One may be behind its instruction, but not yet be counted. */
	executed = READ_ONCE(s->nr) + 1;
	while (READ_ONCE(s->nr) < executed + 100)
		sched_yield();
	WRITE_ONCE(s->step, STEP_READ);
	pthread_join(thread, NULL);

	executed = READ_ONCE(s->nr) - executed;
	exits = nr_exits(&t, 0);
	TEST_ASSERT(exits >= executed, "%lu INVLPGBs, %lu exits", executed, exits);
	destroy_vm(&t);
}

/* What root can do ---------------------------------------------------------- */

#define DEBUGFS "/sys/kernel/debug/kvm_amd/invlpgb_"

static int write_debugfs(const char *name, const char *text)
{
	char path[100];
	int fd, r;

	snprintf(path, sizeof(path), DEBUGFS "%s", name);
	fd = open(path, O_WRONLY);
	TEST_ASSERT(fd >= 0, "open %s, errno %d", path, errno);
	r = write(fd, text, strlen(text)) < 0 ? -errno : 0;
	close(fd);
	return r;
}

static void expect_in_use(u32 expected)
{
	u32 size, used;
	FILE *f;

	f = fopen("/sys/kernel/debug/kvm_amd/vm_asids", "r");
	TEST_ASSERT(f, "open vm_asids in debugfs, errno %d", errno);
	TEST_ASSERT_EQ(fscanf(f, "size %u\nused %u\n", &size, &used), 2);
	fclose(f);
	TEST_ASSERT_EQ(size, kvm_get_module_param_integer("kvm_amd", "vm_asids"));
	TEST_ASSERT_EQ(used, expected);
}

static void *demote_thread(void *stop)
{
	while (!READ_ONCE(*(bool *)stop))
		TEST_ASSERT_EQ(write_debugfs("demote", "all"), 0);
	return NULL;
}

/* VMs come and go while root demotes whatever there is. */
static void test_demote_churn(void)
{
	bool stop = false;
	pthread_t thread;
	struct test_vm t;
	int i;

	pthread_create(&thread, NULL, demote_thread, &stop);
	for (i = 0; i < 30; i++) {
		t = create_vm(true);
		expect(&t, 0, CPU_A, OLD, "while others are demoted");
		destroy_vm(&t);
	}
	WRITE_ONCE(stop, true);
	pthread_join(thread, NULL);
}

static void test_debugfs(void)
{
	struct kvm_vm *blocked;
	struct test_vm t;
	char pid[20];

	if (access(DEBUGFS "demote", F_OK)) {
		print_skip("what root can do: no debugfs");
		return;
	}

	expect_in_use(0);
	t = create_vm(true);
	expect_in_use(1);
	TEST_ASSERT_EQ(write_debugfs("demote", "-1"), -EINVAL);
	TEST_ASSERT_EQ(write_debugfs("demote", "every"), -EINVAL);
	TEST_ASSERT_EQ(write_debugfs("demote", "1"), -ESRCH);
	expect_native(&t);
	snprintf(pid, sizeof(pid), "%d\n", getpid());
	TEST_ASSERT_EQ(write_debugfs("demote", pid), 0);
	TEST_ASSERT_EQ(exits_of_both(&t), 2);
	expect_in_use(1);
	destroy_vm(&t);
	expect_in_use(0);

	t = create_vm(true);
	TEST_ASSERT_EQ(write_debugfs("blocked", "2"), -EINVAL);
	TEST_ASSERT_EQ(write_debugfs("blocked", "1"), 0);
	TEST_ASSERT(!(kvm_check_cap(KVM_CAP_X86_DISABLE_EXITS) & KVM_X86_DISABLE_EXITS_INVLPGB),
		    "KVM offers what is blocked");
	blocked = vm_create(1);
	TEST_ASSERT(disable_exits(blocked) == -1 && errno == EINVAL, "errno %d", errno);
	TEST_ASSERT_EQ(vm_get_stat(blocked, vm_asid), 0);
	kvm_vm_free(blocked);
	/* Those that have it keep it, until they are demoted. */
	expect_native(&t);
	TEST_ASSERT_EQ(write_debugfs("demote", "all"), 0);
	TEST_ASSERT_EQ(exits_of_both(&t), 2);
	destroy_vm(&t);

	TEST_ASSERT_EQ(write_debugfs("blocked", "0"), 0);
	t = create_vm(true);
	expect_native(&t);
	destroy_vm(&t);

	test_demote_churn();
}

/* Tracepoints --------------------------------------------------------------- */

#define TRACEFS "/sys/kernel/tracing/"

static const char * const trace_events[] = {
	"kvm_vm_asid_alloc", "kvm_invlpgb_demote", "kvm_vm_asid_free",
};

static void write_tracefs(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_TRUNC);

	TEST_ASSERT(fd >= 0, "open %s, errno %d", path, errno);
	TEST_ASSERT(write(fd, text, strlen(text)) == strlen(text), "write %s, errno %d",
		    path, errno);
	close(fd);
}

static void enable_traces(const char *enable)
{
	char path[100];
	int i;

	for (i = 0; i < ARRAY_SIZE(trace_events); i++) {
		snprintf(path, sizeof(path), TRACEFS "events/kvm/%s/enable", trace_events[i]);
		write_tracefs(path, enable);
	}
}

/* The next event of this process; there are no others of any other. */
static void expect_trace(FILE *f, const char *event, u64 asid, const char *who)
{
	char line[256], expected[100];

	snprintf(expected, sizeof(expected), " %s: pid %d asid %lu%s\n", event, getpid(),
		 asid, who);
	do {
		TEST_ASSERT(fgets(line, sizeof(line), f), "No event%s", expected);
	} while (line[0] == '#');
	TEST_ASSERT(strstr(line, expected), "Event%snot%s", line, expected);
}

static void test_traces(void)
{
	struct test_vm by_user, by_root;
	u64 user_asid, root_asid;
	FILE *f;

	if (access(TRACEFS "events/kvm", F_OK) || access(DEBUGFS "demote", F_OK)) {
		print_skip("tracepoints: no tracefs or no debugfs");
		return;
	}

	write_tracefs(TRACEFS "trace", "\n");
	enable_traces("1");
	by_user = create_vm(true);
	user_asid = vm_get_stat(by_user.vm, vm_asid);
	demote(by_user.vm);
	demote(by_user.vm);
	by_root = create_vm(true);
	root_asid = vm_get_stat(by_root.vm, vm_asid);
	write_debugfs("demote", "all");
	destroy_vm(&by_root);
	destroy_vm(&by_user);
	enable_traces("0");

	f = fopen(TRACEFS "trace", "r");
	TEST_ASSERT(f, "open the trace, errno %d", errno);
	expect_trace(f, "kvm_vm_asid_alloc", user_asid, "");
	expect_trace(f, "kvm_invlpgb_demote", user_asid, " by userspace");
	expect_trace(f, "kvm_vm_asid_alloc", root_asid, "");
	expect_trace(f, "kvm_invlpgb_demote", root_asid, " by root");
	expect_trace(f, "kvm_vm_asid_free", root_asid, "");
	expect_trace(f, "kvm_vm_asid_free", user_asid, "");
	fclose(f);
}

/* Translations -------------------------------------------------------------- */

/* The pool has one ASID, so that the second VM gets that of the first. */
static void test_asid_of_another_vm(int nr_asids)
{
	struct kvm_vm **others = calloc(nr_asids, sizeof(*others));
	struct test_vm t;
	u64 asid;
	int i;

	for (i = 0; i < nr_asids - 1; i++) {
		others[i] = vm_create(1);
		TEST_ASSERT(!disable_exits(others[i]), "errno %d", errno);
	}

	t = create_vm(true);
	asid = vm_get_stat(t.vm, vm_asid);
	for (i = 0; i < NR_TEST_CPUS; i++)
		expect(&t, 0, i, OLD, "the first VM");
	destroy_vm(&t);

	t = create_vm(true);
	TEST_ASSERT_EQ(vm_get_stat(t.vm, vm_asid), asid);
	t.mem[0] = NEW;
	for (i = 0; i < NR_TEST_CPUS; i++)
		expect(&t, 0, i, NEW, "the second VM");
	destroy_vm(&t);

	for (i = 0; i < nr_asids - 1; i++)
		kvm_vm_free(others[i]);
	free(others);
}

static u32 host_nr_asids(void)
{
	u32 eax, ebx, ecx, edx;

	cpuid(0x8000000a, &eax, &ebx, &ecx, &edx);
	return ebx;
}

/* Let vCPUs use all ASIDs that KVM assigns per CPU, one each time one arrives. */
static void test_other_asids(void)
{
	u32 nr_asids = host_nr_asids();
	struct test_vm t, other;
	u32 i;

	if (nr_asids > 2048) {
		print_skip("use of all other ASIDs: there are too many");
		return;
	}

	t = create_vm(true);
	other = create_vm(false);
	other.mem[0] = NEW;
	for (i = 0; i < nr_asids; i++) {
		expect(&t, 0, CPU_A, OLD, "with a VM-wide ASID");
		expect(&other, 0, CPU_B, NEW, "elsewhere");
		expect(&other, 0, CPU_A, NEW, "with any ASID");
	}
	destroy_vm(&other);
	destroy_vm(&t);
}

/* Give vCPU 1 page tables of its own, where MEM_GVA is NEW. */
static void split_page_tables(struct test_vm *t)
{
	u64 *to, *from, *entry = NULL;
	struct kvm_sregs sregs;
	int level, i;
	gva_t table;

	vcpu_sregs_get(t->vcpu[1], &sregs);
	from = addr_gpa2hva(t->vm, sregs.cr3 & PHYSICAL_PAGE_MASK);
	for (level = t->vm->mmu.pgtable_levels; level >= 1; level--) {
		table = vm_alloc_page(t->vm);
		to = addr_gva2hva(t->vm, table);
		memcpy(to, from, page_size);
		if (entry)
			*entry = (*entry & ~PHYSICAL_PAGE_MASK) | addr_gva2gpa(t->vm, table);
		else
			sregs.cr3 = addr_gva2gpa(t->vm, table);

		i = (MEM_GVA >> (PAGE_SHIFT + 9 * (level - 1))) & 0x1ff;
		entry = &to[i];
		if (level > 1)
			from = addr_gpa2hva(t->vm, from[i] & PHYSICAL_PAGE_MASK);
	}
	*entry += page_size;
	vcpu_sregs_set(t->vcpu[1], &sregs);
}

/* Two vCPUs that take turns on a CPU may use one PCID for different page tables. */
static void test_other_vcpu(void)
{
	struct test_vm t = create_vm(true);
	int i;

	split_page_tables(&t);
	for (i = 0; i < 3; i++) {
		expect(&t, 0, CPU_A, OLD, "by turns");
		expect(&t, 1, CPU_A, NEW, "by turns");
	}
	destroy_vm(&t);
}

static void test_return(void)
{
	struct test_vm t = create_vm(true);

	expect(&t, 0, CPU_A, OLD, "before");
	change_page(&t);
	run_step(&t, 0, CPU_B, STEP_INVLPG);
	expect(&t, 0, CPU_B, NEW, "after INVLPG");
	expect(&t, 0, CPU_A, NEW, "back after INVLPG elsewhere");
	destroy_vm(&t);
}

static void test_return_after_unmap(void)
{
	struct test_vm t = create_vm(true);

	expect(&t, 0, CPU_A, OLD, "before");
	expect(&t, 0, CPU_B, OLD, "before");
	TEST_ASSERT(!madvise(t.mem, page_size, MADV_DONTNEED), "madvise, errno %d", errno);
	t.mem[0] = NEW;
	expect(&t, 0, CPU_B, NEW, "after KVM has unmapped the page");
	expect(&t, 0, CPU_A, NEW, "back after KVM has unmapped the page");
	destroy_vm(&t);
}

/* Writes to a page that is write-protected for dirty logging have to be logged. */
static void test_return_after_protect(void)
{
	struct test_vm t = create_vm(true);
	unsigned long log[1];
	int cpu;

	vm_mem_region_set_flags(t.vm, MEM_SLOT, KVM_MEM_LOG_DIRTY_PAGES);
	for (cpu = CPU_B; cpu >= CPU_A; cpu--)
		run_step(&t, 0, cpu, STEP_WRITE);
	/* It can write to the page on both CPUs; now to none. */
	kvm_vm_get_dirty_log(t.vm, MEM_SLOT, log);
	TEST_ASSERT(log[0] & 1, "The write was not logged");

	run_step(&t, 0, CPU_A, STEP_READ);
	run_step(&t, 0, CPU_B, STEP_WRITE);
	kvm_vm_get_dirty_log(t.vm, MEM_SLOT, log);
	TEST_ASSERT(log[0] & 1, "The write after the return was not logged");
	destroy_vm(&t);
}

/* vCPU 0 moves, or the VM is demoted, between INVLPGB and TLBSYNC. */
static void test_interrupted_flush(int to, bool demoted)
{
	struct test_vm t = create_vm(true);

	expect(&t, 1, CPU_B, OLD, "before");
	run_step(&t, 0, CPU_A, STEP_READ);
	change_page(&t);
	run_step(&t, 0, CPU_A, STEP_INVLPGB);
	if (demoted)
		demote(t.vm);
	run_step(&t, 0, to, STEP_TLBSYNC);
	expect(&t, 1, CPU_B, NEW, demoted ? "after a demotion" : "after a move");
	destroy_vm(&t);
}

static void *flush_thread(void *arg)
{
	run_step(arg, 0, CPU_A, STEP_FLUSH);
	return NULL;
}

/* The same without an exit to userspace in between: a vCPU that moves is put once. */
static void test_running_flush(int to, bool demoted)
{
	struct test_vm t = create_vm(true);
	struct vcpu_step *s = t.step[0];
	pthread_t thread;

	expect(&t, 1, CPU_B, OLD, "before");
	change_page(&t);
	pthread_create(&thread, NULL, flush_thread, &t);
	while (READ_ONCE(s->nr) != 1)
		sched_yield();
	if (demoted)
		demote(t.vm);
	pin_task_to_cpu(thread, to);
	WRITE_ONCE(s->step, STEP_FLUSH_END);
	while (READ_ONCE(s->nr) != 2)
		sched_yield();
	expect(&t, 1, CPU_B, NEW, demoted ? "after a demotion of a running vCPU" :
		to == CPU_A ? "flushed by a running vCPU" : "after a move of a running vCPU");
	WRITE_ONCE(s->step, STEP_READ);
	pthread_join(thread, NULL);
	TEST_ASSERT_EQ(nr_exits(&t, 0), demoted || host_has_tlbi_bug);
	destroy_vm(&t);
}

/* Without this, the tests above prove nothing. */
static void test_kept(void)
{
	struct test_vm t = create_vm(true);

	expect(&t, 0, CPU_A, OLD, "before");
	change_page(&t);
	if (read_on(&t, 0, CPU_A) != OLD)
		pr_info("This CPU drops translations unasked, so stale ones are not noticed\n");
	destroy_vm(&t);
}

int main(int argc, char *argv[])
{
	int nr_asids, i;

	TEST_REQUIRE(kvm_cpu_has(X86_FEATURE_INVLPGB));
	__TEST_REQUIRE(kvm_check_cap(KVM_CAP_X86_DISABLE_EXITS) & KVM_X86_DISABLE_EXITS_INVLPGB,
		       "KVM does not offer it, is kvm_amd.invlpgb=passthrough set?");
	TEST_ASSERT_EQ(kvm_check_cap(KVM_CAP_X86_TLB_BROADCAST), KVM_X86_TLB_BROADCAST_INTERCEPT);
	__TEST_REQUIRE(sysconf(_SC_NPROCESSORS_ONLN) >= NR_TEST_CPUS, "Not enough CPUs");

	nr_asids = kvm_get_module_param_integer("kvm_amd", "vm_asids");
	__TEST_REQUIRE(nr_asids <= 16, "Set kvm_amd.vm_asids, %d VMs are too many", nr_asids);

	page_size = getpagesize();
	TEST_ASSERT(kvm_cpu_has(X86_FEATURE_TLBSYNC_SFW_NO), "One TLBSYNC is not enough");
	host_has_tlbi_bug = has_tlbi_bug();
	if (!host_has_tlbi_bug)
		print_skip("erratum 1718: the CPU does not have it");

	test_pool(nr_asids);
	test_late();
	test_native();
	test_exceptions(kvm_cpu_property(X86_PROPERTY_INVLPGB_COUNT_MAX));
	/* A timer interrupt can hide that the vCPU was not kicked, so do not try just once. */
	for (i = 0; i < 20; i++)
		test_demote_running();
	test_debugfs();
	test_traces();

	test_asid_of_another_vm(nr_asids);
	test_other_asids();
	test_other_vcpu();
	test_return();
	test_return_after_unmap();
	test_return_after_protect();
	test_interrupted_flush(CPU_A, false);
	test_interrupted_flush(CPU_C, false);
	test_interrupted_flush(CPU_A, true);
	test_interrupted_flush(CPU_C, true);
	test_running_flush(CPU_C, false);
	test_running_flush(CPU_A, false);
	test_running_flush(CPU_C, true);
	test_running_flush(CPU_A, true);
	test_kept();

	return 0;
}
