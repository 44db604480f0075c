/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel files that are tested in user space use of the kernel's header. */
#ifndef LINUX_SYSFS_H
#define LINUX_SYSFS_H

#include <stdio.h>

#define sysfs_emit(buffer, ...)	sprintf(buffer, __VA_ARGS__)

#endif
