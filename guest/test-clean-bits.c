/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * VMCB clean bits: a hypervisor that changes a field and marks it clean all the
 * same.  A CPU may then use what it has loaded from the VMCB at this address
 * before; one with the strict TLB model always does, one without never.  What
 * the hypervisor does not mark, any CPU takes from memory.  APM2 15.15.
 *
 * G_PAT, LBR, AVIC and CET fields are not tried: TCG implements none of them.
 */
#include "lib/string.h"
#include "lib/trap.h"
#include "tests.h"

enum clean_bit {
    CLEAN_I, CLEAN_IOPM, CLEAN_ASID, CLEAN_TPR, CLEAN_NP, CLEAN_CR, CLEAN_DR,
    CLEAN_DT, CLEAN_SEG, CLEAN_CR2,
};
#define ALL_CLEAN       0xffffffffu

#define CR4_TSD         BIT(2)
#define EFER_SCE        BIT(0)

#define V_TPR_5         5u
#define V_IRQ           BIT(8)
#define V_IGN_TPR       BIT(20)
#define V_INTR_MASKING  BIT(24)
#define V_VECTOR(n)     ((u64)(n) << 32)

/* QEMU's strict TLB model remembers that many VMCBs on each CPU. */
#define REMEMBERED      64

CODE(tlbsync_code, ".byte 0x0f, 0x01, 0xff");
CODE(ud2_code, "ud2");
CODE(nop, "nop");
#define SHOW_REGISTERS  "mov %rax, %rbx; mov %rsp, %rcx; pushf; pop %rdx"
CODE(show_registers, SHOW_REGISTERS);
CODE(show_registers_again, SHOW_REGISTERS);

static u8 no_exits[0x3000] __attribute__((aligned(PAGE_SIZE)));
static u64 pages[3][512] __attribute__((aligned(PAGE_SIZE)));
static struct vmcb many[REMEMBERED + 1] __attribute__((aligned(PAGE_SIZE)));
static u64 first_nested_cr3;

/* Values of fields that are known at run time only. */
static u64 other_io_map, other_msr_map, other_nested_cr3, other_cr3;
static u64 other_gdt, other_idt;

static bool believed(void)
{
    return strict() && machine.vmcb_clean;
}

/* What the guest does, and what it has seen in the end. */

#define LOOK(name, value)                                               \
    static u64 look_##name(void)                                        \
    {                                                                   \
        return value;                                                   \
    }
#define LOOK_AT_REGISTER(name)                                          \
    static u64 look_##name(void)                                        \
    {                                                                   \
        u64 v;                                                          \
                                                                        \
        asm volatile("mov %%" #name ", %0" : "=r"(v));                  \
        return v;                                                       \
    }
#define LOOK_AT_TABLE(name, instruction)                                \
    static struct descriptor_pointer read_##name(void)                  \
    {                                                                   \
        struct descriptor_pointer p;                                    \
                                                                        \
        asm volatile(instruction " %0" : "=m"(p));                      \
        return p;                                                       \
    }                                                                   \
    LOOK(name##_base, read_##name().base)                               \
    LOOK(name##_limit, read_##name().limit)
/* An instruction that exits, or nothing is seen. */
#define TRY(name, statement)                                            \
    static u64 try_##name(void)                                         \
    {                                                                   \
        statement;                                                      \
        return 0;                                                       \
    }

static u64 vector_of(const struct code *code)
{
    struct regs regs = { 0 };

    return execute(code, MODE_64, &regs).vector;
}

LOOK_AT_REGISTER(cr0)
LOOK_AT_REGISTER(cr2)
LOOK_AT_REGISTER(cr3)
LOOK_AT_REGISTER(cr4)
LOOK_AT_REGISTER(cr8)
LOOK_AT_REGISTER(db6)
LOOK_AT_REGISTER(db7)
LOOK_AT_REGISTER(es)
LOOK_AT_REGISTER(cs)
LOOK_AT_REGISTER(ss)
LOOK_AT_REGISTER(ds)
LOOK_AT_TABLE(gdt, "sgdt")
LOOK_AT_TABLE(idt, "sidt")
LOOK(efer, read_msr(MSR_EFER))
LOOK(tsc, read_tsc() >> 60)
LOOK(page, *(volatile u64 *)pages[0])
LOOK(tlbsync, vector_of(&tlbsync_code))
LOOK(nowhere, 0)

TRY(read_cr3, look_cr3())
TRY(write_cr3, write_cr3(look_cr3()))
TRY(read_db7, look_db7())
TRY(write_db6, asm volatile("mov %0, %%db6" : : "r"(look_db6())))
TRY(ud2, vector_of(&ud2_code))
TRY(cpuid, cpuid(0, 0))
TRY(rdtscp, asm volatile("rdtscp" : : : "rax", "rcx", "rdx"))
TRY(invpcid, invpcid(2, 0, 0))
TRY(in, in8(0x80))
TRY(rdmsr, read_msr(MSR_EFER))

/* The vector of the virtual interrupt that is taken, or 0. */
static u64 look_interrupts(void)
{
    struct cpu *c = this_cpu();
    u64 taken = 0;

    c->absorbed[VECTOR_INJECT] = c->absorbed[VECTOR_INJECT + 1] = 0;
    c->absorb = true;
    asm volatile("sti; nop; cli" : : : "memory");
    c->absorb = false;
    for (unsigned i = VECTOR_INJECT; i <= VECTOR_INJECT + 1; i++) {
        taken = c->absorbed[i] ? i : taken;
    }
    return taken;
}

static bool has_invpcid(void)
{
    return machine.invpcid;
}

static bool has_tlbi_ctl(void)
{
    return machine.invlpgb && machine.tlbi_ctl;
}

/* A field, or some bytes of it. */
struct field {
    const char *name;
    enum clean_bit bit;
    bool stored;                /* by #VMEXIT */
    u16 offset, size;
    u64 flip;                   /* what the hypervisor changes */
    const u64 *other;           /* or what it changes the field to */
    u64 (*look)(void);
    bool (*exists)(void);
};

#define FIELD(name, group, stored, field, ...)                          \
    { name, CLEAN_##group, stored, offsetof(struct vmcb, field),        \
      sizeof(((struct vmcb *)NULL)->field), __VA_ARGS__ }
#define CONTROL(name, group, field, ...)                                \
    FIELD(name, group, false, field, __VA_ARGS__)
#define SAVED(name, group, field, ...)                                  \
    FIELD(name, group, true, field, __VA_ARGS__)

static const struct field fields[] = {
    CONTROL("intercepts of CR reads", I, read_cr, .flip = BIT(3),
            .look = try_read_cr3),
    CONTROL("intercepts of CR writes", I, write_cr, .flip = BIT(3),
            .look = try_write_cr3),
    CONTROL("intercepts of DR reads", I, read_dr, .flip = BIT(7),
            .look = try_read_db7),
    CONTROL("intercepts of DR writes", I, write_dr, .flip = BIT(6),
            .look = try_write_db6),
    CONTROL("intercepts of exceptions", I, exceptions, .flip = BIT(EXC_UD),
            .look = try_ud2),
    CONTROL("intercept word 3", I, intercepts[0],
            .flip = BIT(EXIT_CPUID - EXIT_INTR), .look = try_cpuid),
    CONTROL("intercept word 4", I, intercepts[1],
            .flip = BIT(EXIT_RDTSCP - EXIT_VMRUN), .look = try_rdtscp),
    CONTROL("intercept word 5", I, intercepts[2],
            .flip = BIT(EXIT_INVPCID - EXIT_INVLPGB), .look = try_invpcid,
            .exists = has_invpcid),
    CONTROL("TSC offset", I, tsc_offset, .flip = BIT(62), .look = look_tsc),
    CONTROL("IOPM base", IOPM, io_map, .other = &other_io_map, .look = try_in),
    CONTROL("MSRPM base", IOPM, msr_map, .other = &other_msr_map,
            .look = try_rdmsr),
    /* ASID 0 is refused, and that can be seen without a model, too. */
    CONTROL("ASID", ASID, asid, .flip = GUEST_ASID, .look = look_nowhere),
    { "V_TPR", CLEAN_TPR, true, 0x60, 1, .flip = 3, .look = look_cr8 },
    { "V_IRQ and V_IGN_TPR", CLEAN_TPR, true, 0x60, 3,
      .flip = V_IRQ | V_IGN_TPR, .look = look_interrupts },
    { "V_INTR_MASKING", CLEAN_TPR, false, 0x63, 1, .flip = BIT(0),
      .look = look_cr8 },
    CONTROL("nested paging enable", NP, misc, .flip = MISC_NP,
            .look = look_page),
    CONTROL("INVLPGB enable", NP, misc, .flip = MISC_TLBI,
            .look = look_tlbsync, .exists = has_tlbi_ctl),
    CONTROL("nCR3", NP, nested_cr3, .other = &other_nested_cr3,
            .look = look_page),
    SAVED("CR0", CR, cr0, .flip = CR0_TS, .look = look_cr0),
    SAVED("CR3", CR, cr3, .other = &other_cr3, .look = look_cr3),
    SAVED("CR4", CR, cr4, .flip = CR4_TSD, .look = look_cr4),
    SAVED("EFER", CR, efer, .flip = EFER_SCE, .look = look_efer),
    SAVED("DR6", DR, dr6, .flip = BIT(0), .look = look_db6),
    SAVED("DR7", DR, dr7, .flip = BIT(8), .look = look_db7),
    SAVED("GDT limit", DT, gdtr.limit, .flip = BIT(8), .look = look_gdt_limit),
    SAVED("GDT base", DT, gdtr.base, .other = &other_gdt,
          .look = look_gdt_base),
    SAVED("IDT limit", DT, idtr.limit, .flip = BIT(12), .look = look_idt_limit),
    SAVED("IDT base", DT, idtr.base, .other = &other_idt,
          .look = look_idt_base),
    SAVED("ES", SEG, es.selector, .flip = 0x40, .look = look_es),
    SAVED("CS", SEG, cs.selector, .flip = 0x40, .look = look_cs),
    SAVED("SS", SEG, ss.selector, .flip = 0x40, .look = look_ss),
    SAVED("DS", SEG, ds.selector, .flip = 0x40, .look = look_ds),
    SAVED("CR2", CR2, cr2, .flip = 0x3000, .look = look_cr2),
};
static const struct field *const cr2_field = &fields[ARRAY_SIZE(fields) - 1];

static u64 get(const struct vmcb *v, const struct field *f)
{
    u64 value = 0;

    memcpy(&value, (const u8 *)v + f->offset, f->size);
    return value;
}

static void set(struct vmcb *v, const struct field *f, u64 value)
{
    memcpy((u8 *)v + f->offset, &value, f->size);
}

/* This CPU's guest, with what the fields have before they are changed. */
static void start_anew(void)
{
    struct vmcb *v = this_vmcb();

    guest_reset();
    guest_intercept(EXIT_IOIO);
    guest_intercept(EXIT_MSR);
    v->io_map = v->msr_map = (u64)no_exits;
    v->interrupt_control = V_INTR_MASKING | V_TPR_5 | V_VECTOR(VECTOR_INJECT);
    v->nested_cr3 = first_nested_cr3;
}

/* For a guest that does @look; its VMCB is @v, which need not be this CPU's. */

struct sight {
    u64 (*look)(void);
    u64 seen;
};

static void look_around(void *arg)
{
    struct sight *sight = arg;

    sight->seen = sight->look();
}

static void prepare(struct vmcb *v, struct sight *sight)
{
    struct vmcb *own = this_vmcb();

    guest_prepare_call(look_around, sight);
    v->rip = own->rip;
    v->rsp = own->rsp;
    v->rflags = own->rflags;
}

/* What the guest sees, or the code of the exit that it takes instead. */
static u64 run(struct vmcb *v, struct sight *sight, u32 clean)
{
    u64 exit_code;

    v->clean = clean;
    v->tlb_control = TLB_FLUSH_ALL;
    exit_code = guest_run_vmcb(v);
    this_cpu()->absorb = this_cpu()->executing = false;
    return guest_call_returned(exit_code) ? sight->seen : exit_code;
}

static u64 run_with(struct vmcb *v, const struct field *f, u64 value,
                    u32 clean)
{
    struct sight sight = { f->look };

    prepare(v, &sight);
    set(v, f, value);
    return run(v, &sight, clean);
}

static const char *outcome(void)
{
    return believed() ? "the old value is in force" :
                        "the new value is in force";
}

static void check_field(const struct field *f)
{
    struct vmcb *v = this_vmcb();
    u64 old, new, before, marked, left, unmarked;
    bool ok;

    if (f->exists && !f->exists()) {
        skip("no such field", "APM2 15.15 host: %s", f->name);
        return;
    }
    start_anew();
    old = get(v, f);
    new = f->other ? *f->other : old ^ f->flip;
    before = run_with(v, f, old, 0);
    marked = run_with(v, f, new, ALL_CLEAN);
    left = get(v, f);
    unmarked = run_with(v, f, new, ALL_CLEAN & ~BIT(f->bit));

    ok = report(marked == (believed() ? before : unmarked),
                "APM2 15.15 host: %s, changed but marked clean: %s", f->name,
                outcome());
    ok &= report(unmarked != before, "APM2 15.15 host: %s, changed and not "
                 "marked clean: the new value is in force", f->name);
    if (!f->stored) {
        ok &= report(left == new, "APM2 15.15 host: %s, changed but marked "
                     "clean: the VMCB keeps the new value", f->name);
    }
    if (!ok) {
        note("%lx to %lx, left %lx: saw %lx, %lx, %lx", old, new, left, before,
             marked, unmarked);
    }
}

/* The vector of an interrupt that stays pending while it is changed. */
static void interrupt_vector(void)
{
    struct vmcb *v = this_vmcb();
    struct sight sight = { look_nowhere };
    u64 pending = V_INTR_MASKING | V_IGN_TPR | V_IRQ, taken;
    u64 expected = believed() ? VECTOR_INJECT : VECTOR_INJECT + 1;

    start_anew();
    prepare(v, &sight);
    v->interrupt_control = pending | V_VECTOR(VECTOR_INJECT);
    run(v, &sight, 0);
    sight.look = look_interrupts;
    prepare(v, &sight);
    v->interrupt_control = pending | V_VECTOR(VECTOR_INJECT + 1);
    taken = run(v, &sight, ALL_CLEAN);
    report(taken == expected &&
           v->interrupt_control >> 32 == VECTOR_INJECT + 1,
           "APM2 15.15 host: V_INTR_VECTOR, changed but marked clean: %s",
           outcome());
}

/* What the guest changes is what the next VMRUN finds. */

struct state {
    u64 cr0, cr2, cr3, cr4, cr8, efer, dr6, dr7, es, ds;
    struct descriptor_pointer gdtr, idtr;
} __attribute__((packed));

static void read_state(void *state)
{
    *(struct state *)state = (struct state) {
        look_cr0(), look_cr2(), look_cr3(), look_cr4(), look_cr8(),
        look_efer(), look_db6(), look_db7(), look_es(), look_ds(),
        read_gdt(), read_idt(),
    };
}

static void change_state(void *state)
{
    struct descriptor_pointer gdtr = read_gdt(), idtr = read_idt();

    gdtr.base = other_gdt;
    gdtr.limit += 8;
    idtr.base = other_idt;
    idtr.limit -= 16;
    asm volatile("lgdt %0; lidt %1" : : "m"(gdtr), "m"(idtr));
    asm volatile("mov %w0, %%es; mov %w0, %%ds" : : "r"(KERNEL_DS));
    asm volatile("mov %0, %%cr2" : : "r"(0x5000ull));
    asm volatile("mov %0, %%cr8" : : "r"(9ull));
    asm volatile("mov %0, %%db6" : : "r"(look_db6() ^ BIT(1)));
    asm volatile("mov %0, %%db7" : : "r"(look_db7() ^ BIT(9)));
    write_cr0(look_cr0() ^ CR0_TS);
    write_cr3(other_cr3);
    write_cr4(look_cr4() ^ CR4_TSD);
    write_msr(MSR_EFER, look_efer() ^ EFER_SCE);
    read_state(state);
}

static bool same(const struct state *a, const struct state *b)
{
    return !memory_compare(a, b, sizeof(*a));
}

static void guest_changes(void)
{
    struct state original, changed, kept, overwritten;
    struct vmcb *v = this_vmcb();

    start_anew();
    guest_call(read_state, &original);
    v->clean = ALL_CLEAN;
    guest_call(change_state, &changed);
    guest_call(read_state, &kept);
    report(!same(&changed, &original) && same(&kept, &changed),
           "APM2 15.15 host: what the guest changes survives #VMEXIT and VMRUN "
           "of a VMCB that is marked clean");

    v->cr0 = original.cr0;
    v->cr2 = original.cr2;
    v->cr3 = original.cr3;
    v->cr4 = original.cr4;
    v->efer = original.efer;
    v->dr6 = original.dr6;
    v->dr7 = original.dr7;
    v->gdtr.base = original.gdtr.base;
    v->gdtr.limit = original.gdtr.limit;
    v->idtr.base = original.idtr.base;
    v->idtr.limit = original.idtr.limit;
    v->es.selector = original.es;
    v->ds.selector = original.ds;
    v->interrupt_control = V_INTR_MASKING | V_TPR_5;
    v->tlb_control = TLB_FLUSH_ALL;
    guest_call(read_state, &overwritten);
    report(same(&overwritten, believed() ? &changed : &original),
           "APM2 15.15 host: what the guest has changed, changed back but "
           "marked clean: %s", outcome());
}

/* Fields without a clean bit are taken from memory whatever is marked. */

static bool shows(const struct code *code, u64 rax, u64 rsp, u64 rflags,
                  u32 clean)
{
    struct vmcb *v = this_vmcb();
    struct regs regs = { .rax = rax };
    u64 exit_code;

    guest_prepare_execute(code, MODE_64, &regs);
    v->rsp -= rsp;
    v->rflags |= rflags;
    v->clean = clean;
    rsp = v->rsp;
    exit_code = guest_run();
    regs = this_guest()->regs;
    return guest_retired(exit_code, code) && regs.rbx == rax &&
           regs.rcx == rsp && regs.rdx == (RFLAGS_FIXED | rflags);
}

static u64 pending_interrupt_exits_at(u64 shadow, u32 clean)
{
    struct vmcb *v = this_vmcb();
    struct regs regs = { 0 };

    guest_prepare_execute(&nop, MODE_64, &regs);
    v->rflags |= RFLAGS_IF;
    v->interrupt_shadow = shadow;
    v->clean = clean;
    return guest_run() == EXIT_VINTR ? v->rip : 0;
}

static void not_cached(void)
{
    struct vmcb *v = this_vmcb();
    struct cpu *c = this_cpu();
    bool ok;

    start_anew();
    ok = shows(&show_registers, 1, 0, 0, 0);
    report(ok && shows(&show_registers_again, 2, 0x100, BIT(21), ALL_CLEAN),
           "APM2 15.15.3 host: RIP, RSP, RAX and RFLAGS are not cached");

    start_anew();
    guest_call(read_state, &(struct state) { 0 });
    v->clean = ALL_CLEAN;
    v->event = EVENT_VALID | EVENT_INTR | VECTOR_INJECT;
    c->absorbed[VECTOR_INJECT] = 0;
    c->absorb = true;
    guest_call(read_state, &(struct state) { 0 });
    c->absorb = false;
    report(c->absorbed[VECTOR_INJECT] == 1,
           "APM2 15.15.3 host: event injection is not cached");

    v->tlb_control = 2;
    report(guest_run() == EXIT_INVALID,
           "APM2 15.15.3 host: TLB_CONTROL is not cached");

    start_anew();
    guest_intercept(EXIT_VINTR);
    v->interrupt_control = V_INTR_MASKING | V_IGN_TPR | V_IRQ;
    ok = pending_interrupt_exits_at(0, 0) == (u64)nop.start;
    report(ok && pending_interrupt_exits_at(1, ALL_CLEAN) == (u64)nop.end,
           "APM2 15.15.3 host: the interrupt shadow is not cached");
}

/* Whose copy it is: CR2 is looked at. */

static u64 cr2_of(struct vmcb *v, u64 cr2, u32 clean)
{
    return run_with(v, cr2_field, cr2, clean);
}

struct remote {
    struct vmcb *v;
    u64 cr2;
    u32 clean;
};

static void cr2_here(void *arg)
{
    struct remote *r = arg;

    r->cr2 = cr2_of(r->v, r->cr2, r->clean);
}

static u64 cr2_on(struct cpu *c, struct vmcb *v, u64 cr2, u32 clean)
{
    struct remote r = { v, cr2, clean };

    cpu_call(c, cr2_here, &r);
    return r.cr2;
}

static void other_vmcbs(void)
{
    struct vmcb *first = this_vmcb(), *second = &many[0];

    start_anew();
    cr2_of(first, 0x1000, 0);
    *second = *first;
    report(cr2_of(second, 0x2000, ALL_CLEAN) == 0x2000,
           "APM2 15.15.2 host: the first VMRUN of a VMCB takes all from it");
    report(cr2_of(second, 0x3000, ALL_CLEAN) == (believed() ? 0x2000 : 0x3000),
           "APM2 15.15.2 host: the second VMRUN of a VMCB: %s", outcome());
    report(cr2_of(first, 0x4000, ALL_CLEAN) == (believed() ? 0x1000 : 0x4000),
           "APM2 15.15.2 host: VMRUN of a VMCB after that of another: %s",
           outcome());
}

/* A CPU may forget, but the model does so by a rule: the oldest goes. */
static void many_vmcbs(void)
{
    start_anew();
    for (unsigned i = 0; i < ARRAY_SIZE(many); i++) {
        many[i] = *this_vmcb();
    }
    for (unsigned i = 0; i < REMEMBERED; i++) {
        cr2_of(&many[i], 0x1000, 0);
    }
    cr2_of(&many[0], 0x1000, ALL_CLEAN);
    cr2_of(&many[REMEMBERED], 0x1000, 0);
    report(cr2_of(&many[2], 0x2000, ALL_CLEAN) ==
           (believed() ? 0x1000 : 0x2000) &&
           cr2_of(&many[0], 0x2000, ALL_CLEAN) ==
           (believed() ? 0x1000 : 0x2000),
           "APM2 15.15.2 host: VMRUN of one of the last %u VMCBs: %s",
           REMEMBERED, outcome());
    report(cr2_of(&many[1], 0x2000, ALL_CLEAN) == 0x2000,
           "APM2 15.15.2 host: VMRUN of a VMCB after %u others takes all from "
           "it", REMEMBERED);
}

static void other_cpus(struct cpu *other)
{
    struct vmcb *v = &many[1];

    start_anew();
    *v = *this_vmcb();
    cr2_of(v, 0x1000, 0);
    report(cr2_on(other, v, 0x2000, ALL_CLEAN) == 0x2000,
           "APM2 15.15.2 host: the first VMRUN on another CPU takes all from "
           "the VMCB");
    report(cr2_of(v, 0x3000, ALL_CLEAN) == (believed() ? 0x1000 : 0x3000),
           "APM2 15.15.2 host: VMRUN after the VMCB was on another CPU: %s",
           outcome());
    report(cr2_of(v, 0x4000, 0) == 0x4000,
           "APM2 15.15.2 host: VMRUN after the VMCB was on another CPU, "
           "nothing marked clean: the new value is in force");

    cpu_restart(other);
    cpu_call(other, svm_init, NULL);
    report(cr2_on(other, v, 0x5000, ALL_CLEAN) ==
           (believed() ? 0x2000 : 0x5000),
           "APM2 15.15 host: VMRUN after INIT: %s", outcome());
}

static void refused(void)
{
    struct sight sight = { look_nowhere };
    struct vmcb *v = this_vmcb();
    u64 exit_code;
    bool ok;

    start_anew();
    prepare(v, &sight);
    v->asid = 0;
    ok = run(v, &sight, 0) == EXIT_INVALID;
    start_anew();
    prepare(v, &sight);
    exit_code = run(v, &sight, ALL_CLEAN);
    report(ok && exit_code == (believed() ? EXIT_INVALID : 0) &&
           v->asid == GUEST_ASID, "APM2 15.5.1 host: what VMRUN has refused, "
           "corrected but marked clean: %s", outcome());
    start_anew();
    prepare(v, &sight);
    report(run(v, &sight, ALL_CLEAN & ~BIT(CLEAN_ASID)) == 0,
           "APM2 15.5.1 host: what VMRUN has refused, corrected and not marked "
           "clean: the new value is in force");
}

static u64 write_own_vmcb(void)
{
    this_vmcb()->tsc_offset = 3;
    return 0;
}

static void written_while_running(void)
{
    struct sight sight = { write_own_vmcb };
    struct vmcb *v = this_vmcb();

    start_anew();
    prepare(v, &sight);
    run(v, &sight, 0);
    v->tsc_offset = 1;
    prepare(v, &sight);
    run(v, &sight, 0);
    v->tsc_offset = 2;
    prepare(v, &sight);
    run(v, &sight, ALL_CLEAN);
    report(v->tsc_offset == 3, "APM2 15.15 host: #VMEXIT does not undo what "
           "was written to the VMCB meanwhile");
}

static void *copy_of_page(u64 from)
{
    return memcpy(page_alloc(), (void *)from, PAGE_SIZE);
}

static void choose_values(void)
{
    for (unsigned i = 0; i < ARRAY_SIZE(pages); i++) {
        pages[i][0] = i;
    }
    guest_reset();
    other_io_map = this_vmcb()->io_map;
    other_msr_map = this_vmcb()->msr_map;
    other_cr3 = (u64)copy_of_page((u64)boot_pml4);
    other_gdt = (u64)memcpy(page_alloc(), this_cpu()->gdt,
                            sizeof(this_cpu()->gdt));
    other_idt = (u64)copy_of_page(read_idt().base);
    first_nested_cr3 = npt_clone((u64)pages[0], (u64)pages[1]);
    other_nested_cr3 = npt_clone((u64)pages[0], (u64)pages[2]);
}

void test_clean_bits(void)
{
    if (!machine.svm || !machine.npt) {
        skip("no SVM with nested paging", "APM2 15.15: VMCB clean bits");
        return;
    }
    choose_values();
    for (unsigned i = 0; i < ARRAY_SIZE(fields); i++) {
        check_field(&fields[i]);
    }
    interrupt_vector();
    guest_changes();
    not_cached();
    refused();
    written_while_running();
    other_vmcbs();
    many_vmcbs();
    if (cpu_count > 1) {
        other_cpus(&cpus[1]);
    } else {
        skip("one CPU only", "APM2 15.15.2: VMCBs that move between CPUs");
    }
    guest_reset();
}

/*
 * Reset.  The program starts once more, its variables are as at the first time;
 * only memory that belongs to nobody remains.
 */

#define REMAINS         0x08000000
#define STARTED         0x636c65616e206269

struct remains {
    struct vmcb vmcb;
    u64 started;
};

void test_clean_bits_reset(void)
{
    struct remains *remains = (struct remains *)REMAINS;
    bool second = remains->started == STARTED;
    u64 seen;

    choose_values();
    start_anew();
    remains->vmcb = *this_vmcb();
    if (second) {
        remains->started = 0;
        seen = cr2_of(&remains->vmcb, 0x2000, ALL_CLEAN);
        report(seen == 0x2000, "APM2 15.15.2 host: the first VMRUN of a VMCB "
               "after a reset takes all from it");
        seen = cr2_of(&remains->vmcb, 0x3000, ALL_CLEAN);
        report(seen == (believed() ? 0x2000 : 0x3000),
               "APM2 15.15.2 host: the second VMRUN of a VMCB after a reset: "
               "%s", outcome());
        return;
    }
    cr2_of(&remains->vmcb, 0x1000, 0);
    remains->started = STARTED;
    note("reset");
    for (;;) {
        out8(0xcf9, 6);
    }
}
