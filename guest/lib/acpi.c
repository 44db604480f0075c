/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "acpi.h"
#include "paging.h"
#include "string.h"

struct acpi_rsdp {
    char signature[8];
    u8 checksum, oem[6], revision;
    u32 rsdt, length;
    u64 xsdt;                           /* since revision 2 */
} __attribute__((packed));

#define RSDP_SIZE_1     20              /* what @checksum covers */

/* In the BIOS data area, where guest.ld puts it; 0 if there is no EBDA. */
extern const volatile u16 ebda_segment;

static bool is_rsdp(const u8 *p)
{
    u8 sum = 0;

    for (unsigned i = 0; i < RSDP_SIZE_1; i++) {
        sum += p[i];
    }
    return !memory_compare(p, "RSD PTR ", 8) && !sum;
}

static u64 find_rsdp_in(u64 start, u64 size)
{
    for (u64 at = start; at < start + size; at += 16) {
        if (is_rsdp((const u8 *)at)) {
            return at;
        }
    }
    return 0;
}

u64 acpi_find_rsdp(void)
{
    u64 ebda = (u64)ebda_segment << 4;
    u64 rsdp = ebda ? find_rsdp_in(ebda, 1024) : 0;

    return rsdp ? rsdp : find_rsdp_in(0xe0000, 0x20000);
}

static const struct acpi_table *map_table(u64 address)
{
    const struct acpi_table *table = map_physical(address, sizeof(*table));

    return map_physical(address, table->length);
}

const struct acpi_table *acpi_table(u64 rsdp_address, const char *signature)
{
    const struct acpi_rsdp *rsdp = map_physical(rsdp_address, sizeof(*rsdp));
    bool extended = rsdp->revision >= 2 && rsdp->xsdt;
    const struct acpi_table *root = map_table(extended ? rsdp->xsdt :
                                                         rsdp->rsdt);
    unsigned size = extended ? 8 : 4;

    for (u32 at = sizeof(*root); at + size <= root->length; at += size) {
        const struct acpi_table *table;
        u64 address = 0;

        memcpy(&address, (const u8 *)root + at, size);
        table = map_table(address);
        if (!memory_compare(table->signature, signature, 4)) {
            return table;
        }
    }
    return NULL;
}
