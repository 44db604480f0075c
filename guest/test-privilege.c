/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Privilege and mode: spec.md A.2. */
#include "tests.h"
#include "lib/string.h"

CODE(invlpgb_code, ".byte 0x0f, 0x01, 0xfe");
CODE(tlbsync_code, ".byte 0x0f, 0x01, 0xff");
CODE(invlpgb_67, ".byte 0x67, 0x0f, 0x01, 0xfe");
CODE(tlbsync_67, ".byte 0x67, 0x0f, 0x01, 0xff");

static const char *outcome_text(unsigned vector)
{
    return vector == VECTOR_DONE ? "executes" :
           vector == EXC_GP ? "is #GP(0)" : "is #UD";
}

static void check(const char *name, const struct code *code, enum mode mode,
                  u64 rax, unsigned vector)
{
    struct regs regs = { .rax = rax };
    struct outcome o = execute(code, mode, &regs);

    bool ok = vector == VECTOR_DONE ? retired(o, code) :
              faulted(o, code, vector);

    /* Sources differ on the address sizes, see spec.md I. */
    (vector == EXC_UD ? report_open : report)(
        ok, "spec A.2 %s: %s in %s mode %s", here(), name,
        mode_selectors[mode].name, outcome_text(vector));
}

static void body(void *unused)
{
    static const enum mode user[] = {
        MODE_64_USER, MODE_32_USER,
    };

    for (unsigned i = 0; i < ARRAY_SIZE(user); i++) {
        check("INVLPGB", &invlpgb_code, user[i], 0, EXC_GP);
        check("INVLPGB with a reserved bit", &invlpgb_code, user[i], BIT(6),
              EXC_GP);
        check("TLBSYNC", &tlbsync_code, user[i], 0, EXC_GP);
    }
    check("INVLPGB", &invlpgb_code, MODE_32, 0, VECTOR_DONE);
    check("TLBSYNC", &tlbsync_code, MODE_32, 0, VECTOR_DONE);
    check("67h INVLPGB, 16-bit address size,", &invlpgb_67, MODE_32, 0, EXC_UD);
    check("67h TLBSYNC", &tlbsync_67, MODE_32, 0, VECTOR_DONE);
    check("INVLPGB, 16-bit address size,", &invlpgb_code, MODE_16, 0, EXC_UD);
    check("67h INVLPGB, 32-bit address size,", &invlpgb_67, MODE_16, 0,
          VECTOR_DONE);
    check("TLBSYNC", &tlbsync_code, MODE_16, 0, VECTOR_DONE);
}

/* Modes that exist only outside long mode, entered through the VMCB. */
enum legacy_mode { REAL_MODE, VM86, PROTECTED_MODE, LEGACY_MODES };

static const struct {
    const char *name;
    unsigned vector;
} legacy_modes[LEGACY_MODES] = {
    [REAL_MODE] = { "real", EXC_UD },
    [VM86] = { "virtual-8086", EXC_GP },
    [PROTECTED_MODE] = { "32-bit protected", VECTOR_DONE },
};

static u64 execute_in_legacy_mode(const struct code *code,
                                  enum legacy_mode mode)
{
    struct regs regs = { 0 };
    struct vmcb *v = this_vmcb();

    guest_reset();
    guest_prepare_execute(code, MODE_32, &regs);
    v->efer = EFER_SVME;
    v->cr4 = 0;
    v->cr0 = (mode == REAL_MODE ? 0 : CR0_PE) | BIT(4);
    if (mode != PROTECTED_MODE) {
        memcpy((void *)LOW_SNIPPET, code->start, code->end + 2 - code->start);
        v->rip = LOW_SNIPPET;
        v->rsp = LOW_BASE;
        v->cs = v->ss = v->ds = v->es = (struct segment) {
            0, 0x93, 0xffff, 0,
        };
        v->cs.attributes = 0x9b;
    }
    if (mode == VM86) {
        v->rflags |= RFLAGS_VM;
        v->cpl = 3;
        v->cs.attributes = v->ss.attributes = v->ds.attributes =
            v->es.attributes = 0xf3;
    }
    return guest_run();
}

static void legacy(const char *name, const struct code *code,
                   enum legacy_mode mode)
{
    u64 exit_code = execute_in_legacy_mode(code, mode);
    u64 start = mode == PROTECTED_MODE ? (u64)code->start : LOW_SNIPPET;
    u64 size = code->end - code->start;
    unsigned vector = legacy_modes[mode].vector;
    bool ok;

    if (vector == VECTOR_DONE) {
        ok = exit_code == EXIT_SWINT && this_vmcb()->rip == start + size;
    } else {
        ok = exit_code == EXIT_EXCEPTION + vector &&
             this_vmcb()->rip == start && this_vmcb()->exit_info_1 == 0;
    }
    if (!(mode == REAL_MODE ? report_open : report)(
            ok, "spec A.2 guest: %s in %s mode %s", name,
                legacy_modes[mode].name, outcome_text(vector))) {
        note("exit %lx, RIP+%ld, EXITINFO1 %lx", exit_code,
             this_vmcb()->rip - start, this_vmcb()->exit_info_1);
    }
    guest_reset();
}

void test_privilege(void)
{
    if (skip_without_invlpgb("A.2: privilege and mode")) {
        return;
    }
    run_in_each(body, NULL);
    /* With 67h the address size alone would be no reason for #UD. */
    report_open(real_mode_execute(&invlpgb_67) == EXC_UD,
                "spec A.2 host: 67h INVLPGB in real mode is #UD");
    report_open(real_mode_execute(&tlbsync_code) == EXC_UD,
                "spec A.2 host: TLBSYNC in real mode is #UD");
    /*
     * Without 67h virtual-8086 mode has two reasons to fault, CPL 3 and the
     * 16-bit address size, and spec.md does not say which comes first.
     */
    if (machine.svm && machine.npt) {
        legacy("67h INVLPGB", &invlpgb_67, REAL_MODE);
        legacy("TLBSYNC", &tlbsync_code, REAL_MODE);
        legacy("67h INVLPGB", &invlpgb_67, VM86);
        legacy("TLBSYNC", &tlbsync_code, VM86);
        legacy("INVLPGB", &invlpgb_code, PROTECTED_MODE);
        legacy("TLBSYNC", &tlbsync_code, PROTECTED_MODE);
    }
}
