/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel files that are tested in user space use of the kernel's header. */
#ifndef LINUX_BUG_H
#define LINUX_BUG_H

#include <linux/types.h>

/* Counted; the test decides if it was right. */
bool warn_on(bool condition);

#define WARN_ON_ONCE(condition)	warn_on(condition)

#endif
