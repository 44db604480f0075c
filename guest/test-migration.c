/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Migration of this machine while it runs a guest: spec.md C.1 to C.3. */
#include "tests.h"

static bool executed;

static void be_migrated(void *unused)
{
    /* What the suite waits for; it types something when that is done. */
    note("ready to be migrated");
    console_wait();
    invlpgb(0, 0, 0);
    executed = true;
    tlbsync();
}

void test_migration(void)
{
    u64 exit_code;

    if (skip_without_invlpgb("C.3: migration in a guest")) {
        return;
    }
    guest_reset();
    guest_intercept(EXIT_TLBSYNC);
    guest_intercept(EXIT_EXCEPTION + EXC_UD);
    guest_prepare_call(be_migrated, NULL);
    exit_code = guest_run();
    report(executed, "spec C.3 guest: INVLPGB stays enabled when migrated");
    report(exit_code == EXIT_TLBSYNC,
           "spec C.1 guest: TLBSYNC stays intercepted when migrated");
    note("exit code %lx", exit_code);
    guest_reset();
}
