/*
 * domain_tlb_broadcast.h: <tlb-broadcast/> of KVM features
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <libxml/tree.h>

#include "virbuffer.h"
#include "virenum.h"

typedef struct _virDomainFeatureKVM virDomainFeatureKVM;

typedef enum {
    VIR_DOMAIN_KVM_TLB_BROADCAST_MODE_DEFAULT = 0,
    VIR_DOMAIN_KVM_TLB_BROADCAST_MODE_AUTO,
    VIR_DOMAIN_KVM_TLB_BROADCAST_MODE_EMULATE,
    VIR_DOMAIN_KVM_TLB_BROADCAST_MODE_INTERCEPT,
    VIR_DOMAIN_KVM_TLB_BROADCAST_MODE_PASSTHROUGH,

    VIR_DOMAIN_KVM_TLB_BROADCAST_MODE_LAST
} virDomainKVMTLBBroadcastMode;

VIR_ENUM_DECL(virDomainKVMTLBBroadcastMode);

int
virDomainKVMTLBBroadcastParse(virDomainFeatureKVM *kvm,
                              xmlNodePtr node);

void
virDomainKVMTLBBroadcastFormat(virBuffer *buf,
                               const virDomainFeatureKVM *kvm);

bool
virDomainKVMTLBBroadcastCheckABI(const virDomainFeatureKVM *src,
                                 const virDomainFeatureKVM *dst);
