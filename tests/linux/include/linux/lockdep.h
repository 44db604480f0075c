/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel files that are tested in user space use of the kernel's header. */
#ifndef LINUX_LOCKDEP_H
#define LINUX_LOCKDEP_H

#include <assert.h>

#define lockdep_assert_held(lock)	assert(mutex_is_mine(lock))

#endif
