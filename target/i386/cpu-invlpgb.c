/*
 * x86 CPU model: numbers that belong to broadcast TLB invalidation
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/error-report.h"
#include "cpu-invlpgb.h"

/*
 * Linux keeps the count plus one in 16 bits.  With 0xffff that is zero, and
 * its loop over a range never ends.
 */
#define INVLPGB_COUNT_MAX_LIMIT     0xfffe

/* ASID 0 is the host's; INVLPGB names an ASID in 16 bits. */
#define SVM_NASID_MIN               2
#define SVM_NASID_LIMIT             0x10000

bool x86_cpu_check_invlpgb_properties(X86CPU *cpu, Error **errp)
{
    CPUX86State *env = &cpu->env;

    if (env->invlpgb_count_max > INVLPGB_COUNT_MAX_LIMIT) {
        error_setg(errp, "invlpgb-count-max=%u is out of range: the largest "
                   "value that guests can use is %u",
                   env->invlpgb_count_max, INVLPGB_COUNT_MAX_LIMIT);
        return false;
    }
    if (env->svm_nasid < SVM_NASID_MIN || env->svm_nasid > SVM_NASID_LIMIT) {
        error_setg(errp, "svm-nasid=%u is out of range: it must be between "
                   "%u and %u", env->svm_nasid, SVM_NASID_MIN,
                   SVM_NASID_LIMIT);
        return false;
    }
    return true;
}

bool x86_cpu_filter_invlpgb_count_max(X86CPU *cpu, uint16_t supported,
                                      const char *prefix)
{
    CPUX86State *env = &cpu->env;

    if (x86_cpu_invlpgb_count_max(cpu) <= supported) {
        return false;
    }
    if (prefix) {
        warn_report("%s: invlpgb-count-max=%u, lowered to %u", prefix,
                    env->invlpgb_count_max, supported);
    }
    env->invlpgb_count_max = supported;
    return true;
}

uint16_t x86_cpu_invlpgb_count_max(X86CPU *cpu)
{
    CPUX86State *env = &cpu->env;

    if (!(env->features[FEAT_8000_0008_EBX] & CPUID_8000_0008_EBX_INVLPGB)) {
        return 0;
    }
    return env->invlpgb_count_max;
}
