/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command line: words of the form name=value. */
#ifndef PARAMS_H
#define PARAMS_H

#include "x86.h"

void params_init(const char *command_line);

/* False if the word is not there; decimal or 0x. */
bool param_number(const char *name, u64 *value);

/* Whether @item is in the comma-separated value of @name; @absent if none. */
bool param_lists(const char *name, const char *item, bool absent);

/* The number of items in the comma-separated value of @name; 0 if absent. */
unsigned param_items(const char *name);

/* The command line from the first word that nothing has asked for, or NULL. */
const char *params_unknown(void);

#endif
