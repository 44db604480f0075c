/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CONSOLE_H
#define CONSOLE_H

#include "x86.h"

void console_init(void);

/* Knows %s %c %d %u %x %p, the length l, and a width with leading zeroes. */
void print(const char *format, ...) __attribute__((format(printf, 1, 2)));
void print_list(const char *format, va_list args);

/* Waits until somebody types a character: that one. */
u8 console_wait(void);

/*
 * Ends the machine through isa-debug-exit; QEMU's exit status is then
 * 2 * status + 1, here 33 or 35, which it never uses for errors of its own.
 */
#define STATUS_PASSED   16
#define STATUS_FAILED   17
void quit(u32 status) __attribute__((noreturn));

/* "Bail out!" in TAP: nothing after this point can be trusted. */
void bail_out(const char *format, ...)
    __attribute__((format(printf, 1, 2), noreturn));

#endif
