/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "console.h"
#include "cpu.h"
#include "params.h"
#include "tap.h"
#include "watchdog.h"

#define RTC_INDEX       0x70
#define RTC_DATA        0x71
#define RTC_SECONDS     0x00
#define RTC_ALARM       0x01            /* seconds, minutes, hours: every other */
#define RTC_A           0x0a
#define RTC_A_UPDATING  BIT(7)
#define RTC_B           0x0b
#define RTC_B_24_HOURS  BIT(1)
#define RTC_B_BINARY    BIT(2)
#define RTC_B_ALARM     BIT(5)
#define RTC_C           0x0c
#define RTC_ANY         0xff            /* an alarm for any minute or hour */

#define IOAPIC_NMI      (4u << 8)
#define IOAPIC_MASKED   BIT(16)
#define IOAPIC_ALL      (0xffu << 24)

/* In about a third of a second to two, the clock need not be read again. */
#define CYCLES          BIT(30)

/* How often to look whether other CPUs have taken their NMI. */
#define PATIENCE        1000000

static u64 seconds = 25;
static u64 ioapic;
static u32 ioapic_pin;
static u64 put_off;                     /* when, by the TSC; 0: no watch */

static u8 rtc_read(u8 index)
{
    out8(RTC_INDEX, index);
    return in8(RTC_DATA);
}

static void rtc_write(u8 index, u8 value)
{
    out8(RTC_INDEX, index);
    out8(RTC_DATA, value);
}

static void ioapic_write(u32 reg, u32 value)
{
    *(volatile u32 *)ioapic = reg;
    *(volatile u32 *)(ioapic + 0x10) = value;
}

static u8 from_bcd(u8 v)
{
    return v / 16 * 10 + v % 16;
}

static u8 to_bcd(u8 v)
{
    return v / 10 * 16 + v % 10;
}

static void set_alarm(void)
{
    bool binary = rtc_read(RTC_B) & RTC_B_BINARY;
    u8 now, then;

    while (rtc_read(RTC_A) & RTC_A_UPDATING) {
        pause();
    }
    now = rtc_read(RTC_SECONDS);
    then = ((binary ? now : from_bcd(now)) + seconds) % 60;
    rtc_write(RTC_ALARM, binary ? then : to_bcd(then));
}

void watchdog_init(u64 base, u32 pin)
{
    param_number("watchdog", &seconds);
    if (!seconds || seconds > 59) {
        bail_out("watchdog= takes 1 to 59 seconds");
    }
    ioapic = base;
    ioapic_pin = pin;
    rtc_write(RTC_ALARM + 2, RTC_ANY);
    rtc_write(RTC_ALARM + 4, RTC_ANY);
    rtc_write(RTC_B, (rtc_read(RTC_B) & (RTC_B_BINARY | RTC_B_24_HOURS)) |
                     RTC_B_ALARM);
    ioapic_write(0x11 + 2 * pin, IOAPIC_ALL);
    watchdog_start();
}

void watchdog_start(void)
{
    set_alarm();
    rtc_read(RTC_C);                    /* lets the next alarm come */
    ioapic_write(0x10 + 2 * ioapic_pin, IOAPIC_NMI);
    store_release(&put_off, read_tsc() | 1);
}

void watchdog_stop(void)
{
    store_release(&put_off, 0);
    ioapic_write(0x10 + 2 * ioapic_pin, IOAPIC_NMI | IOAPIC_MASKED);
}

/* One CPU sets the clock, the others need not wait for it. */
void progress(void)
{
    u64 last = load_acquire(&put_off), now = read_tsc() | 1;

    if (last && now - last > CYCLES &&
        __atomic_compare_exchange_n(&put_off, &last, now, false,
                                    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        set_alarm();
    }
}

static bool caught[MAX_CPUS];
static u64 caught_at[MAX_CPUS];

static unsigned count_caught(void)
{
    unsigned n = 0;

    for (unsigned i = 0; i < cpu_count; i++) {
        n += load_acquire(&caught[i]);
    }
    return n;
}

static void print_cpu(const struct cpu *c)
{
    if (!caught[c->index]) {
        print("; CPU %u does not take an NMI%s", c->index,
              load_acquire(&c->idle) ? " and is idle" : "");
    } else if (!load_acquire(&c->idle)) {
        print("; CPU %u at RIP %lx%s", c->index, caught_at[c->index],
              load_acquire(&c->executing) ? ", in a snippet" : "");
    }
}

void watchdog_nmi(u64 rip)
{
    static bool taken;
    unsigned index = this_cpu()->index;

    caught_at[index] = rip;
    store_release(&caught[index], true);
    if (__atomic_exchange_n(&taken, true, __ATOMIC_ACQ_REL)) {
        for (;;) {
            asm volatile("cli; hlt");
        }
    }
    for (unsigned i = 0; i < PATIENCE && count_caught() < cpu_count; i++) {
        pause();
    }
    print("\nBail out! stuck for %lu s in group %s after test point %u",
          seconds, tap_group(), tap_points());
    for (const struct cpu *c = cpus; c < cpus + cpu_count; c++) {
        print_cpu(c);
    }
    print("\n");
    quit(STATUS_FAILED);
}
