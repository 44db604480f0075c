/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Conformance guest for INVLPGB and TLBSYNC.
 *
 * Boots as a kernel by PVH or Multiboot, starts all CPUs and runs groups of flat tests, each
 * as the bare machine ("host") and, where that makes sense, in a guest of its
 * own ("guest").  Output is TAP 14 on the first serial port; the name of a
 * test point starts with the clause of spec.md, "spec B.3/4", of the AMD
 * manual's volume 2, "APM2 15.20", or of Intel's volume 3, "SDM3 4.10.4.1",
 * that it checks.
 *
 * Command line words:
 *   run=GROUP[,GROUP...]   these groups only; without it all but those that
 *                          need help from outside or a certain machine
 *   seed=N count=N         for the random tests
 *   replay=...             one of their triples; see test-random.c
 *   strict=1               the machine has QEMU's strict TLB model
 *   judge-open=1           what spec.md leaves open is as it assumes, or fails;
 *                          else that is only recorded
 *   mode=NAME              how KVM gives INVLPGB to this guest: intercept,
 *                          emulate or passthrough
 *   exits=1 emulated=1     for the table of primitives; see test-primitives.c
 *   watchdog=SECONDS       after which a test that does not get on is the end
 *   expect-NAME=N          what CPUID must say; see test-cpuid.c for the names
 */
#include "tests.h"
#include "lib/boot.h"
#include "lib/trap.h"

static const struct group {
    const char *name;
    void (*fn)(void);
    bool on_request;
} groups[] = {
    { "cpuid", test_cpuid },
    { "encoding", test_encoding },
    { "privilege", test_privilege },
    { "control-registers", test_control_registers },
    { "pcid", test_pcid },
    { "cached", test_cached },
    { "spared", test_spared },
    { "operands", test_operands },
    { "random", test_random },
    { "match", test_match },
    { "order", test_order },
    { "reuse", test_reuse },
    { "la57", test_la57 },
    { "faults", test_faults },
    { "exits", test_exits },
    { "world-switch", test_world_switch },
    { "asid", test_asid },
    { "inject", test_inject },
    { "ferr", test_ferr },
    { "hypervisor", test_hypervisor },
    { "clean-bits", test_clean_bits },
    { "probe", test_probe },
    { "model", test_model },
    { "init", test_init },
    { "platform", test_platform, .on_request = true },
    { "adversary", test_adversary, .on_request = true },
    { "replay", test_replay, .on_request = true },
    { "reset", test_reset, .on_request = true },
    { "migration", test_migration, .on_request = true },
    { "primitives", test_primitives },
    { "hang", test_hang, .on_request = true },
    { "query", test_query, .on_request = true },
    { "loadvm", test_loadvm, .on_request = true },
    { "clean-bits-reset", test_clean_bits_reset, .on_request = true },
};

void boot_main(bool multiboot, u64 info);

bool strict(void)
{
    u64 value = 0;

    return param_number("strict", &value) && value;
}

bool hosts_rules(void)
{
    bool emulated = param_lists("mode", "intercept", false) ||
                    param_lists("mode", "emulate", false);

    return machine.kvm && !emulated;
}

bool skip_without_invlpgb(const char *clause)
{
    if (!machine.invlpgb) {
        skip("CPUID 8000_0008 EBX[3] is clear", "spec %s", clause);
    }
    return !machine.invlpgb;
}

void set_pcide_here(bool on)
{
    u64 cr4 = read_cr4();

    write_cr3((u64)boot_pml4);
    write_cr4(on ? cr4 | CR4_PCIDE : cr4 & ~CR4_PCIDE);
}

static void set_pcide_work(void *on)
{
    set_pcide_here(*(bool *)on);
}

void set_pcide(bool on)
{
    set_pcide_here(on);
    cpu_call_others(set_pcide_work, &on);
}

static unsigned selected_groups(void)
{
    unsigned n = 0;

    for (unsigned i = 0; i < ARRAY_SIZE(groups); i++) {
        n += param_lists("run", groups[i].name, false);
    }
    return n;
}

void boot_main(bool multiboot, u64 info)
{
    u64 judge_open;

    console_init();
    out8(0x21, 0xff);           /* nothing from the old interrupt controllers */
    out8(0xa1, 0xff);
    print("TAP version 14\n");
    params_init(boot_command_line(multiboot, info));
    random_init();
    if (param_number("judge-open", &judge_open) && judge_open) {
        tap_judge_open();
    }
    if (selected_groups() != param_items("run")) {
        bail_out("run= names an unknown group");
    }

    machine_init();
    idt_init();
    cpu_init(&cpus[0]);
    paging_init();
    cpus_start(boot_rsdp(multiboot, info));
    note("%u CPUs%s%s", cpu_count, strict() ? ", strict TLB model" : "",
         machine.kvm ? ", KVM" : "");
    if (hosts_rules() && machine.invlpgb) {
        note("for all that is known, INVLPGB is executed natively");
    }
    if (machine.svm && machine.npt) {
        svm_init(NULL);
        cpu_call_others(svm_init, NULL);
    }

    for (unsigned i = 0; i < ARRAY_SIZE(groups); i++) {
        if (param_lists("run", groups[i].name, !groups[i].on_request)) {
            group_begin(groups[i].name);
            groups[i].fn();
        }
    }
    if (params_unknown()) {
        bail_out("nothing asked for this: %s", params_unknown());
    }
    quit(tap_finish() ? STATUS_PASSED : STATUS_FAILED);
}
