/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What KVM offers, by its own word.
 */
#ifndef DOCTOR_KVM_H
#define DOCTOR_KVM_H

#include <glib.h>
#include <stdbool.h>

#include "host.h"

typedef struct KvmOffer {
    /* Bits of KVM_GET_SUPPORTED_CPUID and of KVM_GET_EMULATED_CPUID. */
    bool supported;
    bool emulated;
    /* Userspace may disable the exits of INVLPGB. */
    bool native;
} KvmOffer;

/* Ask KVM; return false if it cannot be asked. */
bool kvm_ask(const Host *host, KvmOffer *offer, GError **error);

#endif
