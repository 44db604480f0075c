/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPUID of all CPUs of a machine: this one, or one that was recorded.
 */
#ifndef DOCTOR_CPUS_H
#define DOCTOR_CPUS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum CpuidReg { EAX, EBX, ECX, EDX, CPUID_REGS } CpuidReg;

/* Subleaf 0 of one leaf. */
typedef struct CpuidLeaf {
    uint32_t reg[CPUID_REGS];
} CpuidLeaf;

/* One CPU: the leaves that are known of it, a GHashTable of CpuidLeaf. */
typedef GHashTable CpuidCpu;

/* All that is read of this machine, and shown in reports. */
extern const uint32_t cpuid_leaves[];
extern const size_t cpuid_nr_leaves;

/*
 * Execute CPUID on each CPU. CPUs on which this process may not run are
 * missing in the result.
 */
GPtrArray *cpuid_execute(GError **error);

/* Read a dump, see invlpgb-doctor(1) for the formats. */
GPtrArray *cpuid_read_dump(const char *path, GError **error);

/*
 * Get a leaf. A leaf above the CPU's highest is all zeroes. Return false if the
 * dump does not tell.
 */
bool cpuid_get(CpuidCpu *cpu, uint32_t leaf, CpuidLeaf *value);

#endif
