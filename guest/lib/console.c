/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Output on the first serial port, and the way out. */
#include "console.h"
#include "watchdog.h"

#define SERIAL          0x3f8
#define DEBUG_EXIT      0xf4

void console_init(void)
{
    out8(SERIAL + 1, 0);                /* no interrupts */
    out8(SERIAL + 3, 0x80);             /* divisor access */
    out8(SERIAL + 0, 1);                /* 115200 baud */
    out8(SERIAL + 1, 0);
    out8(SERIAL + 3, 0x03);             /* 8N1 */
    out8(SERIAL + 2, 0x07);             /* FIFOs on and empty */
}

static void put(char c)
{
    while (!(in8(SERIAL + 5) & 0x20)) {
        pause();
    }
    out8(SERIAL, c);
}

u8 console_wait(void)
{
    watchdog_stop();
    while (!(in8(SERIAL + 5) & 0x01)) {
        pause();
    }
    watchdog_start();
    return in8(SERIAL);
}

static void put_number(u64 v, unsigned base, unsigned width)
{
    char digits[20];
    unsigned n = 0;

    do {
        digits[n++] = "0123456789abcdef"[v % base];
        v /= base;
    } while (v);
    for (; width > n; width--) {
        put('0');
    }
    while (n) {
        put(digits[--n]);
    }
}

void print_list(const char *format, va_list args)
{
    for (; *format; format++) {
        unsigned width = 0;
        bool wide = false;

        if (*format != '%') {
            put(*format);
            continue;
        }
        while (*++format >= '0' && *format <= '9') {
            width = width * 10 + *format - '0';
        }
        if (*format == 'l') {
            wide = true;
            format++;
        }
        switch (*format) {
        case 's':
            for (const char *s = va_arg(args, const char *); *s; s++) {
                put(*s);
            }
            break;
        case 'c':
            put(va_arg(args, int));
            break;
        case 'd': {
            long v = wide ? va_arg(args, long) : va_arg(args, int);

            if (v < 0) {
                put('-');
            }
            put_number(v < 0 ? -(u64)v : (u64)v, 10, width);
            break;
        }
        case 'u':
            put_number(wide ? va_arg(args, u64) : va_arg(args, u32), 10, width);
            break;
        case 'x':
            put_number(wide ? va_arg(args, u64) : va_arg(args, u32), 16, width);
            break;
        case 'p':
            put_number(va_arg(args, u64), 16, 16);
            break;
        default:
            put(*format);
        }
    }
}

void print(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    print_list(format, args);
    va_end(args);
}

void quit(u32 status)
{
    out32(DEBUG_EXIT, status);
    for (;;) {
        asm volatile("cli; hlt");
    }
}

void bail_out(const char *format, ...)
{
    va_list args;

    print("Bail out! ");
    va_start(args, format);
    print_list(format, args);
    va_end(args);
    print("\n");
    quit(STATUS_FAILED);
}
