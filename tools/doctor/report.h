/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reports for people, as a table, and for programs, as JSON.
 */
#ifndef DOCTOR_REPORT_H
#define DOCTOR_REPORT_H

#include "checks.h"

void report_print_table(const Report *report);

/* docs/doctor-schema.json describes it. */
void report_print_json(const Report *report, const Subject *subject);

#endif
