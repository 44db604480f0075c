/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel files that are tested in user space use of the kernel's header. */
#ifndef LINUX_LIMITS_H
#define LINUX_LIMITS_H

#include <linux/types.h>

#define U16_MAX		((u16)~0U)
#define U64_MAX		((u64)~0ULL)

#endif
