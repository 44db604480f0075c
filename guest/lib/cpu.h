/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPUs: what each one owns, how it is started and given work, and how one
 * instruction is tried and its outcome observed.
 */
#ifndef CPU_H
#define CPU_H

#include "x86.h"

#define MAX_CPUS        64

/* What CPUID says, read once on the boot CPU. */
struct machine {
    bool invlpgb, nested, tlbi_ctl, tlbsync_sfw_no;
    bool svm, npt, nrips, flush_by_asid, vmcb_clean;
    bool pcid, invpcid, page_1g, la57, smep, smap, pku;
    /* Under KVM: INVLPGB is executed as by a guest, with the ASID ignored. */
    bool kvm;
    bool tcg;                   /* QEMU's emulator */
    u32 count_max;              /* additional pages */
    u32 nasid;                  /* ASIDs are 0 .. nasid - 1 */
    unsigned phys_bits;
    unsigned va_bits;
};
extern struct machine machine;

struct regs {
    u64 rax, rbx, rcx, rdx, rsi, rdi;
};

struct iret_frame {
    u64 rip, cs, rflags, rsp, ss;
};

/*
 * A code snippet: one instruction, then int $VECTOR_DONE.  CODE() puts it into
 * the text section and declares a constant @name.
 */
struct code {
    const u8 *start, *end;
};

#define CODE(name, text)                                        \
    asm(".pushsection .text.snippets, \"ax\"\n"                 \
        #name "_start: " text "\n"                              \
        #name "_end: .byte 0xcd, 0x81\n"                        \
        ".popsection");                                         \
    extern const u8 name##_start[], name##_end[];               \
    static const struct code name = { name##_start, name##_end }

enum mode {
    MODE_64, MODE_32, MODE_16,                  /* CPL 0 */
    MODE_64_USER, MODE_32_USER, MODE_16_USER,   /* CPL 3 */
    MODES
};
extern const struct mode_selectors {
    const char *name;
    u16 cs, ss;
    unsigned cpl;
    unsigned code_bits;
} mode_selectors[MODES];

/* How a snippet ended. */
struct outcome {
    u64 vector, error, rip, cr2;
};

/* Runs @code with @regs in long mode; @regs is updated. */
struct outcome execute(const struct code *code, enum mode mode,
                       struct regs *regs);
bool retired(struct outcome o, const struct code *code);
/* A fault with RIP on the instruction; error code 0 where there is one. */
bool faulted(struct outcome o, const struct code *code, unsigned vector);

/* Runs @code in real mode, all registers zero; the vector it ended with. */
unsigned real_mode_execute(const struct code *code);

/* A function to be called on a CPU. */
struct work {
    void (*fn)(void *arg);
    void *arg;
    bool done;
};

struct guest;

struct cpu {
    struct cpu *self;           /* GS:0 */
    unsigned index;
    u32 apic_id;
    bool online;
    bool idle;                  /* halted until there is work */
    struct work *mailbox;
    struct guest *guest;

    /* Set while execute() is in a snippet. */
    bool executing;
    u64 saved_rsp;
    struct regs *regs;
    struct outcome outcome;

    /*
     * Vectors in @absorb_vectors are counted and returned from: external
     * interrupts and traps, not faults.
     */
    bool absorb;
    u32 absorbed[256];
    u64 absorbed_rip;

    u64 gdt[GDT_ENTRIES];
    u8 tss[104];
    u8 stack[STACK_SIZE] __attribute__((aligned(16)));
    u8 trap_stack[STACK_SIZE] __attribute__((aligned(16)));
};
extern struct cpu cpus[MAX_CPUS];
extern unsigned cpu_count;

static inline struct cpu *this_cpu(void)
{
    struct cpu *c;

    asm volatile("mov %%gs:0, %0" : "=r"(c));
    return c;
}

void machine_init(void);
/* Descriptor tables, local APIC; called on each CPU. */
void cpu_init(struct cpu *c);
/* Looks for all CPUs, at the ACPI tables below @rsdp, and starts them. */
void cpus_start(u64 rsdp);
/* INIT and SIPI for @c, which waits for work and has given up its state. */
void cpu_restart(struct cpu *c);

/* Hands @w to @c; cpu_wait() returns when it is done. */
void cpu_post(struct cpu *c, struct work *w);
void cpu_wait(struct work *w);
/* Calls @fn on @c and waits. */
void cpu_call(struct cpu *c, void (*fn)(void *), void *arg);
/* Calls @fn on all CPUs other than this one and waits for all. */
void cpu_call_others(void (*fn)(void *), void *arg);
/* Does what comes into the mailbox until stop_working is done. */
void work_loop(void *unused);
void stop_working(void *unused);

#define for_each_other_cpu(c)                                   \
    for (struct cpu *c = cpus; c < cpus + cpu_count; c++)       \
        if (c == this_cpu()) {} else

u32 apic_read(unsigned reg);
void apic_write(unsigned reg, u32 v);
#define APIC_ID         0x20
#define APIC_EOI        0xb0
#define APIC_SVR        0xf0
#define APIC_ICR_LOW    0x300
#define APIC_TO_SELF    0x44000
#define APIC_ICR_HIGH   0x310
#define APIC_LVT_LINT0  0x350
#define APIC_EXTINT     0x700
#define APIC_MASKED     BIT(16)

#endif
