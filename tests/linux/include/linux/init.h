/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel files that are tested in user space use of the kernel's header. */
#ifndef LINUX_INIT_H
#define LINUX_INIT_H

#define __init
#define __ro_after_init

#endif
