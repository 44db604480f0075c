// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tlb-workload: make Linux shoot down TLB entries, and check every value read.
 *
 * One thread per CPU, all in one address space. Each owns an arena of pages,
 * whose mappings it keeps changing:
 *
 *   discard   madvise(MADV_DONTNEED)
 *   unmap     munmap(), then a new mapping at the same place
 *   move      mremap() to another place, then a new mapping at the old one
 *   protect   mprotect(PROT_READ), and back
 *
 * on ranges of 1 to 512 small pages and on one transparent huge page. Between
 * its own changes each thread visits the others' pages, mostly those changed
 * last, and lets tlb-oracle.h judge what it reads and whether it may write.
 *
 * A stale translation leads to the physical page that the owner gave away. It
 * would show the right content if that page came straight back, so the owner
 * first puts it to another use, with other content: the allocator hands out a
 * freed page at once, so touching as many fresh pages as were freed takes them.
 *
 * Linux broadcasts a process's flushes with INVLPGB only once the process has a
 * global ASID, which it may get when it flushes while at least four CPUs run
 * it, by a draw on the task's pid and the clock. The run starts with a warm-up
 * of discards on all threads, repeated in a new process if the draw went wrong.
 * That the process has its global ASID is seen from outside: its flushes go on,
 * while the kernel's count of TLB shootdown interrupts stands still.
 *
 * The run itself takes some time, or with --rounds some changes by each thread:
 * then the same seed gives the same changes, however long they take.
 *
 * The last line of output holds the results, name=value, for programs to read.
 * Exit status: 0 all values right, 1 could not run, 2 a wrong value.
 */
#define _GNU_SOURCE
#include <cpuid.h>
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "tlb-oracle.h"

#define PAGE_SIZE	4096ul
#define HUGE_SIZE	(2ul << 20)
#define HUGE_PAGES	(HUGE_SIZE / PAGE_SIZE)

#define SMALL_PAGES	1024u
#define ARENA_PAGES	(SMALL_PAGES + HUGE_PAGES)
#define BALLAST_PAGES	1024u
#define MAX_THREADS	64

/* Visits to other arenas between two changes of the own one. */
#define VISITS		16

/* Linux gives no process a global ASID that runs on fewer CPUs. */
#define GLOBAL_ASID_CPUS	4
#define WARM_UP_SECONDS		2
#define WARM_UP_ATTEMPTS	20
/* Enough flushes to tell one interrupt per flush from none. */
#define WARM_UP_FLUSHES		100
/* On a slow machine the seconds are over before there were that many looks. */
#define WARM_UP_LOOKS		10

#define EXIT_WRONG	2
/* Of a child: this process got no global ASID, try another. */
#define EXIT_AGAIN	3

enum change { DISCARD, UNMAP, MOVE, PROTECT, CHANGES };

/* What --inject leaves undone although it was announced. */
enum fault { NO_FAULT, SKIP_DISCARD, SKIP_UNMAP, SKIP_MOVE, SKIP_PROTECT,
	     REUSE_EARLY, FAULTS };

static const char *const fault_names[FAULTS] = {
	[SKIP_DISCARD] = "discard",
	[SKIP_UNMAP] = "unmap",
	[SKIP_MOVE] = "move",
	[SKIP_PROTECT] = "protect",
	[REUSE_EARLY] = "reuse",
};

enum run_phase { WARM_UP, RUN, STOP };

/* A page as its owner and its visitors see it. */
struct page {
	uint64_t stamp;
	/* One word per thread, for the visitors' writes. */
	uint64_t lane[MAX_THREADS];
	uint8_t rest[PAGE_SIZE - (MAX_THREADS + 1) * sizeof(uint64_t)];
};

struct arena {
	pthread_t thread;
	unsigned int index;
	uint64_t seed;
	uint64_t random;

	struct page *page;
	/* Where moved pages go; the last ones stay until the next move. */
	struct page *spare;
	/* Memory that takes up what the arena freed. */
	struct page *ballast;
	unsigned int ballast_used;

	_Atomic uint64_t begin[ARENA_PAGES];
	_Atomic uint64_t done[ARENA_PAGES];
	/* The range changed last: first page << 32 | number of pages. */
	_Atomic uint64_t hot;

	_Atomic uint64_t flushes;
	_Atomic uint64_t wrong;
	uint64_t visits;
	uint64_t faults;
} __attribute__((aligned(64)));

static struct arena *arenas;
static unsigned int threads;
static enum fault inject;
/* Changes by each thread, or 0: as many as the time allows. */
static uint64_t rounds;
static _Atomic int phase;
static _Atomic unsigned int reported;
static pthread_barrier_t start;

static void __attribute__((noreturn, format(printf, 1, 2)))
die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fprintf(stderr, "tlb-workload: ");
	vfprintf(stderr, format, args);
	fprintf(stderr, "\n");
	va_end(args);
	exit(1);
}

static void check(bool ok, const char *what)
{
	if (!ok)
		die("%s: %s", what, strerror(errno));
}

static void start_random(struct arena *me)
{
	/* Any seed will do, but the generator's state must not be 0. */
	me->random = (me->seed + me->index) * 0x9e3779b97f4a7c15ull | 1;
}

static uint64_t next_random(struct arena *me)
{
	/* xorshift64*: small, and the same on every machine. */
	me->random ^= me->random >> 12;
	me->random ^= me->random << 25;
	me->random ^= me->random >> 27;
	return me->random * 0x2545f4914f6cdd1dull;
}

static unsigned int below(struct arena *me, unsigned int limit)
{
	return (next_random(me) >> 32) % limit;
}

/*
 * Accesses that may fault. The handler of SIGSEGV continues behind the
 * instruction, where OK still is false.
 */
extern const char load_insn[], load_after[], store_insn[], store_after[];

static __attribute__((noinline)) bool try_load(const uint64_t *where,
					       uint64_t *value)
{
	bool ok = false;
	uint64_t got = 0;

	asm volatile("load_insn:	movq (%[where]), %[got]\n"
		     "		movb $1, %[ok]\n"
		     "load_after:"
		     : [ok] "+&q" (ok), [got] "+&r" (got)
		     : [where] "r" (where) : "memory");
	*value = got;
	return ok;
}

static __attribute__((noinline)) bool try_store(uint64_t *where, uint64_t value)
{
	bool ok = false;

	asm volatile("store_insn:	movq %[value], (%[where])\n"
		     "		movb $1, %[ok]\n"
		     "store_after:"
		     : [ok] "+&q" (ok)
		     : [where] "r" (where), [value] "r" (value) : "memory");
	return ok;
}

static void on_segv(int signal, siginfo_t *info, void *context)
{
	greg_t *rip = &((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];

	(void)info;
	if (*rip == (greg_t)load_insn)
		*rip = (greg_t)load_after;
	else if (*rip == (greg_t)store_insn)
		*rip = (greg_t)store_after;
	else
		/* A bug of this program: fault again, and die of it. */
		sigaction(signal, &(struct sigaction){ .sa_handler = SIG_DFL },
			  NULL);
}

/* Page numbers are unique over all arenas. */
static uint32_t page_number(const struct arena *arena, unsigned int page)
{
	return arena->index * ARENA_PAGES + page;
}

/*
 * What visitor ME writes: never a page's stamp (bit 63), and found in another
 * page or another lane it is foreign.
 */
static uint64_t lane_value(const struct arena *me, uint32_t number)
{
	return 1ull << 63 | (uint64_t)number << 8 | me->index;
}

static void judge(struct arena *me, uint32_t number, enum tlb_verdict verdict,
		  const char *what, uint64_t value, uint64_t done,
		  uint64_t begin)
{
	struct tlb_step d = tlb_step_unpack(done), b = tlb_step_unpack(begin);

	if (verdict == TLB_FINE)
		return;
	/* The first few tell what there is to know. */
	if (atomic_fetch_add(&reported, 1) < 8)
		dprintf(STDERR_FILENO,
			"tlb-workload: wrong: %s: %s of page %u on thread %u: value %#llx, finished step %u (generation %u, phase %d), begun step %u (generation %u)\n",
			tlb_verdict_name(verdict), what, number, me->index,
			(unsigned long long)value, d.number, d.generation,
			d.phase, b.number, b.generation);
	atomic_fetch_add(&me->wrong, 1);
}

static void visit_read(struct arena *me, struct arena *host, unsigned int page)
{
	uint32_t number = page_number(host, page);
	uint64_t done, value, begin;
	bool ok;

	done = atomic_load(&host->done[page]);
	ok = try_load(&host->page[page].stamp, &value);
	begin = atomic_load(&host->begin[page]);

	if (ok) {
		judge(me, number, tlb_judge_read(number, done, value, begin),
		      "read", value, done, begin);
	} else {
		me->faults++;
		judge(me, number, tlb_judge_fault(false, done, begin), "read",
		      0, done, begin);
	}
}

static void visit_write(struct arena *me, struct arena *host, unsigned int page)
{
	uint32_t number = page_number(host, page);
	uint64_t *lane = &host->page[page].lane[me->index];
	uint64_t mine = lane_value(me, number);
	uint64_t done, value, begin;
	bool ok;

	/* Somebody else's value got here through a stale translation. */
	if (try_load(lane, &value) && value != 0 && value != mine)
		judge(me, number, TLB_FOREIGN_CONTENT, "read of own word",
		      value, 0, 0);

	done = atomic_load(&host->done[page]);
	ok = try_store(lane, mine);
	/* The write's translation is settled before begin is read. */
	atomic_thread_fence(memory_order_seq_cst);
	begin = atomic_load(&host->begin[page]);

	if (ok) {
		judge(me, number, tlb_judge_write(done, begin), "write", mine,
		      done, begin);
	} else {
		me->faults++;
		judge(me, number, tlb_judge_fault(true, done, begin), "write",
		      mine, done, begin);
	}
}

static void visit_others(struct arena *me)
{
	unsigned int i;

	for (i = 0; i < VISITS; i++) {
		struct arena *host = &arenas[below(me, threads)];
		uint64_t hot = atomic_load(&host->hot);
		unsigned int page;

		if (below(me, 4))
			page = (hot >> 32) + below(me, (uint32_t)hot);
		else
			page = below(me, ARENA_PAGES);
		if (below(me, 3))
			visit_read(me, host, page);
		else
			visit_write(me, host, page);
	}
	me->visits += VISITS;
}

static void announce(_Atomic uint64_t *word, unsigned int pages,
		     struct tlb_step step)
{
	unsigned int i;

	for (i = 0; i < pages; i++)
		atomic_store(&word[i], tlb_step_pack(step));
}

static void *map(void *where, size_t size, bool huge)
{
	void *at = mmap(where, size, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	check(at == where, "mmap");
	check(madvise(at, size, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE) == 0,
	      "madvise(MADV_HUGEPAGE)");
	return at;
}

static void poison(struct page *page, unsigned int pages)
{
	unsigned int i, lane;

	for (i = 0; i < pages; i++) {
		page[i].stamp = TLB_POISON;
		for (lane = 0; lane < threads; lane++)
			page[i].lane[lane] = TLB_POISON;
	}
}

/* Take what the arena just freed, and make it look different. */
static void fill_ballast(struct arena *me, unsigned int pages, bool huge)
{
	struct page *ballast = me->ballast + BALLAST_PAGES;

	if (!huge) {
		if (me->ballast_used + pages > BALLAST_PAGES) {
			check(madvise(me->ballast, BALLAST_PAGES * PAGE_SIZE,
				      MADV_DONTNEED) == 0, "madvise");
			me->ballast_used = 0;
		}
		ballast = me->ballast + me->ballast_used;
		me->ballast_used += pages;
	}
	poison(ballast, pages);
}

/*
 * Leave a wrong state in place until somebody noticed. A checker that does not
 * notice makes this wait for ever, and fails whoever waits for the result.
 */
static void await_detection(void)
{
	while (!atomic_load(&reported))
		sched_yield();
}

/* Take the content of a range away, and give it a new one. */
static void replace(struct arena *me, enum change change, unsigned int first,
		    unsigned int pages, enum fault fault)
{
	bool huge = first >= SMALL_PAGES;
	size_t size = pages * PAGE_SIZE;
	struct page *page = &me->page[first];
	struct page *spare = me->spare + (huge ? SMALL_PAGES : 0);
	struct tlb_step step = tlb_step_unpack(atomic_load(&me->done[first]));
	unsigned int i;

	/* The huge ballast is given back before it is needed again. */
	if (huge)
		check(madvise(me->ballast + BALLAST_PAGES, HUGE_SIZE,
			      MADV_DONTNEED) == 0, "madvise");

	/*
	 * Ranges overlap earlier ones of other sizes, so that their pages are
	 * at different steps: continue from the furthest.
	 */
	for (i = 1; i < pages; i++) {
		struct tlb_step s = tlb_step_unpack(atomic_load(&me->done[first + i]));

		if (s.number > step.number)
			step.number = s.number;
		if (s.generation > step.generation)
			step.generation = s.generation;
	}
	step.number++;
	step.generation++;
	step.phase = TLB_EMPTY;
	announce(&me->begin[first], pages, step);

	if (fault != NO_FAULT) {
		announce(&me->done[first], pages, step);
		if (fault == REUSE_EARLY)
			poison(page, pages);
		await_detection();
	}

	switch (change) {
	case DISCARD:
		check(madvise(page, size, MADV_DONTNEED) == 0, "madvise");
		break;
	case UNMAP:
		check(munmap(page, size) == 0, "munmap");
		break;
	default:
		check(mremap(page, size, size, MREMAP_MAYMOVE | MREMAP_FIXED,
			     spare) == spare, "mremap");
		break;
	}
	announce(&me->done[first], pages, step);

	if (change == MOVE)
		poison(spare, pages);
	else
		fill_ballast(me, pages, huge);
	if (change != DISCARD)
		map(page, size, huge);
	for (i = 0; i < pages; i++)
		page[i].stamp = tlb_stamp(page_number(me, first + i),
					  step.generation);

	step.phase = TLB_WRITABLE;
	announce(&me->done[first], pages, step);
}

/* The step after the page's last, in the same generation. */
static void announce_phase(struct arena *me, _Atomic uint64_t *word,
			   unsigned int first, unsigned int pages,
			   enum tlb_phase next)
{
	unsigned int i;

	for (i = first; i < first + pages; i++) {
		struct tlb_step step = tlb_step_unpack(atomic_load(&me->done[i]));

		step.number++;
		step.phase = next;
		atomic_store(&word[i], tlb_step_pack(step));
	}
}

static void protect(struct arena *me, unsigned int first, unsigned int pages,
		    enum fault fault)
{
	struct page *page = &me->page[first];
	size_t size = pages * PAGE_SIZE;

	announce_phase(me, me->begin, first, pages, TLB_READONLY);
	if (fault == NO_FAULT)
		check(mprotect(page, size, PROT_READ) == 0, "mprotect");
	announce_phase(me, me->done, first, pages, TLB_READONLY);

	if (fault != NO_FAULT)
		await_detection();
	visit_others(me);

	announce_phase(me, me->begin, first, pages, TLB_WRITABLE);
	check(mprotect(page, size, PROT_READ | PROT_WRITE) == 0, "mprotect");
	announce_phase(me, me->done, first, pages, TLB_WRITABLE);
}

/* One change of the own arena. */
static void change_one(struct arena *me)
{
	/*
	 * INVLPGB takes up to 8 pages at a time; above 33 Linux flushes all
	 * instead. Small ranges are the common ones, as in life.
	 */
	static const unsigned int sizes[16] = {
		1, 1, 1, 1, 1, 1, 1, 8, 8, 8, 8, 8, 33, 33, 64, 64
	};
	enum change change = below(me, CHANGES);
	unsigned int draw = below(me, 64), pages, first;
	enum fault fault = NO_FAULT;

	if (draw == 0) {
		pages = HUGE_PAGES;
		first = SMALL_PAGES;
	} else {
		pages = draw == 1 ? 512 : sizes[draw % 16];
		first = below(me, SMALL_PAGES - pages + 1);
	}

	if (inject != NO_FAULT && me->index == 0 && !atomic_load(&reported)) {
		static const enum change changes[FAULTS] = {
			[SKIP_DISCARD] = DISCARD, [SKIP_UNMAP] = UNMAP,
			[SKIP_MOVE] = MOVE, [SKIP_PROTECT] = PROTECT,
			[REUSE_EARLY] = DISCARD,
		};

		if (change == changes[inject])
			fault = inject;
	}

	atomic_store(&me->hot, (uint64_t)first << 32 | pages);
	if (change == PROTECT)
		protect(me, first, pages, fault);
	else
		replace(me, change, first, pages, fault);
}

static void *run_thread(void *arg)
{
	struct arena *me = arg;
	cpu_set_t cpus;
	uint64_t round;
	unsigned int i;

	CPU_ZERO(&cpus);
	CPU_SET(me->index % sysconf(_SC_NPROCESSORS_ONLN), &cpus);
	check(sched_setaffinity(0, sizeof(cpus), &cpus) == 0,
	      "sched_setaffinity");

	for (i = 0; i < ARENA_PAGES; i++) {
		struct tlb_step step = { 1, 1, TLB_WRITABLE };

		me->page[i].stamp = tlb_stamp(page_number(me, i), 1);
		atomic_store(&me->begin[i], tlb_step_pack(step));
		atomic_store(&me->done[i], tlb_step_pack(step));
	}
	atomic_store(&me->hot, SMALL_PAGES);
	pthread_barrier_wait(&start);

	while (atomic_load(&phase) == WARM_UP) {
		unsigned int page = below(me, SMALL_PAGES);

		atomic_store(&me->hot, (uint64_t)page << 32 | 1);
		replace(me, DISCARD, page, 1, NO_FAULT);
		atomic_fetch_add(&me->flushes, 1);
		visit_others(me);
	}
	/* The warm-up took as many numbers as it had time for. */
	start_random(me);
	atomic_store(&me->flushes, 0);
	for (round = 0; rounds ? round < rounds : atomic_load(&phase) == RUN;
	     round++) {
		change_one(me);
		atomic_fetch_add(&me->flushes, 1);
		visit_others(me);
	}
	return NULL;
}

/* Reserve address space of a size, at a multiple of the huge page size. */
static struct page *reserve(size_t size)
{
	char *at = mmap(NULL, size + HUGE_SIZE, PROT_NONE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	check(at != MAP_FAILED, "mmap");
	return (struct page *)(((uintptr_t)at + HUGE_SIZE - 1) & -HUGE_SIZE);
}

static struct page *map_arena(void)
{
	struct page *page = reserve(ARENA_PAGES * PAGE_SIZE);

	map(page, SMALL_PAGES * PAGE_SIZE, false);
	map(page + SMALL_PAGES, HUGE_SIZE, true);
	return page;
}

static void make_arena(unsigned int index, uint64_t seed)
{
	struct arena *me = &arenas[index];

	me->index = index;
	me->seed = seed;
	start_random(me);
	me->page = map_arena();
	me->spare = map_arena();
	me->ballast = map_arena();
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void nap(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 10 * 1000 * 1000 }, NULL);
}

static uint64_t count_flushes(void)
{
	uint64_t sum = 0;
	unsigned int i;

	for (i = 0; i < threads; i++)
		sum += atomic_load(&arenas[i].flushes);
	return sum;
}

/* TLB shootdown interrupts that all CPUs of this machine have received. */
static uint64_t count_shootdowns(void)
{
	char line[8192];
	uint64_t sum = 0;
	bool found = false;
	FILE *file = fopen("/proc/interrupts", "r");

	check(file != NULL, "/proc/interrupts");
	while (fgets(line, sizeof(line), file)) {
		char *at = line + strspn(line, " "), *end;

		if (strncmp(at, "TLB:", 4) != 0)
			continue;
		found = true;
		for (at += 4;; at = end) {
			unsigned long long n = strtoull(at, &end, 10);

			if (end == at)
				break;
			sum += n;
		}
	}
	fclose(file);
	if (!found)
		die("/proc/interrupts has no line TLB");
	return sum;
}

static bool cpu_has_invlpgb(void)
{
	unsigned int eax, ebx, ecx, edx;

	return __get_cpuid(0x80000008, &eax, &ebx, &ecx, &edx) && ebx & 1 << 3;
}

/* Does this process have a huge page? */
static bool have_huge_page(void)
{
	char line[256];
	bool found = false;
	FILE *file = fopen("/proc/self/smaps_rollup", "r");

	check(file != NULL, "/proc/self/smaps_rollup");
	while (fgets(line, sizeof(line), file)) {
		unsigned long kib;

		if (sscanf(line, "AnonHugePages: %lu", &kib) == 1 && kib > 0)
			found = true;
	}
	fclose(file);
	return found;
}

/*
 * Flush until the kernel stops interrupting for it, but not for ever. If the
 * CPUs cannot broadcast, look once. All threads keep running throughout, so that
 * without a global ASID every flush has to interrupt the others.
 */
static bool warm_up(bool can_broadcast)
{
	double end = now() + WARM_UP_SECONDS;
	unsigned int looks = 0;

	do {
		uint64_t flushes = count_flushes();
		uint64_t shootdowns = count_shootdowns();

		while (count_flushes() - flushes < WARM_UP_FLUSHES)
			nap();
		flushes = count_flushes() - flushes;
		shootdowns = count_shootdowns() - shootdowns;
		if (shootdowns < flushes / 10)
			return can_broadcast;
	} while (can_broadcast && (now() < end || ++looks < WARM_UP_LOOKS));
	return false;
}

static int run(uint64_t seed, double seconds, bool last_attempt)
{
	bool can_broadcast = cpu_has_invlpgb() && threads >= GLOBAL_ASID_CPUS;
	uint64_t flushes, shootdowns, visits = 0, faults = 0, wrong = 0;
	bool global_asid, huge;
	double began, took;
	unsigned int i;

	arenas = aligned_alloc(64, threads * sizeof(*arenas));
	check(arenas != NULL, "memory");
	memset(arenas, 0, threads * sizeof(*arenas));
	for (i = 0; i < threads; i++)
		make_arena(i, seed);
	errno = pthread_barrier_init(&start, NULL, threads + 1);
	check(errno == 0, "pthread_barrier_init");
	for (i = 0; i < threads; i++) {
		errno = pthread_create(&arenas[i].thread, NULL, run_thread,
				       &arenas[i]);
		check(errno == 0, "pthread_create");
	}
	pthread_barrier_wait(&start);

	global_asid = warm_up(can_broadcast);
	if (can_broadcast && !global_asid && !last_attempt &&
	    !atomic_load(&reported))
		_exit(EXIT_AGAIN);
	huge = have_huge_page();

	shootdowns = count_shootdowns();
	began = now();
	atomic_store(&phase, RUN);
	if (!rounds) {
		while (now() - began < seconds)
			nap();
		while (inject != NO_FAULT && !atomic_load(&reported))
			nap();
		atomic_store(&phase, STOP);
	}
	for (i = 0; i < threads; i++)
		pthread_join(arenas[i].thread, NULL);
	shootdowns = count_shootdowns() - shootdowns;
	flushes = count_flushes();
	took = now() - began;

	for (i = 0; i < threads; i++) {
		visits += arenas[i].visits;
		faults += arenas[i].faults;
		wrong += atomic_load(&arenas[i].wrong);
	}
	printf("tlb-workload: seed=%llu threads=%u cpuid_invlpgb=%s global_asid=%s huge_page=%s flushes=%llu seconds=%.3f shootdown_ipis=%llu visits=%llu faults=%llu wrong=%llu\n",
	       (unsigned long long)seed, threads,
	       cpu_has_invlpgb() ? "yes" : "no", global_asid ? "yes" : "no",
	       huge ? "yes" : "no", (unsigned long long)flushes, took,
	       (unsigned long long)shootdowns, (unsigned long long)visits,
	       (unsigned long long)faults, (unsigned long long)wrong);
	return wrong ? EXIT_WRONG : 0;
}

static void __attribute__((noreturn)) usage(void)
{
	die("usage: tlb-workload [--threads N] [--seconds S | --rounds N] [--seed N] [--inject discard|unmap|move|protect|reuse]");
}

static unsigned long long number(const char *text, unsigned long long least,
				 unsigned long long most)
{
	char *end;
	unsigned long long n;

	errno = 0;
	n = strtoull(text, &end, 0);
	if (errno || *end || end == text || n < least || n > most)
		die("%s: not a number from %llu to %llu", text, least, most);
	return n;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "threads", required_argument, NULL, 't' },
		{ "seconds", required_argument, NULL, 's' },
		{ "rounds", required_argument, NULL, 'n' },
		{ "seed", required_argument, NULL, 'r' },
		{ "inject", required_argument, NULL, 'i' },
		{ NULL, 0, NULL, 0 }
	};
	struct sigaction segv = {
		.sa_sigaction = on_segv, .sa_flags = SA_SIGINFO,
	};
	unsigned int seconds = 3, attempt;
	uint64_t seed;
	int option, status;

	threads = sysconf(_SC_NPROCESSORS_ONLN);
	check(getrandom(&seed, sizeof(seed), GRND_INSECURE) == sizeof(seed),
	      "getrandom");
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 't':
			threads = number(optarg, 2, MAX_THREADS);
			break;
		case 's':
			seconds = number(optarg, 0, 1000000);
			break;
		case 'n':
			rounds = number(optarg, 1, UINT64_MAX);
			break;
		case 'r':
			seed = number(optarg, 0, UINT64_MAX);
			break;
		case 'i':
			for (inject = NO_FAULT + 1; inject < FAULTS; inject++)
				if (!strcmp(optarg, fault_names[inject]))
					break;
			if (inject == FAULTS)
				usage();
			break;
		default:
			usage();
		}
	}
	if (optind != argc)
		usage();
	if (threads < 2 || threads > MAX_THREADS)
		die("%u threads: this takes 2 to %d", threads, MAX_THREADS);
	check(sigaction(SIGSEGV, &segv, NULL) == 0, "sigaction");
	setvbuf(stdout, NULL, _IOLBF, 0);

	for (attempt = 1; attempt <= WARM_UP_ATTEMPTS; attempt++) {
		pid_t child = fork();

		check(child >= 0, "fork");
		if (child == 0)
			exit(run(seed, seconds, attempt == WARM_UP_ATTEMPTS));
		check(waitpid(child, &status, 0) == child, "waitpid");
		if (WIFSIGNALED(status))
			die("killed by signal %d", WTERMSIG(status));
		if (WEXITSTATUS(status) != EXIT_AGAIN)
			return WEXITSTATUS(status);
		printf("tlb-workload: attempt %u: no global ASID, trying another process\n",
		       attempt);
	}
	return 1;
}
