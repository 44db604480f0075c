/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The probe device of QEMU's strict TLB model, and the stale reads that it
 * witnesses: as bare machine, as hypervisor and as guest.
 */
#include "tlb.h"
#include "probe.h"

#define FUZZ_COUNT      20000
#define DOORBELLS       64
#define VM_ONE          1
#define VM_TWO          2

static const char *const status_names[] = {
    "OK", "NOTHING", "FULL", "BAD_COMMAND", "BAD_OPERAND", "NO_MODEL",
};

static bool expect_status(u64 status, u64 expected, const char *what)
{
    return report(status == expected, "probe: %s is %s", what,
                  status_names[expected]);
}

static u64 page_va(void)
{
    return window_probe(WINDOW_4K, 0);
}

static void touch(void *unused)
{
    *(volatile u64 *)page_va();
}

static void flush_page(void *unused)
{
    invlpg(page_va());
}

static u64 lookup(u64 va)
{
    probe_write(TLB_PROBE_ADDR, va);
    return probe_command(TLB_PROBE_LOOKUP);
}

static u64 counter(unsigned n)
{
    if (probe_command(TLB_PROBE_COUNTERS) != TLB_PROBE_OK) {
        bail_out("the probe device does not count");
    }
    return probe_result(n);
}

static void forget_reports(void)
{
    while (probe_command(TLB_PROBE_TAKE_REPORT) == TLB_PROBE_OK) {
    }
}

/* How many reports there are now, of this kind and CPU; takes all. */
static unsigned take_reports(u64 kind, unsigned cpu)
{
    unsigned n = 0;

    while (probe_command(TLB_PROBE_TAKE_REPORT) == TLB_PROBE_OK) {
        n += probe_result(TLB_PROBE_R_KIND) == kind &&
             probe_result(TLB_PROBE_R_CPU) == cpu;
    }
    return n;
}

static void test_registers(void)
{
    static const struct {
        u32 reg;
        u64 value, command;
        const char *what;
    } bad[] = {
        { TLB_PROBE_ASID, 0x10000, TLB_PROBE_LOOKUP, "ASID 0x10000" },
        { TLB_PROBE_PCID, 0x1000, TLB_PROBE_LOOKUP, "PCID 0x1000" },
        { TLB_PROBE_KIND, 2, TLB_PROBE_LOOKUP, "kind 2" },
        { TLB_PROBE_ASID, 0x10000, TLB_PROBE_EVICT, "eviction in ASID 0x10000" },
        { TLB_PROBE_ASID, 0x10000, TLB_PROBE_COUNTERS, "count in ASID 0x10000" },
        { TLB_PROBE_ROOT, 0x1001, TLB_PROBE_TIE, "tying root 0x1001" },
        { TLB_PROBE_ROOT, BIT(52), TLB_PROBE_TIE, "tying root 2^52" },
        { TLB_PROBE_NUMBER, BIT(32), TLB_PROBE_TIE, "tying to VM 2^32" },
    };
    static const u64 commands[] = { 0, TLB_PROBE_TAKE_REPORT + 1, ~0ull };

    report(probe_read(TLB_PROBE_MAGIC) == TLB_PROBE_MAGIC_VALUE,
           "probe: the device is what it says");
    for (unsigned i = 0; i < ARRAY_SIZE(commands); i++) {
        expect_status(probe_command(commands[i]), TLB_PROBE_BAD_COMMAND,
                      "an unknown command");
    }
    for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
        probe_defaults();
        probe_write(TLB_PROBE_ROOT, 0x1000);
        probe_write(bad[i].reg, bad[i].value);
        expect_status(probe_command(bad[i].command), TLB_PROBE_BAD_OPERAND,
                      bad[i].what);
    }
    probe_defaults();
    probe_write(TLB_PROBE_MAGIC, 1);
    probe_write(TLB_PROBE_RESULT, 1);
    probe_write(TLB_PROBE_BAR_SIZE - 8, 1);
    report(probe_read(TLB_PROBE_MAGIC) == TLB_PROBE_MAGIC_VALUE &&
           probe_result(0) == 0 && probe_read(TLB_PROBE_BAR_SIZE - 8) == 0,
           "probe: what is not an operand cannot be written");
    report(probe_time() < probe_time(), "probe: time goes on");
}

static void write_addr(void *value)
{
    probe_write(TLB_PROBE_ADDR, *(u64 *)value);
}

static void test_lookup(void)
{
    u64 other = 0x1234, flags;

    window_reset(WINDOW_4K);
    flush_local();
    probe_defaults();
    expect_status(lookup(page_va()), TLB_PROBE_NOTHING,
                  "a page that was not read");
    touch(NULL);
    expect_status(lookup(page_va() + 8), TLB_PROBE_OK, "a page that was read");
    report(probe_result(TLB_PROBE_R_ADDR) == page_va() &&
           *(u64 *)probe_result(TLB_PROBE_R_PHYS) ==
           window_value(WINDOW_4K, 0),
           "probe: the translation is that of the page tables");
    flags = probe_result(TLB_PROBE_R_FLAGS);
    report(flags == (TLB_PROBE_F_DIRTY | TLB_PROBE_F_WRITABLE |
                     TLB_PROBE_F_USER),
           "probe: the flags are those of the page tables");
    report(probe_result(TLB_PROBE_R_SHIFT) == 12 &&
           probe_result(TLB_PROBE_R_STAGE1_SHIFT) == 12 &&
           probe_result(TLB_PROBE_R_ASID) == 0 &&
           probe_result(TLB_PROBE_R_PCID) == 0 &&
           probe_result(TLB_PROBE_R_SPACE) == (u64)boot_pml4,
           "probe: size, ASID, PCID and page tables are right");
    probe_write(TLB_PROBE_ASID, 5);
    expect_status(lookup(page_va()), TLB_PROBE_NOTHING, "another ASID");
    probe_write(TLB_PROBE_ASID, 0);
    expect_status(lookup(page_va()), TLB_PROBE_OK, "the ASID by its number");
    probe_write(TLB_PROBE_PCID, 5);
    expect_status(lookup(page_va()), TLB_PROBE_NOTHING, "another PCID");
    probe_write(TLB_PROBE_PCID, TLB_PROBE_CURRENT);
    probe_write(TLB_PROBE_KIND, TLB_PROBE_NESTED);
    expect_status(lookup(page_va()), TLB_PROBE_NOTHING, "another kind");
    probe_defaults();
    invlpg(page_va());
    expect_status(lookup(page_va()), TLB_PROBE_NOTHING,
                  "a page after INVLPG");

    if (cpu_count > 1) {
        probe_write(TLB_PROBE_ADDR, 1);
        cpu_call(&cpus[1], write_addr, &other);
        report(probe_read(TLB_PROBE_ADDR) == 1,
               "probe: each CPU has operands of its own");
    }
}

static void test_evict(void)
{
    u64 live, evicted;

    window_reset(WINDOW_4K);
    flush_local();
    probe_defaults();
    touch(NULL);
    window_change(WINDOW_4K);
    report(*(volatile u64 *)page_va() == window_value(WINDOW_4K, 0),
           "probe: the old page is read before an eviction");
    probe_write(TLB_PROBE_ADDR, page_va());
    expect_status(probe_command(TLB_PROBE_EVICT), TLB_PROBE_OK, "an eviction");
    expect_status(lookup(page_va()), TLB_PROBE_NOTHING, "an evicted page");
    expect_status(probe_command(TLB_PROBE_EVICT), TLB_PROBE_NOTHING,
                  "a second eviction");
    report(*(volatile u64 *)page_va() == window_value(WINDOW_4K, 1),
           "probe: the new page is read after an eviction");

    live = counter(TLB_PROBE_C_LIVE);
    evicted = counter(TLB_PROBE_C_EVICTED);
    expect_status(probe_command(TLB_PROBE_EVICT_RANDOM), TLB_PROBE_OK,
                  "an eviction by chance");
    /* What was evicted may have been needed and filled again. */
    report(counter(TLB_PROBE_C_EVICTED) == evicted + 1 &&
           counter(TLB_PROBE_C_LIVE) <= live,
           "probe: an eviction by chance evicts one entry");
    flush_local();
}

static void test_counters(void)
{
    u64 inserts, pages = 10;

    window_reset(WINDOW_4K);
    flush_local();
    probe_defaults();
    counter(0);
    inserts = counter(TLB_PROBE_C_INSERTS);
    for (u64 i = 0; i < pages; i++) {
        *(volatile u64 *)window_probe(WINDOW_4K, i * PAGE_SIZE);
    }
    report(counter(TLB_PROBE_C_INSERTS) >= inserts + pages &&
           counter(TLB_PROBE_C_LIVE) >= pages &&
           counter(TLB_PROBE_C_IN_ASID) >= pages &&
           counter(TLB_PROBE_C_BYTES) > 0 &&
           counter(TLB_PROBE_C_PEAK) >= counter(TLB_PROBE_C_LIVE),
           "probe: entries are counted");
    probe_write(TLB_PROBE_ASID, 0x7777);
    report(counter(TLB_PROBE_C_IN_ASID) == 0,
           "probe: entries are counted by ASID");
    probe_defaults();
    if (skip_without_invlpgb("C.6: pending INVLPGBs")) {
        return;
    }
    tlbsync();
    report(counter(TLB_PROBE_C_PENDING) == 0, "probe: no INVLPGB is pending");
    invlpgb(INVLPGB_ASID | INVLPGB_GLOBAL, 0, 0);
    report(counter(TLB_PROBE_C_PENDING) == 1, "probe: an INVLPGB is pending");
    tlbsync();
    report(counter(TLB_PROBE_C_PENDING) == 0,
           "probe: no INVLPGB is pending after TLBSYNC");
}

/* Page read by all, changed, @invalidate done here; rings for it. */
static void change_and_ring(void (*invalidate)(void *))
{
    u64 time;

    window_reset(WINDOW_4K);
    flush_page(NULL);
    cpu_call_others(flush_page, NULL);
    touch(NULL);
    cpu_call_others(touch, NULL);
    forget_reports();
    time = probe_time();
    window_change(WINDOW_4K);
    if (invalidate) {
        invalidate(NULL);
    }
    if (probe_ring(page_va(), time) != TLB_PROBE_OK) {
        bail_out("the doorbell does not ring");
    }
}

static void silence(void)
{
    if (probe_command(TLB_PROBE_SILENCE) != TLB_PROBE_OK) {
        bail_out("the doorbell rings on");
    }
}

static void test_stale(void)
{
    struct cpu *other = &cpus[1];
    u64 stale, number, time;

    probe_defaults();
    stale = counter(TLB_PROBE_C_STALE);
    change_and_ring(flush_page);
    touch(NULL);
    report(take_reports(TLB_PROBE_STALE, 0) == 0,
           "probe: no stale read after INVLPG (%s)", here());
    silence();

    change_and_ring(NULL);
    number = probe_read(TLB_PROBE_NUMBER);
    touch(NULL);
    report(counter(TLB_PROBE_C_STALE) > stale,
           "probe: a stale read is counted (%s)", here());
    expect_status(probe_command(TLB_PROBE_TAKE_REPORT), TLB_PROBE_OK,
                  "a stale read's report");
    report(probe_result(TLB_PROBE_R_KIND) == TLB_PROBE_STALE &&
           probe_result(TLB_PROBE_R_CPU) == 0 &&
           probe_result(TLB_PROBE_R_ASID) == (in_guest() ? GUEST_ASID : 0) &&
           probe_result(TLB_PROBE_R_PCID) == 0 &&
           probe_result(TLB_PROBE_R_USED_ADDR) / PAGE_SIZE ==
           page_va() / PAGE_SIZE &&
           probe_result(TLB_PROBE_R_SPACE) == (u64)boot_pml4 &&
           probe_result(TLB_PROBE_R_OWNER) == probe_result(TLB_PROBE_R_USER) &&
           probe_result(TLB_PROBE_R_DOORBELL) == number,
           "probe: a report says who, where and why (%s)", here());
    report(*(u64 *)probe_result(TLB_PROBE_R_PHYS) ==
           window_value(WINDOW_4K, 0),
           "probe: a report says which page was read (%s)", here());
    silence();
    expect_status(probe_command(TLB_PROBE_SILENCE), TLB_PROBE_NOTHING,
                  "a second silence");
    flush_local();
    forget_reports();

    /* Filled later than the time that is said: not old. */
    window_reset(WINDOW_4K);
    flush_page(NULL);
    time = probe_time();
    touch(NULL);
    probe_ring(page_va(), time);
    touch(NULL);
    report(take_reports(TLB_PROBE_STALE, 0) == 0,
           "probe: what was filled after the change is not old (%s)", here());
    silence();

    if (cpu_count < 2) {
        skip("one CPU only", "probe: stale reads of another CPU (%s)", here());
        return;
    }
    change_and_ring(flush_page);
    touch(NULL);
    cpu_call(other, touch, NULL);
    report(take_reports(TLB_PROBE_STALE, other->index) == 1,
           "probe: a stale read of another CPU is seen (%s)", here());
    silence();
    cpu_call(other, touch, NULL);
    report(take_reports(TLB_PROBE_STALE, other->index) == 0,
           "probe: silence ends it (%s)", here());
    cpu_call(other, flush_page, NULL);
}

/* As in test_stale(); 2 MiB pages, and the doorbell for another address. */
static void test_large_page(void)
{
    u64 va = window_probe(WINDOW_2M, 0), time;

    window_reset(WINDOW_2M);
    flush_local();
    *(volatile u64 *)va;
    forget_reports();
    time = probe_time();
    probe_ring(va + SIZE_2M - 1, time);
    *(volatile u64 *)va;
    report(take_reports(TLB_PROBE_STALE, 0) == 1,
           "probe: a doorbell means the whole page (%s)", here());
    silence();
    probe_ring(va + SIZE_2M, time);
    *(volatile u64 *)va;
    report(take_reports(TLB_PROBE_STALE, 0) == 0,
           "probe: a doorbell does not mean the next page (%s)", here());
    silence();
}

static void test_space(void)
{
    u64 time;

    window_reset(WINDOW_4K);
    flush_local();
    touch(NULL);
    forget_reports();
    time = probe_time();
    probe_write(TLB_PROBE_SPACE, (u64)boot_pml4 + PAGE_SIZE);
    probe_ring(page_va(), time);
    touch(NULL);
    report(take_reports(TLB_PROBE_STALE, 0) == 0,
           "probe: a doorbell of other page tables means others (%s)", here());
    silence();
    probe_write(TLB_PROBE_SPACE, TLB_PROBE_ANY);
    probe_ring(page_va(), time);
    touch(NULL);
    report(take_reports(TLB_PROBE_STALE, 0) == 1,
           "probe: a doorbell of all page tables means these (%s)", here());
    silence();
    probe_write(TLB_PROBE_SPACE, TLB_PROBE_CURRENT);
    probe_write(TLB_PROBE_ROOT, 0x123000);
    probe_ring(page_va(), time);
    touch(NULL);
    report(take_reports(TLB_PROBE_STALE, 0) == 0,
           "probe: a doorbell of another guest means others (%s)", here());
    silence();
    probe_defaults();
}

static void test_limits(void)
{
    u64 first = 0, status = TLB_PROBE_OK;
    unsigned n = 0;

    probe_defaults();
    for (; n < 2 * DOORBELLS && status == TLB_PROBE_OK; n++) {
        status = probe_ring(0x1000 * n, 0);
        if (!n) {
            first = probe_read(TLB_PROBE_NUMBER);
        }
    }
    report(status == TLB_PROBE_FULL && n == DOORBELLS + 1,
           "probe: %u doorbells ring, and no more", DOORBELLS);
    while (n-- > 1) {
        probe_write(TLB_PROBE_NUMBER, first + n - 1);
        silence();
    }
}

static void test_as_machine(void *unused)
{
    test_stale();
    test_large_page();
    test_space();
}

/* The hypervisor's view: nested pages, and guests by their root. */

static u64 *guest_page;

static void read_guest_page(void *value)
{
    *(u64 *)value = *(volatile u64 *)guest_page;
}

static void ring_physical(u64 addr, u64 time)
{
    probe_write(TLB_PROBE_ADDR, addr);
    probe_write(TLB_PROBE_ROOT, this_vmcb()->nested_cr3);
    probe_write(TLB_PROBE_BEFORE, time);
    if (probe_command(TLB_PROBE_RING_PHYSICAL) != TLB_PROBE_OK) {
        bail_out("the doorbell for a physical page does not ring");
    }
    while (probe_read(TLB_PROBE_UNHEARD)) {
        pause();
    }
}

static unsigned stale_after_nested_change(u8 tlb_control)
{
    u64 gpa, old_page = (u64)page_alloc(), new_page = (u64)page_alloc(), time;
    unsigned n;

    window_reset(WINDOW_4K);
    gpa = *pte_at(boot_pml4, page_va(), 1) & PTE_ADDRESS;
    guest_reset();
    npt_map(gpa, old_page);
    guest_call(touch, NULL);
    forget_reports();
    time = probe_time();
    npt_map(gpa, new_page);
    ring_physical(old_page, time);
    this_vmcb()->tlb_control = tlb_control;
    guest_call(touch, NULL);
    n = take_reports(TLB_PROBE_STALE, 0);
    silence();
    npt_map(gpa, gpa);
    return n;
}

static unsigned violations_of_recycled_root(u64 first_vm, u64 second_vm)
{
    u64 value;

    guest_page = page_alloc();
    guest_reset();
    probe_defaults();
    probe_write(TLB_PROBE_ROOT, this_vmcb()->nested_cr3);
    probe_write(TLB_PROBE_NUMBER, first_vm);
    expect_status(probe_command(TLB_PROBE_TIE), TLB_PROBE_OK,
                  "tying a root to a VM");
    guest_call(read_guest_page, &value);
    forget_reports();
    probe_write(TLB_PROBE_NUMBER, second_vm);
    probe_command(TLB_PROBE_TIE);
    guest_call(read_guest_page, &value);
    return take_reports(TLB_PROBE_VIOLATION, 0);
}

static void test_hypervisors_view(void)
{
    u64 value;

    if (!machine.svm || !machine.npt) {
        skip("no SVM with nested paging", "probe: the hypervisor's view");
        return;
    }
    probe_defaults();
    report(stale_after_nested_change(TLB_KEEP) > 0,
           "probe: a nested page that was not flushed is seen");
    report(stale_after_nested_change(TLB_FLUSH_ASID) == 0,
           "probe: a nested page that was flushed is not");

    guest_page = page_alloc();
    guest_reset();
    guest_call(read_guest_page, &value);
    probe_defaults();
    probe_write(TLB_PROBE_ASID, GUEST_ASID);
    expect_status(lookup((u64)guest_page), TLB_PROBE_OK,
                  "a guest's page in the hypervisor's view");
    report(probe_result(TLB_PROBE_R_OWNER) == this_vmcb()->nested_cr3,
           "probe: it is the guest's by its root");
    report(counter(TLB_PROBE_C_IN_ASID) > 0,
           "probe: the guest's entries are counted");

    report(violations_of_recycled_root(VM_ONE, VM_ONE) == 0,
           "probe: a VM that keeps its root is no violation");
    report(violations_of_recycled_root(VM_ONE, VM_TWO) > 0,
           "probe: a root that another VM gets is a violation");
    guest_reset();
}

/* Whatever is written: the device goes on. */

static u64 fuzz_seed[MAX_CPUS];

static void fuzz(void *unused)
{
    static const u64 values[] = {
        0, 1, 2, 9, 0xfff, 0x1000, 0xffff, 0x10000, TLB_PROBE_CURRENT,
        TLB_PROBE_ANY, BIT(32), BIT(51), BIT(63), 0x00007ffffffff000,
    };
    u64 *state = &fuzz_seed[this_cpu()->index];

    for (unsigned i = 0; i < FUZZ_COUNT; i++) {
        u64 r = random_from(state);
        u32 reg = (r & 7) ? TLB_PROBE_COMMAND + (r >> 8) % 9 * 8 :
                            (r >> 8) % (TLB_PROBE_BAR_SIZE / 8) * 8;
        u64 value = values[(r >> 20) % ARRAY_SIZE(values)];

        if (r & BIT(30)) {
            value = random_from(state);
        }
        /* Numbers of commands and doorbells, and addresses that are used */
        switch (r >> 31 & 7) {
        case 0:
        case 1:
            value = (r >> 34) % (TLB_PROBE_TAKE_REPORT + 2);
            break;
        case 2:
            value = page_va() + ((r >> 34) & 0xffff);
        }
        if (r & BIT(40)) {
            probe_read(reg);
        } else {
            probe_write(reg, value);
        }
        if (r >> 60 == 0) {
            touch(NULL);
        }
    }
}

/* Ends whatever doorbells the CPUs have rung, by all numbers that may be. */
static void clear_doorbells(void)
{
    probe_defaults();
    for (u64 i = 1; i <= (u64)cpu_count * FUZZ_COUNT + 4 * DOORBELLS; i++) {
        probe_write(TLB_PROBE_NUMBER, i);
        probe_command(TLB_PROBE_SILENCE);
    }
    forget_reports();
}

static void test_fuzz(void)
{
    for (unsigned i = 0; i < cpu_count; i++) {
        fuzz_seed[i] = random() | 1;
    }
    for_each_other_cpu(c) {
        fuzz_seed[c->index] += c->index;
    }
    cpu_call_others(fuzz, NULL);
    fuzz(NULL);
    report(probe_read(TLB_PROBE_MAGIC) == TLB_PROBE_MAGIC_VALUE,
           "probe: the device survives random accesses");
    clear_doorbells();
    window_reset(WINDOW_4K);
    flush_local();
    touch(NULL);
    expect_status(lookup(page_va()), TLB_PROBE_OK,
                  "a page after random accesses");
}

void test_probe(void)
{
    if (!probe_init()) {
        skip("no such device", "probe");
        return;
    }
    report(probe_read(TLB_PROBE_ASID) == TLB_PROBE_CURRENT &&
           probe_read(TLB_PROBE_PCID) == TLB_PROBE_CURRENT &&
           probe_read(TLB_PROBE_KIND) == TLB_PROBE_LINEAR &&
           probe_read(TLB_PROBE_ROOT) == TLB_PROBE_CURRENT &&
           probe_read(TLB_PROBE_SPACE) == TLB_PROBE_CURRENT,
           "probe: after a reset operands mean the CPU's own");
    if (!strict()) {
        expect_status(probe_command(TLB_PROBE_COUNTERS), TLB_PROBE_NO_MODEL,
                      "a command without the model");
        return;
    }
    test_registers();
    test_lookup();
    test_evict();
    test_counters();
    test_limits();
    run_in_each(test_as_machine, NULL);
    test_hypervisors_view();
    test_fuzz();
}

/* For who looks from outside: a page of CPU 0, and a stale read of it. */
void test_query(void)
{
    if (!probe_init() || !strict()) {
        skip("no probe device or no TLB model", "query");
        return;
    }
    probe_defaults();
    change_and_ring(NULL);
    touch(NULL);
    note("query address 0x%lx", page_va());
    note("ready to be queried");
    console_wait();
    report(take_reports(TLB_PROBE_STALE, 0) > 0,
           "query: a report that was queried is still there");
}
