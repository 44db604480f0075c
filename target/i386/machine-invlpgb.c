/*
 * x86: refuse a migration that would change INVLPGB under the guest
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "cpu.h"
#include "cpu-invlpgb.h"
#include "migration/vmstate.h"

static const struct {
    const char *name;
    FeatureWord word;
    uint64_t mask;
} features[] = {
    { "invlpgb", FEAT_8000_0008_EBX, CPUID_8000_0008_EBX_INVLPGB },
    { "invlpgb-nested", FEAT_8000_0008_EBX,
      CPUID_8000_0008_EBX_INVLPGB_NESTED },
    { "tlbi-ctl", FEAT_SVM, CPUID_SVM_TLBICTL },
    { "tlbsync-sfw-no", FEAT_8000_0021_EAX,
      CPUID_8000_0021_EAX_TLBSYNC_SFW_NO },
};

/* What the guest has been told, by the source of the migration */
typedef struct InvlpgbPromise {
    X86CPU *parent;
    bool has[ARRAY_SIZE(features)];
    uint16_t count_max;
} InvlpgbPromise;

static bool has_feature(X86CPU *cpu, int i)
{
    return cpu->env.features[features[i].word] & features[i].mask;
}

static int invlpgb_pre_save(void *opaque)
{
    InvlpgbPromise *promise = opaque;
    int i;

    for (i = 0; i < ARRAY_SIZE(features); i++) {
        promise->has[i] = has_feature(promise->parent, i);
    }
    promise->count_max = x86_cpu_invlpgb_count_max(promise->parent);
    return 0;
}

static int invlpgb_post_load(void *opaque, int version_id)
{
    InvlpgbPromise *promise = opaque;
    X86CPU *cpu = promise->parent;
    int ret = 0;
    int i;

    for (i = 0; i < ARRAY_SIZE(features); i++) {
        if (promise->has[i] != has_feature(cpu, i)) {
            error_report("CPU %d: the guest was started with %s=%s, but here "
                         "it is %s", CPU(cpu)->cpu_index, features[i].name,
                         promise->has[i] ? "on" : "off",
                         promise->has[i] ? "off" : "on");
            ret = -EINVAL;
        }
    }
    if (promise->count_max != x86_cpu_invlpgb_count_max(cpu)) {
        error_report("CPU %d: the guest was started with "
                     "invlpgb-count-max=%u, but here it is %u",
                     CPU(cpu)->cpu_index, promise->count_max,
                     x86_cpu_invlpgb_count_max(cpu));
        ret = -EINVAL;
    }
    if (ret) {
        error_printf("Use the same -cpu options as there, on a host that "
                     "supports them.\n");
    }
    return ret;
}

static const VMStateDescription vmstate_invlpgb_promise = {
    .name = "x86-cpu-invlpgb/promise",
    .pre_save = invlpgb_pre_save,
    .post_load = invlpgb_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_BOOL_ARRAY(has, InvlpgbPromise, ARRAY_SIZE(features)),
        VMSTATE_UINT16(count_max, InvlpgbPromise),
        VMSTATE_END_OF_LIST()
    },
};

static bool invlpgb_needed(void *opaque)
{
    X86CPU *cpu = opaque;

    return cpu->env.features[FEAT_8000_0008_EBX] & CPUID_8000_0008_EBX_INVLPGB;
}

/*
 * Nothing else checks that both ends have the same CPUID.  A guest that
 * looked once and finds the instructions gone dies, and one that asks for
 * more pages than are allowed here takes a #GP.  Say so while the source can
 * still go on: that is before RAM is sent.
 */
static const VMStateDescription vmstate_x86_cpu_invlpgb = {
    .name = "x86-cpu-invlpgb",
    .version_id = 1,
    .minimum_version_id = 1,
    .early_setup = true,
    .needed = invlpgb_needed,
    .fields = (const VMStateField[]) {
        VMSTATE_WITH_TMP(X86CPU, InvlpgbPromise, vmstate_invlpgb_promise),
        VMSTATE_END_OF_LIST()
    },
};

void x86_cpu_register_invlpgb_vmstate(X86CPU *cpu)
{
    vmstate_register(NULL, CPU(cpu)->cpu_index, &vmstate_x86_cpu_invlpgb, cpu);
}

void x86_cpu_unregister_invlpgb_vmstate(X86CPU *cpu)
{
    vmstate_unregister(NULL, &vmstate_x86_cpu_invlpgb, cpu);
}
