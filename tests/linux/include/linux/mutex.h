/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel files that are tested in user space use of the kernel's header. */
#ifndef LINUX_MUTEX_H
#define LINUX_MUTEX_H

#include <pthread.h>
#include <stdbool.h>

struct mutex {
	pthread_mutex_t lock;
	pthread_t owner;
	bool locked;
};

#define DEFINE_MUTEX(name)	struct mutex name = { .lock = PTHREAD_MUTEX_INITIALIZER }

void mutex_lock(struct mutex *mutex);
void mutex_unlock(struct mutex *mutex);
bool mutex_is_mine(struct mutex *mutex);

#endif
