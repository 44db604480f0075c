// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * invlpgb-guest-check: does this guest have INVLPGB, does its kernel use it,
 * and does it work?
 *
 * CPUID tells whether the guest has it. That the kernel uses it is seen by its
 * effect, as no file says so: the lab's flush workload makes it shoot down
 * translations, and with INVLPGB there are no interrupts for it. The workload
 * also checks each value that it reads, so that a flush that is lost shows.
 */
#include <cpuid.h>
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "workload.h"

#define DEFAULT_SECONDS 10
#define MIN_THREADS     2
#define MAX_THREADS     64

/* Linux broadcasts flushes of a process only if so many CPUs run it. */
#define CPUS_TO_BROADCAST 4

enum status {
    STATUS_USED,
    STATUS_TROUBLE,
    STATUS_WRONG,
    STATUS_ABSENT,
    STATUS_NOT_SEEN,
};

/* What the workload prints in its last line. */
struct probe {
    char seed[32];
    bool global_asid;
    unsigned long long flushes, ipis, wrong;
    double seconds;
};

static void __attribute__((noreturn, format(printf, 1, 2)))
die(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    fprintf(stderr, "invlpgb-guest-check: ");
    vfprintf(stderr, format, args);
    fprintf(stderr, "\n");
    va_end(args);
    exit(STATUS_TROUBLE);
}

static bool cpuid_bit(unsigned int leaf, int reg, int bit)
{
    unsigned int regs[4];

    return __get_cpuid(leaf, &regs[0], &regs[1], &regs[2], &regs[3]) &&
           regs[reg] >> bit & 1;
}

static unsigned int count_max(void)
{
    unsigned int eax, ebx, ecx, edx;

    return __get_cpuid(0x80000008, &eax, &ebx, &ecx, &edx) ? edx & 0xffff : 0;
}

/* The hypervisor's name for itself. */
static void get_hypervisor(char name[13])
{
    unsigned int eax, regs[3];
    char *at;

    if (!cpuid_bit(1, 2, 31)) {
        strcpy(name, "none");
        return;
    }
    __cpuid(0x40000000, eax, regs[0], regs[1], regs[2]);
    memcpy(name, regs, 12);
    name[12] = '\0';
    /* It may be anything, and becomes a word of the line for the ticket. */
    for (at = name; *at; at++) {
        if (*at <= ' ' || *at > '~' || *at == '=') {
            *at = '?';
        }
    }
}

/* Is a word in a file? */
static bool file_has_word(const char *path, const char *word)
{
    static const char space[] = "\t\n ";
    char *line = NULL, *at, *save;
    bool found = false;
    size_t size = 0;
    FILE *file = fopen(path, "r");

    if (!file) {
        die("%s: %s", path, strerror(errno));
    }
    while (!found && getline(&line, &size, file) > 0) {
        for (at = strtok_r(line, space, &save); at;
             at = strtok_r(NULL, space, &save)) {
            found |= !strcmp(at, word);
        }
    }
    free(line);
    fclose(file);
    return found;
}

/* Take the results from the line "tlb-workload: NAME=VALUE ...". */
static bool parse_results(char *line, struct probe *probe)
{
    char *at, *save;
    int found = 0;

    for (at = strtok_r(line, "\n ", &save); at;
         at = strtok_r(NULL, "\n ", &save)) {
        found += sscanf(at, "seed=%31s", probe->seed) == 1;
        found += sscanf(at, "flushes=%llu", &probe->flushes) == 1;
        found += sscanf(at, "seconds=%lf", &probe->seconds) == 1;
        found += sscanf(at, "shootdown_ipis=%llu", &probe->ipis) == 1;
        found += sscanf(at, "wrong=%llu", &probe->wrong) == 1;
        probe->global_asid |= !strcmp(at, "global_asid=yes");
    }
    return found == 5;
}

static void __attribute__((noreturn))
run_workload(int out, long threads, long seconds)
{
    char count[24], time[24];
    char *argv[] = {
        "tlb-workload", "--threads", count, "--seconds", time, NULL
    };

    snprintf(count, sizeof(count), "%ld", threads);
    snprintf(time, sizeof(time), "%ld", seconds);
    dup2(out, STDOUT_FILENO);
    close(out);
    /* This program has used getopt(), too. */
    optind = 0;
    exit(tlb_workload_main(5, argv));
}

static void run_probe(long threads, long seconds, struct probe *probe)
{
    bool parsed = false;
    char *line = NULL;
    size_t size = 0;
    int out[2], status;
    FILE *results;
    pid_t child;

    if (pipe(out)) {
        die("pipe: %s", strerror(errno));
    }
    child = fork();
    if (child < 0) {
        die("fork: %s", strerror(errno));
    }
    if (child == 0) {
        close(out[0]);
        run_workload(out[1], threads, seconds);
    }
    close(out[1]);
    results = fdopen(out[0], "r");
    if (!results) {
        die("fdopen: %s", strerror(errno));
    }
    while (getline(&line, &size, results) > 0) {
        parsed |= parse_results(line, probe);
    }
    free(line);
    fclose(results);
    if (waitpid(child, &status, 0) != child || !parsed) {
        die("the probe ended without a result");
    }
}

static enum status judge(bool has_it, const struct probe *probe)
{
    if (probe->wrong) {
        return STATUS_WRONG;
    }
    if (!has_it) {
        return STATUS_ABSENT;
    }
    return probe->global_asid ? STATUS_USED : STATUS_NOT_SEEN;
}

static const char *yes(bool is_so)
{
    return is_so ? "yes" : "no";
}

static void explain(enum status status, long cpus)
{
    switch (status) {
    case STATUS_USED:
        printf("The kernel uses INVLPGB, and every value read was right.\n");
        break;
    case STATUS_WRONG:
        printf("Wrong values were read: translations outlived a flush. "
               "Do not use this guest for anything else.\n");
        break;
    case STATUS_ABSENT:
        printf("The guest does not have INVLPGB: give it to the CPU model, "
               "e.g. -cpu EPYC-Genoa,+invlpgb.\n");
        break;
    default:
        printf("The kernel was not seen to use INVLPGB.\n");
        if (cpus < CPUS_TO_BROADCAST) {
            printf("  Linux does not for processes on fewer than %d CPUs: "
                   "use more.\n", CPUS_TO_BROADCAST);
        }
        if (!cpuid_bit(1, 2, 17)) {
            printf("  Linux does not without PCID: "
                   "add pcid to the CPU model.\n");
        }
        if (file_has_word("/proc/cpuinfo", "pti")) {
            printf("  Linux does not with page table isolation: "
                   "boot without pti=on.\n");
        }
        if (file_has_word("/proc/cmdline", "tlbi=ipi")) {
            printf("  The kernel was told not to: boot without tlbi=ipi.\n");
        }
        printf("  Linux does since 6.15, if built with BROADCAST_TLB_FLUSH.\n");
    }
    if (status != STATUS_ABSENT && count_max() == 0xffff) {
        printf("The count maximum is 65535, with which Linux may loop "
               "for ever.\n");
    }
}

static void usage(FILE *to)
{
    fprintf(to, "usage: invlpgb-guest-check [--seconds N]\n");
}

static long parse_seconds(const char *text)
{
    char *end;
    long seconds;

    errno = 0;
    seconds = strtol(text, &end, 10);
    if (errno || end == text || *end || seconds < 1 || seconds > 86400) {
        die("--seconds %s: not a number from 1 to 86400", text);
    }
    return seconds;
}

int main(int argc, char **argv)
{
    static const char *const verdicts[] = {
        [STATUS_USED] = "used",
        [STATUS_WRONG] = "wrong-values",
        [STATUS_ABSENT] = "absent",
        [STATUS_NOT_SEEN] = "not-seen",
    };
    static const struct option options[] = {
        { "seconds", required_argument, NULL, 's' },
        { "help", no_argument, NULL, 'h' },
        {}
    };
    bool has_it = cpuid_bit(0x80000008, 1, 3);
    long threads, cpus = sysconf(_SC_NPROCESSORS_ONLN);
    long seconds = DEFAULT_SECONDS;
    struct probe probe = {};
    struct utsname system;
    char hypervisor[13];
    enum status status;
    int option;

    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (option) {
        case 's':
            seconds = parse_seconds(optarg);
            break;
        case 'h':
            usage(stdout);
            return 0;
        default:
            usage(stderr);
            return STATUS_TROUBLE;
        }
    }
    if (optind != argc) {
        die("unexpected argument \"%s\"", argv[optind]);
    }

    uname(&system);
    get_hypervisor(hypervisor);
    threads = cpus < MIN_THREADS ? MIN_THREADS : cpus;
    if (threads > MAX_THREADS) {
        threads = MAX_THREADS;
    }
    run_probe(threads, seconds, &probe);
    status = judge(has_it, &probe);
    explain(status, cpus);

    /* For a ticket: names do not change, new ones come last. */
    printf("invlpgb-guest-check: verdict=%s invlpgb=%s count_max=%u "
           "tlbsync_sfw_no=%s pcid=%s hypervisor=%s kernel=%s cpus=%ld "
           "broadcast=%s flushes_per_second=%.0f ipis_per_flush=%.2f "
           "wrong=%llu seconds=%.1f seed=%s\n",
           verdicts[status], yes(has_it), count_max(),
           yes(cpuid_bit(0x80000021, 0, 4)), yes(cpuid_bit(1, 2, 17)),
           hypervisor, system.release, cpus, yes(probe.global_asid),
           probe.seconds > 0 ? probe.flushes / probe.seconds : 0,
           probe.flushes ? (double)probe.ipis / probe.flushes : 0, probe.wrong,
           probe.seconds, probe.seed);
    return status;
}
