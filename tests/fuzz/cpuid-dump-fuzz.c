// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cpuid-dump-fuzz SEED COUNT FILE DUMP...: the reader of CPUID dumps gets
 * mutated dumps, in FILE. Whatever they are, it reads them or says what is
 * wrong and where.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpus.h"

#define MAX_MUTATIONS 8

static void mutate(GRand *random, GString *text)
{
    /* What dumps are made of, and what they should not have. */
    static const char *const pieces[] = {
        "CPUID ", "0x", "eax in: ", "eax=0x", ":", "-", "[SL 01]", "[", "]",
        "\n", "\r", " ", "80000008", "00000000", "\xff\xfe", "\x1b[0m", "(",
        "\\", "%n%s", "CPU 0:\n",
    };
    size_t at = g_rand_int_range(random, 0, text->len + 1);
    size_t length =
        MIN((size_t)g_rand_int_range(random, 0, 100), text->len - at);
    const char *piece;

    switch (g_rand_int_range(random, 0, 5)) {
    case 0:
        if (at < text->len) {
            text->str[at] = g_rand_int_range(random, 0, 256);
        }
        break;
    case 1:
        g_string_erase(text, at, length);
        break;
    case 2:
        piece = pieces[g_rand_int_range(random, 0, G_N_ELEMENTS(pieces))];
        g_string_insert(text, at, piece);
        break;
    case 3: {
        g_autofree char *copy = g_strndup(text->str + at, length);

        g_string_insert(text, g_rand_int_range(random, 0, text->len + 1), copy);
        break;
    }
    default:
        g_string_truncate(text, at);
        break;
    }
}

int main(int argc, char **argv)
{
    unsigned long count, read = 0, i;
    GRand *random;

    if (argc < 5) {
        fprintf(stderr, "usage: cpuid-dump-fuzz SEED COUNT FILE DUMP...\n");
        return 2;
    }
    random = g_rand_new_with_seed(strtoul(argv[1], NULL, 0));
    count = strtoul(argv[2], NULL, 0);
    for (i = 0; i < count; i++) {
        g_autoptr(GString) text = g_string_new(NULL);
        g_autoptr(GPtrArray) cpus = NULL;
        g_autoptr(GError) error = NULL;
        g_autofree char *dump = NULL;
        size_t length;
        int mutations;

        if (!g_file_get_contents(argv[g_rand_int_range(random, 4, argc)], &dump,
                                 &length, &error)) {
            fprintf(stderr, "%s\n", error->message);
            return 2;
        }
        g_string_append_len(text, dump, length);
        for (mutations = g_rand_int_range(random, 0, MAX_MUTATIONS); mutations;
             mutations--) {
            mutate(random, text);
        }
        if (!g_file_set_contents_full(argv[3], text->str, text->len,
                                      G_FILE_SET_CONTENTS_NONE, 0600, &error)) {
            fprintf(stderr, "%s\n", error->message);
            return 2;
        }
        cpus = cpuid_read_dump(argv[3], &error);
        if (cpus) {
            CpuidLeaf value;
            unsigned int j;

            g_assert(!error && cpus->len);
            for (j = 0; j < cpus->len; j++) {
                cpuid_get(g_ptr_array_index(cpus, j), 0x80000008, &value);
            }
            read++;
        } else {
            g_assert(error && strstr(error->message, argv[3]));
            g_assert(g_utf8_validate(error->message, -1, NULL));
        }
    }
    g_rand_free(random);
    printf("%lu of %lu mutated dumps could be read\n", read, count);
    /* If all or none can, then this tests nothing. */
    return read == 0 || read == count;
}
