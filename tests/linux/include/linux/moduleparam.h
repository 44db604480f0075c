/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel files that are tested in user space use of the kernel's header. */
#ifndef LINUX_MODULEPARAM_H
#define LINUX_MODULEPARAM_H

#include <linux/init.h>
#include <linux/sysfs.h>

struct kernel_param;

struct kernel_param_ops {
	int (*set)(const char *val, const struct kernel_param *kp);
	int (*get)(char *buffer, const struct kernel_param *kp);
};

/* For the test, which sets and reads the parameter as the kernel does. */
#define module_param_cb(name, ops, arg, perm) \
	const struct kernel_param_ops *const param_##name = (ops)

#define MODULE_PARM_DESC(name, text) \
	extern const struct kernel_param_ops *const param_##name

#endif
