/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the workloads that shoot down TLB entries have in common.
 *
 * Linux broadcasts a process's flushes with INVLPGB only once the process has a
 * global ASID, which it may get when it flushes while at least four CPUs run
 * it, by a draw on the task's pid and the clock. So a workload starts with a
 * warm-up of flushes on all threads, repeated in a new process if the draw went
 * wrong. That the process has its global ASID is seen from outside: its flushes
 * go on, while the kernel's count of TLB shootdown interrupts stands still.
 */
#ifndef WORKLOAD_H
#define WORKLOAD_H

#include <cpuid.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define PAGE_SIZE	4096ul
#define MAX_THREADS	64

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

static inline void __attribute__((noreturn, format(printf, 1, 2)))
die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fprintf(stderr, "%s: ", program_invocation_short_name);
	vfprintf(stderr, format, args);
	fprintf(stderr, "\n");
	va_end(args);
	exit(1);
}

static inline void check(bool ok, const char *what)
{
	if (!ok)
		die("%s: %s", what, strerror(errno));
}

/*
 * Accesses that may fault. The handler of SIGSEGV continues behind the
 * instruction, where OK still is false.
 */
extern const char load_insn[], load_after[], store_insn[], store_after[];

static __attribute__((noinline, unused)) bool try_load(const uint64_t *where,
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

static __attribute__((noinline, unused)) bool try_store(uint64_t *where,
							uint64_t value)
{
	bool ok = false;

	asm volatile("store_insn:	movq %[value], (%[where])\n"
		     "		movb $1, %[ok]\n"
		     "store_after:"
		     : [ok] "+&q" (ok)
		     : [where] "r" (where), [value] "r" (value) : "memory");
	return ok;
}

static inline void on_segv(int signal, siginfo_t *info, void *context)
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

/* To be called before the first access that may fault. */
static inline void catch_faults(void)
{
	struct sigaction segv = {
		.sa_sigaction = on_segv, .sa_flags = SA_SIGINFO,
	};

	check(sigaction(SIGSEGV, &segv, NULL) == 0, "sigaction");
}

static inline void pin_to_cpu(unsigned int cpu)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	check(sched_setaffinity(0, sizeof(cpus), &cpus) == 0,
	      "sched_setaffinity");
}

static inline double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static inline void nap(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 10 * 1000 * 1000 }, NULL);
}

/* TLB shootdown interrupts that all CPUs of this machine have received. */
static inline uint64_t count_shootdowns(void)
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

static inline bool cpu_has_invlpgb(void)
{
	unsigned int eax, ebx, ecx, edx;

	return __get_cpuid(0x80000008, &eax, &ebx, &ecx, &edx) && ebx & 1 << 3;
}

/*
 * Flush until the kernel stops interrupting for it, but not for ever. If the
 * CPUs cannot broadcast, look once. All threads keep running throughout, so that
 * without a global ASID every flush has to interrupt the others.
 */
static inline bool warm_up(uint64_t (*count_flushes)(void), bool can_broadcast)
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

/*
 * The exit status of RUN, in a process that has a global ASID if it can. RUN is
 * told if this is the last attempt, else it may exit with EXIT_AGAIN.
 */
static inline int run_in_process(int (*run)(bool last_attempt))
{
	unsigned int attempt;
	int status;

	for (attempt = 1; attempt <= WARM_UP_ATTEMPTS; attempt++) {
		pid_t child = fork();

		check(child >= 0, "fork");
		if (child == 0)
			exit(run(attempt == WARM_UP_ATTEMPTS));
		check(waitpid(child, &status, 0) == child, "waitpid");
		if (WIFSIGNALED(status))
			die("killed by signal %d", WTERMSIG(status));
		if (WEXITSTATUS(status) != EXIT_AGAIN)
			return WEXITSTATUS(status);
		printf("%s: attempt %u: no global ASID, trying another process\n",
		       program_invocation_short_name, attempt);
	}
	return 1;
}

static inline unsigned long long
number(const char *text, unsigned long long least, unsigned long long most)
{
	char *end;
	unsigned long long n;

	errno = 0;
	n = strtoull(text, &end, 0);
	if (errno || *end || end == text || n < least || n > most)
		die("%s: not a number from %llu to %llu", text, least, most);
	return n;
}

#endif
