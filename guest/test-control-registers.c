/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reserved bits of CR3 and CR4: #GP(0) for whoever writes them. */
#include "tests.h"

CODE(mov_to_cr3, "mov %rax, %cr3");
CODE(mov_to_cr4, "mov %rax, %cr4");

/* The fault must not take back what the instruction before it did. */
#define MARK            0x5a5a5a5a
CODE(mark_and_mov_to_cr3, "mov $0x5a5a5a5a, %ebx; mov %rax, %cr3");
CODE(mark_and_mov_to_cr4, "mov $0x5a5a5a5a, %ebx; mov %rax, %cr4");

static bool is_gp(const struct code *code, u64 value)
{
    struct regs regs = { .rax = value };
    struct outcome o = execute(code, MODE_64, &regs);
    bool ok = faulted(o, code, EXC_GP);

    if (!ok) {
        note("%016lx: vector %lx error %lx RIP+%ld", value, o.vector, o.error,
             o.rip - (u64)code->start);
    }
    return ok;
}

static bool keeps_registers(const struct code *code, u64 value)
{
    struct regs regs = { .rax = value };
    struct outcome o = execute(code, MODE_64, &regs);

    return o.vector == EXC_GP && o.error == 0 &&
           o.rip == (u64)code->start + 5 && regs.rax == value &&
           regs.rbx == MARK;
}

/* KVM's emulator drops CR4[63:32]; it is asked on CPUs without DecodeAssists. */
#define KVM_CR4         "KVM may take only 32 bits of CR4"

static void body(void *unused)
{
    static const unsigned cr4_bits[] = { 15, 31 };
    static const unsigned high_cr4_bits[] = { 32, 63 };
    u64 cr3 = read_cr3(), cr4 = read_cr4();
    bool ok = true;

    for (unsigned bit = machine.phys_bits; bit < 64; bit++) {
        ok &= is_gp(&mov_to_cr3, cr3 | BIT(bit)) && read_cr3() == cr3;
    }
    report(ok, "APM2 5.3.2 %s: a reserved bit of CR3 set is #GP(0)", here());
    ok = true;
    for (unsigned i = 0; i < ARRAY_SIZE(cr4_bits); i++) {
        ok &= is_gp(&mov_to_cr4, cr4 | BIT(cr4_bits[i])) && read_cr4() == cr4;
    }
    report(ok, "APM2 3.1.3 %s: a reserved bit of CR4 set is #GP(0)", here());
    ok = true;
    for (unsigned i = 0; i < ARRAY_SIZE(high_cr4_bits); i++) {
        ok &= is_gp(&mov_to_cr4, cr4 | BIT(high_cr4_bits[i])) &&
              read_cr4() == cr4;
    }
    if (machine.kvm) {
        record(KVM_CR4, ok, "APM2 3.1.3 %s: CR4[63:32] not 0 is #GP(0)",
               here());
    } else {
        report(ok, "APM2 3.1.3 %s: CR4[63:32] not 0 is #GP(0)", here());
    }
    report(keeps_registers(&mark_and_mov_to_cr3, cr3 | BIT(62)) &&
           keeps_registers(&mark_and_mov_to_cr4, cr4 | BIT(31)),
           "APM2 3.1.3 %s: a MOV to CR3 or CR4 that faults keeps registers",
           here());
}

void test_control_registers(void)
{
    run_in_each(body, NULL);
}
