/*
 * qemu_tlb_broadcast.h: how KVM guests execute INVLPGB and TLBSYNC
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "domain_conf.h"
#include "qemu_capabilities.h"

int
qemuTLBBroadcastValidate(const virDomainDef *def,
                         virQEMUCaps *qemuCaps);

void
qemuTLBBroadcastBuildAccel(virBuffer *buf,
                           const virDomainDef *def);

void
qemuTLBBroadcastFillDomainCaps(virDomainCaps *domCaps,
                               virQEMUCaps *qemuCaps);
