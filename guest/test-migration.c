/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Migration of this machine, and a return to an earlier snapshot of it, while
 * it runs a guest: spec.md C.1 to C.3.  Whoever does it reads what is printed
 * here and answers with a character:
 *   1  the machine has been saved: make translations that must not be left later
 *   2  it has been migrated, or is back in its snapshot: go on
 */
#include "tests.h"

#define PAGE            0x0000580000000000ull

static u64 *frames[2], *moved;
static bool executed;
static u64 seen_by_guest, seen_by_host, moved_by_guest, moved_by_host;

static void map(unsigned frame)
{
    store_release(pte_at(boot_pml4, PAGE, 1), (u64)frames[frame] | PTE_LEAF);
}

static u64 read(const u64 *p)
{
    return *(const volatile u64 *)p;
}

static void make_other_translations(void)
{
    map(1);
    invlpg(PAGE);
    if (read((u64 *)PAGE) != 1) {
        bail_out("INVLPG does not work");
    }
}

static void be_migrated(void *unused)
{
    if (read((u64 *)PAGE) != 0) {
        bail_out("the guest does not read the page");
    }
    note("ready to be migrated");
    if (console_wait() == '1') {
        make_other_translations();
        note("ready to be loaded");
        console_wait();
        bail_out("nobody has loaded the snapshot");
    }
    seen_by_guest = read((u64 *)PAGE);
    moved_by_guest = read(moved);
    invlpgb(0, 0, 0);
    executed = true;
    tlbsync();
}

void test_migration(void)
{
    u64 exit_code, *elsewhere = page_alloc();

    if (skip_without_invlpgb("C.3: migration in a guest")) {
        return;
    }
    for (unsigned i = 0; i < 2; i++) {
        frames[i] = page_alloc();
        *frames[i] = i;
    }
    map(0);
    /* A page that the guest has elsewhere. */
    moved = page_alloc();
    *moved = 1;
    *elsewhere = 2;
    npt_map((u64)moved, (u64)elsewhere);

    guest_reset();
    guest_intercept(EXIT_TLBSYNC);
    guest_intercept(EXIT_EXCEPTION + EXC_UD);
    guest_prepare_call(be_migrated, NULL);
    exit_code = guest_run();
    moved_by_host = read(moved);
    seen_by_host = read((u64 *)PAGE);
    report(executed, "spec C.3 guest: INVLPGB stays enabled when migrated");
    report(exit_code == EXIT_TLBSYNC,
           "spec C.1 guest: TLBSYNC stays intercepted when migrated");
    note("exit code %lx", exit_code);
    report(seen_by_guest == 0 && seen_by_host == 0, "APM2 5.5 guest: after "
           "migration it reads what the page tables say");
    report(moved_by_guest == 2 && moved_by_host == 1, "APM2 15.16 guest: what "
           "it reads after migration is kept under its ASID");
    npt_map((u64)moved, (u64)moved);
    guest_reset();
}
