/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel files that are tested in user space use of the kernel's header. */
#ifndef LINUX_GFP_H
#define LINUX_GFP_H

typedef unsigned int gfp_t;

#define GFP_KERNEL	0

#endif
