/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Test Anything Protocol, version 14, plan last. */
#ifndef TAP_H
#define TAP_H

#include "x86.h"

/* One test point; returns @ok. */
bool report(bool ok, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * The same for what spec.md leaves open: @ok says whether it is as assumed
 * there.  Recorded only, with TAP's TODO, unless tap_judge_open() was called.
 */
bool report_open(bool ok, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void tap_judge_open(void);

/* The same for what another rule decides here, which @reason names. */
bool record(const char *reason, bool ok, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A test point that cannot be judged on this machine, and why. */
void skip(const char *reason, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Test points from now on belong to a group of that name. */
void group_begin(const char *name);
const char *tap_group(void);
unsigned tap_points(void);

/* A line of diagnostics. */
void note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints the plan; true if no test point failed. */
bool tap_finish(void);

#endif
