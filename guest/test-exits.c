/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Intercepts: exit codes, their priority against faults, the enable bit, and
 * the saved next RIP.  spec.md C.1 to C.3.
 */
#include "tests.h"

CODE(invlpgb_plain, ".byte 0x0f, 0x01, 0xfe");
CODE(invlpgb_67, ".byte 0x67, 0x0f, 0x01, 0xfe");
CODE(invlpgb_66, ".byte 0x66, 0x0f, 0x01, 0xfe");
CODE(tlbsync_plain, ".byte 0x0f, 0x01, 0xff");
CODE(invpcid_code, ".byte 0x66, 0x0f, 0x38, 0x82, 0x01");   /* (rcx), rax */
CODE(lmsw_memory, "lmsw (%rcx)");
CODE(ud2_code, "ud2");
CODE(load_code, "mov (%rcx), %rbx");

/* A page that the guest has mapped and nested paging has not. */
#define NOT_NESTED      0x0000610000000000ull
#define NOT_NESTED_GPA  (5 * SIZE_1G)

/*
 * Ordinary instruction intercepts: label, exit code, RDX, name, instruction.
 * RAX and RCX are 0.
 */
#define ORDINARY(X)                                                     \
    X(read_cr0, 0x000, 0, "read of CR0", "mov %cr0, %rbx")              \
    X(read_cr2, 0x002, 0, "read of CR2", "mov %cr2, %rbx")              \
    X(read_cr3, 0x003, 0, "read of CR3", "mov %cr3, %rbx")              \
    X(read_cr4, 0x004, 0, "read of CR4", "mov %cr4, %rbx")              \
    X(read_cr8, 0x008, 0, "read of CR8", "mov %cr8, %rbx")              \
    X(smsw, 0x000, 0, "smsw", "smsw %bx")                               \
    X(write_cr0, 0x010, 0, "write to CR0", "mov %rax, %cr0")            \
    X(write_cr2, 0x012, 0, "write to CR2", "mov %rax, %cr2")            \
    X(write_cr3, 0x013, 0, "write to CR3", "mov %rax, %cr3")            \
    X(write_cr4, 0x014, 0, "write to CR4", "mov %rax, %cr4")            \
    X(write_cr8, 0x018, 0, "write to CR8", "mov %rax, %cr8")            \
    X(clts, 0x010, 0, "clts", "clts")                                   \
    X(lmsw, 0x010, 0, "lmsw", "lmsw %ax")                               \
    X(read_dr0, 0x020, 0, "read of DR0", "mov %db0, %rbx")              \
    X(read_dr7, 0x027, 0, "read of DR7", "mov %db7, %rbx")              \
    X(write_dr0, 0x030, 0, "write to DR0", "mov %rax, %db0")            \
    X(write_dr7, 0x037, 0, "write to DR7", "mov %rax, %db7")            \
    X(sidt, 0x066, 0, "sidt", "sidt -64(%rsp)")                         \
    X(sgdt, 0x067, 0, "sgdt", "sgdt -64(%rsp)")                         \
    X(sldt, 0x068, 0, "sldt", "sldt %ebx")                              \
    X(str, 0x069, 0, "str", "str %ebx")                                 \
    X(lidt, 0x06a, 0, "lidt", "lidt -64(%rsp)")                         \
    X(lgdt, 0x06b, 0, "lgdt", "lgdt -64(%rsp)")                         \
    X(lldt, 0x06c, 0, "lldt", "lldt %ax")                               \
    X(ltr, 0x06d, 0, "ltr", "ltr %ax")                                  \
    X(rdtsc, 0x06e, 0, "rdtsc", "rdtsc")                                \
    X(rdpmc, 0x06f, 0, "rdpmc", "rdpmc")                                \
    X(pushf, 0x070, 0, "pushf", "pushfq")                               \
    X(popf, 0x071, 0, "popf", "popfq")                                  \
    X(cpuid, 0x072, 0, "cpuid", "cpuid")                                \
    X(cpuid_66, 0x072, 0, "66h cpuid", ".byte 0x66; cpuid")             \
    X(iret, 0x074, 0, "iret", "iretq")                                  \
    X(intn, 0x075, 0, "int n", "int $0x60")                             \
    X(invd, 0x076, 0, "invd", "invd")                                   \
    X(pause, 0x077, 0, "pause", "pause")                                \
    X(hlt, 0x078, 0, "hlt", "hlt")                                      \
    X(invlpg, 0x079, 0, "invlpg", "invlpg (%rax)")                      \
    X(invlpg_long, 0x079, 0, "invlpg, long form,",                      \
      "invlpg 0x12345678(%rax, %rcx, 8)")                               \
    X(invlpga, 0x07a, 0, "invlpga", ".byte 0x0f, 0x01, 0xdf")           \
    X(in8, 0x07b, 0, "in, 8 bits,", "in $0x80, %al")                    \
    X(out8, 0x07b, 0, "out, 8 bits,", "out %al, $0x80")                 \
    X(in32, 0x07b, 0x80, "in, 32 bits,", "in %dx, %eax")                \
    X(out16, 0x07b, 0x80, "out, 16 bits,", "out %ax, %dx")              \
    X(rdmsr, 0x07c, 0, "rdmsr", "rdmsr")                                \
    X(wrmsr, 0x07c, 0, "wrmsr", "wrmsr")                                \
    X(vmrun, 0x080, 0, "vmrun", "vmrun %rax")                           \
    X(vmmcall, 0x081, 0, "vmmcall", "vmmcall")                          \
    X(vmload, 0x082, 0, "vmload", "vmload %rax")                        \
    X(vmsave, 0x083, 0, "vmsave", "vmsave %rax")                        \
    X(stgi, 0x084, 0, "stgi", "stgi")                                   \
    X(clgi, 0x085, 0, "clgi", "clgi")                                   \
    X(skinit, 0x086, 0, "skinit", "skinit")                             \
    X(rdtscp, 0x087, 0, "rdtscp", "rdtscp")                             \
    X(icebp, 0x088, 0, "icebp", ".byte 0xf1")                           \
    X(wbinvd, 0x089, 0, "wbinvd", "wbinvd")                             \
    X(monitor, 0x08a, 0, "monitor", "monitor")                          \
    X(mwait, 0x08b, 0, "mwait", "mwait")                                \
    X(xsetbv, 0x08d, 0, "xsetbv", "xsetbv")

#define SNIPPET(label, exit_code, rdx, name, text)                      \
    CODE(ordinary_##label, text);
#define ROW(label, exit_code, rdx, name, text)                          \
    { name, &ordinary_##label, exit_code, rdx },

ORDINARY(SNIPPET)

static const struct {
    const char *name;
    const struct code *code;
    u64 exit_code, rdx;
} ordinary[] = {
    ORDINARY(ROW)
};

static bool next_rip_is(const struct code *code)
{
    return !machine.nrips || this_vmcb()->next_rip == (u64)code->end;
}

static const char *with_next_rip(void)
{
    return machine.nrips ? ", nRIP saved" : "";
}

static void ordinary_intercepts(void)
{
    for (unsigned i = 0; i < ARRAY_SIZE(ordinary); i++) {
        const struct code *code = ordinary[i].code;
        u64 expected = ordinary[i].exit_code, exit_code;
        struct regs regs = { .rdx = ordinary[i].rdx };
        bool ok;

        guest_reset();
        guest_intercept(expected);
        exit_code = guest_execute(code, MODE_64, &regs);
        ok = guest_exited(exit_code, code, expected) && next_rip_is(code);
        report(ok, "spec C.3 guest: %s exits with %lxh%s", ordinary[i].name,
               expected, with_next_rip());
        if (!ok) {
            note("exit %lx, RIP+%ld, nRIP+%ld", exit_code,
                 this_vmcb()->rip - (u64)code->start,
                 this_vmcb()->next_rip - (u64)code->start);
        }
    }
}

/* What a write to CR0 does when CR0 is @cr0 and the operand is @rax. */
static u64 write_guest_cr0(const struct code *code, enum mode mode, u64 cr0,
                           u64 rax)
{
    struct regs regs = { .rax = rax, .rcx = NOT_NESTED + PAGE_SIZE };

    guest_reset();
    guest_intercept(EXIT_CR0_SEL_WRITE);
    this_vmcb()->cr0 = cr0;
    return guest_execute(code, mode, &regs);
}

static bool cr0_write_exits(const struct code *code, u64 cr0, u64 rax)
{
    u64 exit_code = write_guest_cr0(code, MODE_64, cr0, rax);

    return guest_exited(exit_code, code, EXIT_CR0_SEL_WRITE) &&
           next_rip_is(code);
}

static bool cr0_write_retires(const struct code *code, u64 cr0, u64 rax)
{
    return guest_retired(write_guest_cr0(code, MODE_64, cr0, rax), code) &&
           this_vmcb()->cr0 == rax;
}

static bool cr0_write_takes_other(const struct code *code, u64 rax)
{
    struct regs regs = { .rax = rax, .rcx = NOT_NESTED + PAGE_SIZE };

    guest_reset();
    guest_intercept(EXIT_CR0_SEL_WRITE);
    guest_intercept(EXIT_WRITE_CR0);
    return guest_exited(guest_execute(code, MODE_64, &regs), code,
                        EXIT_WRITE_CR0);
}

static void selective_cr0_write(void)
{
    u64 cr0 = read_cr0();

    report(cr0_write_exits(&ordinary_write_cr0, cr0, cr0 ^ CR0_WP) &&
           cr0_write_exits(&ordinary_write_cr0, cr0, cr0 ^ CR0_NE ^ CR0_TS),
           "APM2 15.9 guest: a MOV to CR0 that changes another bit than TS and "
           "MP exits with 65h%s", with_next_rip());
    report(cr0_write_retires(&ordinary_write_cr0, cr0, cr0) &&
           cr0_write_retires(&ordinary_write_cr0, cr0, cr0 ^ CR0_TS ^ CR0_MP),
           "APM2 15.9 guest: the selective intercept lets a MOV to CR0 change "
           "TS and MP");
    report(cr0_write_retires(&ordinary_clts, cr0 | CR0_TS, cr0 & ~CR0_TS) &&
           cr0_write_retires(&ordinary_clts, cr0 & ~CR0_TS, cr0 & ~CR0_TS),
           "APM2 15.9 guest: the selective intercept leaves CLTS alone");
    report(cr0_write_exits(&ordinary_lmsw, cr0, cr0) &&
           cr0_write_exits(&ordinary_lmsw, cr0, cr0 ^ CR0_TS) &&
           cr0_write_exits(&ordinary_lmsw, cr0, cr0 ^ CR0_EM),
           "APM2 15.9 guest: LMSW exits with 65h whatever it writes%s",
           with_next_rip());
    report(cr0_write_exits(&lmsw_memory, cr0, 0), "APM2 15.9 guest: the "
           "selective intercept of LMSW comes before #PF");
    report(guest_faulted(write_guest_cr0(&ordinary_lmsw, MODE_64_USER, cr0,
                                         cr0), &ordinary_lmsw, EXC_GP),
           "APM2 15.9 guest: #GP(0) for CPL 3 comes before the selective "
           "intercept of LMSW");
    report(cr0_write_takes_other(&ordinary_write_cr0, cr0 ^ CR0_WP) &&
           cr0_write_takes_other(&ordinary_lmsw, cr0) &&
           cr0_write_takes_other(&lmsw_memory, cr0),
           "APM2 15.9 guest: with both intercepts of CR0 writes the exit is "
           "10h");
}

/* APM2 15.7.1: for exits that are no instruction intercept nRIP is zero. */
static void other_exits(void)
{
    struct regs regs = { .rcx = NOT_NESTED };
    u64 exit_code;

    *pte_at(boot_pml4, NOT_NESTED, 1) = NOT_NESTED_GPA | PTE_LEAF;
    guest_reset();
    this_vmcb()->next_rip = 1;
    exit_code = guest_execute(&ud2_code, MODE_64, &regs);
    report(guest_faulted(exit_code, &ud2_code, EXC_UD) &&
           this_vmcb()->next_rip == 0,
           "spec C.3 guest: nRIP is 0 after an intercepted exception");
    this_vmcb()->next_rip = 1;
    exit_code = guest_execute(&load_code, MODE_64, &regs);
    report(guest_exited(exit_code, &load_code, EXIT_NPF) &&
           this_vmcb()->exit_info_2 == NOT_NESTED_GPA &&
           this_vmcb()->next_rip == 0,
           "spec C.3 guest: nRIP is 0 after a nested page fault");
}

/* One INVLPGB with intercepts as the last guest_reset() and what followed. */
static u64 run_invlpgb(const struct code *code, enum mode mode, u64 rax,
                       u64 rcx, u64 rdx)
{
    struct regs regs = { .rax = rax, .rcx = rcx, .rdx = rdx };

    return guest_execute(code, mode, &regs);
}

static bool invlpgb_exits(u64 rax, u64 rcx, u64 rdx, u64 expected)
{
    u64 exit_code = run_invlpgb(&invlpgb_plain, MODE_64, rax, rcx, rdx);

    return guest_exited(exit_code, &invlpgb_plain, expected) &&
           next_rip_is(&invlpgb_plain);
}

static bool invlpgb_retires(u64 rax, u64 rcx, u64 rdx)
{
    return guest_retired(run_invlpgb(&invlpgb_plain, MODE_64, rax, rcx, rdx),
                         &invlpgb_plain);
}

static bool invlpgb_faults(enum mode mode, u64 rax, unsigned vector)
{
    return guest_faulted(run_invlpgb(&invlpgb_plain, mode, rax, 0, 0),
                         &invlpgb_plain, vector);
}

static bool tlbsync_exits(u64 expected)
{
    struct regs regs = { 0 };
    u64 exit_code = guest_execute(&tlbsync_plain, MODE_64, &regs);

    return guest_exited(exit_code, &tlbsync_plain, expected) &&
           next_rip_is(&tlbsync_plain);
}

static bool tlbsync_retires(void)
{
    struct regs regs = { 0 };

    return guest_retired(guest_execute(&tlbsync_plain, MODE_64, &regs),
                         &tlbsync_plain);
}

static bool tlbsync_faults(enum mode mode, unsigned vector)
{
    struct regs regs = { 0 };

    return guest_faulted(guest_execute(&tlbsync_plain, mode, &regs),
                         &tlbsync_plain, vector);
}

/* What a guest must not do, by row of B.3, with CR4.PCIDE clear. */
static const struct illegal {
    const char *clause, *what;
    u64 rax, rcx, rdx;
} illegal[] = {
    { "B.3/2", "rAX[6]", BIT(6), 0, 0 },
    { "B.3/2", "rAX[11]", BIT(11), 0, 0 },
    { "B.3/2", "EDX[28]", 0, 0, BIT(28) },
    { "B.3/3", "ECX[16]", 0, BIT(16), 0 },
    { "B.3/4", "count FFFFh", INVLPGB_VA, 0xffff, 0 },
    { "B.3/6", "PCID valid with CR4.PCIDE clear", INVLPGB_PCID, 0, 0 },
    { "B.3/8", "rAX[5]", INVLPGB_NESTED, 0, 0 },
};

static bool is_legal_here(const struct illegal *i)
{
    return i->rax == INVLPGB_NESTED && machine.nested;
}

static void invlpgb_intercept(void)
{
    guest_reset();
    guest_intercept(EXIT_INVLPGB);
    report(invlpgb_exits(0, 0, 0, EXIT_INVLPGB) &&
           invlpgb_exits(INVLPGB_VA | INVLPGB_ASID, 0, 1, EXIT_INVLPGB),
           "spec C.1 guest: intercepted INVLPGB exits with A0h%s",
           with_next_rip());
    for (unsigned i = 0; i < ARRAY_SIZE(illegal); i++) {
        report(invlpgb_exits(illegal[i].rax, illegal[i].rcx, illegal[i].rdx,
                             EXIT_INVLPGB),
               "spec C.2 guest: the INVLPGB intercept comes before the check "
               "of %s (%s)", illegal[i].what, illegal[i].clause);
    }
    report(guest_exited(run_invlpgb(&invlpgb_67, MODE_64, 0, 0, 0), &invlpgb_67,
                        EXIT_INVLPGB) && next_rip_is(&invlpgb_67),
           "spec C.3 guest: with 67h nRIP shows a length of 4");
    report(invlpgb_faults(MODE_64_USER, 0, EXC_GP) &&
           invlpgb_faults(MODE_64_USER, BIT(6), EXC_GP),
           "spec C.2 guest: #GP(0) for CPL 3 comes before the INVLPGB "
           "intercept");
    report(guest_faulted(run_invlpgb(&invlpgb_66, MODE_64, 0, 0, 0),
                         &invlpgb_66, EXC_UD),
           "spec A.1 guest: 66h INVLPGB is #UD, not an exit");
    report(tlbsync_retires(),
           "spec C.1 guest: the INVLPGB intercept leaves TLBSYNC alone");
}

static void invlpgb_illegal_intercept(void)
{
    guest_reset();
    guest_intercept(EXIT_INVLPGB_ILLEGAL);
    report(invlpgb_retires(0, 0, 0) &&
           invlpgb_retires(INVLPGB_VA | INVLPGB_ASID, machine.count_max, 0) &&
           invlpgb_retires(INVLPGB_ASID | INVLPGB_GLOBAL, 0, 0xffff),
           "spec C.1 guest: INVLPGB_ILLEGAL lets legal forms run");
    for (unsigned i = 0; i < ARRAY_SIZE(illegal); i++) {
        if (!is_legal_here(&illegal[i])) {
            report(invlpgb_exits(illegal[i].rax, illegal[i].rcx, illegal[i].rdx,
                                 EXIT_INVLPGB_ILLEGAL),
                   "spec C.1 guest: INVLPGB_ILLEGAL exits with A1h for %s (%s)"
                   "%s", illegal[i].what, illegal[i].clause, with_next_rip());
        }
    }
    report(invlpgb_faults(MODE_64_USER, BIT(6), EXC_GP),
           "spec C.2 guest: #GP(0) for CPL 3 comes before INVLPGB_ILLEGAL");
    report(tlbsync_retires(),
           "spec C.1 guest: INVLPGB_ILLEGAL leaves TLBSYNC alone");

    guest_reset();
    guest_intercept(EXIT_INVLPGB);
    guest_intercept(EXIT_INVLPGB_ILLEGAL);
    report_open(invlpgb_exits(0, 0, 0, EXIT_INVLPGB),
                "spec C.2 guest: with both intercepts a legal form exits with "
                "A0h");
    report(invlpgb_exits(BIT(6), 0, 0, EXIT_INVLPGB) ||
           invlpgb_exits(BIT(6), 0, 0, EXIT_INVLPGB_ILLEGAL),
           "spec C.2 guest: with both intercepts an illegal form exits with "
           "A0h or A1h");
}

static void tlbsync_intercept(void)
{
    guest_reset();
    guest_intercept(EXIT_TLBSYNC);
    if (!machine.tlbi_ctl) {
        report(tlbsync_retires(),
               "spec C.1 guest: no TLBSYNC intercept without TlbiCtl");
        return;
    }
    report(tlbsync_exits(EXIT_TLBSYNC), "spec C.1 guest: intercepted TLBSYNC "
           "exits with A4h%s", with_next_rip());
    report(tlbsync_faults(MODE_64_USER, EXC_GP),
           "spec C.2 guest: #GP(0) for CPL 3 comes before the TLBSYNC "
           "intercept");
    report(invlpgb_retires(0, 0, 0),
           "spec C.1 guest: the TLBSYNC intercept leaves INVLPGB alone");
}

static void enable_bit(void)
{
    guest_reset();
    this_vmcb()->misc &= ~MISC_TLBI;
    if (machine.tlbi_ctl) {
        report(invlpgb_faults(MODE_64, 0, EXC_UD) &&
               invlpgb_faults(MODE_64, BIT(6), EXC_UD),
               "spec C.1 guest: INVLPGB is #UD with 090h[7] clear");
        report(tlbsync_faults(MODE_64, EXC_UD),
               "spec C.6 guest: TLBSYNC is #UD with 090h[7] clear");
        guest_intercept(EXIT_INVLPGB);
        report_open(invlpgb_exits(0, 0, 0, EXIT_INVLPGB), "spec C.2 guest: the "
                    "INVLPGB intercept comes before that #UD");
        guest_intercept(EXIT_TLBSYNC);
        report_open(tlbsync_faults(MODE_64, EXC_UD), "spec C.2 guest: TLBSYNC's "
                    "#UD comes before its intercept");
    } else {
        report(invlpgb_retires(0, 0, 0) && tlbsync_retires(),
               "spec C.1 guest: always enabled without TlbiCtl");
    }
}

static void no_intercept(void)
{
    guest_reset();
    for (unsigned i = 0; i < ARRAY_SIZE(illegal); i++) {
        if (!is_legal_here(&illegal[i])) {
            u64 exit_code = run_invlpgb(&invlpgb_plain, MODE_64, illegal[i].rax,
                                        illegal[i].rcx, illegal[i].rdx);

            report(guest_faulted(exit_code, &invlpgb_plain, EXC_GP),
                   "spec %s guest: %s is #GP(0) with RIP on the instruction",
                   illegal[i].clause, illegal[i].what);
        }
    }

    /*
     * Exit codes A0h to A4h are bits 0 to 4 of the fifth intercept word; the
     * same bits of the third, INTR to VINTR, have nothing to do with them.
     */
    guest_reset();
    for (u32 exit_code = 0x60; exit_code <= 0x64; exit_code++) {
        guest_intercept(exit_code);
    }
    report(invlpgb_retires(0, 0, 0) && tlbsync_retires() &&
           guest_faulted(run_invlpgb(&invlpgb_plain, MODE_64, BIT(6), 0, 0),
                         &invlpgb_plain, EXC_GP),
           "spec C.1 guest: intercepts of interrupts do not catch INVLPGB or "
           "TLBSYNC");
}

static void invpcid_intercept(void)
{
    struct invpcid_descriptor d = { 0, 0 };
    const u64 operands[] = {
        (u64)&d,                /* fine */
        0x0000700000000000,     /* not mapped */
    };
    const u64 types[] = { 0, 2, 9 };

    guest_reset();
    for (u32 exit_code = 0x60; exit_code <= 0x64; exit_code++) {
        guest_intercept(exit_code);
    }
    {
        struct regs regs = { .rax = 2, .rcx = (u64)&d };

        report(guest_retired(guest_execute(&invpcid_code, MODE_64, &regs),
                             &invpcid_code),
               "spec C.1 guest: intercepts of interrupts do not catch INVPCID");
    }

    guest_reset();
    guest_intercept(EXIT_INVPCID);
    for (unsigned i = 0; i < ARRAY_SIZE(operands); i++) {
        for (unsigned j = 0; j < ARRAY_SIZE(types); j++) {
            struct regs regs = { .rax = types[j], .rcx = operands[i] };
            u64 exit_code = guest_execute(&invpcid_code, MODE_64, &regs);
            struct vmcb *v = this_vmcb();

            report(guest_exited(exit_code, &invpcid_code, EXIT_INVPCID) &&
                   v->exit_info_1 == operands[i] &&
                   v->exit_info_2 == types[j] && next_rip_is(&invpcid_code),
                   "spec C.2 guest: INVPCID type %lu with an operand that is "
                   "%smapped exits with A2h, address and type in EXITINFO%s",
                   types[j], i ? "not " : "", with_next_rip());
        }
    }
    {
        struct regs regs = { .rax = 2, .rcx = (u64)&d };

        report(guest_faulted(guest_execute(&invpcid_code, MODE_64_USER, &regs),
                             &invpcid_code, EXC_GP),
               "spec C.2 guest: #GP(0) for CPL 3 comes before the INVPCID "
               "intercept");
    }
}

void test_exits(void)
{
    if (!machine.svm || !machine.npt) {
        skip("no SVM with nested paging", "spec C: exits");
        return;
    }
    ordinary_intercepts();
    selective_cr0_write();
    if (machine.nrips) {
        other_exits();
    } else {
        skip("no NRIPS", "spec C.3 guest: nRIP of other exits");
    }
    if (machine.invpcid) {
        invpcid_intercept();
    } else {
        skip("no INVPCID", "spec C.1 guest: INVPCID intercept");
    }
    if (skip_without_invlpgb("C.1: intercepts of INVLPGB and TLBSYNC")) {
        guest_reset();
        return;
    }
    no_intercept();
    invlpgb_intercept();
    invlpgb_illegal_intercept();
    tlbsync_intercept();
    enable_bit();
    guest_reset();
}
