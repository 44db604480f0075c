/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * VMRUN and #VMEXIT between unlike paging modes: what VMRUN refuses, and that
 * each side gets its own.  APM2 15.6 and 15.25.
 */
#include "tests.h"

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

void test_world_switch(void)
{
    if (!machine.svm || !machine.npt) {
        skip("no SVM with nested paging", "APM2 15.25: world switches");
        return;
    }
    nested_cr3();
    host_cr0();
    host_of_32_bits();
    guest_reset();
}
