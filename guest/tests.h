/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The groups of tests; run= on the command line selects among them by name. */
#ifndef TESTS_H
#define TESTS_H

#include "lib/console.h"
#include "lib/cpu.h"
#include "lib/paging.h"
#include "lib/params.h"
#include "lib/svm.h"
#include "lib/tap.h"
#include "lib/watchdog.h"

void test_cpuid(void);
void test_encoding(void);
void test_privilege(void);
void test_control_registers(void);
void test_pcid(void);
void test_cached(void);
void test_spared(void);
void test_operands(void);
void test_random(void);
void test_match(void);
void test_order(void);
void test_faults(void);
void test_exits(void);
void test_world_switch(void);
void test_asid(void);
void test_inject(void);
void test_ferr(void);
void test_hypervisor(void);
void test_probe(void);
void test_query(void);
void test_clean_bits(void);
void test_clean_bits_reset(void);
void test_loadvm(void);
void test_model(void);
void test_init(void);
void test_platform(void);
void test_adversary(void);
void test_replay(void);
void test_reset(void);
void test_migration(void);
void test_hang(void);
void test_primitives(void);
void test_reuse(void);
void test_la57(void);

/* Takes seed= and count= from the command line. */
void random_init(void);
/* The seed of this run, for random_from(). */
u64 random_seed(void);
u64 random(void);
/* The same from a state of the caller's, which is not 0. */
u64 random_from(u64 *state);

/* Whether the command line says that the machine has the strict TLB model. */
bool strict(void);

/*
 * Whether a host's CPU that is not the one in this guest's CPUID may decide
 * what operands are legal: under KVM in passthrough, or nobody knows how.
 */
bool hosts_rules(void);
#define HOSTS_RULES     "the host's rules hold in passthrough"

/* One skip line for a group that needs INVLPGB; true if it was printed. */
bool skip_without_invlpgb(const char *clause);

/* Changes CR4.PCIDE, on this CPU or on all; CR3 is left with PCID 0. */
void set_pcide_here(bool on);
void set_pcide(bool on);

static inline const char *here(void)
{
    return environment_name[in_guest()];
}

#endif
