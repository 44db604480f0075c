/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The numeric-error signals of one CPU must not disturb the state of another.
 *
 * QEMU keeps IGNNE# with the first CPU's flags, among them those for nested
 * paging and the global interrupt flag.  Other CPUs set it through the port
 * that acknowledges FERR# and clear it by reloading the FPU environment; when
 * that races with VMRUN, #VMEXIT, STGI or CLGI, an update can get lost.  Then the host goes on with the guest's nested paging or the
 * guest without, which a page that nested paging moves makes visible; or an
 * interrupt gets through in spite of CLGI.
 */
#include "tests.h"

/* How often the others do it in each of the two tests. */
#define RELOADS         1000000
#define RELOADS_AT_ONCE 100

#define PORT_FERR       0xf0

static u64 *page, *moved_page;
static bool stop;
static u64 reloads[MAX_CPUS];

static void reload_fpu(void *unused)
{
    u32 environment[7];

    asm volatile("fninit; fnstenv %0" : "=m"(environment));
    while (!load_acquire(&stop)) {
        for (unsigned i = 0; i < RELOADS_AT_ONCE; i++) {
            out8(PORT_FERR, 0);
            asm volatile("fldenv %0" : : "m"(environment));
        }
        store_release(&reloads[this_cpu()->index],
                      reloads[this_cpu()->index] + RELOADS_AT_ONCE);
        pause();
    }
}

static void read_page(void *seen)
{
    *(u64 *)seen = *(volatile u64 *)page;
}

static bool enough(void)
{
    static u64 last;
    u64 sum = 0;

    pause();                    /* lets others run where CPUs take turns */
    for_each_other_cpu(c) {
        sum += load_acquire(&reloads[c->index]);
    }
    if (sum != last) {
        last = sum;
        progress();
    }
    return sum >= RELOADS;
}

static void while_others_reload_fpu(void (*fn)(void))
{
    struct work works[MAX_CPUS];

    stop = false;
    for_each_other_cpu(c) {
        works[c->index] = (struct work) { reload_fpu };
        reloads[c->index] = 0;
        cpu_post(c, &works[c->index]);
    }
    fn();
    store_release(&stop, true);
    for_each_other_cpu(c) {
        cpu_wait(&works[c->index]);
    }
}

static void world_switches(void)
{
    u64 rounds = 0, host_wrong = 0, guest_wrong = 0;

    while (rounds++ % 16 || !enough()) {
        u64 seen;

        guest_call(read_page, &seen);
        guest_wrong += seen != 2;
        read_page(&seen);
        host_wrong += seen != 1;
    }
    report(!host_wrong && !guest_wrong, "APM2 15.5 host: world switches while "
           "other CPUs use their FPU");
    note("%lu and %lu of %lu reads as host and guest went wrong", host_wrong,
         guest_wrong, rounds);
}

/* Takes what is pending and not held off: STI blocks one instruction. */
static void interrupt_window(void)
{
    asm volatile("sti; nop; nop; cli" : : : "memory");
}

static void send_to_self(void)
{
    apic_write(APIC_ICR_LOW, APIC_TO_SELF | VECTOR_INJECT);
}

static void global_interrupt_flag(void)
{
    struct cpu *c = this_cpu();
    u64 rounds = 0;
    u32 early;

    c->absorb = true;
    c->absorbed[VECTOR_INJECT] = 0;
    send_to_self();
    while (rounds++ % 256 || !enough()) {
        u32 before = c->absorbed[VECTOR_INJECT];

        asm volatile("stgi; clgi" : : : "memory");
        interrupt_window();
        if (c->absorbed[VECTOR_INJECT] != before) {
            apic_write(APIC_EOI, 0);
            send_to_self();
        }
    }
    early = c->absorbed[VECTOR_INJECT];
    asm volatile("stgi" : : : "memory");
    interrupt_window();
    apic_write(APIC_EOI, 0);
    c->absorb = false;
    report(early == 0 && c->absorbed[VECTOR_INJECT] == 1, "APM2 15.17 host: "
           "CLGI holds interrupts off while other CPUs use their FPU");
    note("%u of %lu interrupts got through", early, rounds);
}

void test_ferr(void)
{
    const char *reason = !machine.svm || !machine.npt ?
                         "no SVM with nested paging" :
                         cpu_count == 1 ? "one CPU only" : NULL;

    if (reason) {
        skip(reason, "APM2 15.5 host: SVM while other CPUs use their FPU");
        return;
    }
    page = page_alloc();
    moved_page = page_alloc();
    *page = 1;
    *moved_page = 2;
    npt_map((u64)page, (u64)moved_page);
    guest_reset();
    while_others_reload_fpu(world_switches);
    while_others_reload_fpu(global_interrupt_flag);
}
