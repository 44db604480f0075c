// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test VMs that share CPUs and execute INVLPGB and TLBSYNC natively.
 *
 * o 2 and 3 VMs, with 1, 2 and 3 times as many vCPUs as there are CPUs, the vCPUs of
 *   one VM pinned and all others moved at random.  In all VMs, all the time:
 *     - each vCPU changes a translation that the others use, and invalidates it with
 *       INVLPGB and TLBSYNC; and one of its own, and invalidates it with INVLPG
 *     - userspace replaces the memory behind a page, by MADV_DONTNEED or by another
 *       memslot
 *     - vCPUs write to pages whose dirty log userspace collects
 *     - CPUs go offline and come back
 *   Nobody ever uses a translation that is gone, nor one of another VM, and every
 *   write is logged.  Halfway one VM is demoted; only its vCPUs exit from then on.
 * o A CPU that was offline is flushed, even if it still has the translations of the
 *   vCPU that was the last to run there
 * o VMs come and go until every ASID has had many owners: none finds translations of
 *   an earlier one
 *
 * svm_invlpgb_passthrough_test tests each rule alone, step by step, and whether this
 * CPU keeps translations at all.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <time.h>

#include "kvm_util.h"
#include "processor.h"
#include "test_util.h"

#define INVLPGB_INSN	".byte 0x0f, 0x01, 0xfe"
#define TLBSYNC_INSN	".byte 0x0f, 0x01, 0xff"

#define INVLPGB_VA	BIT_ULL(0)
#define INVLPGB_ASID	BIT_ULL(2)
#define INVLPGB_GLOBAL	BIT_ULL(3)

/* CPUs that vCPUs run on; the first one never goes offline. */
#define NR_TEST_CPUS	4
#define MAX_VMS		3
#define MAX_VCPUS	(3 * NR_TEST_CPUS / 2)

/* What userspace does to the VMs of one group. */
#define NR_ACTIONS	60
/* VMs that have each ASID, one after the other. */
#define NR_OWNERS	10

/*
 * The pages that a changing translation leads to, in turn, so that what a stale one
 * finds there stays old for a while.
 */
#define NR_FRAMES	8
#define NR_LOG_PAGES	32

enum { FRAME_SLOT = 10, HOST_SLOT, LOG_SLOT };

#define FRAME_GPA	0xc0000000ul
#define HOST_GPA	0xd0000000ul
#define LOG_GPA		0xe0000000ul

/* All frames, two for each vCPU and generation, at an address that does not change. */
#define FRAME_GVA	0xc0000000ul
#define HOST_GVA	0xd0000000ul
#define LOG_GVA		0xe0000000ul
/* One page for each vCPU, which changes its translation. */
#define SHARED_GVA	0x100000000ul
/* One page that each vCPU has a translation of its own for. */
#define PRIVATE_GVA	0x200000000ul
/* The page tables of the two. */
#define SHARED_PT_GVA	0x300000000ul
#define PRIVATE_PT_GVA	0x300001000ul

#define POISON		~0ull

/* What the vCPUs of a VM and userspace tell each other. */
struct vm_state {
	bool stop;
	u64 tag;
	u64 nr_vcpus;
	/* Generation of the page at HOST_GVA: on its way, and settled. */
	u64 host_begin;
	u64 host_done;
	/* There will be a memslot for it in a moment. */
	bool host_absent;
	struct {
		/* Generation of the vCPU's page at SHARED_GVA that is settled. */
		u64 done;
		u64 nr_steps;
	} vcpu[MAX_VCPUS];
};

struct test_vcpu {
	struct kvm_vcpu *vcpu;
	pthread_t thread;
};

struct test_vm {
	struct kvm_vm *vm;
	struct vm_state *state;
	int nr_vcpus;
	struct test_vcpu vcpu[MAX_VCPUS];
	/* What takes turns behind HOST_GPA, what is there, and what takes freed pages. */
	u64 *host_mem[2];
	int host_now;
	u64 *ballast;
	u64 *log_mem;
	u64 log_sum[NR_LOG_PAGES];
};

static u64 page_size;
static bool cpu_online[NR_TEST_CPUS] = { [0 ... NR_TEST_CPUS - 1] = true };
static u64 nr_vms_created;
static u64 nr_moves, nr_dirty_rounds, nr_replacements, nr_offline;

static u64 stamp(u64 tag, u64 owner, u64 generation)
{
	return tag << 40 | owner << 32 | generation;
}

/* The guest ----------------------------------------------------------------- */

/* The frame of a generation of a vCPU's page, one of NR_FRAMES. */
static u64 frame_nr(bool private, u64 me, u64 generation)
{
	return (2 * me + private) * NR_FRAMES + generation % NR_FRAMES;
}

static void guest_set_frame(u64 *pte, bool private, u64 me, u64 generation, u64 value)
{
	u64 frame = frame_nr(private, me, generation);

	*(u64 *)(FRAME_GVA + frame * PAGE_SIZE) = value;
	/* An INVLPGB may overtake an ordinary store. */
	__atomic_exchange_n(pte, (*pte & ~PHYSICAL_PAGE_MASK) |
			    (FRAME_GPA + frame * PAGE_SIZE), __ATOMIC_SEQ_CST);
}

static void guest_change_shared(struct vm_state *s, u64 me, u32 form)
{
	u64 gva = SHARED_GVA + me * PAGE_SIZE, generation = s->vcpu[me].done + 1, value;
	u64 rax[] = {
		gva | INVLPGB_VA | INVLPGB_ASID,
		INVLPGB_ASID,
		INVLPGB_ASID | INVLPGB_GLOBAL,
	};

	value = stamp(s->tag, me, generation);
	guest_set_frame((u64 *)SHARED_PT_GVA + ((gva >> PAGE_SHIFT) & 0x1ff), false, me,
			generation, value);
	asm volatile(INVLPGB_INSN :: "a"(rax[form % ARRAY_SIZE(rax)]), "c"(0), "d"(0) : "memory");
	asm volatile(TLBSYNC_INSN ::: "memory");
	WRITE_ONCE(s->vcpu[me].done, generation);

	GUEST_ASSERT_EQ(READ_ONCE(*(u64 *)gva), value);
}

static void guest_visit_shared(struct vm_state *s, u64 owner)
{
	u64 done = READ_ONCE(s->vcpu[owner].done);
	u64 value = READ_ONCE(*(u64 *)(SHARED_GVA + owner * PAGE_SIZE));
	u64 last = READ_ONCE(s->vcpu[owner].done) + 1;

	__GUEST_ASSERT(value >= stamp(s->tag, owner, done) &&
		       value <= stamp(s->tag, owner, last),
		       "page of vCPU %lu reads %lx, not %lx to %lx", owner, value,
		       stamp(s->tag, owner, done), stamp(s->tag, owner, last));
}

static void guest_change_private(struct vm_state *s, u64 me, u64 generation)
{
	u64 *pte = (u64 *)(PRIVATE_PT_GVA + me * PAGE_SIZE);
	u64 value = stamp(s->tag, me, generation);

	guest_set_frame(pte + ((PRIVATE_GVA >> PAGE_SHIFT) & 0x1ff), true, me, generation, value);
	invlpg(PRIVATE_GVA);
	GUEST_ASSERT_EQ(READ_ONCE(*(u64 *)PRIVATE_GVA), value);
}

/* Between the old content and the new one the page may be empty, or not there. */
static void guest_visit_host(struct vm_state *s)
{
	u64 done = READ_ONCE(s->host_done);
	u64 value = READ_ONCE(*(u64 *)HOST_GVA);
	u64 last = READ_ONCE(s->host_begin);

	__GUEST_ASSERT((!value && last != done) ||
		       (value >= stamp(s->tag, MAX_VCPUS, done) &&
			value <= stamp(s->tag, MAX_VCPUS, last)),
		       "replaced page reads %lx, not %lx to %lx", value,
		       stamp(s->tag, MAX_VCPUS, done), stamp(s->tag, MAX_VCPUS, last));
}

static void guest_code(struct vm_state *s, u64 me, u64 seed)
{
	struct kvm_random_state random = new_kvm_random_state(seed);
	u64 private = 1, *lane;
	u32 r;

	while (!READ_ONCE(s->stop)) {
		r = kvm_random_u32(&random);
		guest_visit_shared(s, r % s->nr_vcpus);
		if (!READ_ONCE(s->host_absent))
			guest_visit_host(s);
		GUEST_ASSERT_EQ(READ_ONCE(*(u64 *)PRIVATE_GVA), stamp(s->tag, me, private));

		lane = (u64 *)(LOG_GVA + (r >> 8) % NR_LOG_PAGES * PAGE_SIZE) + me;
		WRITE_ONCE(*lane, *lane + 1);

		if (r & BIT(16))
			guest_change_shared(s, me, r >> 20);
		if (r & BIT(17))
			guest_change_private(s, me, ++private);
		if (!(r & GENMASK(31, 28)))
			GUEST_SYNC(0);
		WRITE_ONCE(s->vcpu[me].nr_steps, s->vcpu[me].nr_steps + 1);
	}
	GUEST_DONE();
}

/* VMs ----------------------------------------------------------------------- */

static struct kvm_vm *create_native_vm(int nr_vcpus)
{
	struct kvm_vm *vm = vm_create(nr_vcpus);

	vm_enable_cap(vm, KVM_CAP_X86_DISABLE_EXITS, KVM_X86_DISABLE_EXITS_INVLPGB);
	return vm;
}

static struct kvm_vcpu *add_vcpu(struct kvm_vm *vm, int i, void *guest_code)
{
	struct kvm_vcpu *vcpu = vm_vcpu_add(vm, i, guest_code);

	/* KVM intercepts the instructions if the vCPU has SVM. */
	vcpu_clear_cpuid_feature(vcpu, X86_FEATURE_SVM);
	return vcpu;
}

static u64 *page_table_of(struct kvm_vm *vm, gva_t gva)
{
	return (u64 *)((unsigned long)vm_get_pte(vm, gva) & ~(page_size - 1));
}

/* Give a vCPU tables of its own for PRIVATE_GVA, and let it write to the last one. */
static void add_private_tables(struct test_vm *t, int i)
{
	struct kvm_vcpu *vcpu = t->vcpu[i].vcpu;
	u64 *from, *to, *entry = NULL;
	struct kvm_sregs sregs;
	gpa_t table;
	int level;

	vcpu_sregs_get(vcpu, &sregs);
	from = addr_gpa2hva(t->vm, sregs.cr3 & PHYSICAL_PAGE_MASK);
	for (level = t->vm->mmu.pgtable_levels; level >= PG_LEVEL_4K; level--) {
		table = addr_gva2gpa(t->vm, PRIVATE_PT_GVA + i * page_size);
		if (level > PG_LEVEL_4K)
			table = vm_alloc_page_table(t->vm);
		to = addr_gpa2hva(t->vm, table);
		memcpy(to, from, page_size);
		if (entry)
			*entry = (*entry & ~PHYSICAL_PAGE_MASK) | table;
		else
			sregs.cr3 = table;

		entry = &to[(PRIVATE_GVA >> PG_LEVEL_SHIFT(level)) & 0x1ff];
		if (level > PG_LEVEL_4K)
			from = addr_gpa2hva(t->vm, *entry & PHYSICAL_PAGE_MASK);
	}
	*entry = (*entry & ~PHYSICAL_PAGE_MASK) |
		 (FRAME_GPA + frame_nr(true, i, 1) * page_size);
	vcpu_sregs_set(vcpu, &sregs);
}

static u64 *map_page(void)
{
	return kvm_mmap(page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

static void create_memory(struct test_vm *t)
{
	int nr_frames = 2 * t->nr_vcpus * NR_FRAMES, i;
	struct vm_state *s = t->state;
	u64 *frames;

	vm_userspace_mem_region_add(t->vm, VM_MEM_SRC_ANONYMOUS, FRAME_GPA, FRAME_SLOT,
				    nr_frames, 0);
	vm_userspace_mem_region_add(t->vm, VM_MEM_SRC_ANONYMOUS, HOST_GPA, HOST_SLOT, 1, 0);
	vm_userspace_mem_region_add(t->vm, VM_MEM_SRC_ANONYMOUS, LOG_GPA, LOG_SLOT,
				    NR_LOG_PAGES, KVM_MEM_LOG_DIRTY_PAGES);
	virt_map(t->vm, FRAME_GVA, FRAME_GPA, nr_frames);
	virt_map(t->vm, HOST_GVA, HOST_GPA, 1);
	virt_map(t->vm, LOG_GVA, LOG_GPA, NR_LOG_PAGES);
	virt_map(t->vm, PRIVATE_GVA, FRAME_GPA, 1);

	frames = addr_gpa2hva(t->vm, FRAME_GPA);
	for (i = 0; i < t->nr_vcpus; i++) {
		virt_map(t->vm, SHARED_GVA + i * page_size,
			 FRAME_GPA + frame_nr(false, i, 1) * page_size, 1);
		virt_map(t->vm, PRIVATE_PT_GVA + i * page_size, vm_alloc_page_table(t->vm), 1);
		frames[frame_nr(false, i, 1) * page_size / sizeof(u64)] = stamp(s->tag, i, 1);
		frames[frame_nr(true, i, 1) * page_size / sizeof(u64)] = stamp(s->tag, i, 1);
		s->vcpu[i].done = 1;
	}
	virt_map(t->vm, SHARED_PT_GVA,
		 addr_hva2gpa(t->vm, page_table_of(t->vm, SHARED_GVA)), 1);

	t->host_mem[0] = addr_gpa2hva(t->vm, HOST_GPA);
	t->host_mem[1] = map_page();
	t->ballast = map_page();
	t->host_mem[0][0] = stamp(s->tag, MAX_VCPUS, 0);
	t->log_mem = addr_gpa2hva(t->vm, LOG_GPA);
}

static void create_vm(struct test_vm *t, int nr_vcpus)
{
	gva_t state;
	int i;

	memset(t, 0, sizeof(*t));
	t->nr_vcpus = nr_vcpus;
	t->vm = create_native_vm(nr_vcpus);
	state = vm_alloc_page(t->vm);
	t->state = addr_gva2hva(t->vm, state);
	t->state->tag = ++nr_vms_created;
	t->state->nr_vcpus = nr_vcpus;
	create_memory(t);

	for (i = 0; i < nr_vcpus; i++) {
		t->vcpu[i].vcpu = add_vcpu(t->vm, i, guest_code);
		vcpu_args_set(t->vcpu[i].vcpu, 3, state, (u64)i, kvm_random_u64(&kvm_rng));
	}
	for (i = 0; i < nr_vcpus; i++)
		add_private_tables(t, i);
}

static void destroy_vm(struct test_vm *t)
{
	kvm_vm_free(t->vm);
	kvm_munmap(t->host_mem[1], page_size);
	kvm_munmap(t->ballast, page_size);
}

static void *vcpu_thread(void *arg)
{
	struct kvm_vcpu *vcpu = arg;
	struct ucall uc;

	for (;;) {
		vcpu_run(vcpu);

		/* The page at HOST_GVA is not there. */
		if (vcpu->run->exit_reason == KVM_EXIT_MMIO) {
			memset(vcpu->run->mmio.data, 0, sizeof(vcpu->run->mmio.data));
			continue;
		}

		switch (get_ucall(vcpu, &uc)) {
		case UCALL_SYNC:
			continue;
		case UCALL_DONE:
			return NULL;
		case UCALL_ABORT:
			REPORT_GUEST_ASSERT(uc);
		default:
			TEST_FAIL("Unexpected exit %s", exit_reason_str(vcpu->run->exit_reason));
		}
	}
}

static u64 nr_exits(struct test_vm *t)
{
	u64 sum = 0;
	int i;

	for (i = 0; i < t->nr_vcpus; i++)
		sum += vcpu_get_stat(t->vcpu[i].vcpu, invlpgb_exits) +
		       vcpu_get_stat(t->vcpu[i].vcpu, tlbsync_exits);
	return sum;
}

/* What userspace does to them ------------------------------------------------ */

static int random_cpu(void)
{
	int cpu;

	do {
		cpu = kvm_random_u32(&kvm_rng) % NR_TEST_CPUS;
	} while (!cpu_online[cpu]);
	return cpu;
}

static void move_vcpu(struct test_vm *t)
{
	pin_task_to_cpu(t->vcpu[kvm_random_u32(&kvm_rng) % t->nr_vcpus].thread, random_cpu());
	nr_moves++;
}

/* Let each vCPU finish what it is doing. */
static void wait_for_vcpus(struct test_vm *t)
{
	u64 end;
	int i;

	for (i = 0; i < t->nr_vcpus; i++) {
		end = READ_ONCE(t->state->vcpu[i].nr_steps) + 2;
		while (READ_ONCE(t->state->vcpu[i].nr_steps) < end)
			usleep(100);
	}
}

/* The next generation at HOST_GVA. */
static void replace_page(struct test_vm *t, bool slot)
{
	struct vm_state *s = t->state;
	u64 value = stamp(s->tag, MAX_VCPUS, s->host_begin + 1);
	u64 *mem = t->host_mem[t->host_now ^ slot];

	TEST_ASSERT(!madvise(t->ballast, page_size, MADV_DONTNEED), "errno %d", errno);
	if (slot)
		mem[0] = value;
	WRITE_ONCE(s->host_begin, s->host_begin + 1);

	if (slot) {
		vm_set_user_memory_region(t->vm, HOST_SLOT, 0, HOST_GPA, 0, NULL);
		/*
		 * The TDP MMU warns if one vCPU still finds no memslot while another
		 * one has mapped the page already.
		 */
		WRITE_ONCE(s->host_absent, true);
		wait_for_vcpus(t);
		vm_set_user_memory_region(t->vm, HOST_SLOT, 0, HOST_GPA, page_size, mem);
		t->host_now ^= 1;
	} else {
		TEST_ASSERT(!madvise(mem, page_size, MADV_DONTNEED), "errno %d", errno);
		/* Take the page that was freed, else it is back here at once. */
		WRITE_ONCE(t->ballast[0], POISON);
		WRITE_ONCE(mem[0], value);
	}

	WRITE_ONCE(s->host_done, s->host_begin);
	nr_replacements++;
}

static void sum_log_pages(struct test_vm *t, u64 *sum)
{
	int page, i;

	for (page = 0; page < NR_LOG_PAGES; page++) {
		sum[page] = 0;
		for (i = 0; i < t->nr_vcpus; i++)
			sum[page] += READ_ONCE(t->log_mem[page * page_size / sizeof(u64) + i]);
	}
}

/*
 * A page that has changed between two looks at it has to be in the log that is
 * collected next, if no log was collected in between.
 */
static void collect_log(struct test_vm *t)
{
	unsigned long log = 0;
	u64 sum[NR_LOG_PAGES];
	int page;

	sum_log_pages(t, sum);
	kvm_vm_get_dirty_log(t->vm, LOG_SLOT, &log);
	for (page = 0; page < NR_LOG_PAGES; page++)
		TEST_ASSERT(sum[page] == t->log_sum[page] || log & BIT(page),
			    "VM %lu: %lu writes to page %d were not logged", t->state->tag,
			    sum[page] - t->log_sum[page], page);
	sum_log_pages(t, t->log_sum);
	nr_dirty_rounds++;
}

static bool set_cpu_online(int cpu, bool online)
{
	char path[64];
	int fd, r;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", cpu);
	fd = open(path, O_WRONLY);
	if (fd < 0)
		return false;
	r = write(fd, online ? "1" : "0", 1);
	close(fd);
	if (r == 1)
		cpu_online[cpu] = online;
	return r == 1;
}

/* Groups of VMs ------------------------------------------------------------- */

struct group {
	struct test_vm vm[MAX_VMS];
	int nr_vms;
};

static u64 nr_steps(struct group *g)
{
	u64 sum = 0;
	int i, j;

	for (i = 0; i < g->nr_vms; i++) {
		for (j = 0; j < g->vm[i].nr_vcpus; j++)
			sum += READ_ONCE(g->vm[i].state->vcpu[j].nr_steps);
	}
	return sum;
}

/* Let every vCPU do something, on the average. */
static void wait_for_steps(struct group *g, int nr)
{
	u64 end = nr_steps(g) + nr * g->nr_vms * MAX_VCPUS;

	while (nr_steps(g) < end)
		usleep(100);
}

/* Each vCPU of the first VM has a CPU, as long as that is online. */
static void pin_vcpus(struct group *g)
{
	struct test_vm *t = &g->vm[0];
	int i;

	for (i = 0; i < t->nr_vcpus; i++) {
		if (cpu_online[i % NR_TEST_CPUS])
			pin_task_to_cpu(t->vcpu[i].thread, i % NR_TEST_CPUS);
	}
}

static void run_with_cpu_offline(struct group *g)
{
	int cpu = 1 + kvm_random_u32(&kvm_rng) % (NR_TEST_CPUS - 1);

	TEST_ASSERT(set_cpu_online(cpu, false), "CPU %d stays online, errno %d", cpu, errno);
	wait_for_steps(g, 1);
	TEST_ASSERT(set_cpu_online(cpu, true), "CPU %d stays offline, errno %d", cpu, errno);
	pin_vcpus(g);
	nr_offline++;
}

static void act(struct group *g, bool hotplug)
{
	struct test_vm *t = &g->vm[kvm_random_u32(&kvm_rng) % g->nr_vms];

	switch (kvm_random_u32(&kvm_rng) % 16) {
	case 0:
		if (hotplug)
			run_with_cpu_offline(g);
		break;
	case 1 ... 3:
		collect_log(t);
		break;
	case 4 ... 5:
		replace_page(t, false);
		break;
	case 6 ... 7:
		replace_page(t, true);
		break;
	default:
		move_vcpu(&g->vm[1 + kvm_random_u32(&kvm_rng) % (g->nr_vms - 1)]);
		break;
	}
	wait_for_steps(g, 1);
}

static void test_group(int nr_vms, int nr_vcpus, bool hotplug)
{
	struct group g = { .nr_vms = nr_vms };
	struct test_vm *demoted = &g.vm[nr_vms - 1], *t;
	u64 asid;
	int i, j;

	nr_moves = nr_dirty_rounds = nr_replacements = nr_offline = 0;
	for (i = 0; i < nr_vms; i++)
		create_vm(&g.vm[i], (nr_vcpus + i) / nr_vms);
	for (i = 0; i < nr_vms; i++) {
		t = &g.vm[i];
		for (j = 0; j < t->nr_vcpus; j++)
			pthread_create(&t->vcpu[j].thread, NULL, vcpu_thread, t->vcpu[j].vcpu);
	}
	pin_vcpus(&g);

	for (i = 0; i < NR_ACTIONS / 2; i++)
		act(&g, hotplug);
	TEST_ASSERT_EQ(nr_exits(demoted), 0);
	asid = vm_get_stat(demoted->vm, vm_asid);
	vm_enable_cap(demoted->vm, KVM_CAP_X86_TLB_BROADCAST, KVM_X86_TLB_BROADCAST_INTERCEPT);
	for (i = 0; i < NR_ACTIONS / 2; i++)
		act(&g, hotplug);

	for (i = 0; i < nr_vms; i++)
		WRITE_ONCE(g.vm[i].state->stop, true);
	for (i = 0; i < nr_vms; i++) {
		t = &g.vm[i];
		for (j = 0; j < t->nr_vcpus; j++)
			pthread_join(t->vcpu[j].thread, NULL);
		collect_log(t);
		TEST_ASSERT(!!nr_exits(t) == (t == demoted), "VM %d of %d: %lu exits", i, nr_vms,
			    nr_exits(t));
	}
	TEST_ASSERT_EQ(vm_get_stat(demoted->vm, vm_asid), asid);
	pr_info("%d VMs, %d vCPUs: %lu steps, %lu moves, %lu dirty rounds, %lu replacements, %lu times offline, %lu exits of the demoted one\n",
		nr_vms, nr_vcpus, nr_steps(&g), nr_moves, nr_dirty_rounds, nr_replacements,
		nr_offline, nr_exits(demoted));
	for (i = 0; i < nr_vms; i++)
		destroy_vm(&g.vm[i]);
}

/* VMs that only read -------------------------------------------------------- */

static void guest_reader(void)
{
	for (;;)
		GUEST_SYNC(READ_ONCE(*(u64 *)FRAME_GVA));
}

struct reader {
	struct kvm_vm *vm;
	struct kvm_vcpu *vcpu;
	u64 value;
};

/* A VM that reads the first of two pages, until its page table says otherwise. */
static struct reader create_reader(void)
{
	struct reader r = { .vm = create_native_vm(1), .value = ++nr_vms_created };
	u64 *mem;

	vm_userspace_mem_region_add(r.vm, VM_MEM_SRC_ANONYMOUS, FRAME_GPA, FRAME_SLOT, 2, 0);
	virt_map(r.vm, FRAME_GVA, FRAME_GPA, 1);
	mem = addr_gpa2hva(r.vm, FRAME_GPA);
	mem[0] = r.value;
	mem[page_size / sizeof(u64)] = ~r.value;
	r.vcpu = add_vcpu(r.vm, 0, guest_reader);
	return r;
}

static void expect_read(struct reader *r, int cpu, u64 value, const char *what)
{
	struct ucall uc;

	pin_self_to_cpu(cpu);
	vcpu_run(r->vcpu);
	TEST_ASSERT_EQ(get_ucall(r->vcpu, &uc), UCALL_SYNC);
	TEST_ASSERT(uc.args[1] == value, "%s: VM with ASID %lu reads %lx on CPU %d, not %lx", what,
		    (u64)vm_get_stat(r->vm, vm_asid), uc.args[1], cpu, value);
}

/*
 * KVM flushes where the vCPU has been the last to run, too, if the CPU has been
 * offline since.  A change of the page table that the guest tells nobody about shows
 * whether it does.
 */
static void test_online(void)
{
	struct reader r = create_reader();
	int cpu = NR_TEST_CPUS - 1;

	expect_read(&r, cpu, r.value, "before");
	*vm_get_pte(r.vm, FRAME_GVA) += page_size;
	pin_self_to_cpu(0);
	TEST_ASSERT(set_cpu_online(cpu, false), "CPU %d stays online, errno %d", cpu, errno);
	TEST_ASSERT(set_cpu_online(cpu, true), "CPU %d stays offline, errno %d", cpu, errno);
	expect_read(&r, cpu, ~r.value, "after the CPU came online");
	kvm_vm_free(r.vm);
}

static void test_churn(int nr_asids)
{
	struct reader *readers = calloc(nr_asids, sizeof(*readers)), *r;
	u32 *nr_owners = calloc(UINT16_MAX + 1, sizeof(*nr_owners));
	int i, n, cpu, start;

	for (i = 0; i < nr_asids * NR_OWNERS; i++) {
		/* Forth and back, so that this is not the order in which KVM searches. */
		n = i % (2 * nr_asids);
		r = &readers[min(n, 2 * nr_asids - 1 - n)];
		if (r->vm)
			kvm_vm_free(r->vm);
		*r = create_reader();
		nr_owners[vm_get_stat(r->vm, vm_asid)]++;

		start = kvm_random_u32(&kvm_rng);
		for (cpu = 0; cpu < NR_TEST_CPUS; cpu++)
			expect_read(r, (start + cpu) % NR_TEST_CPUS, r->value, "new owner");

		/* Those that were there before are still themselves. */
		r = &readers[kvm_random_u32(&kvm_rng) % min(i + 1, nr_asids)];
		expect_read(r, kvm_random_u32(&kvm_rng) % NR_TEST_CPUS, r->value, "old owner");
	}

	for (i = 0; i < nr_asids; i++) {
		TEST_ASSERT_EQ(nr_owners[vm_get_stat(readers[i].vm, vm_asid)], NR_OWNERS);
		kvm_vm_free(readers[i].vm);
	}
	free(nr_owners);
	free(readers);
}

static void help(const char *name)
{
	printf("usage: %s [-s SEED] [-t SECONDS]\n\n"
	       " -s: seed of all that is random\n"
	       " -t: go on until that much time has passed (default: once)\n", name);
	exit(1);
}

int main(int argc, char *argv[])
{
	int nr_asids, nr_vms, overcommit, opt;
	time_t end = time(NULL);
	bool hotplug;

	while ((opt = getopt(argc, argv, "s:t:")) != -1) {
		switch (opt) {
		case 's':
			kvm_random_seed = strtoul(optarg, NULL, 0);
			break;
		case 't':
			end += atoi_positive("Seconds", optarg);
			break;
		default:
			help(argv[0]);
		}
	}

	TEST_REQUIRE(kvm_cpu_has(X86_FEATURE_INVLPGB));
	__TEST_REQUIRE(kvm_check_cap(KVM_CAP_X86_DISABLE_EXITS) & KVM_X86_DISABLE_EXITS_INVLPGB,
		       "KVM does not offer it, is kvm_amd.invlpgb=passthrough set?");
	__TEST_REQUIRE(sysconf(_SC_NPROCESSORS_ONLN) >= NR_TEST_CPUS, "Not enough CPUs");

	nr_asids = kvm_get_module_param_integer("kvm_amd", "vm_asids");
	__TEST_REQUIRE(nr_asids >= MAX_VMS && nr_asids <= 16,
		       "Set kvm_amd.vm_asids, %d VMs are too few or too many", nr_asids);

	page_size = getpagesize();
	hotplug = set_cpu_online(NR_TEST_CPUS - 1, true);
	if (!hotplug)
		print_skip("CPUs that go offline: this is not root, or the kernel cannot");

	do {
		for (nr_vms = 2; nr_vms <= MAX_VMS; nr_vms++) {
			for (overcommit = 1; overcommit <= 3; overcommit++)
				test_group(nr_vms, overcommit * NR_TEST_CPUS, hotplug);
		}
		if (hotplug)
			test_online();
		test_churn(nr_asids);
	} while (time(NULL) < end);

	return 0;
}
