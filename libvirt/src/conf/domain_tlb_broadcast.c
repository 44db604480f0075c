/*
 * domain_tlb_broadcast.c: <tlb-broadcast/> of KVM features
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include "domain_conf.h"
#include "virerror.h"
#include "virxml.h"

#define VIR_FROM_THIS VIR_FROM_DOMAIN

VIR_ENUM_IMPL(virDomainKVMTLBBroadcastMode,
              VIR_DOMAIN_KVM_TLB_BROADCAST_MODE_LAST,
              "default",
              "auto",
              "emulate",
              "intercept",
              "passthrough",
);


int
virDomainKVMTLBBroadcastParse(virDomainFeatureKVM *kvm,
                              xmlNodePtr node)
{
    if (kvm->features[VIR_DOMAIN_KVM_TLB_BROADCAST] != VIR_TRISTATE_SWITCH_ON)
        return 0;

    return virXMLPropEnum(node, "mode",
                          virDomainKVMTLBBroadcastModeTypeFromString,
                          VIR_XML_PROP_NONZERO,
                          &kvm->tlb_broadcast_mode);
}


void
virDomainKVMTLBBroadcastFormat(virBuffer *buf,
                               const virDomainFeatureKVM *kvm)
{
    virTristateSwitch state = kvm->features[VIR_DOMAIN_KVM_TLB_BROADCAST];

    if (state == VIR_TRISTATE_SWITCH_ABSENT)
        return;

    virBufferAsprintf(buf, "<tlb-broadcast state='%s'",
                      virTristateSwitchTypeToString(state));
    if (kvm->tlb_broadcast_mode != VIR_DOMAIN_KVM_TLB_BROADCAST_MODE_DEFAULT)
        virBufferAsprintf(buf, " mode='%s'",
                          virDomainKVMTLBBroadcastModeTypeToString(kvm->tlb_broadcast_mode));
    virBufferAddLit(buf, "/>\n");
}


bool
virDomainKVMTLBBroadcastCheckABI(const virDomainFeatureKVM *src,
                                 const virDomainFeatureKVM *dst)
{
    if (src->tlb_broadcast_mode == dst->tlb_broadcast_mode)
        return true;

    virReportError(VIR_ERR_CONFIG_UNSUPPORTED,
                   _("'mode' of KVM feature 'tlb-broadcast' differs: source: '%1$s', destination: '%2$s'"),
                   virDomainKVMTLBBroadcastModeTypeToString(src->tlb_broadcast_mode),
                   virDomainKVMTLBBroadcastModeTypeToString(dst->tlb_broadcast_mode));
    return false;
}
