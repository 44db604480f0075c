/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What decides whether the guests of a host can have INVLPGB.
 */
#ifndef DOCTOR_CHECKS_H
#define DOCTOR_CHECKS_H

#include <glib.h>

#include "cpus.h"
#include "host.h"

/* In the order in which one beats another, where all of several are needed. */
typedef enum Answer { NO, UNKNOWN, OK } Answer;

/* How guests execute INVLPGB and TLBSYNC. */
typedef enum Mode { OFF, EMULATE, INTERCEPT, PASSTHROUGH, MODES } Mode;

typedef struct Subject {
    /* CpuidCpu of each CPU, or NULL and why CPUID is not known. */
    GPtrArray *cpus;
    char *cpus_unknown;
    Host host;
} Subject;

typedef struct Check {
    const char *name;
    /* Modes that cannot be without it, 1 << Mode; 0: for information. */
    unsigned int needed_by;
    Answer answer;
    char *why;
    /* What to do about it, or NULL. */
    char *action;
} Check;

typedef struct Vm {
    char *name;
    /* The mode in which it has been seen to run, or NULL. */
    const char *mode;
    char *why;
} Vm;

typedef struct Report {
    GPtrArray *checks;
    /* Of each mode: the answer, and the names of the checks that decide it. */
    Answer verdict[MODES];
    char *verdict_why[MODES];
    /* Running VMs, or NULL and why they were not seen. */
    GPtrArray *vms;
    char *vms_unknown;
} Report;

extern const char *const answer_names[];
extern const char *const mode_names[];

Report *report_new(const Subject *subject);
void report_free(Report *report);

/* Can a guest have the feature, in any mode? */
Answer report_summary(const Report *report);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Report, report_free)

#endif
