/*
 * qemu_cpu_optin.h: CPU features which QEMU enables only on request
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "domain_conf.h"
#include "qemu_capabilities.h"

virCPUDef *
qemuCPUOptInDropRequired(const virCPUDef *cpu,
                         virQEMUCaps *qemuCaps);

int
qemuCPUOptInCheckForbidden(const virCPUDef *cpu,
                           virDomainVirtType virtType,
                           virQEMUCaps *qemuCaps);

void
qemuCPUOptInRequireOptional(virCPUDef *cpu,
                            virQEMUCaps *qemuCaps);

int
qemuCPUOptInVerify(virCPUDef *cpu,
                   const virCPUDef *origCPU,
                   const virCPUData *guestCPU);
