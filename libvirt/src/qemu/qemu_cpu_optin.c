/*
 * qemu_cpu_optin.c: CPU features which QEMU enables only on request
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include "qemu_cpu_optin.h"

#include "cpu/cpu.h"
#include "virerror.h"
#include "virlog.h"

#define VIR_FROM_THIS VIR_FROM_QEMU

VIR_LOG_INIT("qemu.qemu_cpu_optin");

/* QEMU leaves these features out of the "host" and "max" CPU models unless
 * they are asked for by name. Thus the host CPU definitions we get by expanding
 * those models cannot tell whether a guest may have them. The properties of
 * the "max" model tell whether QEMU knows a feature; whether the accelerator
 * does is seen only once QEMU has created the guest CPU.
 */
static const struct {
    const char *name;
    virQEMUCapsFlags flag;
} optInFeatures[] = {
    { "invlpgb", QEMU_CAPS_CPU_INVLPGB },
    { "invlpgb-nested", QEMU_CAPS_CPU_INVLPGB_NESTED },
    { "tlbi-ctl", QEMU_CAPS_CPU_TLBI_CTL },
    { "tlbsync-sfw-no", QEMU_CAPS_CPU_TLBSYNC_SFW_NO },
};


static bool
qemuCPUOptInIsSettable(virQEMUCaps *qemuCaps,
                       const char *name)
{
    size_t i;

    for (i = 0; i < G_N_ELEMENTS(optInFeatures); i++) {
        if (STREQ(name, optInFeatures[i].name))
            return virQEMUCapsGet(qemuCaps, optInFeatures[i].flag);
    }

    return false;
}


static bool
qemuCPUOptInFilter(const char *name,
                   virCPUFeaturePolicy policy,
                   void *opaque)
{
    return policy != VIR_CPU_FEATURE_REQUIRE ||
           !qemuCPUOptInIsSettable(opaque, name);
}


/**
 * qemuCPUOptInDropRequired:
 * @cpu: CPU definition
 * @qemuCaps: QEMU capabilities
 *
 * Returns a copy of @cpu without the required features which are missing from
 * every host CPU definition although QEMU is able to enable them, or NULL on
 * error.
 */
virCPUDef *
qemuCPUOptInDropRequired(const virCPUDef *cpu,
                         virQEMUCaps *qemuCaps)
{
    g_autoptr(virCPUDef) copy = virCPUDefCopy(cpu);

    if (virCPUDefFilterFeatures(copy, qemuCPUOptInFilter, qemuCaps) < 0)
        return NULL;

    return g_steal_pointer(&copy);
}


/**
 * qemuCPUOptInCheckForbidden:
 * @cpu: CPU definition
 * @virtType: domain type
 * @qemuCaps: QEMU capabilities
 *
 * Report an error if @cpu forbids a feature that the hypervisor provides. Only
 * TCG provides every feature it knows; with KVM it depends on the host CPU,
 * which is for virCPUCheckForbiddenFeatures to check.
 */
int
qemuCPUOptInCheckForbidden(const virCPUDef *cpu,
                           virDomainVirtType virtType,
                           virQEMUCaps *qemuCaps)
{
    size_t i;

    if (virtType != VIR_DOMAIN_VIRT_QEMU)
        return 0;

    for (i = 0; i < cpu->nfeatures; i++) {
        if (cpu->features[i].policy == VIR_CPU_FEATURE_FORBID &&
            qemuCPUOptInIsSettable(qemuCaps, cpu->features[i].name)) {
            virReportError(VIR_ERR_CPU_INCOMPATIBLE,
                           _("Host CPU provides forbidden feature '%1$s'"),
                           cpu->features[i].name);
            return -1;
        }
    }

    return 0;
}


/**
 * qemuCPUOptInRequireOptional:
 * @cpu: CPU definition
 * @qemuCaps: QEMU capabilities
 *
 * Change the policy of optional features from "optional" to "require" if QEMU
 * is able to enable them. Others are left to virCPUUpdate.
 */
void
qemuCPUOptInRequireOptional(virCPUDef *cpu,
                            virQEMUCaps *qemuCaps)
{
    size_t i;

    for (i = 0; i < cpu->nfeatures; i++) {
        if (cpu->features[i].policy == VIR_CPU_FEATURE_OPTIONAL &&
            qemuCPUOptInIsSettable(qemuCaps, cpu->features[i].name))
            cpu->features[i].policy = VIR_CPU_FEATURE_REQUIRE;
    }
}


/**
 * qemuCPUOptInVerify:
 * @cpu: CPU definition the domain was started with
 * @origCPU: CPU definition as the user made it
 * @guestCPU: CPU features as QEMU enabled them
 *
 * Report an error if QEMU had to leave out a feature which the user requires.
 * If it is optional disable it in @cpu.
 */
int
qemuCPUOptInVerify(virCPUDef *cpu,
                   const virCPUDef *origCPU,
                   const virCPUData *guestCPU)
{
    size_t i;

    for (i = 0; i < G_N_ELEMENTS(optInFeatures); i++) {
        const char *name = optInFeatures[i].name;
        virCPUFeatureDef *feature = virCPUDefFindFeature(cpu, name);
        virCPUFeatureDef *orig = NULL;
        int rc;

        if (!feature || feature->policy != VIR_CPU_FEATURE_REQUIRE)
            continue;

        if ((rc = virCPUDataCheckFeature(guestCPU, name)) < 0)
            return -1;

        if (rc == 1)
            continue;

        if (origCPU)
            orig = virCPUDefFindFeature(origCPU, name);

        if (orig && orig->policy == VIR_CPU_FEATURE_OPTIONAL) {
            VIR_DEBUG("Optional feature '%s' is not available", name);
            feature->policy = VIR_CPU_FEATURE_DISABLE;
            continue;
        }

        /* no checking is what the user asked for, unless it is the default */
        if (cpu->check == VIR_CPU_CHECK_NONE &&
            cpu->mode == VIR_CPU_MODE_CUSTOM)
            continue;

        virReportError(VIR_ERR_CPU_INCOMPATIBLE,
                       _("QEMU left out the required CPU feature '%1$s': the accelerator does not support it on this host, or it depends on a CPU feature that is missing"),
                       name);
        return -1;
    }

    return 0;
}
