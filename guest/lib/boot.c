/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "acpi.h"
#include "boot.h"

struct pvh_start_info {
    u32 magic, version, flags, modules;
    u64 module_list, command_line, rsdp;
};

struct multiboot_info {
    u32 flags, mem_lower, mem_upper, boot_device, command_line;
};
#define MULTIBOOT_COMMAND_LINE  BIT(2)

const char *boot_command_line(bool multiboot, u64 info)
{
    const struct pvh_start_info *pvh = (void *)info;
    const struct multiboot_info *m = (void *)info;
    const char *words;

    if (!multiboot) {
        return pvh->command_line ? (const char *)pvh->command_line : "";
    }
    if (!(m->flags & MULTIBOOT_COMMAND_LINE)) {
        return "";
    }
    /* The first word is the name of this program's file. */
    words = (const char *)(u64)m->command_line;
    while (*words && *words != ' ') {
        words++;
    }
    return words;
}

u64 boot_rsdp(bool multiboot, u64 info)
{
    const struct pvh_start_info *pvh = (void *)info;

    return multiboot || !pvh->rsdp ? acpi_find_rsdp() : pvh->rsdp;
}
