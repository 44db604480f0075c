// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * flush-workload: flush as often as it is told to, for somebody who counts what
 * that takes.
 *
 * One thread per CPU, all in one address space. The last one is the issuer. It
 * makes ranges of 1 to 8 pages read-only and writable again; each of these
 * mprotect()s makes Linux flush that range once, on all CPUs. The others are the
 * targets. They run without a break, so that no flush can spare their CPUs, and
 * store to the ranges: what is writable must take the store and keep it, what is
 * read-only must fault. A flush that is lost shows as a store that goes through.
 *
 * Nobody may be caught in a range while it changes: who faults then waits in the
 * kernel for the end of the mprotect(), and being woken takes an interrupt that
 * would be counted as one for a flush. So a target says which range it is in, and
 * the issuer takes one that is free. A translation that a target has used before
 * is as stale after the change.
 *
 * The start is a warm-up, see workload.h. Then this obeys commands that come over
 * a terminal, one a line, and answers each with one line:
 *
 *   flush N   flush N times; an answer as "done flushes=N seconds=S tlb_ipis=N
 *             faults=N wrong=N": by the clock of this machine, how many interrupts
 *             for flushes its CPUs received, how often a target faulted as it
 *             should, and how often one saw what it should not
 *   rest      take the time of the last flush without flushing; the same answer
 *   quit      end
 *
 * With --mark, KVM can see when the issuer works: it asks for the leaf of CPUID of
 * that number when it starts, and makes the hypercall of that number, which KVM
 * refuses, when it has finished.
 *
 * Exit status: 0 all right, 1 could not run, 2 a wrong value.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <termios.h>

#include "workload.h"

/* Of each size two, so that mostly one is free that nobody has taken lately. */
#define MAX_PAGES	8u
#define RANGES		(2 * MAX_PAGES)
/* With a page between two ranges, so that they never become one mapping. */
#define RANGE_STRIDE	(MAX_PAGES + 1)

enum range_phase { WRITABLE, READONLY, CHANGING, PHASES };

enum task { WARM_UP, FLUSH, REST, QUIT };

struct page {
	/* What each target has stored last. */
	uint64_t lane[PAGE_SIZE / sizeof(uint64_t)];
};

struct range {
	struct page *page;
	unsigned int pages;
	/* Its phase, plus PHASES for each change. */
	_Atomic uint64_t state;
} __attribute__((aligned(64)));

struct thread {
	pthread_t thread;
	unsigned int index;
	/* The range that it is in, plus 1. */
	_Atomic unsigned int visiting;
	uint64_t stores;
	uint64_t last[RANGES][MAX_PAGES];
	/* The read-only state in which it has faulted last. */
	uint64_t faulted[RANGES];
} __attribute__((aligned(64)));

static struct range ranges[RANGES];
static struct thread team[MAX_THREADS];
static unsigned int threads;
static bool inject;
static int terminal;
static unsigned int mark;

static enum task task;
static uint64_t wanted;
static _Atomic bool stop;
static _Atomic unsigned int running;
static _Atomic uint64_t flushes;
static _Atomic uint64_t faults;
static _Atomic uint64_t wrong;
static double seconds;
static uint64_t tlb_ipis;
static pthread_barrier_t start, end;

static void mark_start(void)
{
	unsigned int eax, ebx, ecx, edx;

	if (mark)
		__cpuid(mark, eax, ebx, ecx, edx);
}

static void mark_end(void)
{
	unsigned long nr = mark;

	if (mark)
		asm volatile("vmmcall" : "+a" (nr) : : "memory");
}

static void judge(bool right, const char *what, unsigned int range,
		  const struct thread *me, uint64_t state)
{
	if (right)
		return;
	/* The first few tell what there is to know. */
	if (atomic_fetch_add(&wrong, 1) < 8)
		dprintf(STDERR_FILENO, "wrong: %s: range %u, thread %u, change %llu\n",
			what, range, me->index, (unsigned long long)state / PHASES);
}

static void store(struct thread *me, unsigned int r, uint64_t state)
{
	struct range *range = &ranges[r];
	unsigned int p = me->stores % range->pages;
	uint64_t *lane = &range->page[p].lane[me->index];
	bool read_only = state % PHASES == READONLY;
	uint64_t value;
	bool ok;

	judge(try_load(lane, &value), "fault of a read", r, me, state);
	judge(value == me->last[r][p], "content lost", r, me, state);
	/* A fault is slow, and the second one in the same state tells nothing. */
	if (read_only && me->faulted[r] == state)
		return;

	ok = try_store(lane, ++me->stores);
	if (ok)
		me->last[r][p] = me->stores;
	if (read_only) {
		me->faulted[r] = state;
		atomic_fetch_add(&faults, 1);
		judge(!ok, "wrote to a read-only page", r, me, state);
	} else {
		judge(ok, "fault on a writable page", r, me, state);
	}
}

static void be_target(struct thread *me)
{
	unsigned int r = me->index;

	atomic_fetch_add(&running, 1);
	while (!atomic_load(&stop)) {
		uint64_t state;

		r = (r + 1) % RANGES;
		/* Either the issuer sees this, or it has announced its change. */
		atomic_store(&me->visiting, r + 1);
		state = atomic_load(&ranges[r].state);
		if (state % PHASES != CHANGING)
			store(me, r, state);
		atomic_store(&me->visiting, 0);
	}
}

static bool is_free(unsigned int r)
{
	unsigned int i;

	for (i = 0; i < threads; i++)
		if (atomic_load(&team[i].visiting) == r + 1)
			return false;
	return true;
}

/* Change a range if nobody is in it. */
static bool flush(unsigned int r)
{
	struct range *range = &ranges[r];
	uint64_t state = atomic_load(&range->state);
	enum range_phase next = state % PHASES == WRITABLE ? READONLY : WRITABLE;
	uint64_t changes = state / PHASES;

	atomic_store(&range->state, changes * PHASES + CHANGING);
	if (!is_free(r)) {
		atomic_store(&range->state, state);
		return false;
	}
	if (!inject)
		check(mprotect(range->page, range->pages * PAGE_SIZE,
			       next == READONLY ? PROT_READ :
						  PROT_READ | PROT_WRITE) == 0,
		      "mprotect");
	atomic_store(&range->state, (changes + 1) * PHASES + next);
	/* What is left undone stays so until somebody has noticed. */
	while (inject && !atomic_load(&wrong))
		sched_yield();
	return true;
}

static void be_issuer(void)
{
	uint64_t done, ipis;
	unsigned int r = 0;
	double began;

	while (atomic_load(&running) < threads - 1)
		sched_yield();

	ipis = count_shootdowns();
	mark_start();
	began = now();
	if (task == REST) {
		while (now() - began < seconds)
			;
	} else {
		for (done = 0; task == WARM_UP ? !atomic_load(&stop) : done < wanted;
		     r = (r + 1) % RANGES) {
			if (!flush(r))
				continue;
			done++;
			atomic_fetch_add(&flushes, 1);
		}
		seconds = now() - began;
	}
	mark_end();
	tlb_ipis = count_shootdowns() - ipis;
	atomic_store(&stop, true);
}

static void *run_thread(void *arg)
{
	struct thread *me = arg;

	pin_to_cpu(me->index % sysconf(_SC_NPROCESSORS_ONLN));
	for (;;) {
		pthread_barrier_wait(&start);
		if (task == QUIT)
			return NULL;
		if (me->index == threads - 1)
			be_issuer();
		else
			be_target(me);
		pthread_barrier_wait(&end);
	}
}

static void begin(enum task next)
{
	task = next;
	atomic_store(&stop, false);
	atomic_store(&running, 0);
	atomic_store(&flushes, 0);
	atomic_store(&faults, 0);
	pthread_barrier_wait(&start);
}

static void make_ranges(void)
{
	struct page *page = mmap(NULL, RANGES * RANGE_STRIDE * PAGE_SIZE, PROT_NONE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	unsigned int r;

	check(page != MAP_FAILED, "mmap");
	for (r = 0; r < RANGES; r++) {
		size_t size = (r % MAX_PAGES + 1) * PAGE_SIZE;

		ranges[r].page = page + r * RANGE_STRIDE;
		ranges[r].pages = r % MAX_PAGES + 1;
		check(mprotect(ranges[r].page, size, PROT_READ | PROT_WRITE) == 0,
		      "mprotect");
		/* Only pages that are there are flushed. */
		memset(ranges[r].page, 0, size);
	}
}

static uint64_t count_flushes(void)
{
	return atomic_load(&flushes);
}

static bool prepare(bool last_attempt)
{
	bool can_broadcast = cpu_has_invlpgb() && threads >= GLOBAL_ASID_CPUS;
	bool global_asid;
	unsigned int i;

	make_ranges();
	errno = pthread_barrier_init(&start, NULL, threads + 1);
	check(errno == 0, "pthread_barrier_init");
	errno = pthread_barrier_init(&end, NULL, threads + 1);
	check(errno == 0, "pthread_barrier_init");
	for (i = 0; i < threads; i++) {
		team[i].index = i;
		errno = pthread_create(&team[i].thread, NULL, run_thread, &team[i]);
		check(errno == 0, "pthread_create");
	}

	begin(WARM_UP);
	global_asid = warm_up(count_flushes, can_broadcast);
	if (can_broadcast && !global_asid && !last_attempt && !atomic_load(&wrong))
		_exit(EXIT_AGAIN);
	atomic_store(&stop, true);
	pthread_barrier_wait(&end);
	return global_asid;
}

static int run(bool last_attempt)
{
	bool global_asid = prepare(last_attempt);
	FILE *commands = fdopen(terminal, "r");
	char line[64];

	check(commands != NULL, "fdopen");
	dprintf(terminal, "ready threads=%u cpuid_invlpgb=%s global_asid=%s\n", threads,
		cpu_has_invlpgb() ? "yes" : "no", global_asid ? "yes" : "no");
	for (;;) {
		if (!fgets(line, sizeof(line), commands))
			die("no command \"quit\"");
		line[strcspn(line, "\n")] = '\0';
		if (!strcmp(line, "quit"))
			break;
		if (!strcmp(line, "rest")) {
			begin(REST);
		} else if (!strncmp(line, "flush ", 6)) {
			wanted = number(line + 6, 1, UINT64_MAX);
			begin(FLUSH);
		} else {
			die("unknown command \"%s\"", line);
		}
		pthread_barrier_wait(&end);
		dprintf(terminal, "done flushes=%llu seconds=%.6f tlb_ipis=%llu faults=%llu wrong=%llu\n",
			(unsigned long long)count_flushes(), seconds,
			(unsigned long long)tlb_ipis,
			(unsigned long long)atomic_load(&faults),
			(unsigned long long)atomic_load(&wrong));
	}
	begin(QUIT);
	return atomic_load(&wrong) ? EXIT_WRONG : 0;
}

/* A terminal passes bytes on as they are. */
static void open_terminal(const char *path)
{
	struct termios settings;

	terminal = open(path, O_RDWR | O_NOCTTY);
	check(terminal >= 0, path);
	if (tcgetattr(terminal, &settings) != 0)
		die("%s: no terminal", path);
	cfmakeraw(&settings);
	check(tcsetattr(terminal, TCSANOW, &settings) == 0, path);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "threads", required_argument, NULL, 't' },
		{ "mark", required_argument, NULL, 'm' },
		{ "inject", no_argument, NULL, 'i' },
		{ NULL, 0, NULL, 0 }
	};
	int option;

	threads = sysconf(_SC_NPROCESSORS_ONLN);
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 't':
			threads = number(optarg, 2, MAX_THREADS);
			break;
		case 'm':
			mark = number(optarg, 1, UINT32_MAX);
			break;
		case 'i':
			inject = true;
			break;
		default:
			optind = argc;
		}
	}
	if (optind != argc - 1)
		die("usage: flush-workload [--threads N] [--mark N] [--inject] TERMINAL");
	if (threads < 2 || threads > MAX_THREADS)
		die("%u threads: this takes 2 to %d", threads, MAX_THREADS);
	open_terminal(argv[optind]);
	catch_faults();
	setvbuf(stdout, NULL, _IOLBF, 0);
	return run_in_process(run);
}
