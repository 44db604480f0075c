/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel files that are tested in user space use of the kernel's header. */
#ifndef LINUX_MISC_CGROUP_H
#define LINUX_MISC_CGROUP_H

#include <linux/types.h>

enum misc_res_type {
	MISC_CG_RES_SVM_VM_ASID,
};

/* A cgroup, and what the misc controller knows of it: of one resource. */
struct misc_cg {
	struct misc_cg *parent;
	u64 max;
	/* These change while other threads look. */
	_Atomic u64 usage;
	_Atomic u64 events;
	_Atomic int references;
};

int misc_cg_set_capacity(enum misc_res_type type, u64 capacity);
int misc_cg_try_charge(enum misc_res_type type, struct misc_cg *cg, u64 amount);
void misc_cg_uncharge(enum misc_res_type type, struct misc_cg *cg, u64 amount);
struct misc_cg *get_current_misc_cg(void);
void put_misc_cg(struct misc_cg *cg);

#endif
