/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef STRING_H
#define STRING_H

#include "x86.h"

size_t string_length(const char *s);
int memory_compare(const void *a, const void *b, size_t n);

/* The compiler may call these two. */
void *memset(void *to, int c, size_t n);
void *memcpy(void *to, const void *from, size_t n);

#endif
