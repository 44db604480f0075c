/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the tests of KVM's pool of VM-wide ASIDs, linux/arch/x86/kvm/svm/asid.c, share.
 */
#ifndef TESTS_LINUX_ASID_POOL_H
#define TESTS_LINUX_ASID_POOL_H

#include <linux/limits.h>
#include <linux/moduleparam.h>

#include "asid.h"
#include "kernel.h"

/* The dynamic ASIDs that the pool promises to leave, if there are as many. */
#define PROMISED	1024

extern const struct kernel_param_ops *const param_vm_asids;

#endif
