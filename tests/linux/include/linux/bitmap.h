/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel files that are tested in user space use of the kernel's header. */
#ifndef LINUX_BITMAP_H
#define LINUX_BITMAP_H

#include <linux/gfp.h>
#include <linux/types.h>

unsigned long *bitmap_zalloc(unsigned int nbits, gfp_t flags);
void bitmap_free(const unsigned long *bitmap);
bool bitmap_empty(const unsigned long *bitmap, unsigned int nbits);
unsigned int bitmap_weight(const unsigned long *bitmap, unsigned int nbits);

/* As in the kernel, not atomic: whoever calls them has to hold a lock. */
void __set_bit(unsigned long nr, unsigned long *bitmap);
void __clear_bit(unsigned long nr, unsigned long *bitmap);

unsigned long find_next_zero_bit(const unsigned long *bitmap, unsigned long size,
				 unsigned long offset);

static inline unsigned long find_first_zero_bit(const unsigned long *bitmap, unsigned long size)
{
	return find_next_zero_bit(bitmap, size, 0);
}

#endif
