/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * As much of the kernel as the files that are tested in user space need: what it promises
 * to its users, in the plainest way.
 */
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <linux/bitmap.h>
#include <linux/bug.h>
#include <linux/kstrtox.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/string.h>

#include "kernel.h"

#define BITS	(8 * sizeof(long))

char kernel_message[200];
char kernel_warning[200];
unsigned int kernel_warnings;
_Atomic unsigned int kernel_bugs;
bool kernel_no_memory;
int kernel_allocations;
_Thread_local struct misc_cg *kernel_current_cg;
u64 kernel_capacity;
struct misc_cg *kernel_no_charge;

void printk(char level, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(kernel_message, sizeof(kernel_message), format, args);
	va_end(args);
	if (level <= '4') {
		strcpy(kernel_warning, kernel_message);
		kernel_warnings++;
	}
}

bool warn_on(bool condition)
{
	if (condition)
		kernel_bugs++;
	return condition;
}

int kstrtoint(const char *s, unsigned int base, int *res)
{
	long value;
	char *end;

	errno = 0;
	value = strtol(s, &end, base);
	if (end == s || (*end && strcmp(end, "\n")))
		return -EINVAL;
	if (errno || value < INT_MIN || value > INT_MAX)
		return -ERANGE;
	*res = value;
	return 0;
}

bool sysfs_streq(const char *s1, const char *s2)
{
	size_t length = strlen(s2);

	return !strncmp(s1, s2, length) && (!s1[length] || !strcmp(s1 + length, "\n"));
}

/* Exactly as many words as the kernel has, so that a sanitizer sees a bit too many. */
unsigned long *bitmap_zalloc(unsigned int nbits, gfp_t flags)
{
	if (kernel_no_memory) {
		kernel_no_memory = false;
		return NULL;
	}
	kernel_allocations++;
	return calloc((nbits + BITS - 1) / BITS, sizeof(long));
}

void bitmap_free(const unsigned long *bitmap)
{
	kernel_allocations -= !!bitmap;
	free((void *)bitmap);
}

static bool test_bit(unsigned long nr, const unsigned long *bitmap)
{
	return bitmap[nr / BITS] >> nr % BITS & 1;
}

void __set_bit(unsigned long nr, unsigned long *bitmap)
{
	bitmap[nr / BITS] |= 1UL << nr % BITS;
}

void __clear_bit(unsigned long nr, unsigned long *bitmap)
{
	bitmap[nr / BITS] &= ~(1UL << nr % BITS);
}

unsigned long find_next_zero_bit(const unsigned long *bitmap, unsigned long size,
				 unsigned long offset)
{
	for (; offset < size; offset++)
		if (!test_bit(offset, bitmap))
			return offset;
	return size;
}

unsigned int bitmap_weight(const unsigned long *bitmap, unsigned int nbits)
{
	unsigned int n, weight = 0;

	for (n = 0; n < nbits; n++)
		weight += test_bit(n, bitmap);
	return weight;
}

bool bitmap_empty(const unsigned long *bitmap, unsigned int nbits)
{
	return !bitmap_weight(bitmap, nbits);
}

void mutex_lock(struct mutex *mutex)
{
	pthread_mutex_lock(&mutex->lock);
	mutex->owner = pthread_self();
	mutex->locked = true;
}

void mutex_unlock(struct mutex *mutex)
{
	mutex->locked = false;
	pthread_mutex_unlock(&mutex->lock);
}

/* Not called by a thread that may race with the owner, unless the code under test is wrong. */
bool mutex_is_mine(struct mutex *mutex)
{
	return mutex->locked && pthread_equal(mutex->owner, pthread_self());
}

int misc_cg_set_capacity(enum misc_res_type type, u64 capacity)
{
	kernel_capacity = capacity;
	return 0;
}

/* Like the kernel's, it adds first and looks then, also in the cgroups above. */
int misc_cg_try_charge(enum misc_res_type type, struct misc_cg *cg, u64 amount)
{
	struct misc_cg *full, *i;

	if (!cg || !kernel_capacity)
		return -EINVAL;
	for (full = cg; full; full = full->parent) {
		u64 usage = full->usage += amount;

		if (usage > full->max || usage > kernel_capacity || full == kernel_no_charge)
			break;
	}
	if (!full)
		return 0;
	full->events++;
	for (i = cg; i != full->parent; i = i->parent)
		i->usage -= amount;
	return -EBUSY;
}

void misc_cg_uncharge(enum misc_res_type type, struct misc_cg *cg, u64 amount)
{
	for (; cg; cg = cg->parent) {
		assert(cg->usage >= amount);
		cg->usage -= amount;
	}
}

struct misc_cg *get_current_misc_cg(void)
{
	kernel_current_cg->references++;
	return kernel_current_cg;
}

void put_misc_cg(struct misc_cg *cg)
{
	if (!cg)
		return;
	assert(cg->references > 0);
	cg->references--;
}
