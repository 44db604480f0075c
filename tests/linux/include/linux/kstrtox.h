/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel files that are tested in user space use of the kernel's header. */
#ifndef LINUX_KSTRTOX_H
#define LINUX_KSTRTOX_H

int kstrtoint(const char *s, unsigned int base, int *res);

#endif
