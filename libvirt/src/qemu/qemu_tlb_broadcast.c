/*
 * qemu_tlb_broadcast.c: how KVM guests execute INVLPGB and TLBSYNC
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include "qemu_tlb_broadcast.h"

#include "virerror.h"

#define VIR_FROM_THIS VIR_FROM_QEMU


static virTristateSwitch
qemuTLBBroadcastGetState(const virDomainDef *def)
{
    if (def->features[VIR_DOMAIN_FEATURE_KVM] != VIR_TRISTATE_SWITCH_ON)
        return VIR_TRISTATE_SWITCH_ABSENT;

    return def->kvm_features->features[VIR_DOMAIN_KVM_TLB_BROADCAST];
}


int
qemuTLBBroadcastValidate(const virDomainDef *def,
                         virQEMUCaps *qemuCaps)
{
    virCPUFeatureDef *svm;

    if (qemuTLBBroadcastGetState(def) == VIR_TRISTATE_SWITCH_ABSENT)
        return 0;

    if (def->virtType != VIR_DOMAIN_VIRT_KVM) {
        virReportError(VIR_ERR_CONFIG_UNSUPPORTED,
                       _("KVM feature 'tlb-broadcast' is incompatible with domain type '%1$s'"),
                       virDomainVirtTypeToString(def->virtType));
        return -1;
    }

    if (!ARCH_IS_X86(def->os.arch)) {
        virReportError(VIR_ERR_CONFIG_UNSUPPORTED,
                       _("KVM feature 'tlb-broadcast' is not supported for architecture '%1$s'"),
                       virArchToString(def->os.arch));
        return -1;
    }

    if (!virQEMUCapsGet(qemuCaps, QEMU_CAPS_ACCEL_KVM_TLB_BROADCAST)) {
        virReportError(VIR_ERR_CONFIG_UNSUPPORTED, "%s",
                       _("KVM feature 'tlb-broadcast' is not available with this QEMU binary"));
        return -1;
    }

    if (def->kvm_features->tlb_broadcast_mode == VIR_DOMAIN_KVM_TLB_BROADCAST_MODE_PASSTHROUGH &&
        def->cpu &&
        (svm = virCPUDefFindFeature(def->cpu, "svm")) &&
        (svm->policy == VIR_CPU_FEATURE_REQUIRE ||
         svm->policy == VIR_CPU_FEATURE_FORCE)) {
        virReportError(VIR_ERR_CONFIG_UNSUPPORTED, "%s",
                       _("mode 'passthrough' of KVM feature 'tlb-broadcast' is incompatible with CPU feature 'svm'"));
        return -1;
    }

    return 0;
}


void
qemuTLBBroadcastBuildAccel(virBuffer *buf,
                           const virDomainDef *def)
{
    virDomainKVMTLBBroadcastMode mode;

    switch (qemuTLBBroadcastGetState(def)) {
    case VIR_TRISTATE_SWITCH_ON:
        mode = def->kvm_features->tlb_broadcast_mode;
        if (mode == VIR_DOMAIN_KVM_TLB_BROADCAST_MODE_DEFAULT)
            mode = VIR_DOMAIN_KVM_TLB_BROADCAST_MODE_AUTO;
        virBufferAsprintf(buf, ",tlb-broadcast=%s",
                          virDomainKVMTLBBroadcastModeTypeToString(mode));
        break;

    case VIR_TRISTATE_SWITCH_OFF:
        virBufferAddLit(buf, ",tlb-broadcast=off");
        break;

    case VIR_TRISTATE_SWITCH_ABSENT:
    case VIR_TRISTATE_SWITCH_LAST:
        break;
    }
}


void
qemuTLBBroadcastFillDomainCaps(virDomainCaps *domCaps,
                               virQEMUCaps *qemuCaps)
{
    if (domCaps->virttype != VIR_DOMAIN_VIRT_KVM ||
        !ARCH_IS_X86(domCaps->arch))
        return;

    domCaps->features[VIR_DOMAIN_CAPS_FEATURE_TLB_BROADCAST] =
        virTristateBoolFromBool(virQEMUCapsGet(qemuCaps, QEMU_CAPS_ACCEL_KVM_TLB_BROADCAST));
}
