// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * In the place of guest/linux/tlb-workload.c in invlpgb-guest-check: say what
 * the environment has in PROBE.
 */
#include <stdio.h>
#include <stdlib.h>

#include "workload.h"

int tlb_workload_main(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    puts(getenv("PROBE"));
    return 0;
}
