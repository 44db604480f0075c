// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test INVLPGB and TLBSYNC in SVM guests that are not all alike, intercepted and,
 * if KVM offers it, native.  See "Odd guests" in
 * Documentation/virt/kvm/x86/invlpgb.rst.
 *
 * o Every vCPU that has INVLPGB flushes every other vCPU, whatever that one has:
 *     - vCPUs that have SVM are intercepted, others of the VM are not
 *     - a vCPU without INVLPGB takes #UD
 *     - L2, for which L1 flushes either its own translation of a page or, with
 *       nested paging, L1's
 * o A vCPU that has not run when the others have:
 *     - gets INVLPGB in its CPUID late, or is created late
 *     - is native like the others, and intercepted like them after a demotion
 * o CPUID does not change once the vCPU has run
 * o INVLPGB in real mode, 32-bit mode, compatibility mode and 16-bit code is what it
 *   is if KVM emulates it, but does not exit
 * o Without nested paging, KVM does not offer to disable exits
 * o A VM for which userspace enables nothing has no VM-wide ASID, and takes #UD, as
 *   does one that only has its exits disabled
 * o A VM that becomes an SEV guest loses its VM-wide ASID, if there are SEV guests
 *
 * Whether other vCPUs are flushed can be seen only on a CPU that keeps translations
 * until it is told to drop them.  The test prints if it does not.
 *
 * Each vCPU executes one step at a time, on a CPU of its own.
 */
#include "kvm_util.h"
#include "processor.h"
#include "sev.h"
#include "svm_util.h"
#include "test_util.h"

#define INVLPGB_INSN	".byte 0x0f, 0x01, 0xfe"
#define TLBSYNC_INSN	".byte 0x0f, 0x01, 0xff"

#define INVLPGB_ASID	BIT_ULL(2)
#define INVLPGB_GLOBAL	BIT_ULL(3)
#define INVLPGB_NESTED	BIT_ULL(5)

#define NR_VCPUS	2

/* What runs on a vCPU, which has INVLPGB unless it says otherwise. */
enum guest_kind {
	GUEST_PLAIN,
	GUEST_WITHOUT_INVLPGB,
	GUEST_WITH_SVM,
	GUEST_IN_L2,
	/* L1 uses nested paging, and may flush nested translations. */
	GUEST_IN_NESTED_L2,
};

static const char * const kind_names[] = {
	[GUEST_PLAIN]		= "a plain guest",
	[GUEST_WITHOUT_INVLPGB]	= "a guest without INVLPGB",
	[GUEST_WITH_SVM]	= "a guest with SVM",
	[GUEST_IN_L2]		= "L2",
	[GUEST_IN_NESTED_L2]	= "L2 with nested paging",
};

enum step { STEP_READ, STEP_CHANGE, STEP_FLUSH };

/* Shared by the vCPUs of a VM. */
struct guest_data {
	enum step step;
	u64 value;
	u8 vector;

	u64 *page;	/* reads as 0, and as 1 once it has been changed */
	u64 *pte;	/* to be changed for that, the page's or L1's nested one */
	u64 new_pte;
	u64 flags;	/* of INVLPGB */
};

static struct guest_data *l2_data;

static void guest_steps(struct guest_data *d)
{
	for (;;) {
		d->vector = 0;

		switch (READ_ONCE(d->step)) {
		case STEP_READ:
			d->value = READ_ONCE(*d->page);
			break;
		case STEP_CHANGE:
			/* The locked instruction orders the write before INVLPGB. */
			__atomic_exchange_n(d->pte, d->new_pte, __ATOMIC_SEQ_CST);
			break;
		case STEP_FLUSH:
			d->vector = kvm_asm_safe(INVLPGB_INSN, "a"(d->flags), "c"(0), "d"(0));
			if (!d->vector)
				d->vector = kvm_asm_safe(TLBSYNC_INSN, "a"(0));
			break;
		}
		GUEST_SYNC(0);
	}
}

static void l2_guest_steps(void)
{
	guest_steps(l2_data);
}

static void guest_code(struct guest_data *d, struct svm_test_data *svm)
{
	if (svm) {
		l2_data = d;
		generic_svm_setup(svm, l2_guest_steps);
		run_guest(svm->vmcb, svm->vmcb_gpa);
		GUEST_FAIL("L2 exits with 0x%lx", svm->vmcb->control.exit_code);
	}
	guest_steps(d);
}

struct test_vm {
	struct kvm_vm *vm;
	struct kvm_vcpu *vcpu[NR_VCPUS];
	struct guest_data *data;
	gva_t data_gva, old, new;
};

/* Nothing is proved by tests on a CPU that drops translations unasked. */
static int nr_changes, nr_stale;

static int disable_exits(struct kvm_vm *vm)
{
	return __vm_enable_cap(vm, KVM_CAP_X86_DISABLE_EXITS, KVM_X86_DISABLE_EXITS_INVLPGB);
}

static bool can_be_native(void)
{
	return kvm_check_cap(KVM_CAP_X86_DISABLE_EXITS) & KVM_X86_DISABLE_EXITS_INVLPGB;
}

static void demote(struct test_vm *t)
{
	vm_enable_cap(t->vm, KVM_CAP_X86_TLB_BROADCAST, KVM_X86_TLB_BROADCAST_INTERCEPT);
}

static bool is_l2(enum guest_kind kind)
{
	return kind == GUEST_IN_L2 || kind == GUEST_IN_NESTED_L2;
}

static void add_vcpu(struct test_vm *t, int i, enum guest_kind kind)
{
	gva_t svm_gva = 0;

	t->vcpu[i] = vm_vcpu_add(t->vm, i, guest_code);
	vcpu_set_or_clear_cpuid_feature(t->vcpu[i], X86_FEATURE_SVM,
					kind == GUEST_WITH_SVM || is_l2(kind));
	vcpu_set_or_clear_cpuid_feature(t->vcpu[i], X86_FEATURE_INVLPGB,
					kind != GUEST_WITHOUT_INVLPGB);
	if (t->vm->stage2_mmu.pgd_created)
		vcpu_set_cpuid_feature(t->vcpu[i], X86_FEATURE_INVLPGB_NESTED);

	if (is_l2(kind))
		vcpu_alloc_svm(t->vm, &svm_gva);
	vcpu_args_set(t->vcpu[i], 2, t->data_gva, svm_gva);
}

/* Let the guest write to one of its page table entries, and to which value. */
static void set_pte_to_change(struct test_vm *t, u64 *pte, u64 new_pte)
{
	gpa_t gpa = addr_hva2gpa(t->vm, pte);
	gva_t gva = vm_unused_gva_gap(t->vm, PAGE_SIZE, KVM_UTIL_MIN_VADDR);

	virt_pg_map(t->vm, gva, gpa & PAGE_MASK);
	t->data->pte = (void *)(gva + (gpa & ~PAGE_MASK));
	t->data->new_pte = new_pte;
}

static struct test_vm create_vm(bool native, bool nested_paging)
{
	struct test_vm t = { .vm = vm_create(NR_VCPUS) };

	if (native)
		TEST_ASSERT(!disable_exits(t.vm), "No ASID for the VM, errno %d", errno);
	if (nested_paging)
		vm_enable_npt(t.vm);

	t.data_gva = vm_alloc_page(t.vm);
	t.data = addr_gva2hva(t.vm, t.data_gva);
	t.data->flags = INVLPGB_ASID | INVLPGB_GLOBAL;

	t.old = vm_alloc_page(t.vm);
	t.new = vm_alloc_page(t.vm);
	*(u64 *)addr_gva2hva(t.vm, t.new) = 1;
	t.data->page = (void *)t.old;
	if (!nested_paging)
		set_pte_to_change(&t, vm_get_pte(t.vm, t.old), *vm_get_pte(t.vm, t.new));
	return t;
}

/* Once all memory of the VM has been allocated. */
static void map_nested(struct test_vm *t)
{
	tdp_identity_map_default_memslots(t->vm);
	set_pte_to_change(t, tdp_get_pte(t->vm, addr_gva2gpa(t->vm, t->old)),
			  *tdp_get_pte(t->vm, addr_gva2gpa(t->vm, t->new)));
	t->data->flags |= INVLPGB_NESTED;
}

static void run_step(struct test_vm *t, int i, enum step step)
{
	struct ucall uc;

	pin_self_to_cpu(i);
	t->data->step = step;
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

static void expect(struct test_vm *t, int i, u64 value, const char *what)
{
	run_step(t, i, STEP_READ);
	TEST_ASSERT(t->data->value == value, "%s: vCPU %d reads %lu, not %lu", what, i,
		    t->data->value, value);
}

/* TLBSYNC may exit if INVLPGB does not, as it does on a CPU with erratum 1718. */
static u64 nr_invlpgb_exits(struct test_vm *t, int i)
{
	return vcpu_get_stat(t->vcpu[i], invlpgb_exits);
}

static void flush(struct test_vm *t, int i, bool exits)
{
	u64 before = nr_invlpgb_exits(t, i);

	run_step(t, i, STEP_FLUSH);
	TEST_ASSERT_EQ(t->data->vector, 0);
	TEST_ASSERT_EQ(nr_invlpgb_exits(t, i) - before, exits);
}

/* Let one vCPU change the page behind the back of another, and flush it. */
static void change_and_flush(struct test_vm *t, int issuer, int reader, bool exits,
			     const char *what)
{
	expect(t, reader, 0, what);

	run_step(t, issuer, STEP_CHANGE);
	run_step(t, reader, STEP_READ);
	nr_changes++;
	nr_stale += t->data->value == 0;

	flush(t, issuer, exits);
	expect(t, reader, 1, what);
}

/* Different vCPUs of a VM ---------------------------------------------------- */

static void test_kinds(enum guest_kind issuer, enum guest_kind reader, bool native)
{
	bool nested_paging = reader == GUEST_IN_NESTED_L2;
	struct test_vm t = create_vm(native, nested_paging);
	char what[100];

	add_vcpu(&t, 0, issuer);
	add_vcpu(&t, 1, reader);
	if (nested_paging)
		map_nested(&t);

	snprintf(what, sizeof(what), "%s flushes %s%s", kind_names[issuer], kind_names[reader],
		 native ? ", native" : "");
	change_and_flush(&t, 0, 1, !native || issuer == GUEST_WITH_SVM, what);

	if (reader == GUEST_WITHOUT_INVLPGB) {
		run_step(&t, 1, STEP_FLUSH);
		TEST_ASSERT_EQ(t.data->vector, UD_VECTOR);
		TEST_ASSERT_EQ(nr_invlpgb_exits(&t, 1), 0);
	}
	kvm_vm_free(t.vm);
}

static void test_all_kinds(bool native)
{
	enum guest_kind issuer;

	for (issuer = GUEST_PLAIN; issuer <= GUEST_WITH_SVM; issuer++) {
		if (issuer == GUEST_WITHOUT_INVLPGB)
			continue;
		if (issuer == GUEST_WITH_SVM && !kvm_cpu_has(X86_FEATURE_SVM))
			continue;

		test_kinds(issuer, GUEST_PLAIN, native);
		test_kinds(issuer, GUEST_WITHOUT_INVLPGB, native);
		if (!kvm_cpu_has(X86_FEATURE_SVM))
			continue;

		test_kinds(issuer, GUEST_WITH_SVM, native);
		test_kinds(issuer, GUEST_IN_L2, native);
	}

	if (kvm_cpu_has(X86_FEATURE_SVM) && kvm_cpu_has_npt())
		test_kinds(GUEST_WITH_SVM, GUEST_IN_NESTED_L2, native);
}

/* Late vCPUs ----------------------------------------------------------------- */

static void test_late(bool created_late, bool native, bool demoted)
{
	struct test_vm t = create_vm(native, false);
	bool exits = !native || demoted;

	add_vcpu(&t, 0, GUEST_PLAIN);
	if (!created_late)
		add_vcpu(&t, 1, GUEST_WITHOUT_INVLPGB);

	flush(&t, 0, !native);
	if (demoted)
		demote(&t);

	if (created_late)
		add_vcpu(&t, 1, GUEST_PLAIN);
	else
		vcpu_set_cpuid_feature(t.vcpu[1], X86_FEATURE_INVLPGB);

	change_and_flush(&t, 1, 0, exits, "a late vCPU flushes an early one");
	kvm_vm_free(t.vm);

	t = create_vm(native, false);
	add_vcpu(&t, 0, GUEST_PLAIN);
	flush(&t, 0, !native);
	if (demoted)
		demote(&t);
	add_vcpu(&t, 1, GUEST_PLAIN);
	change_and_flush(&t, 0, 1, exits, "an early vCPU flushes a late one");
	kvm_vm_free(t.vm);
}

static void test_cpuid_after_run(bool native)
{
	struct test_vm t = create_vm(native, false);
	struct kvm_cpuid_entry2 *entry;

	add_vcpu(&t, 0, GUEST_PLAIN);
	flush(&t, 0, !native);
	TEST_ASSERT(!__vcpu_set_cpuid(t.vcpu[0]), "The same CPUID, errno %d", errno);

	entry = vcpu_get_cpuid_entry(t.vcpu[0], X86_FEATURE_INVLPGB.function);
	entry->ebx &= ~BIT(X86_FEATURE_INVLPGB.bit);
	TEST_ASSERT(__vcpu_set_cpuid(t.vcpu[0]) == -1 && errno == EINVAL,
		    "Another CPUID, errno %d", errno);
	flush(&t, 0, !native);
	kvm_vm_free(t.vm);
}

/* Modes ---------------------------------------------------------------------- */

enum mode { MODE_REAL, MODE_32, MODE_COMPAT, MODE_COMPAT_16 };

static const struct mode_test {
	const char *name;
	enum mode mode;
	u8 insn[4];
	int len;
	u64 rax;
	bool retires;
} mode_tests[] = {
	{ "real mode", MODE_REAL, { 0x0f, 0x01, 0xfe }, 3, 0, false },
	{ "real mode, 32-bit address", MODE_REAL, { 0x67, 0x0f, 0x01, 0xfe }, 4, 0, false },
	{ "real mode, TLBSYNC", MODE_REAL, { 0x0f, 0x01, 0xff }, 3, 0, false },
	{ "32-bit mode", MODE_32, { 0x0f, 0x01, 0xfe }, 3, 0, true },
	{ "32-bit mode, reserved bit", MODE_32, { 0x0f, 0x01, 0xfe }, 3, BIT(6), false },
	{ "32-bit mode, TLBSYNC", MODE_32, { 0x0f, 0x01, 0xff }, 3, 0, true },
	{ "compatibility mode", MODE_COMPAT, { 0x0f, 0x01, 0xfe }, 3, 0, true },
	{ "compatibility mode, upper half of RAX", MODE_COMPAT, { 0x0f, 0x01, 0xfe }, 3,
	  GENMASK_ULL(63, 32), true },
	{ "compatibility mode, TLBSYNC", MODE_COMPAT, { 0x0f, 0x01, 0xff }, 3, 0, true },
	{ "16-bit code", MODE_COMPAT_16, { 0x0f, 0x01, 0xfe }, 3, 0, false },
	{ "16-bit code, 32-bit address", MODE_COMPAT_16, { 0x67, 0x0f, 0x01, 0xfe }, 4, 0, true },
};

static void set_mode(struct kvm_vcpu *vcpu, enum mode mode, gva_t code)
{
	bool long_mode = mode == MODE_COMPAT || mode == MODE_COMPAT_16;
	struct kvm_sregs sregs;

	vcpu_sregs_get(vcpu, &sregs);
	sregs.cs.base = long_mode ? code : addr_gva2gpa(vcpu->vm, code);
	sregs.cs.l = 0;
	sregs.cs.db = mode == MODE_32 || mode == MODE_COMPAT;
	/* Any exception is a shutdown. */
	sregs.idt.limit = 0;
	if (!long_mode) {
		sregs.cr0 &= ~X86_CR0_PG;
		sregs.cr4 = 0;
		sregs.efer = 0;
	}
	if (mode == MODE_REAL) {
		sregs.cr0 &= ~X86_CR0_PE;
		sregs.cs.limit = 0xffff;
	}
	vcpu_sregs_set(vcpu, &sregs);
}

/* Run an instruction with an OUT behind it, in a mode that C code cannot run in. */
static void test_mode(const struct mode_test *m, bool native)
{
	const u8 out[] = { 0xe6, 0x80 };
	struct test_vm t = create_vm(native, false);
	struct kvm_regs regs = { .rax = m->rax, .rflags = X86_EFLAGS_FIXED };
	struct kvm_vcpu *vcpu;
	gva_t code;

	add_vcpu(&t, 0, GUEST_PLAIN);
	vcpu = t.vcpu[0];

	code = vm_alloc_page(t.vm);
	memcpy(addr_gva2hva(t.vm, code), m->insn, m->len);
	memcpy(addr_gva2hva(t.vm, code) + m->len, out, sizeof(out));
	set_mode(vcpu, m->mode, code);
	vcpu_regs_set(vcpu, &regs);
	vcpu_run(vcpu);

	TEST_ASSERT(vcpu->run->exit_reason == (m->retires ? KVM_EXIT_IO : KVM_EXIT_SHUTDOWN),
		    "%s%s: exit %s", m->name, native ? ", native" : "",
		    exit_reason_str(vcpu->run->exit_reason));
	if (native)
		TEST_ASSERT_EQ(nr_invlpgb_exits(&t, 0), 0);
	kvm_vm_free(t.vm);
}

/* Userspace ------------------------------------------------------------------ */

/* Not even CPUID; or only the exits are disabled. */
static void test_not_enabled(bool native)
{
	struct test_vm t = create_vm(native, false);

	add_vcpu(&t, 0, GUEST_WITHOUT_INVLPGB);
	expect(&t, 0, 0, "not enabled");
	run_step(&t, 0, STEP_FLUSH);
	TEST_ASSERT_EQ(t.data->vector, UD_VECTOR);
	TEST_ASSERT_EQ(nr_invlpgb_exits(&t, 0), 0);
	TEST_ASSERT_EQ(!!vm_get_stat(t.vm, vm_asid), native);
	TEST_ASSERT_EQ(!!vcpu_get_stat(t.vcpu[0], host_tlbsyncs), native);
	kvm_vm_free(t.vm);
}

static void test_without_npt(void)
{
	struct kvm_vm *vm = vm_create(1);

	TEST_ASSERT(!can_be_native(), "KVM offers native INVLPGB without nested paging");
	TEST_ASSERT(disable_exits(vm) == -1 && errno == EINVAL, "errno %d", errno);
	TEST_ASSERT_EQ(vm_get_stat(vm, vm_asid), 0);
	kvm_vm_free(vm);
}

static void test_sev(void)
{
	struct kvm_vm *vm;

	if (!(kvm_check_cap(KVM_CAP_VM_TYPES) & BIT(KVM_X86_SEV_VM))) {
		print_skip("VMs that become SEV guests: KVM does not support SEV");
		return;
	}

	vm = vm_create_barebones();
	TEST_ASSERT(!disable_exits(vm), "errno %d", errno);
	vm_sev_ioctl(vm, KVM_SEV_INIT, NULL);
	TEST_ASSERT_EQ(vm_get_stat(vm, vm_asid), 0);
	TEST_ASSERT(disable_exits(vm) == -1 && errno == EINVAL, "errno %d", errno);
	kvm_vm_free(vm);
}

static void test_guests(bool native)
{
	int i;

	test_not_enabled(native);
	test_all_kinds(native);
	test_late(false, native, false);
	test_late(true, native, false);
	if (native) {
		test_late(false, native, true);
		test_late(true, native, true);
	}
	test_cpuid_after_run(native);
	for (i = 0; i < ARRAY_SIZE(mode_tests); i++)
		test_mode(&mode_tests[i], native);
}

int main(int argc, char *argv[])
{
	TEST_REQUIRE(kvm_cpu_has(X86_FEATURE_INVLPGB));
	__TEST_REQUIRE(sysconf(_SC_NPROCESSORS_ONLN) >= NR_VCPUS, "Not enough CPUs");

	if (!kvm_cpu_has(X86_FEATURE_SVM))
		print_skip("guests with SVM: KVM does not support nested SVM");
	if (!kvm_get_module_param_bool("kvm_amd", "avic"))
		print_skip("all of this with AVIC: KVM does not use it");

	test_guests(false);

	if (!kvm_is_tdp_enabled())
		test_without_npt();

	if (can_be_native()) {
		test_guests(true);
		test_sev();
	} else {
		print_skip("native INVLPGB: KVM does not offer it");
	}

	if (nr_stale < nr_changes)
		pr_info("%d of %d changes were noticed without a flush\n",
			nr_changes - nr_stale, nr_changes);
	return 0;
}
