/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Legality of operands: every row of spec.md B.3, its legal side and its
 * illegal one, as host with EFER.SVME on and off and as guest.
 *
 * The expectations are written out here, not taken from reference.c, so that a
 * wrong reference model cannot hide.
 */
#include "tests.h"

CODE(invlpgb_code, ".byte 0x0f, 0x01, 0xfe");

/* Upper halves that must not matter: the operands are ECX and EDX. */
#define JUNK            0xffffffff00000000ull

#define VA              BIT(12)         /* some canonical page */

static bool ends_with(unsigned vector, u64 rax, u64 rcx, u64 rdx)
{
    struct regs regs = { .rax = rax, .rcx = rcx, .rdx = rdx,
                         .rbx = 0x1234, .rsi = 0x5678, .rdi = 0x9abc };
    struct regs before = regs;
    struct outcome o = execute(&invlpgb_code, MODE_64, &regs);
    bool same = regs.rax == before.rax && regs.rbx == before.rbx &&
                regs.rcx == before.rcx && regs.rdx == before.rdx &&
                regs.rsi == before.rsi && regs.rdi == before.rdi;
    bool ok = vector == VECTOR_DONE ? retired(o, &invlpgb_code) :
              faulted(o, &invlpgb_code, vector);

    if (!ok || !same) {
        note("RAX=%016lx RCX=%016lx RDX=%016lx: vector %lx error %lx RIP+%ld%s",
             rax, rcx, rdx, o.vector, o.error,
             o.rip - (u64)invlpgb_code.start,
             same ? "" : ", registers changed");
    }
    return ok && same;
}

static bool legal(u64 rax, u64 rcx, u64 rdx)
{
    return ends_with(VECTOR_DONE, rax, rcx, rdx);
}

static bool illegal(u64 rax, u64 rcx, u64 rdx)
{
    return ends_with(EXC_GP, rax, rcx, rdx);
}

/* The rows that hold for host and guest alike. */
static void common_rows(void *unused)
{
    u32 max = machine.count_max;
    bool ok = true;

    for (u64 flags = 0; flags < 16; flags++) {
        if (!(flags & INVLPGB_PCID)) {
            ok &= legal(flags | VA, 0, 0);
            ok &= legal(flags | VA | INVLPGB_FINAL, 0, 0);
        }
    }
    report(ok, "spec B.2 %s: every rAX[4:0] without PCID valid is legal",
           here());

    ok = true;
    for (unsigned bit = 6; bit < 12; bit++) {
        ok &= illegal(BIT(bit), 0, 0);
        ok &= illegal(BIT(bit) | INVLPGB_VA | VA, 0, 0);
    }
    report(ok, "spec B.3/2 %s: any of rAX[11:6] set is #GP(0)", here());
    ok = true;
    for (unsigned bit = 28; bit < 32; bit++) {
        ok &= illegal(0, 0, BIT(bit));
        ok &= illegal(INVLPGB_VA | INVLPGB_ASID | VA, 0, BIT(bit));
    }
    report(ok, "spec B.3/2 %s: any of EDX[31:28] set is #GP(0)", here());
    ok = true;
    for (unsigned bit = 16; bit < 31; bit++) {
        ok &= illegal(0, BIT(bit), 0);
        ok &= illegal(INVLPGB_VA | VA, BIT(bit), 0);
    }
    report_open(ok, "spec B.3/3 %s: any of ECX[30:16] set is #GP(0)", here());
    report(legal(INVLPGB_VA | VA, JUNK, 0) && legal(INVLPGB_VA | VA, 0, JUNK),
           "spec B.1 %s: RCX[63:32] and RDX[63:32] do not matter", here());

    report(legal(INVLPGB_VA | VA, 0, 0),
           "spec B.3/4 %s: count 0 is legal", here());
    report(legal(INVLPGB_VA | VA, max, 0) &&
           legal(INVLPGB_VA | VA, max | INVLPGB_STEP_2M, 0),
           "spec B.3/4 %s: the maximal count is legal", here());
    report(illegal(INVLPGB_VA | VA, max + 1, 0) &&
           illegal(INVLPGB_VA | VA, (max + 1) | INVLPGB_STEP_2M, 0),
           "spec B.3/4 %s: one more is #GP(0)", here());
    report(illegal(INVLPGB_VA | VA, 0xffff, 0),
           "spec B.3/4 %s: count FFFFh is #GP(0)", here());
    report_open(legal(VA, max + 1, 0) && legal(VA | INVLPGB_ASID, 0xffff, 0),
                "spec B.3/5 %s: without VA valid no count is too large", here());

    report(illegal(INVLPGB_PCID, 0, 0) && illegal(INVLPGB_PCID, 0, 5 << 16) &&
           illegal(INVLPGB_PCID | INVLPGB_VA | VA, 0, 5 << 16),
           "spec B.3/6 %s: PCID valid with CR4.PCIDE clear is #GP(0)", here());
    report_open(legal(0, 0, 5 << 16) && legal(INVLPGB_VA | VA, 0, 0xfff << 16),
                "spec B.3/7 %s: with CR4.PCIDE clear the PCID field does not "
                "matter", here());
    if (machine.pcid) {
        set_pcide(true);
        report(legal(INVLPGB_PCID, 0, 0) && legal(INVLPGB_PCID, 0, 5 << 16) &&
               legal(INVLPGB_PCID, 0, 0xfff << 16) &&
               legal(INVLPGB_PCID | INVLPGB_VA | VA, 0, 5 << 16),
               "spec B.3/6 %s: PCID valid with CR4.PCIDE set is legal", here());
        ok = true;
        for (u64 flags = 0; flags < 16; flags++) {
            ok &= legal(flags | VA, 0, 5 << 16);
            ok &= legal(flags | VA | INVLPGB_FINAL, 0, 5 << 16);
        }
        report(ok, "spec B.2 %s: every rAX[4:0] is legal with CR4.PCIDE set",
               here());
        report_open(legal(0, 0, 5 << 16),
                    "spec B.3/7 %s: without PCID valid its field does not "
                    "matter", here());
        set_pcide(false);
    } else {
        skip("no PCID", "spec B.3/6 %s: PCID valid with CR4.PCIDE set", here());
    }

    if (machine.nested) {
        report(legal(INVLPGB_NESTED, 0, 0),
               "spec B.3/8 %s: rAX[5] with CPUID EBX[21] is legal", here());
    } else if (hosts_rules()) {
        record(HOSTS_RULES, illegal(INVLPGB_NESTED, 0, 0),
               "spec B.3/8 %s: rAX[5] without CPUID EBX[21] is #GP(0)", here());
    } else {
        report(illegal(INVLPGB_NESTED, 0, 0),
               "spec B.3/8 %s: rAX[5] without CPUID EBX[21] is #GP(0)", here());
    }

    report_open(legal(INVLPGB_VA | 0x0000800000000000, 0, 0) &&
                legal(INVLPGB_VA | 0x8000000000000000, 0, 0),
                "spec B.3/12 %s: a non-canonical address is accepted", here());
    if (max) {
        report_open(legal(INVLPGB_VA | 0x00007ffffffff000, 1, 0) &&
                    legal(INVLPGB_VA | 0x00007fffffe00000,
                          1 | INVLPGB_STEP_2M, 0),
                    "spec B.3/13 %s: a range into the canonical hole is "
                    "accepted", here());
        report_open(legal(INVLPGB_VA | 0xfffffffffffff000, 1, 0) &&
                    legal(INVLPGB_VA | 0xffffffffffe00000,
                          1 | INVLPGB_STEP_2M, 0),
                    "spec B.3/13 %s: a range that wraps is accepted", here());
    } else {
        skip("the maximal count is 0", "spec B.3/13 %s: ranges", here());
    }
    report_open(legal(VA, INVLPGB_STEP_2M, 0) &&
                legal(VA | INVLPGB_ASID | INVLPGB_GLOBAL,
                      3 | INVLPGB_STEP_2M, 0),
                "spec B.3/14 %s: a step without VA valid is accepted", here());
    tlbsync();
}

static bool asids_are_legal(const u32 *asids, unsigned n)
{
    bool ok = true;

    for (unsigned i = 0; i < n; i++) {
        ok &= legal(0, 0, asids[i]);
        ok &= legal(INVLPGB_ASID, 0, asids[i]);
        ok &= legal(INVLPGB_ASID | INVLPGB_VA | VA, 0, asids[i]);
    }
    return ok;
}

static void guest_rows(void *unused)
{
    /* Fewer ASIDs than in the first no CPU has, and none more than FFFFh. */
    static const u32 in_range[] = { 0, 1, 2, 7 };
    static const u32 others[] = { 15, 16, 0x7fff, 0x8000, 0xffff };

    report(asids_are_legal(in_range, ARRAY_SIZE(in_range)),
           "spec B.3/11 %s: the ASID field does not matter in a guest", here());
    report_open(asids_are_legal(others, ARRAY_SIZE(others)),
                "spec B.3/11 %s: no value of the ASID field matters in a guest",
                here());
    tlbsync();
}

static void host_rows(void)
{
    u64 efer = read_msr(MSR_EFER);
    u32 nasid = machine.nasid;

    if (machine.svm) {
        write_msr(MSR_EFER, efer | EFER_SVME);
        report(legal(INVLPGB_ASID, 0, nasid - 1) && legal(0, 0, nasid - 1),
               "spec B.3/9 host: the last ASID is legal");
        report(nasid > 0xffff ||
               (illegal(INVLPGB_ASID, 0, nasid) && illegal(0, 0, nasid)),
               "spec B.3/9 host: the number of ASIDs as ASID is #GP(0)");
        report(nasid > 0xffff || illegal(INVLPGB_ASID, 0, 0xffff),
               "spec B.3/9 host: ASID FFFFh is #GP(0)");
    } else {
        skip("no SVM", "spec B.3/9 host: ASID field with EFER.SVME set");
    }
    write_msr(MSR_EFER, efer & ~EFER_SVME);
    report(illegal(INVLPGB_ASID, 0, 1) && illegal(0, 0, 1) &&
           illegal(INVLPGB_ASID | INVLPGB_VA | VA, 0, 1),
           "spec B.3/10 host: a non-zero ASID with EFER.SVME clear is #GP(0)");
    report(legal(INVLPGB_ASID, 0, 0) &&
           legal(INVLPGB_ASID | INVLPGB_VA | VA, 0, 0),
           "spec B.3/10 host: ASID 0 with EFER.SVME clear is legal");
    write_msr(MSR_EFER, efer);
    tlbsync();
}

void test_operands(void)
{
    if (skip_without_invlpgb("B.3: legality of operands")) {
        return;
    }
    run_in_each(common_rows, NULL);
    if (machine.kvm) {
        guest_rows(NULL);
        skip("in a guest of KVM the ASID field is ignored",
             "spec B.3/9 host: ASID field");
        skip("in a guest of KVM the ASID field is ignored",
             "spec B.3/10 host: ASID field with EFER.SVME clear");
    } else {
        host_rows();
    }
    if (machine.svm && machine.npt) {
        run_in(GUEST, guest_rows, NULL);
    }
}
