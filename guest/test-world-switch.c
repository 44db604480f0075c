/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * VMRUN and #VMEXIT between unlike paging modes: what VMRUN refuses, and that
 * each side gets its own.  APM2 15.6 and 15.25.  And a guest that changes its
 * mode by itself, with tables that say something else in each.
 */
#include "tests.h"
#include "lib/string.h"

CODE(nop, "nop");
CODE(load_code, ".byte 0x8b, 0x00");    /* mov (eax), eax, in 32-bit mode */

#define SIZE_4M         0x400000ull
#define HERE            1
#define ELSEWHERE       2

/* A guest in 32-bit protected mode without paging, with these registers. */
static void prepare_32_bit(const struct code *code, const struct regs *regs)
{
    struct vmcb *v = this_vmcb();

    guest_reset();
    guest_prepare_execute(code, MODE_32, regs);
    v->efer = EFER_SVME;
    v->cr4 = 0;
    v->cr0 = CR0_PE | BIT(4);
}

static void nested_cr3(void)
{
    struct vmcb *v = this_vmcb();
    struct regs regs = { 0 };
    bool ok = true;

    for (unsigned bit = machine.phys_bits; bit < 64; bit++) {
        guest_reset();
        guest_prepare_execute(&nop, MODE_64, &regs);
        v->nested_cr3 |= BIT(bit);
        ok &= guest_run() == EXIT_INVALID;
    }
    report(ok, "APM2 15.25.4 host: VMRUN with a reserved bit in nCR3 is "
           "VMEXIT_INVALID");

    guest_reset();
    guest_prepare_execute(&nop, MODE_64, &regs);
    v->nested_cr3 |= BIT(machine.phys_bits);
    v->misc &= ~MISC_NP;
    report(guest_retired(guest_run(), &nop), "APM2 15.25.4 host: VMRUN without "
           "nested paging does not look at nCR3");
}

/*
 * While a guest is on its way to long mode EFER.LME may be set before CR4.PAE.
 * The host must not be taken for a part of that.
 */
static void host_cr0(void)
{
    u64 cr0 = read_cr0(), after, exit_code;
    struct regs regs = { 0 };

    prepare_32_bit(&nop, &regs);
    this_vmcb()->efer |= EFER_LME;
    exit_code = guest_run();
    after = read_cr0();
    write_cr0(cr0);
    report(guest_retired(exit_code, &nop) && after == cr0,
           "APM2 15.6 host: #VMEXIT reloads CR0 when the guest has EFER.LME "
           "without paging and PAE");
}

/* Reads a page that the guest has at an address of its own. */
static u64 value_seen(u64 gpa, u64 cr3, u64 nested, u64 *exit_code)
{
    struct regs regs = { .rax = gpa };
    struct vmcb *v = this_vmcb();

    prepare_32_bit(&load_code, &regs);
    v->nested_cr3 = nested;
    *exit_code = guest_run_from_32_bit_host(cr3);
    return this_guest()->regs.rax;
}

static void host_of_32_bits(void)
{
    u32 *identity = page_alloc(), *nested = page_alloc();
    u64 *here = (u64 *)frames_4k[0], *elsewhere = (u64 *)frames_4k[1];
    u64 was_here = *here, was_elsewhere = *elsewhere, exit_code, seen;
    u32 *table = page_alloc(), index = (u64)here / SIZE_4M;
    u32 *entry = &table[(u64)here / PAGE_SIZE % 1024];
    bool ok;

    for (u64 i = 0; i < 1024; i++) {
        identity[i] = nested[i] = i * SIZE_4M | PTE_LEAF | PTE_PS;
    }
    /* Nested, one page is another one. */
    nested[index] = (u64)table | PTE_TABLE;
    for (u64 i = 0; i < 1024; i++) {
        table[i] = (index * SIZE_4M + i * PAGE_SIZE) | PTE_LEAF;
    }
    *entry = (u64)elsewhere | PTE_LEAF;
    *here = HERE;
    *elsewhere = ELSEWHERE;

    value_seen((u64)here, 0, (u64)nested, &exit_code);
    report(exit_code == EXIT_INVALID, "APM2 15.25.3 host: VMRUN with nested "
           "paging, but without paging, is VMEXIT_INVALID");

    seen = value_seen((u64)here, (u64)identity, (u64)nested, &exit_code);
    ok = guest_retired(exit_code, &load_code) && seen == ELSEWHERE;
    if (!report(ok, "APM2 15.25.3 host: a host with 32-bit paging has nested "
                "page tables of that format")) {
        note("exit %lx, value %lx", exit_code, seen);
    }

    *entry = 0;
    value_seen((u64)here, (u64)identity, (u64)nested, &exit_code);
    report(exit_code == EXIT_NPF && this_vmcb()->exit_info_2 == (u64)here,
           "APM2 15.25.6 host: a host with 32-bit paging gets nested page "
           "faults");

    *here = was_here;
    *elsewhere = was_elsewhere;
}

/*
 * Both read ECX's page into EBX, change the mode and read it into EDX.  The
 * second changes back and reads it into ESI, too.
 */
CODE(clear_pae, ".byte 0x8b, 0x19;"                     /* mov (ecx), ebx */
                ".byte 0x0f, 0x20, 0xe0;"               /* mov cr4, eax */
                ".byte 0x83, 0xe0, 0xdf;"               /* and ~20h, eax */
                ".byte 0x0f, 0x22, 0xe0;"               /* mov eax, cr4 */
                ".byte 0x8b, 0x11");                    /* mov (ecx), edx */
CODE(toggle_pg, ".byte 0x8b, 0x19;"
                ".byte 0x0f, 0x20, 0xc0;"               /* mov cr0, eax */
                ".byte 0x0d, 0x00, 0x00, 0x00, 0x80;"   /* or PG, eax */
                ".byte 0x0f, 0x22, 0xc0;"               /* mov eax, cr0 */
                ".byte 0x8b, 0x11;"
                ".byte 0x25, 0xff, 0xff, 0xff, 0x7f;"   /* and ~PG, eax */
                ".byte 0x0f, 0x22, 0xc0;"
                ".byte 0x8b, 0x31");                    /* mov (ecx), esi */

#define CODE_PAGE       (LOW_SNIPPET / PAGE_SIZE)
#define DATA_PAGE       (CODE_PAGE + 1)
#define SYSTEM_PAGE     (CODE_PAGE + 2)

/*
 * Tables with which the data page is frame 0 with CR4.PAE and frame 1 without.
 * An entry of 64 bits is two of 32 bits: the first PDPTE is the first PDE,
 * too, and what it leads to is a page directory as well as a page table.
 */
static u64 make_tables_of_both_kinds(void)
{
    u64 *root = page_alloc(), *middle = page_alloc(), *last = page_alloc();
    u32 *table = (u32 *)middle;

    root[0] = (u64)middle | PTE_P;
    middle[0] = (u64)last | PTE_TABLE;
    last[CODE_PAGE] = table[CODE_PAGE] = LOW_SNIPPET | PTE_LEAF;
    last[DATA_PAGE] = (u64)frames_4k[0] | PTE_LEAF;
    table[DATA_PAGE] = (u64)frames_4k[1] | PTE_LEAF;
    return (u64)root;
}

static struct code prepare_low(const struct code *code, u64 cr0, u64 cr4,
                               u64 cr3)
{
    size_t size = code->end - code->start;
    const struct code copy = {
        (u8 *)LOW_SNIPPET, (u8 *)LOW_SNIPPET + size,
    };
    struct regs regs = {
        .rax = TSS_SELECTOR, .rcx = DATA_PAGE * PAGE_SIZE,
    };
    struct vmcb *v = this_vmcb();

    memcpy((u8 *)copy.start, code->start, size + 2);
    prepare_32_bit(&copy, &regs);
    v->cr0 |= cr0;
    v->cr4 = cr4;
    v->cr3 = cr3;
    return copy;
}

static bool ended_low(u64 exit_code, struct code copy)
{
    struct vmcb *v = this_vmcb();

    if (!guest_retired(exit_code, &copy)) {
        note("exit %lx, RIP %lx, EXITINFO %lx %lx", exit_code, v->rip,
             v->exit_info_1, v->exit_info_2);
        return false;
    }
    return true;
}

/* A task switch loads CR3. */

CODE(switch_task, ".byte 0x0f, 0x00, 0xd8;"             /* ltr ax */
                  ".byte 0x8b, 0x19;"                   /* mov (ecx), ebx */
                  ".byte 0xea, 0, 0, 0, 0, 0x50, 0;"    /* jmp 50h:0 */
                  ".byte 0x8b, 0x11");                  /* mov (ecx), edx */
#define AFTER_SWITCH    12
#define NEW_TSS         0x50

struct tss_32 {
    u32 link, esp0, ss0, esp1, ss1, esp2, ss2, cr3, eip, eflags;
    u32 eax, ecx, edx, ebx, esp, ebp, esi, edi;
    u32 es, cs, ss, ds, fs, gs, ldt, io_map;
};

static struct low_system {
    u64 gdt[GDT_ENTRIES];
    struct tss_32 old, new;
} *const low_system = (void *)(SYSTEM_PAGE * PAGE_SIZE);

static u64 tss_descriptor(const struct tss_32 *tss)
{
    u64 base = (u64)tss;

    return (sizeof(*tss) - 1) | base << 16 | 0x89ull << 40;
}

static u64 make_32_bit_tables(unsigned frame)
{
    u32 *root = page_alloc(), *table = page_alloc();

    root[0] = (u64)table | PTE_TABLE;
    table[CODE_PAGE] = LOW_SNIPPET | PTE_LEAF;
    table[DATA_PAGE] = (u64)frames_4k[frame] | PTE_LEAF;
    table[SYSTEM_PAGE] = (u64)low_system | PTE_LEAF;
    return (u64)root;
}

/* With FS, GS and TR, which VMRUN and #VMEXIT leave alone. */
static u64 run_with_own_segments(void *save_area)
{
    u64 exit_code;

    asm volatile("vmsave" : : "a"(save_area) : "memory");
    exit_code = guest_run();
    asm volatile("vmload" : : "a"(save_area) : "memory");
    return exit_code;
}

static void switches_of_tasks(void)
{
    struct vmcb *v = this_vmcb();
    struct code copy;
    bool ok;

    memset(low_system, 0, sizeof(*low_system));
    memcpy(low_system->gdt, this_cpu()->gdt, TSS_SELECTOR);
    low_system->gdt[TSS_SELECTOR / 8] = tss_descriptor(&low_system->old);
    low_system->gdt[NEW_TSS / 8] = tss_descriptor(&low_system->new);
    low_system->new = (struct tss_32) {
        .cr3 = make_32_bit_tables(1),
        .eip = LOW_SNIPPET + AFTER_SWITCH,
        .eflags = RFLAGS_FIXED,
        .ecx = DATA_PAGE * PAGE_SIZE,
        .cs = KERNEL_CS32,
        .ss = KERNEL_DS,
        .ds = KERNEL_DS,
        .es = KERNEL_DS,
    };

    copy = prepare_low(&switch_task, CR0_PG, 0, make_32_bit_tables(0));
    v->gdtr.base = (u64)low_system->gdt;
    v->gdtr.limit = sizeof(low_system->gdt) - 1;
    ok = ended_low(run_with_own_segments(page_alloc()), copy);
    report(ok && low_system->old.ebx == (u32)window_value(WINDOW_4K, 0) &&
           this_guest()->regs.rdx == window_value(WINDOW_4K, 1),
           "APM2 5.5.3 guest: a task switch that loads CR3 drops what is not "
           "global");
}

static void changes_of_mode(void)
{
    u64 cr3 = make_tables_of_both_kinds();
    u64 old = window_value(WINDOW_4K, 0), new = window_value(WINDOW_4K, 1);
    u64 *unpaged = (u64 *)(DATA_PAGE * PAGE_SIZE);
    const struct regs *regs = &this_guest()->regs;
    struct code copy = prepare_low(&clear_pae, CR0_PG, CR4_PAE, cr3);
    bool ok = ended_low(guest_run(), copy);

    report(ok && regs->rbx == old && regs->rdx == new, "APM2 5.5.3 guest: "
           "clearing CR4.PAE drops all");

    *unpaged = 0;
    copy = prepare_low(&toggle_pg, 0, 0, cr3);
    ok = ended_low(guest_run(), copy);
    report(ok && regs->rbx == 0 && regs->rdx == new && regs->rsi == 0,
           "APM2 5.5.3 guest: toggling CR0.PG drops all");
}

void test_world_switch(void)
{
    if (!machine.svm || !machine.npt) {
        skip("no SVM with nested paging", "APM2 15.25: world switches");
        return;
    }
    nested_cr3();
    host_cr0();
    host_of_32_bits();
    changes_of_mode();
    switches_of_tasks();
    guest_reset();
}
