// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test that KVM intercepts and emulates INVLPGB and TLBSYNC for SVM guests.
 *
 * o KVM_GET_SUPPORTED_CPUID, with kvm_amd.invlpgb=intercept:
 *     - INVLPGB is reported, with the maximum count of the host CPU
 *     - nested translations (0x80000008.EBX[21]) and TlbiCtl are not
 *     - TLBSYNC_SFW_NO is reported, whatever the host CPU says
 * o Without INVLPGB in CPUID both instructions #UD, and do not exit
 * o Operands of INVLPGB:
 *     - all 16 combinations of the VA, PCID, ASID and global flags are legal
 *     - reserved bits in rAX, ECX and EDX #GP
 *     - nested translations #GP unless the guest's CPUID has them
 *     - PCID #GPs unless CR4.PCIDE is set
 *     - a count above that of the guest's CPUID #GPs, if there is an address
 *     - any ASID, any address, and values of unused fields are accepted
 *     - RIP is on the instruction if it faults, and behind it if not
 *     - every INVLPGB exits, and is counted as legal or illegal
 * o INVLPGB uses EAX in 32-bit code, and #UDs for a 16-bit address size
 * o Both instructions #UD in real mode
 * o Both instructions raise the single-step #DB and end an interrupt shadow
 * o After INVLPGB and TLBSYNC, for every way to select a page:
 *     - another vCPU reads the new page
 *     - another vCPU no longer writes to the old page
 *     - also if that other vCPU is running L2
 *     - one TLBSYNC exits once, and the INVLPGBs kick nobody
 * o TLBSYNC waits for a vCPU that KVM emulates an instruction for
 * o Nested:
 *     - L2 takes #UD on both instructions, whatever L1 puts into VMCB 090h[7]
 *     - L1 can intercept INVLPGB, but not TLBSYNC, as it has no TlbiCtl
 *     - L1 can intercept nothing that is not in its CPUID
 *     - L1 still has both instructions after it has run L2
 *
 * The tests of the flush prove nothing on a CPU that drops translations without
 * being asked to, e.g. an ordinary emulator.  The test prints how many stale
 * reads it gets if it does not flush.
 */
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "apic.h"
#include "kvm_util.h"
#include "processor.h"
#include "svm_util.h"
#include "test_util.h"
#include "userfaultfd_util.h"

#define INVLPGB_INSN		".byte 0x0f, 0x01, 0xfe"
#define INVLPGB_ADDR32_INSN	".byte 0x67, 0x0f, 0x01, 0xfe"
#define TLBSYNC_INSN		".byte 0x0f, 0x01, 0xff"

#define INVLPGB_VA		BIT_ULL(0)
#define INVLPGB_PCID		BIT_ULL(1)
#define INVLPGB_ASID		BIT_ULL(2)
#define INVLPGB_GLOBAL		BIT_ULL(3)
#define INVLPGB_FINAL		BIT_ULL(4)
#define INVLPGB_NESTED		BIT_ULL(5)
#define INVLPGB_STEP_2M		BIT(31)

#define SVM_EXIT_INVLPGB	0x0a0
#define SVM_MISC_ENABLE_INVLPGB	BIT_ULL(7)

/* Intercept word 5 of the VMCB. */
#define WORD5_INVLPGB		BIT(0)
#define WORD5_INVLPGB_ILLEGAL	BIT(1)
#define WORD5_TLBSYNC		BIT(4)

#define RETIRED			0

static u8 invlpgb_safe(u64 rax, u32 ecx, u32 edx)
{
	return kvm_asm_safe(INVLPGB_INSN, "a"(rax), "c"(ecx), "d"(edx));
}

static u8 invlpgb_addr32_safe(u64 rax, u32 ecx, u32 edx)
{
	return kvm_asm_safe(INVLPGB_ADDR32_INSN, "a"(rax), "c"(ecx), "d"(edx));
}

static u8 tlbsync_safe(void)
{
	return kvm_asm_safe(TLBSYNC_INSN, "a"(0));
}

static void invlpgb(u64 rax, u32 ecx, u32 edx)
{
	asm volatile(INVLPGB_INSN :: "a"(rax), "c"(ecx), "d"(edx) : "memory");
}

static void tlbsync(void)
{
	asm volatile(TLBSYNC_INSN ::: "memory");
}

static void run_vcpu_until_done(struct kvm_vcpu *vcpu)
{
	struct ucall uc;

	for (;;) {
		vcpu_run(vcpu);

		switch (get_ucall(vcpu, &uc)) {
		case UCALL_ABORT:
			REPORT_GUEST_ASSERT(uc);
			/* NOT REACHED */
		case UCALL_PRINTF:
			pr_info("%s", uc.buffer);
			break;
		case UCALL_DONE:
			return;
		default:
			TEST_FAIL("Unexpected exit %s, ucall %lu",
				  exit_reason_str(vcpu->run->exit_reason), uc.cmd);
		}
	}
}

static void *vcpu_thread(void *vcpu)
{
	run_vcpu_until_done(vcpu);
	return NULL;
}

/* CPUID ------------------------------------------------------------------- */

static void test_cpuid(void)
{
	const struct kvm_cpuid2 *cpuid = kvm_get_supported_cpuid();
	const struct kvm_cpuid_entry2 *entry;

	entry = get_cpuid_entry(cpuid, 0x80000008, 0);
	TEST_ASSERT_EQ(entry->edx,
		       this_cpu_property(X86_PROPERTY_INVLPGB_COUNT_MAX));

	TEST_ASSERT(!kvm_cpu_has(X86_FEATURE_INVLPGB_NESTED),
		    "KVM offers INVLPGB of nested translations");
	TEST_ASSERT(!kvm_cpu_has(X86_FEATURE_TLBI_CTL), "KVM offers TlbiCtl to L1");
	TEST_ASSERT(kvm_cpu_has(X86_FEATURE_TLBSYNC_SFW_NO),
		    "KVM wants guests to use TLBSYNC twice");
}

/* Absent ------------------------------------------------------------------ */

static void guest_absent(void)
{
	GUEST_ASSERT_EQ(invlpgb_safe(0, 0, 0), UD_VECTOR);
	GUEST_ASSERT_EQ(invlpgb_safe(GENMASK(11, 6), 0, 0), UD_VECTOR);
	GUEST_ASSERT_EQ(tlbsync_safe(), UD_VECTOR);
	GUEST_DONE();
}

static void test_absent(void)
{
	struct kvm_vcpu *vcpu;
	struct kvm_vm *vm;

	vm = vm_create_with_one_vcpu(&vcpu, guest_absent);
	vcpu_clear_cpuid_feature(vcpu, X86_FEATURE_INVLPGB);
	run_vcpu_until_done(vcpu);

	TEST_ASSERT_EQ(vcpu_get_stat(vcpu, invlpgb_exits), 0);
	TEST_ASSERT_EQ(vcpu_get_stat(vcpu, tlbsync_exits), 0);
	kvm_vm_free(vm);
}

/* Operands ---------------------------------------------------------------- */

struct operand_limits {
	u32 count_max;
	bool nested;
	bool pcide;
};

static u64 nr_invlpgb, nr_illegal, nr_tlbsync;

static u8 expected_vector(u64 rax, u32 ecx, u32 edx, const struct operand_limits *l)
{
	bool reserved = (rax >> 6 & 0x3f) || (ecx >> 16 & 0x7fff) || edx >> 28;
	bool bad_nested = (rax & INVLPGB_NESTED) && !l->nested;
	bool bad_pcid = (rax & INVLPGB_PCID) && !l->pcide;
	bool bad_count = (rax & INVLPGB_VA) && (u16)ecx > l->count_max;

	return reserved || bad_nested || bad_pcid || bad_count ? GP_VECTOR : RETIRED;
}

static void check_operands(u64 rax, u32 ecx, u32 edx, const struct operand_limits *l)
{
	u8 expected = expected_vector(rax, ecx, edx, l);
	u8 vector = invlpgb_safe(rax, ecx, edx);

	__GUEST_ASSERT(vector == expected,
		       "INVLPGB rax 0x%lx ecx 0x%x edx 0x%x, count %u nested %u pcide %u: got %s, expected %s",
		       rax, ecx, edx, l->count_max, l->nested, l->pcide,
		       ex_str(vector), ex_str(expected));

	nr_invlpgb++;
	nr_illegal += expected != RETIRED;
}

static void guest_operands(struct operand_limits *l)
{
	const u32 ecx[] = {
		0, 1, l->count_max, l->count_max + 1, 0xffff,
		INVLPGB_STEP_2M, INVLPGB_STEP_2M | (l->count_max + 1),
		BIT(16), BIT(30), INVLPGB_STEP_2M | BIT(23),
	};
	const u32 edx[] = { 0, 1, 0xffff, BIT(16), GENMASK(27, 0), BIT(28), BIT(31) };
	const u64 va[] = {
		0, 0x1000, 0x7ffffffff000, 0x800000000000, 0xffff800000000000,
		0xfffffffffffff000,
	};
	unsigned int i, j, flags;
	u64 cr4 = get_cr4();

	set_cr4(l->pcide ? cr4 | X86_CR4_PCIDE : cr4 & ~X86_CR4_PCIDE);

	for (flags = 0; flags < 64; flags++) {
		for (i = 0; i < ARRAY_SIZE(ecx); i++) {
			for (j = 0; j < ARRAY_SIZE(edx); j++)
				check_operands(flags, ecx[i], edx[j], l);
		}

		for (i = 0; i < ARRAY_SIZE(va); i++)
			check_operands(va[i] | flags, l->count_max, 0, l);

		for (i = 6; i < 12; i++)
			check_operands(BIT(i) | flags, 0, 0, l);
	}

	/* With a 32-bit address size, the upper half of RAX is not an operand. */
	GUEST_ASSERT_EQ(invlpgb_addr32_safe(GENMASK_ULL(63, 32) | INVLPGB_VA, 0, 0),
			RETIRED);
	GUEST_ASSERT_EQ(invlpgb_addr32_safe(INVLPGB_VA | BIT(6), 0, 0), GP_VECTOR);
	nr_invlpgb += 2;
	nr_illegal++;

	GUEST_ASSERT_EQ(tlbsync_safe(), RETIRED);
	nr_tlbsync++;

	GUEST_DONE();
}

static void test_operands(u32 count_max, bool nested, bool pcide)
{
	struct operand_limits *limits;
	struct kvm_vcpu *vcpu;
	struct kvm_vm *vm;
	gva_t gva;

	if (pcide && !kvm_cpu_has(X86_FEATURE_PCID)) {
		print_skip("operands with CR4.PCIDE: KVM does not support PCID");
		return;
	}

	vm = vm_create_with_one_vcpu(&vcpu, guest_operands);
	vcpu_set_cpuid_property(vcpu, X86_PROPERTY_INVLPGB_COUNT_MAX, count_max);
	vcpu_set_or_clear_cpuid_feature(vcpu, X86_FEATURE_INVLPGB_NESTED, nested);

	gva = vm_alloc_page(vm);
	limits = addr_gva2hva(vm, gva);
	*limits = (struct operand_limits) {
		.count_max = count_max, .nested = nested, .pcide = pcide,
	};
	vcpu_args_set(vcpu, 1, gva);

	run_vcpu_until_done(vcpu);

	sync_global_from_guest(vm, nr_invlpgb);
	sync_global_from_guest(vm, nr_illegal);
	sync_global_from_guest(vm, nr_tlbsync);
	TEST_ASSERT_EQ(vcpu_get_stat(vcpu, invlpgb_exits), nr_invlpgb);
	TEST_ASSERT_EQ(vcpu_get_stat(vcpu, invlpgb_illegal_exits), nr_illegal);
	TEST_ASSERT_EQ(vcpu_get_stat(vcpu, tlbsync_exits), nr_tlbsync);
	TEST_ASSERT_EQ(vcpu_get_stat(vcpu, tlbsync_kicks), 0);

	kvm_vm_free(vm);
}

/* Modes ------------------------------------------------------------------- */

enum raw_mode { RAW_64, RAW_32, RAW_16, RAW_REAL };

#define PORT_RETIRED	0x80

static void raw_set_real_mode(struct kvm_sregs *sregs, u64 code_gpa)
{
	sregs->cs.base = code_gpa;
	sregs->cs.limit = 0xffff;
	sregs->idt.limit = 0;
	sregs->cr0 &= ~(X86_CR0_PE | X86_CR0_PG);
	sregs->cr4 = 0;
	sregs->efer = 0;
}

/*
 * Run one instruction in a mode that the test's own code cannot run in, with an
 * OUT to PORT_RETIRED behind it.  In long mode, a fault arrives in the usual
 * handler, which treats it like one of kvm_asm_safe() and continues with the OUT,
 * in 64-bit mode.  In real mode there is no handler, and a fault is a shutdown.
 */
static u8 raw_run(enum raw_mode mode, const u8 *insn, int len, u64 rax)
{
	const u8 out[] = { 0xe6, PORT_RETIRED };
	struct kvm_sregs sregs;
	struct kvm_regs regs;
	struct kvm_vcpu *vcpu;
	struct kvm_vm *vm;
	u32 exit_reason;
	gva_t code;

	vm = vm_create_with_one_vcpu(&vcpu, guest_absent);
	code = vm_alloc_page(vm);
	memcpy(addr_gva2hva(vm, code), insn, len);
	memcpy(addr_gva2hva(vm, code + len), out, sizeof(out));

	vcpu_regs_get(vcpu, &regs);
	vcpu_sregs_get(vcpu, &sregs);

	if (mode != RAW_64)
		sregs.cs.base = code;
	sregs.cs.l = mode == RAW_64;
	sregs.cs.db = mode == RAW_32;
	if (mode == RAW_REAL)
		raw_set_real_mode(&sregs, addr_gva2gpa(vm, code));

	regs.rip = mode == RAW_64 ? code : 0;
	regs.rax = rax;
	regs.rcx = 0;
	regs.rdx = 0;
	regs.r9 = KVM_EXCEPTION_MAGIC;
	regs.r10 = regs.rip;
	regs.r11 = code + len;

	vcpu_sregs_set(vcpu, &sregs);
	vcpu_regs_set(vcpu, &regs);
	vcpu_run(vcpu);

	exit_reason = vcpu->run->exit_reason;
	vcpu_regs_get(vcpu, &regs);
	kvm_vm_free(vm);

	/* With these operands, #UD is the only fault in real mode. */
	if (mode == RAW_REAL && exit_reason == KVM_EXIT_SHUTDOWN)
		return UD_VECTOR;

	TEST_ASSERT_EQ(exit_reason, KVM_EXIT_IO);
	return regs.r9 == KVM_EXCEPTION_MAGIC ? RETIRED : regs.r9;
}

static void test_modes(void)
{
	static const u8 insn[] = { 0x0f, 0x01, 0xfe };
	static const u8 insn_addr[] = { 0x67, 0x0f, 0x01, 0xfe };
	static const u8 sync[] = { 0x0f, 0x01, 0xff };
	const u64 illegal = BIT(6);

	TEST_ASSERT_EQ(raw_run(RAW_64, insn, sizeof(insn), 0), RETIRED);
	TEST_ASSERT_EQ(raw_run(RAW_64, insn, sizeof(insn), illegal), GP_VECTOR);
	TEST_ASSERT_EQ(raw_run(RAW_32, insn, sizeof(insn), 0), RETIRED);
	TEST_ASSERT_EQ(raw_run(RAW_32, insn, sizeof(insn), illegal), GP_VECTOR);
	TEST_ASSERT_EQ(raw_run(RAW_16, insn_addr, sizeof(insn_addr), 0), RETIRED);
	TEST_ASSERT_EQ(raw_run(RAW_16, insn_addr, sizeof(insn_addr), illegal), GP_VECTOR);

	TEST_ASSERT_EQ(raw_run(RAW_16, insn, sizeof(insn), 0), UD_VECTOR);
	TEST_ASSERT_EQ(raw_run(RAW_REAL, insn, sizeof(insn), 0), UD_VECTOR);
	TEST_ASSERT_EQ(raw_run(RAW_REAL, insn_addr, sizeof(insn_addr), 0), UD_VECTOR);

	TEST_ASSERT_EQ(raw_run(RAW_32, sync, sizeof(sync), 0), RETIRED);
	TEST_ASSERT_EQ(raw_run(RAW_16, sync, sizeof(sync), 0), RETIRED);
	TEST_ASSERT_EQ(raw_run(RAW_REAL, sync, sizeof(sync), 0), UD_VECTOR);
}

/* Single step and interrupt shadow ---------------------------------------- */

#define IRQ_VECTOR	0x20

static u64 db_rip, irq_rip;

static void db_handler(struct ex_regs *regs)
{
	db_rip = regs->rip;
	regs->rflags &= ~X86_EFLAGS_TF;
}

static void irq_handler(struct ex_regs *regs)
{
	irq_rip = regs->rip;
	x2apic_write_reg(APIC_EOI, 0);
}

/* Execute @insn with TF set by the instruction before. */
#define SINGLE_STEP(insn)						\
({									\
	u64 next;							\
									\
	db_rip = 0;							\
	asm volatile("lea 1f(%%rip), %[next]\n\t"			\
		     "sub $128, %%rsp\n\t"				\
		     "pushf\n\t"					\
		     "orq %[tf], (%%rsp)\n\t"				\
		     "popf\n\t"						\
		     insn "\n\t"					\
		     "1: add $128, %%rsp"				\
		     : [next] "=&r"(next)				\
		     : "a"(0), "c"(0), "d"(0), [tf] "i"(X86_EFLAGS_TF)	\
		     : "memory", "cc");					\
	GUEST_ASSERT_EQ(READ_ONCE(db_rip), next);			\
})

/* Execute @insn in the shadow of an STI with an interrupt pending. */
#define STI_SHADOW(insn)						\
({									\
	u64 next;							\
									\
	irq_rip = 0;							\
	x2apic_write_reg(APIC_SELF_IPI, IRQ_VECTOR);			\
	asm volatile("lea 1f(%%rip), %[next]\n\t"			\
		     "sti\n\t"						\
		     insn "\n\t"					\
		     "1: nop\n\t"					\
		     "cli"						\
		     : [next] "=&r"(next)				\
		     : "a"(0), "c"(0), "d"(0) : "memory");		\
	GUEST_ASSERT_EQ(READ_ONCE(irq_rip), next);			\
})

static void guest_retire(void)
{
	cli();
	x2apic_enable();

	SINGLE_STEP(INVLPGB_INSN);
	SINGLE_STEP(TLBSYNC_INSN);
	STI_SHADOW(INVLPGB_INSN);
	STI_SHADOW(TLBSYNC_INSN);

	GUEST_DONE();
}

static void test_retire(void)
{
	struct kvm_vcpu *vcpu;
	struct kvm_vm *vm;

	vm = vm_create_with_one_vcpu(&vcpu, guest_retire);
	vm_install_exception_handler(vm, DB_VECTOR, db_handler);
	vm_install_exception_handler(vm, IRQ_VECTOR, irq_handler);
	run_vcpu_until_done(vcpu);
	kvm_vm_free(vm);
}

/* Flush ------------------------------------------------------------------- */

#define NR_ROUNDS	100
#define NR_REREADS	1000

enum flush_kind {
	FLUSH_NONE,
	FLUSH_ALL,
	FLUSH_ALL_NONGLOBAL,
	FLUSH_ASID,
	FLUSH_ASID_GLOBAL,
	FLUSH_VA,
	FLUSH_VA_RANGE,
	FLUSH_VA_2M,
	FLUSH_UNUSED_VA,
	FLUSH_PCID,
	FLUSH_PCID_VA,
	NR_FLUSH_KINDS,
};

/* Shared by the two vCPUs of a VM. */
struct flush_data {
	enum flush_kind kind;
	bool l2;
	u32 count_max;

	u64 *page;	/* is mapped to either frame */
	u64 *frame[2];	/* are mapped for good */
	u64 *pte;	/* of page */

	u64 warm;	/* the worker has read the page in this round */
	u64 flushed;	/* the issuer has changed and flushed it */
	u64 checked;	/* the worker has read it again */
	u64 value;	/* and got this */
	bool write;	/* the worker is to write, not to read */
	bool writing;
	bool stop;

	u64 nr_invlpgb;
	u64 nr_tlbsync;
	u64 nr_stale;
};

static void flush_page(struct flush_data *d)
{
	u64 va = (u64)d->page;

	switch (d->kind) {
	case FLUSH_NONE:
		return;
	case FLUSH_ALL:
		invlpgb(INVLPGB_GLOBAL, 0, 0);
		break;
	case FLUSH_ALL_NONGLOBAL:
		invlpgb(0, 0, 0);
		break;
	case FLUSH_ASID:
		invlpgb(INVLPGB_ASID, 0, 0);
		break;
	case FLUSH_ASID_GLOBAL:
		invlpgb(INVLPGB_ASID | INVLPGB_GLOBAL, 0, 0);
		break;
	case FLUSH_VA:
		invlpgb(va | INVLPGB_VA | INVLPGB_ASID | INVLPGB_FINAL, 0, 0);
		break;
	case FLUSH_VA_RANGE:
		va -= d->count_max * PAGE_SIZE;
		invlpgb(va | INVLPGB_VA | INVLPGB_ASID, d->count_max, 0);
		break;
	case FLUSH_VA_2M:
		va &= ~(PG_SIZE_2M - 1);
		invlpgb(va | INVLPGB_VA | INVLPGB_ASID, INVLPGB_STEP_2M, 0);
		break;
	case FLUSH_UNUSED_VA:
		/* What Linux does to flush kernel addresses. */
		va += 123 * PAGE_SIZE;
		invlpgb(va | INVLPGB_ASID | INVLPGB_GLOBAL, d->count_max, 0);
		break;
	case FLUSH_PCID:
		invlpgb(INVLPGB_PCID | INVLPGB_ASID, 0, 0);
		break;
	case FLUSH_PCID_VA:
		invlpgb(va | INVLPGB_PCID | INVLPGB_VA | INVLPGB_ASID, 0, 0);
		break;
	default:
		GUEST_FAIL("Unknown flush %u", d->kind);
	}

	tlbsync();
	d->nr_invlpgb++;
	d->nr_tlbsync++;
}

static void map_frame(struct flush_data *d, u64 pte)
{
	/* The locked instruction orders the write before INVLPGB. */
	__atomic_exchange_n(d->pte, pte, __ATOMIC_SEQ_CST);
}

static void guest_flush_enable_pcid(struct flush_data *d)
{
	if (d->kind == FLUSH_PCID || d->kind == FLUSH_PCID_VA)
		set_cr4(get_cr4() | X86_CR4_PCIDE);
}

static void guest_flush_issuer(struct flush_data *d, u64 pte0, u64 pte1)
{
	const u64 pte[2] = { pte0, pte1 };
	u64 last;
	int i, j;

	guest_flush_enable_pcid(d);

	/* The other vCPU must not read what is no longer mapped ... */
	for (i = 1; i <= NR_ROUNDS; i++) {
		while (READ_ONCE(d->warm) != i)
			;

		map_frame(d, pte[i & 1]);
		flush_page(d);
		WRITE_ONCE(d->flushed, i);

		while (READ_ONCE(d->checked) != i)
			;

		if (d->kind == FLUSH_NONE)
			d->nr_stale += READ_ONCE(d->value) != (i & 1);
		else
			GUEST_ASSERT_EQ(READ_ONCE(d->value), i & 1);
	}

	/* ... and not write to it either, once TLBSYNC has retired. */
	WRITE_ONCE(d->write, true);
	while (!READ_ONCE(d->writing))
		;

	for (i = 1; i <= NR_ROUNDS && d->kind != FLUSH_NONE; i++) {
		map_frame(d, pte[i & 1]);
		flush_page(d);

		last = READ_ONCE(*d->frame[!(i & 1)]);
		for (j = 0; j < NR_REREADS; j++)
			GUEST_ASSERT_EQ(READ_ONCE(*d->frame[!(i & 1)]), last);
	}

	WRITE_ONCE(d->stop, true);
	GUEST_DONE();
}

/* Do not use PAUSE, as this vCPU should not exit other than for a kick. */
static void flush_worker(struct flush_data *d)
{
	u64 i;

	for (i = 1; i <= NR_ROUNDS; i++) {
		READ_ONCE(*d->page);
		WRITE_ONCE(d->warm, i);

		while (READ_ONCE(d->flushed) != i)
			;

		WRITE_ONCE(d->value, READ_ONCE(*d->page));
		WRITE_ONCE(d->checked, i);
	}

	while (!READ_ONCE(d->write))
		;

	for (i = 0; !READ_ONCE(d->stop); i++) {
		WRITE_ONCE(*d->page, i);
		WRITE_ONCE(d->writing, true);
	}
}

static struct flush_data *l2_flush_data;

static void l2_flush_worker(void)
{
	flush_worker(l2_flush_data);
	vmmcall();
}

static void guest_flush_worker(struct flush_data *d, struct svm_test_data *svm)
{
	guest_flush_enable_pcid(d);

	if (d->l2) {
		l2_flush_data = d;
		generic_svm_setup(svm, l2_flush_worker);
		run_guest(svm->vmcb, svm->vmcb_gpa);
		GUEST_ASSERT_EQ(svm->vmcb->control.exit_code, SVM_EXIT_VMMCALL);
	} else {
		flush_worker(d);
	}

	GUEST_DONE();
}

static const char * const flush_names[] = {
	[FLUSH_NONE]		= "none",
	[FLUSH_ALL]		= "everything",
	[FLUSH_ALL_NONGLOBAL]	= "everything but global",
	[FLUSH_ASID]		= "ASID",
	[FLUSH_ASID_GLOBAL]	= "ASID and global",
	[FLUSH_VA]		= "address",
	[FLUSH_VA_RANGE]	= "range of 4 KiB pages",
	[FLUSH_VA_2M]		= "one step of 2 MiB",
	[FLUSH_UNUSED_VA]	= "ASID and global, with an address that is not used",
	[FLUSH_PCID]		= "PCID",
	[FLUSH_PCID_VA]		= "PCID and address",
};

static void test_flush(enum flush_kind kind, bool l2)
{
	struct kvm_vcpu *issuer, *worker;
	gva_t data_gva, page, svm_gva = 0;
	struct flush_data *d;
	pthread_t thread;
	struct kvm_vm *vm;
	u64 *pte, ptes[2];
	gpa_t pte_gpa;
	int i;

	if ((kind == FLUSH_PCID || kind == FLUSH_PCID_VA) &&
	    !kvm_cpu_has(X86_FEATURE_PCID)) {
		print_skip("flush of %s: KVM does not support PCID", flush_names[kind]);
		return;
	}

	vm = vm_create_with_one_vcpu(&issuer, guest_flush_issuer);
	worker = vm_vcpu_add(vm, 1, guest_flush_worker);
	if (l2)
		vcpu_alloc_svm(vm, &svm_gva);

	data_gva = vm_alloc_page(vm);
	d = addr_gva2hva(vm, data_gva);
	d->kind = kind;
	d->l2 = l2;
	d->count_max = kvm_cpu_property(X86_PROPERTY_INVLPGB_COUNT_MAX);

	/* The mapping that changes starts out as that of frame 0. */
	for (i = 0; i < 2; i++) {
		page = vm_alloc_page(vm);
		d->frame[i] = (void *)page;
		*(u64 *)addr_gva2hva(vm, page) = i;
		ptes[i] = *vm_get_pte(vm, page);
	}
	page = vm_alloc_page(vm);
	d->page = (void *)page;
	pte = vm_get_pte(vm, page);
	*pte = ptes[0];

	/* Make the PTE accessible to the guest. */
	pte_gpa = addr_hva2gpa(vm, pte);
	page = vm_unused_gva_gap(vm, PAGE_SIZE, KVM_UTIL_MIN_VADDR);
	virt_pg_map(vm, page, pte_gpa & PAGE_MASK);
	d->pte = (void *)(page + (pte_gpa & ~PAGE_MASK));

	vcpu_args_set(issuer, 3, data_gva, ptes[0], ptes[1]);
	vcpu_args_set(worker, 2, data_gva, svm_gva);

	kvm_pthread_create(&thread, NULL, vcpu_thread, worker);
	run_vcpu_until_done(issuer);
	kvm_pthread_join(thread, NULL);

	TEST_ASSERT_EQ(vcpu_get_stat(issuer, invlpgb_exits), d->nr_invlpgb);
	TEST_ASSERT_EQ(vcpu_get_stat(issuer, invlpgb_illegal_exits), 0);
	TEST_ASSERT_EQ(vcpu_get_stat(issuer, tlbsync_exits) -
		       vcpu_get_stat(issuer, tlbsync_retries), d->nr_tlbsync);
	TEST_ASSERT(vcpu_get_stat(issuer, tlbsync_kicks) <=
		    vcpu_get_stat(issuer, tlbsync_exits),
		    "More kicks than TLBSYNCs");

	if (kind == FLUSH_NONE)
		pr_info("Without a flush, %lu of %u reads%s are stale\n",
			d->nr_stale, NR_ROUNDS, l2 ? " by L2" : "");

	kvm_vm_free(vm);
}

/* TLBSYNC and emulation --------------------------------------------------- */

/*
 * Let KVM emulate an OUTSB for one vCPU, and block it on a page fault of the
 * source.  Until that is resolved, TLBSYNC on the other vCPU must not retire.
 */
struct emulation_data {
	bool emulating;
	bool synced;
};

static struct kvm_vcpu *sync_vcpu;
static struct emulation_data *emulation_data;

static void guest_sync_issuer(struct emulation_data *d)
{
	while (!READ_ONCE(d->emulating))
		;

	invlpgb(INVLPGB_ASID | INVLPGB_GLOBAL, 0, 0);
	tlbsync();
	WRITE_ONCE(d->synced, true);
	GUEST_DONE();
}

static void guest_sync_emulated(void *page)
{
	asm volatile("outsb" : "+S"(page) : "d"(PORT_RETIRED) : "memory");
	GUEST_DONE();
}

static void *sync_emulated_thread(void *vcpu)
{
	struct kvm_vcpu *emulated = vcpu;

	vcpu_run(emulated);
	TEST_ASSERT_KVM_EXIT_REASON(emulated, KVM_EXIT_IO);
	TEST_ASSERT_EQ(emulated->run->io.port, PORT_RETIRED);

	run_vcpu_until_done(emulated);
	return NULL;
}

static int sync_uffd_handler(int mode, int uffd, struct uffd_msg *msg)
{
	static char page[PAGE_SIZE] __aligned(PAGE_SIZE);
	struct uffdio_copy copy = {
		.src = (u64)page,
		.dst = msg->arg.pagefault.address & PAGE_MASK,
		.len = PAGE_SIZE,
	};

	WRITE_ONCE(emulation_data->emulating, true);

	while (vcpu_get_stat(sync_vcpu, tlbsync_retries) < 3) {
		TEST_ASSERT(!READ_ONCE(emulation_data->synced),
			    "TLBSYNC retired during emulation");
	}
	TEST_ASSERT(!READ_ONCE(emulation_data->synced),
		    "TLBSYNC retired during emulation");

	return ioctl(uffd, UFFDIO_COPY, &copy);
}

static void test_sync_emulation(void)
{
	struct kvm_vcpu *emulated;
	gva_t data_gva, page_gva;
	struct uffd_desc *uffd;
	pthread_t thread;
	struct kvm_vm *vm;
	int fd, r;
	void *hva;

	fd = syscall(__NR_userfaultfd, O_CLOEXEC);
	if (fd < 0) {
		print_skip("TLBSYNC during emulation: no userfaultfd, errno %d", errno);
		return;
	}
	close(fd);

	vm = vm_create_with_one_vcpu(&sync_vcpu, guest_sync_issuer);
	emulated = vm_vcpu_add(vm, 1, guest_sync_emulated);

	data_gva = vm_alloc_page(vm);
	emulation_data = addr_gva2hva(vm, data_gva);
	vcpu_args_set(sync_vcpu, 1, data_gva);

	page_gva = vm_alloc_page(vm);
	hva = addr_gva2hva(vm, page_gva);
	vcpu_args_set(emulated, 1, page_gva);

	r = madvise(hva, PAGE_SIZE, MADV_DONTNEED);
	TEST_ASSERT(!r, "madvise() failed, errno %d", errno);
	uffd = uffd_setup_demand_paging(UFFDIO_REGISTER_MODE_MISSING, 0, hva,
					PAGE_SIZE, 1, sync_uffd_handler);

	kvm_pthread_create(&thread, NULL, sync_emulated_thread, emulated);
	run_vcpu_until_done(sync_vcpu);
	kvm_pthread_join(thread, NULL);

	uffd_stop_demand_paging(uffd);
	kvm_vm_free(vm);
}

/* Nested ------------------------------------------------------------------ */

struct nested_data {
	bool has_invlpgb;
};

static void l2_expect_ud(void)
{
	GUEST_ASSERT_EQ(invlpgb_safe(0, 0, 0), UD_VECTOR);
	GUEST_ASSERT_EQ(invlpgb_safe(BIT(6), 0, 0), UD_VECTOR);
	GUEST_ASSERT_EQ(tlbsync_safe(), UD_VECTOR);
	vmmcall();
}

static void l2_invlpgb(void)
{
	asm volatile(".globl l2_invlpgb_insn\n\t"
		     "l2_invlpgb_insn: " INVLPGB_INSN :: "a"(0), "c"(0), "d"(0));
	GUEST_FAIL("INVLPGB retired in L2");
}

extern u8 l2_invlpgb_insn[];

static u64 run_l2(struct svm_test_data *svm, void *l2_code, u32 word5, u64 misc_ctl)
{
	struct vmcb_control_area *ctrl = &svm->vmcb->control;

	generic_svm_setup(svm, l2_code);
	*(u32 *)ctrl->reserved_1 = word5;
	ctrl->misc_ctl |= misc_ctl;
	run_guest(svm->vmcb, svm->vmcb_gpa);

	return ctrl->exit_code;
}

static void guest_nested(struct svm_test_data *svm, bool has_invlpgb)
{
	const u32 all = WORD5_INVLPGB | WORD5_INVLPGB_ILLEGAL | WORD5_TLBSYNC;
	struct vmcb *vmcb = svm->vmcb;

	GUEST_ASSERT_EQ(run_l2(svm, l2_expect_ud, 0, 0), SVM_EXIT_VMMCALL);
	GUEST_ASSERT_EQ(run_l2(svm, l2_expect_ud, 0, SVM_MISC_ENABLE_INVLPGB),
			SVM_EXIT_VMMCALL);
	GUEST_ASSERT_EQ(run_l2(svm, l2_expect_ud, WORD5_TLBSYNC, SVM_MISC_ENABLE_INVLPGB),
			SVM_EXIT_VMMCALL);

	if (has_invlpgb) {
		GUEST_ASSERT_EQ(run_l2(svm, l2_invlpgb, all, 0), SVM_EXIT_INVLPGB);
		GUEST_ASSERT_EQ(vmcb->save.rip, (u64)l2_invlpgb_insn);
		GUEST_ASSERT_EQ(vmcb->control.next_rip, (u64)l2_invlpgb_insn + 3);

		GUEST_ASSERT_EQ(invlpgb_safe(0, 0, 0), RETIRED);
		GUEST_ASSERT_EQ(invlpgb_safe(BIT(6), 0, 0), GP_VECTOR);
		GUEST_ASSERT_EQ(tlbsync_safe(), RETIRED);
	} else {
		GUEST_ASSERT_EQ(run_l2(svm, l2_expect_ud, all, SVM_MISC_ENABLE_INVLPGB),
				SVM_EXIT_VMMCALL);

		GUEST_ASSERT_EQ(invlpgb_safe(0, 0, 0), UD_VECTOR);
		GUEST_ASSERT_EQ(tlbsync_safe(), UD_VECTOR);
	}

	GUEST_DONE();
}

static void test_nested(bool has_invlpgb)
{
	struct kvm_vcpu *vcpu;
	struct kvm_vm *vm;
	gva_t svm_gva;

	vm = vm_create_with_one_vcpu(&vcpu, guest_nested);
	vcpu_set_or_clear_cpuid_feature(vcpu, X86_FEATURE_INVLPGB, has_invlpgb);
	vcpu_alloc_svm(vm, &svm_gva);
	vcpu_args_set(vcpu, 2, svm_gva, has_invlpgb);
	run_vcpu_until_done(vcpu);
	kvm_vm_free(vm);
}

int main(int argc, char *argv[])
{
	bool has_svm = kvm_cpu_has(X86_FEATURE_SVM);
	enum flush_kind kind;
	u32 count_max;

	__TEST_REQUIRE(kvm_cpu_has(X86_FEATURE_INVLPGB),
		       "KVM does not offer INVLPGB, is kvm_amd.invlpgb=intercept set?");
	count_max = kvm_cpu_property(X86_PROPERTY_INVLPGB_COUNT_MAX);

	test_cpuid();
	test_absent();

	test_operands(count_max, false, false);
	test_operands(count_max, false, true);
	test_operands(count_max, true, true);
	test_operands(0, false, false);
	test_operands(3, true, false);
	test_modes();
	test_retire();

	if (!has_svm)
		print_skip("nested tests: KVM does not support nested SVM");

	for (kind = FLUSH_NONE; kind < NR_FLUSH_KINDS; kind++) {
		test_flush(kind, false);
		if (has_svm)
			test_flush(kind, true);
	}
	test_sync_emulation();

	if (has_svm) {
		test_nested(true);
		test_nested(false);
	}

	return 0;
}
