/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Enumeration: spec.md A.3. */
#include "tests.h"

/* A word expect-NAME=N on the command line says what the value must be. */
static void check(const char *name, u64 value)
{
    u64 expected;

    if (param_number(name, &expected)) {
        if (!report(value == expected, "spec A.3 host: %s=%lu",
                    name + 7, expected)) {
            note("found %lu", value);
        }
    } else {
        note("%s=%lu", name + 7, value);
    }
}

void test_cpuid(void)
{
    if (!machine.invlpgb) {
        note("this CPU has no INVLPGB and TLBSYNC");
    }
    check("expect-cpus", cpu_count);
    check("expect-invlpgb", machine.invlpgb);
    check("expect-nested", machine.nested);
    check("expect-count-max", machine.count_max);
    check("expect-nasid", machine.nasid);
    check("expect-tlbi-ctl", machine.tlbi_ctl);
    check("expect-tlbsync-sfw-no", machine.tlbsync_sfw_no);
    check("expect-flush-by-asid", machine.flush_by_asid);
    check("expect-vmcb-clean", machine.vmcb_clean);
    check("expect-nrips", machine.nrips);
    check("expect-pcid", machine.pcid);
    check("expect-invpcid", machine.invpcid);

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
