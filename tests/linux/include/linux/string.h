/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel files that are tested in user space use of the kernel's header. */
#ifndef LINUX_STRING_H
#define LINUX_STRING_H

#include <string.h>
#include <stdbool.h>

bool sysfs_streq(const char *s1, const char *s2);

#endif
