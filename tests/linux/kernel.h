/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The part of the kernel that the files under test see, and how a test controls it.
 */
#ifndef TESTS_LINUX_KERNEL_H
#define TESTS_LINUX_KERNEL_H

#include <linux/misc_cgroup.h>

/* What was printed last, and last as a warning or worse, and how many warnings so far. */
extern char kernel_message[200];
extern char kernel_warning[200];
extern unsigned int kernel_warnings;

/* WARN_ON_ONCE() that found something to complain about. */
extern _Atomic unsigned int kernel_bugs;

/* Let the next allocation fail; allocations that were not freed. */
extern bool kernel_no_memory;
extern int kernel_allocations;

/* The cgroup of the current thread, and what the host has of the resource in all. */
extern _Thread_local struct misc_cg *kernel_current_cg;
extern u64 kernel_capacity;

/* Let charging this cgroup, or one below it, fail whatever its quota is. */
extern struct misc_cg *kernel_no_charge;

#endif
