/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the chipset does to translations: SMI, A20.  For QEMU's q35 with
 * firmware that has set system management mode up.
 */
#include "tlb.h"
#include "lib/string.h"

#define APM_CONTROL     0xb2            /* a write is an SMI */
#define MSR_SMI_COUNT   0x34

/* Not one of SeaBIOS's commands. */
#define NO_COMMAND      0x7f

static bool smi_seen;

static void by_smi(void *unused)
{
    u64 count = read_msr(MSR_SMI_COUNT);

    out8(APM_CONTROL, NO_COMMAND);
    for (unsigned i = 0; i < 1000 && read_msr(MSR_SMI_COUNT) == count; i++) {
        pause();
    }
    smi_seen = read_msr(MSR_SMI_COUNT) != count;
}

static bool smi_reaches(enum window w, void (*through)(void (*)(void *), void *))
{
    struct experiment e = {
        .window = w,
        .alone = true,
        .through = through,
        .invalidate = by_smi,
    };

    add_probes_everywhere(&e);
    return experiment(&e) && smi_seen;
}

static void check_smi(void)
{
    report(smi_reaches(WINDOW_4K, NULL) && smi_reaches(WINDOW_4K_GLOBAL, NULL),
           "APM2 10.3 host: SMI and RSM drop the host's translations");
    if (machine.svm && machine.npt) {
        guest_reset();
        report(smi_reaches(WINDOW_4K, guest_call) &&
               smi_reaches(WINDOW_4K_GLOBAL, guest_call),
               "APM2 10.3 host: SMI and RSM drop the guests' translations");
        guest_reset();
    }
}

/*
 * A20.  A page has it set in its address; all else that is used without A20,
 * tables and code, has it clear.
 */

#define PAGE            0x20000000ull   /* above all memory */
#define A20             BIT(20)

/* In order: what A20 leads to if it is masked, and the same for a second. */
static struct {
    u64 masked[2][PAGE_SIZE / 8];
    u64 pml4[512], pdpt[512], pd[512], pt[512];
    u8 code[PAGE_SIZE];
    u8 unused[A20 - 7 * PAGE_SIZE];
    u64 unmasked[2][PAGE_SIZE / 8];
} low __attribute__((aligned(SIZE_2M)));

/*
 * Reads the page at RCX without A20 into RBX, then with A20 into RSI.  Without
 * A20 the page is forgotten first if RDI is not 0.
 */
CODE(read_without_a20, "in $0x92, %al; and $0xfd, %al; out %al, $0x92;"
                       "test %edi, %edi; jz 1f; invlpg (%rcx);"
                       "1: mov (%rcx), %rbx;"
                       "or $2, %al; out %al, $0x92;"
                       "mov (%rcx), %rsi");

static void make_low_tables(void)
{
    low.pml4[0] = (u64)low.pdpt | PTE_TABLE;
    low.pdpt[0] = (u64)low.pd | PTE_TABLE;
    for (u64 i = 0; i < 512; i++) {
        low.pd[i] = i * SIZE_2M | PTE_LEAF | PTE_PS;
    }
    low.pd[PAGE / SIZE_2M] = (u64)low.pt | PTE_TABLE;
    for (u64 i = 0; i < 2; i++) {
        low.masked[i][0] = i;
        low.unmasked[i][0] = 2 + i;
    }
    memcpy(low.code, read_without_a20.start,
           read_without_a20.end + 2 - read_without_a20.start);
}

/*
 * Whether @frame is seen with its address masked, then as it is.  Frame 0 is
 * cached before, frame 1 is what the page table says.
 */
static bool sees(u64 frame, bool forget)
{
    struct regs regs = { .rcx = PAGE, .rdi = forget };
    const struct code code = {
        low.code, low.code + (read_without_a20.end - read_without_a20.start),
    };
    struct outcome o;

    low.pt[0] = (u64)low.unmasked[0] | PTE_LEAF;
    invlpg(PAGE);
    if (*(volatile u64 *)PAGE != 2) {
        bail_out("the page cannot be read");
    }
    low.pt[0] = (u64)low.unmasked[1] | PTE_LEAF;
    o = execute(&code, MODE_64, &regs);
    if (!retired(o, &code)) {
        bail_out("without A20: vector %lu, RIP %lx", o.vector, o.rip);
    }
    note("without A20 %lu, with it %lu", regs.rbx, regs.rsi);
    return regs.rbx == frame && regs.rsi == 2 + frame;
}

static void check_a20(void)
{
    make_low_tables();
    write_cr3((u64)low.pml4);
    report(sees(1, true), "PC host: a page that is cached without A20 "
           "has it when it is set");
    report(sees(strict() ? 0 : 1, false), "PC host: A20 masks the "
           "address of a page that is cached");
    write_cr3((u64)boot_pml4);
}

void test_platform(void)
{
    check_smi();
    check_a20();
}
