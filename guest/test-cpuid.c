/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Enumeration: spec.md A.3. */
#include "tests.h"

/* A word expect-NAME=N on the command line says what the value must be. */
static void check(const char *clause, const char *name, u64 value)
{
    u64 expected;

    if (param_number(name, &expected)) {
        report(value == expected, "spec %s host: %s is %lu, found %lu", clause,
               name + 7, expected, value);
    } else {
        note("%s is %lu", name + 7, value);
    }
}

void test_cpuid(void)
{
    if (!machine.invlpgb) {
        note("this CPU has no INVLPGB and TLBSYNC");
    }
    check("A.3", "expect-invlpgb", machine.invlpgb);
    check("A.3", "expect-nested", machine.nested);
    check("A.3", "expect-count-max", machine.count_max);
    check("A.3", "expect-nasid", machine.nasid);
    check("A.3", "expect-tlbi-ctl", machine.tlbi_ctl);
    check("A.3", "expect-tlbsync-sfw-no", machine.tlbsync_sfw_no);
    check("A.3", "expect-pcid", machine.pcid);
    check("A.3", "expect-invpcid", machine.invpcid);

    if (machine.invlpgb) {
        report(!machine.tlbi_ctl || machine.svm,
               "spec A.3 host: TlbiCtl comes with SVM only");
    } else {
        report(!machine.nested && !machine.count_max,
               "spec A.3 host: no nested bit and no count without INVLPGB");
    }
    report(!(cpuid(0x8000000a, 0).ecx & BIT(5)),
           "spec A.3 host: EnhancedTlbi is not offered");
}
