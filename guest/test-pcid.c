/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PCID and INVPCID, which Linux wants before it uses INVLPGB, and the local
 * invalidations that INVLPGB lives beside.
 */
#include "tlb.h"

CODE(mov_to_cr0_32, ".byte 0x0f, 0x22, 0xc0");          /* mov eax, cr0 */
CODE(mov_to_cr3, "mov %rax, %cr3");
CODE(mov_to_cr4, "mov %rax, %cr4");
CODE(mov_to_cr4_32, ".byte 0x0f, 0x22, 0xe0");          /* mov eax, cr4 */
CODE(invpcid_memory, ".byte 0x66, 0x0f, 0x38, 0x82, 0x01"); /* (rcx), rax */
CODE(invpcid_register, ".byte 0x66, 0x0f, 0x38, 0x82, 0xc1");
CODE(invpcid_no_66, ".byte 0x0f, 0x38, 0x82, 0x01");
CODE(invpcid_f2, ".byte 0xf2, 0x0f, 0x38, 0x82, 0x01");
CODE(invpcid_lock, ".byte 0xf0, 0x66, 0x0f, 0x38, 0x82, 0x01");
CODE(nop, "nop");

/* A page with nothing behind it, after one that has. */
#define MAPPED          0x0000600000000000ull
#define UNMAPPED        (MAPPED + PAGE_SIZE)
#define NON_CANONICAL   0x0000800000000000ull

static bool ends_with(const struct code *code, enum mode mode, u64 rax, u64 rcx,
                      unsigned vector)
{
    struct regs regs = { .rax = rax, .rcx = rcx };
    struct outcome o = execute(code, mode, &regs);

    return vector == VECTOR_DONE ? retired(o, code) : faulted(o, code, vector);
}

/*
 * False if a guest could clear CR0.PG with CR4.PCIDE set: then this program
 * would not survive the attempt.
 */
static bool cr0_pg_is_guarded = true;

static void pcide_rules(void)
{
    u64 root = (u64)boot_pml4, cr4 = read_cr4();
    bool ok;

    write_cr3(root | 0x18);                     /* PWT, PCD */
    ok = ends_with(&mov_to_cr4, MODE_64, cr4 | CR4_PCIDE, 0, EXC_GP);
    report(ok && read_cr4() == cr4, "APM2 5.5.1 %s: setting CR4.PCIDE with "
           "CR3[11:0] not 0 is #GP(0)", here());
    write_cr3(root);

    ok = ends_with(&mov_to_cr4, MODE_64, cr4 | CR4_PCIDE, 0, VECTOR_DONE);
    report(ok && read_cr4() == (cr4 | CR4_PCIDE),
           "APM2 5.5.1 %s: CR4.PCIDE can be set", here());

    ok = ends_with(&mov_to_cr3, MODE_64, root | 5, 0, VECTOR_DONE);
    report(ok && read_cr3() == (root | 5),
           "APM2 5.5.1 %s: CR3 takes a PCID", here());
    ok = ends_with(&mov_to_cr3, MODE_64, root | 6 | CR3_NOFLUSH, 0,
                   VECTOR_DONE);
    report(ok && read_cr3() == (root | 6),
           "APM2 5.5.1 %s: CR3[63] is accepted and not stored", here());
    report(ends_with(&mov_to_cr3, MODE_64, root | BIT(62), 0, EXC_GP) &&
           read_cr3() == (root | 6),
           "APM2 5.5.1 %s: CR3[62] is #GP(0) with CR4.PCIDE set", here());
    if (cr0_pg_is_guarded) {
        report(ends_with(&mov_to_cr0_32, MODE_32, read_cr0() & ~CR0_PG, 0,
                         EXC_GP),
               "APM2 5.5.1 %s: clearing CR0.PG with CR4.PCIDE set is #GP(0)",
               here());
    }
    write_cr3(root);
    write_cr4(cr4);
}

/* Rules whose violation would end this program, tried on a throw-away guest. */
static void pcide_rules_of_throw_away_guest(void)
{
    struct regs regs = { .rax = CR4_PCIDE };
    struct vmcb *v = this_vmcb();

    guest_reset();
    guest_prepare_execute(&mov_to_cr4_32, MODE_32, &regs);
    v->efer = EFER_SVME;
    v->cr4 = 0;
    v->cr0 = CR0_PE | BIT(4);
    report(guest_faulted(guest_run(), &mov_to_cr4_32, EXC_GP),
           "APM2 5.5.1 guest: setting CR4.PCIDE outside long mode is #GP(0)");

    guest_reset();
    regs.rax = v->cr0 & ~CR0_PG;
    guest_prepare_execute(&mov_to_cr0_32, MODE_32, &regs);
    v->cr4 |= CR4_PCIDE;
    cr0_pg_is_guarded = guest_faulted(guest_run(), &mov_to_cr0_32, EXC_GP);
    report(cr0_pg_is_guarded, "APM2 5.5.1 guest: clearing CR0.PG with "
           "CR4.PCIDE set is #GP(0) before anything else");
    guest_reset();
}

static bool invpcid_gives(unsigned vector, u64 type, u64 pcid, u64 va)
{
    struct invpcid_descriptor d = { pcid, va };

    return ends_with(&invpcid_memory, MODE_64, type, (u64)&d, vector);
}

static bool invpcid_page_fault(u64 operand, u64 address)
{
    struct regs regs = { .rax = 2, .rcx = operand };
    struct outcome o = execute(&invpcid_memory, MODE_64, &regs);

    return faulted(o, &invpcid_memory, EXC_PF) && o.cr2 == address;
}

static void invpcid_rules(void)
{
    struct invpcid_descriptor d = { 0, 0 };
    u64 at = (u64)&d;
    bool ok = true;

    report(ends_with(&invpcid_register, MODE_64, 2, at, EXC_UD),
           "APM3 INVPCID %s: the register form is #UD", here());
    report(ends_with(&invpcid_no_66, MODE_64, 2, at, EXC_UD) &&
           ends_with(&invpcid_f2, MODE_64, 2, at, EXC_UD) &&
           ends_with(&invpcid_lock, MODE_64, 2, at, EXC_UD),
           "APM3 INVPCID %s: without 66h, with F2h or with LOCK it is #UD",
           here());
    report(ends_with(&invpcid_memory, MODE_64_USER, 2, at, EXC_GP) &&
           ends_with(&invpcid_memory, MODE_64_USER, 9, at, EXC_GP),
           "APM3 INVPCID %s: CPL 3 is #GP(0)", here());

    for (unsigned pcide = 0; pcide < 2; pcide++) {
        const char *with = pcide ? "set" : "clear";

        set_pcide_here(pcide);
        for (u64 type = 0; type < 4; type++) {
            report(invpcid_gives(VECTOR_DONE, type, 0, MAPPED),
                   "APM3 INVPCID %s: type %lu, PCID 0 is legal with CR4.PCIDE "
                   "%s", here(), type, with);
        }
        report(invpcid_gives(EXC_GP, 4, 0, MAPPED) &&
               invpcid_gives(EXC_GP, ~0ull, 0, MAPPED) &&
               invpcid_gives(EXC_GP, BIT(32), 0, MAPPED),
               "APM3 INVPCID %s: type above 3 is #GP(0) with CR4.PCIDE %s",
               here(), with);
        ok = true;
        for (unsigned bit = 12; bit < 64; bit++) {
            ok &= invpcid_gives(EXC_GP, 0, BIT(bit), MAPPED);
            ok &= invpcid_gives(EXC_GP, 1, BIT(bit), MAPPED);
        }
        report(ok, "APM3 INVPCID %s: a reserved descriptor bit is #GP(0) with "
               "CR4.PCIDE %s", here(), with);
        report(invpcid_gives(EXC_GP, 0, 0, NON_CANONICAL), "APM3 INVPCID %s: a "
               "non-canonical address is #GP(0) with CR4.PCIDE %s", here(),
               with);
        report(invpcid_gives(pcide ? VECTOR_DONE : EXC_GP, 0, 5, MAPPED) &&
               invpcid_gives(pcide ? VECTOR_DONE : EXC_GP, 1, 5, MAPPED),
               "APM3 INVPCID %s: PCID 5 is %s with CR4.PCIDE %s", here(),
               pcide ? "legal" : "#GP(0)", with);
    }
    set_pcide_here(false);

    report(invpcid_page_fault(UNMAPPED, UNMAPPED), "APM3 INVPCID %s: an "
           "operand that is not mapped is #PF", here());
    report(invpcid_page_fault(UNMAPPED - 8, UNMAPPED), "APM3 INVPCID %s: an "
           "operand whose second half is not mapped is #PF", here());
    report(ends_with(&invpcid_memory, MODE_64, 2, NON_CANONICAL, EXC_GP),
           "APM3 INVPCID %s: a non-canonical operand is #GP(0)", here());
}

/* Invalidations of this CPU, each applied to what it must cover. */

static u64 target;              /* a page, by its address */

static void by_invpcid(void *type)
{
    bool pcide = read_cr4() & CR4_PCIDE;

    invpcid(*(u64 *)type, pcide ? CONTEXT_PCID(0) : 0, target);
}

static void by_invlpg(void *unused)
{
    invlpg(target);
}

static void by_invlpg_in_context(void *unused)
{
    write_cr3((u64)boot_pml4 | CONTEXT_PCID(0) | CR3_NOFLUSH);
    invlpg(target);
    write_cr3((u64)boot_pml4 | CR3_NOFLUSH);
}

static void by_cr3(void *unused)
{
    write_cr3(read_cr3());
}

static void by_cr3_of_context(void *unused)
{
    write_cr3((u64)boot_pml4 | CONTEXT_PCID(0));
    write_cr3((u64)boot_pml4 | CR3_NOFLUSH);
}

static void by_pge(void *unused)
{
    flush_local();
}

static void by_pse(void *unused)
{
    u64 cr4 = read_cr4();

    write_cr4(cr4 ^ CR4_PSE);
    write_cr4(cr4);
}

static void by_pg(void *unused)
{
    real_mode_execute(&nop);
}

static void by_pke(void *unused)
{
    u64 cr4 = read_cr4();

    write_cr4(cr4 | CR4_PKE);
    write_cr4(cr4);
}

static void by_pcide(void *unused)
{
    u64 cr4 = read_cr4();

    write_cr4(cr4 & ~CR4_PCIDE);
    write_cr4(cr4);
}

enum coverage { ONE_PAGE, EVERYWHERE };

static bool reaches(void (*invalidate)(void *), void *arg, enum window w,
                    enum coverage coverage, unsigned contexts)
{
    struct experiment e = {
        .window = w,
        .contexts = contexts,
        .alone = true,
        .invalidate = invalidate,
        .arg = arg,
    };

    target = window_probe(w, 3 * PAGE_SIZE);
    if (coverage == ONE_PAGE) {
        add_probe(&e, 3 * PAGE_SIZE);
    } else {
        add_probes_everywhere(&e);
    }
    return experiment(&e);
}

static void by_mtrr(void *msr)
{
    write_msr(*(u32 *)msr, read_msr(*(u32 *)msr));
}

/* Base and mask of a range, fixed ranges of each size, the default type. */
static bool mtrrs_reach_all(unsigned contexts)
{
    static const u32 msrs[] = { 0x200, 0x201, 0x250, 0x258, 0x268, 0x2ff };
    bool ok = true;

    for (unsigned i = 0; i < ARRAY_SIZE(msrs); i++) {
        u32 msr = msrs[i];

        ok &= reaches(by_mtrr, &msr, WINDOW_4K_GLOBAL, EVERYWHERE, contexts);
    }
    return ok;
}

static void invalidations(unsigned contexts)
{
    const char *with = contexts ? "CR4.PCIDE set" : "CR4.PCIDE clear";
    unsigned one = contexts ? 1 : 0;

    if (machine.invpcid) {
        u64 type[4] = { 0, 1, 2, 3 };

        report(reaches(by_invpcid, &type[0], WINDOW_4K, ONE_PAGE, one) &&
               reaches(by_invpcid, &type[0], WINDOW_2M, ONE_PAGE, one),
               "APM3 INVPCID %s: type 0 drops the page, %s", here(), with);
        report(reaches(by_invpcid, &type[1], WINDOW_4K, EVERYWHERE, one) &&
               reaches(by_invpcid, &type[1], WINDOW_2M, EVERYWHERE, one),
               "APM3 INVPCID %s: type 1 drops the PCID, %s", here(), with);
        report(reaches(by_invpcid, &type[2], WINDOW_4K, EVERYWHERE, contexts) &&
               reaches(by_invpcid, &type[2], WINDOW_4K_GLOBAL, EVERYWHERE,
                       contexts) &&
               reaches(by_invpcid, &type[2], WINDOW_2M_GLOBAL, EVERYWHERE,
                       contexts),
               "APM3 INVPCID %s: type 2 drops all with globals, %s", here(),
               with);
        report(reaches(by_invpcid, &type[3], WINDOW_4K, EVERYWHERE, contexts) &&
               reaches(by_invpcid, &type[3], WINDOW_2M, EVERYWHERE, contexts),
               "APM3 INVPCID %s: type 3 drops all but globals, %s", here(),
               with);
    }
    report(reaches(contexts ? by_invlpg_in_context : by_invlpg, NULL, WINDOW_4K,
                   ONE_PAGE, one) &&
           reaches(contexts ? by_invlpg_in_context : by_invlpg, NULL, WINDOW_2M,
                   ONE_PAGE, one),
           "APM2 5.5.3 %s: INVLPG drops the page, %s", here(), with);
    report(reaches(by_invlpg, NULL, WINDOW_4K_GLOBAL, ONE_PAGE, contexts) &&
           reaches(by_invlpg, NULL, WINDOW_2M_GLOBAL, ONE_PAGE, contexts),
           "APM2 5.5.3 %s: INVLPG drops a global page of any PCID, %s", here(),
           with);
    report(reaches(contexts ? by_cr3_of_context : by_cr3, NULL, WINDOW_4K,
                   EVERYWHERE, one),
           "APM2 5.5.3 %s: MOV CR3 drops the PCID, %s", here(), with);
    report(reaches(by_pge, NULL, WINDOW_4K, EVERYWHERE, contexts) &&
           reaches(by_pge, NULL, WINDOW_4K_GLOBAL, EVERYWHERE, contexts),
           "APM2 5.5.3 %s: toggling CR4.PGE drops all, %s", here(), with);
    report(reaches(by_pse, NULL, WINDOW_4K, EVERYWHERE, contexts) &&
           reaches(by_pse, NULL, WINDOW_2M_GLOBAL, EVERYWHERE, contexts),
           "APM2 5.5.3 %s: toggling CR4.PSE drops all, %s", here(), with);
    if (!contexts) {
        report(reaches(by_pg, NULL, WINDOW_4K, EVERYWHERE, contexts) &&
               reaches(by_pg, NULL, WINDOW_4K_GLOBAL, EVERYWHERE, contexts),
               "APM2 5.5.3 %s: toggling CR0.PG drops all", here());
    }
    if (machine.kvm) {
        record("KVM gives MTRRs no effect", mtrrs_reach_all(contexts),
               "APM2 5.5.3 %s: writing an MTRR drops all, %s", here(), with);
    } else {
        report(mtrrs_reach_all(contexts), "APM2 5.5.3 %s: writing an MTRR "
               "drops all, %s", here(), with);
    }
    if (machine.pku) {
        report(reaches(by_pke, NULL, WINDOW_4K, EVERYWHERE, contexts) &&
               reaches(by_pke, NULL, WINDOW_4K_GLOBAL, EVERYWHERE, contexts),
               "APM2 5.5.3 %s: setting CR4.PKE drops all, %s", here(), with);
    }
    if (contexts) {
        report(reaches(by_pcide, NULL, WINDOW_4K, EVERYWHERE, contexts) &&
               reaches(by_pcide, NULL, WINDOW_4K_GLOBAL, EVERYWHERE, contexts),
               "APM2 5.5.3 %s: clearing CR4.PCIDE drops all", here());
    }
}

static void body(void *unused)
{
    u64 root = (u64)boot_pml4, cr4 = read_cr4();

    report(ends_with(&mov_to_cr3, MODE_64, root | CR3_NOFLUSH, 0, EXC_GP) &&
           read_cr3() == root,
           "APM2 5.5.1 %s: CR3[63] is #GP(0) with CR4.PCIDE clear", here());
    if (machine.pcid) {
        pcide_rules();
    } else {
        report(ends_with(&mov_to_cr4, MODE_64, cr4 | CR4_PCIDE, 0, EXC_GP) &&
               read_cr4() == cr4,
               "APM2 5.5.1 %s: CR4.PCIDE is reserved without PCID", here());
    }
    if (machine.invpcid) {
        invpcid_rules();
    } else {
        struct invpcid_descriptor d = { 0, 0 };

        report(ends_with(&invpcid_memory, MODE_64, 2, (u64)&d, EXC_UD),
               "APM3 INVPCID %s: #UD without its CPUID bit", here());
    }

    invalidations(0);
    if (machine.pcid) {
        set_pcide_here(true);
        invalidations(MAX_CONTEXTS);
        set_pcide_here(false);
    }
    note_stale_count("pcid");
}

void test_pcid(void)
{
    *pte_at(boot_pml4, MAPPED, 1) = (u64)page_alloc() | PTE_LEAF;
    if (machine.pcid && machine.svm && machine.npt) {
        pcide_rules_of_throw_away_guest();
    }
    run_in_each(body, NULL);
}
