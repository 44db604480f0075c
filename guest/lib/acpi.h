/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The few ACPI tables that say which CPUs there are. */
#ifndef ACPI_H
#define ACPI_H

#include "x86.h"

struct acpi_table {
    char signature[4];
    u32 length;
    u8 rest[28];
} __attribute__((packed));

/* The RSDP, where the firmware of a PC puts it; 0 if it is not there. */
u64 acpi_find_rsdp(void);

/* The table with that signature, or NULL. */
const struct acpi_table *acpi_table(u64 rsdp, const char *signature);

#endif
