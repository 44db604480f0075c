/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel files that are tested in user space use of the kernel's header. */
#ifndef LINUX_PRINTK_H
#define LINUX_PRINTK_H

void printk(char level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define pr_warn(format, ...)	printk('4', pr_fmt(format), ##__VA_ARGS__)
#define pr_info(format, ...)	printk('6', pr_fmt(format), ##__VA_ARGS__)

#endif
