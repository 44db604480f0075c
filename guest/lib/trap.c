/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The IDT, what a trap does, and execute(), which runs a code snippet and
 * turns the trap that it ends with into a value.
 *
 * Every vector switches to the CPU's trap stack, so a snippet may run with any
 * RSP.  Handlers run with interrupts off and never trap themselves.
 */
#include "console.h"
#include "string.h"
#include "trap.h"
#include "watchdog.h"

struct trap_frame {
    u64 r15, r14, r13, r12, r11, r10, r9, r8;
    u64 rbp, rdi, rsi, rdx, rcx, rbx, rax;
    u64 vector, error;
    struct iret_frame iret;
};

struct gate {
    u16 offset_low, selector;
    u8 ist, type;
    u16 offset_middle;
    u32 offset_high, reserved;
};

extern u8 trap_vectors[], trap_vectors_end[];
void trap(struct trap_frame *f);
void snippet_enter(struct regs *regs, struct iret_frame *frame,
                   u64 *saved_rsp);
extern const u8 snippet_leave[];

static struct gate idt[256];

const struct mode_selectors mode_selectors[MODES] = {
    [MODE_64] = { "64-bit", KERNEL_CS64, KERNEL_DS, 0, 64 },
    [MODE_32] = { "32-bit compatibility", KERNEL_CS32, KERNEL_DS, 0, 32 },
    [MODE_16] = { "16-bit compatibility", KERNEL_CS16, KERNEL_DS, 0, 16 },
    [MODE_64_USER] = { "64-bit CPL 3", USER_CS64, USER_DS, 3, 64 },
    [MODE_32_USER] = { "32-bit compatibility CPL 3", USER_CS32, USER_DS, 3,
                       32 },
    [MODE_16_USER] = { "16-bit compatibility CPL 3", USER_CS16, USER_DS, 3,
                       16 },
};

void idt_init(void)
{
    size_t stub_size = (trap_vectors_end - trap_vectors) / 256;

    for (unsigned i = 0; i < 256; i++) {
        u64 entry = (u64)trap_vectors + i * stub_size;

        idt[i] = (struct gate) {
            .offset_low = entry,
            .selector = KERNEL_CS64,
            .ist = 1,
            .type = i == VECTOR_DONE ? 0xee : 0x8e,     /* DPL 3 or 0 */
            .offset_middle = entry >> 16,
            .offset_high = entry >> 32,
        };
    }
}

void idt_load(void)
{
    struct descriptor_pointer p = { sizeof(idt) - 1, (u64)idt };

    asm volatile("lidt %0" : : "m"(p));
}

void trap(struct trap_frame *f)
{
    struct cpu *c = this_cpu();

    if (f->vector == EXC_NMI) {
        watchdog_nmi(f->iret.rip);
    }
    if (f->vector == VECTOR_WAKE) {
        apic_write(APIC_EOI, 0);
        return;
    }
    if (c->executing) {
        c->executing = false;
        c->outcome = (struct outcome) {
            .vector = f->vector,
            .error = f->error,
            .rip = f->iret.rip,
            .cr2 = f->vector == EXC_PF ? read_cr2() : 0,
        };
        *c->regs = (struct regs) {
            f->rax, f->rbx, f->rcx, f->rdx, f->rsi, f->rdi,
        };
        f->iret = (struct iret_frame) {
            .rip = (u64)snippet_leave,
            .cs = KERNEL_CS64,
            .rflags = RFLAGS_FIXED,
            .rsp = c->saved_rsp,
            .ss = KERNEL_DS,
        };
        return;
    }
    if (c->absorb) {
        c->absorbed[f->vector]++;
        c->absorbed_rip = f->iret.rip;
        return;
    }
    bail_out("CPU %u: vector %lu, error code %lx, RIP %lx, CR2 %lx, RSP %lx",
             c->index, f->vector, f->error, f->iret.rip, read_cr2(),
             f->iret.rsp);
}

struct outcome execute(const struct code *code, enum mode mode,
                       struct regs *regs)
{
    struct cpu *c = this_cpu();
    struct iret_frame frame = {
        .rip = (u64)code->start,
        .cs = mode_selectors[mode].cs,
        .rflags = RFLAGS_FIXED,
        .rsp = (u64)c->trap_stack,      /* never pushed to */
        .ss = mode_selectors[mode].ss,
    };

    progress();
    c->regs = regs;
    c->executing = true;
    snippet_enter(regs, &frame, &c->saved_rsp);
    compiler_barrier();
    return c->outcome;
}

bool retired(struct outcome o, const struct code *code)
{
    return o.vector == VECTOR_DONE && o.rip == (u64)code->end + 2;
}

bool faulted(struct outcome o, const struct code *code, unsigned vector)
{
    return o.vector == vector && o.error == 0 && o.rip == (u64)code->start;
}
