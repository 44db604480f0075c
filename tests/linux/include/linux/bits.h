/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel files that are tested in user space use of the kernel's header. */
#ifndef LINUX_BITS_H
#define LINUX_BITS_H

#define BIT(n)		(1UL << (n))
#define GENMASK(h, l)	(~0UL >> (63 - (h)) & ~0UL << (l))

#endif
