/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Encodings: spec.md A.1; and #UD where the instructions are not there. */
#include "tests.h"

CODE(invlpgb_plain, ".byte 0x0f, 0x01, 0xfe");
CODE(tlbsync_plain, ".byte 0x0f, 0x01, 0xff");
CODE(invlpgb_67, ".byte 0x67, 0x0f, 0x01, 0xfe");
CODE(tlbsync_67, ".byte 0x67, 0x0f, 0x01, 0xff");
CODE(invlpgb_66, ".byte 0x66, 0x0f, 0x01, 0xfe");
CODE(tlbsync_66, ".byte 0x66, 0x0f, 0x01, 0xff");
CODE(invlpgb_lock, ".byte 0xf0, 0x0f, 0x01, 0xfe");
CODE(tlbsync_lock, ".byte 0xf0, 0x0f, 0x01, 0xff");
CODE(rmpupdate, ".byte 0xf2, 0x0f, 0x01, 0xfe");
CODE(rmpadjust, ".byte 0xf3, 0x0f, 0x01, 0xfe");
CODE(pvalidate, ".byte 0xf2, 0x0f, 0x01, 0xff");
CODE(psmash, ".byte 0xf3, 0x0f, 0x01, 0xff");

/* With all operands zero, which is a legal INVLPGB. */
static const struct {
    const struct code *code;
    const char *name;
    unsigned vector;            /* where INVLPGB exists; elsewhere #UD */
    bool open;
} encodings[] = {
    { &invlpgb_plain, "INVLPGB", VECTOR_DONE },
    { &tlbsync_plain, "TLBSYNC", VECTOR_DONE },
    { &invlpgb_67, "67h INVLPGB", VECTOR_DONE },
    { &tlbsync_67, "67h TLBSYNC", VECTOR_DONE },
    { &invlpgb_66, "66h INVLPGB", EXC_UD, .open = true },
    { &tlbsync_66, "66h TLBSYNC", EXC_UD, .open = true },
    { &invlpgb_lock, "LOCK INVLPGB", EXC_UD },
    { &tlbsync_lock, "LOCK TLBSYNC", EXC_UD },
    { &rmpupdate, "F2h INVLPGB (RMPUPDATE)", EXC_UD },
    { &rmpadjust, "F3h INVLPGB (RMPADJUST)", EXC_UD },
    { &pvalidate, "F2h TLBSYNC (PVALIDATE)", EXC_UD },
    { &psmash, "F3h TLBSYNC (PSMASH)", EXC_UD },
};

static void body(void *unused)
{
    for (unsigned i = 0; i < ARRAY_SIZE(encodings); i++) {
        const struct code *code = encodings[i].code;
        bool legal = machine.invlpgb && encodings[i].vector == VECTOR_DONE;
        struct regs regs = { 0 };
        struct outcome o = execute(code, MODE_64, &regs);

        bool ok = legal ? retired(o, code) : faulted(o, code, EXC_UD);

        (encodings[i].open && machine.invlpgb ? report_open : report)(
            ok, "spec A.1 %s: %s %s", here(), encodings[i].name,
            legal ? "executes" : "is #UD");
    }
}

void test_encoding(void)
{
    run_in_each(body, NULL);
}
