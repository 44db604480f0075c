/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * guest/linux/tlb-workload.c, linked as a function.
 */
#ifndef GUEST_CHECK_WORKLOAD_H
#define GUEST_CHECK_WORKLOAD_H

int tlb_workload_main(int argc, char **argv);

#endif
