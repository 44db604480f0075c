/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CPUs: found in ACPI's MADT, started by INIT and SIPI, fed by a mailbox. */
#include "acpi.h"
#include "console.h"
#include "cpu.h"
#include "string.h"
#include "tap.h"
#include "trap.h"
#include "watchdog.h"

#define APIC_BASE       0xfee00000ull
#define ICR_BUSY        BIT(12)
#define ICR_INIT        0x4500
#define ICR_STARTUP     0x4600
#define ICR_FIXED       0x4000

struct machine machine;
struct cpu cpus[MAX_CPUS];
unsigned cpu_count;

extern const u8 low_start[], low_end[];
extern const u64 boot_gdt[GDT_ENTRIES];
extern u64 ap_stack_top;
extern struct cpu *ap_cpu;
unsigned real_mode_excursion(void);
void ap_main(struct cpu *c);

void machine_init(void)
{
    u32 max = cpuid(0x80000000, 0).eax;
    struct cpuid basic = cpuid(1, 0);
    struct cpuid extended = cpuid(0x80000001, 0);
    struct cpuid sizes = cpuid(0x80000008, 0);

    machine.pcid = basic.ecx & BIT(17);
    machine.invpcid = cpuid(7, 0).ebx & BIT(10);
    machine.smep = cpuid(7, 0).ebx & BIT(7);
    machine.smap = cpuid(7, 0).ebx & BIT(20);
    machine.pku = cpuid(7, 0).ecx & BIT(3);
    machine.la57 = cpuid(7, 0).ecx & BIT(16);
    if (basic.ecx & BIT(31)) {
        u32 hypervisor = cpuid(0x40000000, 0).ebx;

        machine.kvm = hypervisor == 0x4b4d564b;         /* "KVMK" */
        machine.tcg = hypervisor == 0x54474354;         /* "TCGT" */
    }
    machine.page_1g = extended.edx & BIT(26);
    machine.phys_bits = sizes.eax & 0xff;
    machine.va_bits = sizes.eax >> 8 & 0xff;
    machine.invlpgb = sizes.ebx & BIT(3);
    machine.nested = sizes.ebx & BIT(21);
    machine.count_max = sizes.edx & 0xffff;
    machine.svm = extended.ecx & BIT(2);
    if (machine.svm && max >= 0x8000000a) {
        struct cpuid svm = cpuid(0x8000000a, 0);

        machine.nasid = svm.ebx;
        machine.npt = svm.edx & BIT(0);
        machine.nrips = svm.edx & BIT(3);
        machine.vmcb_clean = svm.edx & BIT(5);
        machine.flush_by_asid = svm.edx & BIT(6);
        machine.tlbi_ctl = svm.edx & BIT(24);
    }
    if (max >= 0x80000021) {
        machine.tlbsync_sfw_no = cpuid(0x80000021, 0).eax & BIT(4);
    }
}

u32 apic_read(unsigned reg)
{
    return *(volatile u32 *)(APIC_BASE + reg);
}

void apic_write(unsigned reg, u32 v)
{
    *(volatile u32 *)(APIC_BASE + reg) = v;
}

static void send_ipi(u32 apic_id, u32 command)
{
    apic_write(APIC_ICR_HIGH, apic_id << 24);
    apic_write(APIC_ICR_LOW, command);
    while (apic_read(APIC_ICR_LOW) & ICR_BUSY) {
        pause();
    }
}

void cpu_init(struct cpu *c)
{
    u64 tss = (u64)c->tss;
    u64 trap_stack_top = (u64)c->trap_stack + sizeof(c->trap_stack);
    struct descriptor_pointer gdt = { sizeof(c->gdt) - 1, (u64)c->gdt };

    memcpy(c->gdt, boot_gdt, sizeof(c->gdt));
    c->gdt[TSS_SELECTOR / 8] = (sizeof(c->tss) - 1) | (tss & 0xffffff) << 16 |
                               0x89ull << 40 | (tss >> 24 & 0xff) << 56;
    c->gdt[TSS_SELECTOR / 8 + 1] = tss >> 32;
    memcpy(c->tss + 36, &trap_stack_top, sizeof(trap_stack_top));   /* IST 1 */

    asm volatile("lgdt %0; ltr %w1" : : "m"(gdt), "r"(TSS_SELECTOR));
    idt_load();
    c->self = c;
    write_msr(MSR_GS_BASE, (u64)c);
    apic_write(APIC_SVR, BIT(8) | VECTOR_SPURIOUS);
    c->apic_id = apic_read(APIC_ID) >> 24;
}

void ap_main(struct cpu *c)
{
    cpu_init(c);
    store_release(&c->online, true);
    work_loop(NULL);
}

/*
 * SIPI is repeated until the CPU shows up: one that still handles INIT loses
 * it, and one that runs already ignores it.
 */
static void start(struct cpu *c)
{
    ap_cpu = c;
    ap_stack_top = (u64)c->stack + sizeof(c->stack);
    send_ipi(c->apic_id, ICR_INIT);
    while (!load_acquire(&c->online)) {
        send_ipi(c->apic_id, ICR_STARTUP | LOW_BASE >> 12);
        for (unsigned i = 0; i < 1000 && !load_acquire(&c->online); i++) {
            pause();
        }
    }
}

void cpu_restart(struct cpu *c)
{
    c->online = false;
    start(c);
}

/* Entries of the MADT: each begins with type and length. */
#define MADT_LOCAL_APIC 0
#define MADT_IO_APIC    1
#define MADT_OVERRIDE   2               /* of an ISA interrupt */

#define RTC_IRQ         8

static u32 read_u32(const u8 *p)
{
    u32 v;

    memcpy(&v, p, sizeof(v));
    return v;
}

static void add_cpu(u32 apic_id)
{
    if (apic_id == cpus[0].apic_id) {
        return;
    }
    if (cpu_count == MAX_CPUS) {
        note("more than %u CPUs: one stays off", MAX_CPUS);
        return;
    }
    cpus[cpu_count].index = cpu_count;
    cpus[cpu_count++].apic_id = apic_id;
}

void cpus_start(u64 rsdp)
{
    const struct acpi_table *madt;
    const u8 *entry;
    u64 ioapic = 0;
    u32 pin = RTC_IRQ;

    memcpy((void *)LOW_BASE, low_start, low_end - low_start);
    cpu_count = 1;

    if (!rsdp) {
        bail_out("no ACPI RSDP, from the loader or in the BIOS area");
    }
    madt = acpi_table(rsdp, "APIC");
    if (!madt) {
        bail_out("ACPI has no MADT");
    }
    /* After the header: APIC address, flags. */
    for (entry = (const u8 *)(madt + 1) + 8;
         entry < (const u8 *)madt + madt->length; entry += entry[1]) {
        switch (entry[0]) {
        case MADT_LOCAL_APIC:
            if (entry[4] & 1) {         /* enabled */
                add_cpu(entry[3]);
            }
            break;
        case MADT_IO_APIC:
            if (read_u32(entry + 8) == 0) {     /* its first interrupt */
                ioapic = read_u32(entry + 4);
            }
            break;
        case MADT_OVERRIDE:
            if (entry[3] == RTC_IRQ) {
                pin = read_u32(entry + 4);
            }
            break;
        }
    }
    if (!ioapic) {
        bail_out("ACPI's MADT has no I/O APIC");
    }
    watchdog_init(ioapic, pin);
    for (struct cpu *c = cpus + 1; c < cpus + cpu_count; c++) {
        start(c);
        progress();
    }
}

/*
 * An idle CPU halts rather than spins, so that emulators with fewer cores than
 * CPUs give their time to the busy ones.  The wake-up may come early or
 * pending from an earlier post: the mailbox decides.
 */
void work_loop(void *unused)
{
    struct cpu *c = this_cpu();
    struct work *w;
    bool stop;

    do {
        interrupts_off();
        store_release(&c->idle, true);
        while (!(w = load_acquire(&c->mailbox))) {
            asm volatile("sti; hlt; cli" : : : "memory");
        }
        store_release(&c->idle, false);
        store_release(&c->mailbox, NULL);
        stop = w->fn == stop_working;
        if (!stop) {
            w->fn(w->arg);
        }
        store_release(&w->done, true);
    } while (!stop);
}

void stop_working(void *unused)
{
}

void cpu_post(struct cpu *c, struct work *w)
{
    w->done = false;
    while (load_acquire(&c->mailbox)) {
        pause();
    }
    store_release(&c->mailbox, w);
    send_ipi(c->apic_id, ICR_FIXED | VECTOR_WAKE);
}

void cpu_wait(struct work *w)
{
    while (!load_acquire(&w->done)) {
        pause();
    }
}

void cpu_call(struct cpu *c, void (*fn)(void *), void *arg)
{
    struct work w = { fn, arg, false };

    if (c == this_cpu()) {
        fn(arg);
        return;
    }
    cpu_post(c, &w);
    cpu_wait(&w);
}

void cpu_call_others(void (*fn)(void *), void *arg)
{
    struct work works[MAX_CPUS];

    for_each_other_cpu(c) {
        works[c->index] = (struct work) { fn, arg, false };
        cpu_post(c, &works[c->index]);
    }
    for_each_other_cpu(c) {
        cpu_wait(&works[c->index]);
    }
}

unsigned real_mode_execute(const struct code *code)
{
    size_t size = code->end + 2 - code->start;

    memcpy((void *)LOW_SNIPPET, code->start, size);
    interrupts_off();
    return real_mode_excursion();
}
