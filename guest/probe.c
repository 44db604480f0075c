/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe.h"

#define PCI_ADDRESS     0xcf8
#define PCI_DATA        0xcfc
#define PCI_ENABLE      BIT(31)
#define PCI_BAR0        0x10
#define PCI_ID          0x00f01b36
#define PCI_DEVICES     32

static u64 base;

static u32 pci_read(unsigned device, unsigned reg)
{
    out32(PCI_ADDRESS, PCI_ENABLE | device << 11 | reg);
    return in32(PCI_DATA);
}

bool probe_init(void)
{
    for (unsigned device = 0; device < PCI_DEVICES && !base; device++) {
        if (pci_read(device, 0) == PCI_ID) {
            base = pci_read(device, PCI_BAR0) & ~0xfull;
        }
    }
    return base;
}

u64 probe_read(u32 reg)
{
    return *(volatile u64 *)(base + reg);
}

void probe_write(u32 reg, u64 value)
{
    *(volatile u64 *)(base + reg) = value;
}

u64 probe_result(unsigned n)
{
    return probe_read(TLB_PROBE_RESULT + 8 * n);
}

void probe_defaults(void)
{
    probe_write(TLB_PROBE_ADDR, 0);
    probe_write(TLB_PROBE_ASID, TLB_PROBE_CURRENT);
    probe_write(TLB_PROBE_PCID, TLB_PROBE_CURRENT);
    probe_write(TLB_PROBE_KIND, TLB_PROBE_LINEAR);
    probe_write(TLB_PROBE_ROOT, TLB_PROBE_CURRENT);
    probe_write(TLB_PROBE_SPACE, TLB_PROBE_CURRENT);
    probe_write(TLB_PROBE_BEFORE, 0);
    probe_write(TLB_PROBE_NUMBER, 0);
}

u64 probe_command(u64 command)
{
    probe_write(TLB_PROBE_COMMAND, command);
    return probe_read(TLB_PROBE_STATUS);
}

u64 probe_time(void)
{
    return probe_read(TLB_PROBE_TIME);
}

u64 probe_ring(u64 va, u64 time)
{
    u64 status;

    probe_write(TLB_PROBE_ADDR, va);
    probe_write(TLB_PROBE_BEFORE, time);
    status = probe_command(TLB_PROBE_RING);
    while (probe_read(TLB_PROBE_UNHEARD)) {
        pause();
    }
    return status;
}
