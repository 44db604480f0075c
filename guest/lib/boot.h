/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the boot loader says, by either of its protocols. */
#ifndef BOOT_H
#define BOOT_H

#include "x86.h"

const char *boot_command_line(bool multiboot, u64 info);
/* 0 if neither loader nor firmware has an ACPI RSDP. */
u64 boot_rsdp(bool multiboot, u64 info);

#endif
