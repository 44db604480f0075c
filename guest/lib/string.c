/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "string.h"

size_t string_length(const char *s)
{
    size_t n = 0;

    while (s[n]) {
        n++;
    }
    return n;
}

int memory_compare(const void *a, const void *b, size_t n)
{
    const u8 *x = a, *y = b;

    for (; n; n--, x++, y++) {
        if (*x != *y) {
            return *x - *y;
        }
    }
    return 0;
}

void *memset(void *to, int c, size_t n)
{
    void *d = to;

    asm volatile("rep stosb" : "+D"(d), "+c"(n) : "a"(c) : "memory");
    return to;
}

void *memcpy(void *to, const void *from, size_t n)
{
    void *d = to;

    asm volatile("rep movsb" : "+D"(d), "+S"(from), "+c"(n) : : "memory");
    return to;
}
