/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "console.h"
#include "params.h"
#include "string.h"

static char words[1024];
static bool looked_at[sizeof(words)];     /* by the offset of the word */

void params_init(const char *command_line)
{
    size_t n = 0;

    while (command_line[n]) {
        if (n == sizeof(words) - 1) {
            bail_out("command line longer than %lu bytes", sizeof(words) - 1);
        }
        words[n] = command_line[n];
        n++;
    }
}

/* The value after "name=", up to a space or the end; NULL if absent. */
static const char *find(const char *name)
{
    size_t n = string_length(name);

    for (const char *w = words; *w; w++) {
        if ((w == words || w[-1] == ' ') && !memory_compare(w, name, n) &&
            w[n] == '=') {
            looked_at[w - words] = true;
            return w + n + 1;
        }
    }
    return NULL;
}

static bool ends(char c)
{
    return !c || c == ' ';
}

const char *params_unknown(void)
{
    for (const char *w = words; *w; w++) {
        bool starts = *w != ' ' && (w == words || w[-1] == ' ');

        if (starts && !looked_at[w - words]) {
            return w;
        }
    }
    return NULL;
}

bool param_number(const char *name, u64 *value)
{
    const char *p = find(name);
    unsigned base = 10;

    if (!p) {
        return false;
    }
    if (p[0] == '0' && p[1] == 'x') {
        base = 16;
        p += 2;
    }
    *value = 0;
    do {
        unsigned digit = *p >= '0' && *p <= '9' ? *p - '0' :
                         *p >= 'a' && *p <= 'f' ? *p - 'a' + 10 : 99;

        if (digit >= base) {
            bail_out("%s= takes a number", name);
        }
        *value = *value * base + digit;
    } while (!ends(*++p));
    return true;
}

/* Moves @p to the next item of a list and returns the length of this one. */
static size_t take_item(const char **p)
{
    size_t n = 0;

    while (!ends((*p)[n]) && (*p)[n] != ',') {
        n++;
    }
    *p += n + ((*p)[n] == ',');
    return n;
}

bool param_lists(const char *name, const char *item, bool absent)
{
    const char *p = find(name);

    if (!p) {
        return absent;
    }
    while (!ends(*p)) {
        const char *start = p;
        size_t n = take_item(&p);

        if (n == string_length(item) && !memory_compare(start, item, n)) {
            return true;
        }
    }
    return false;
}

unsigned param_items(const char *name)
{
    const char *p = find(name);
    unsigned n = 0;

    while (p && !ends(*p)) {
        take_item(&p);
        n++;
    }
    return n;
}
