/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "console.h"
#include "paging.h"
#include "string.h"
#include "svm.h"
#include "tap.h"

void svm_enter(u64 vmcb, struct regs *regs);
void vmrun_excursion(u64 vmcb, u64 cr3);
extern const u8 guest_thunk[];

const char *const environment_name[ENVIRONMENTS] = { "host", "guest" };

static struct guest guests[MAX_CPUS];
static u8 io_map[0x3000] __attribute__((aligned(0x1000)));
static u8 msr_map[0x2000] __attribute__((aligned(0x1000)));
static u64 npt_pml4[512] __attribute__((aligned(0x1000)));

_Static_assert(offsetof(struct vmcb, asid) == 0x58, "ASID");
_Static_assert(offsetof(struct vmcb, misc) == 0x90, "090h");
_Static_assert(offsetof(struct vmcb, next_rip) == 0xc8, "nRIP");
_Static_assert(offsetof(struct vmcb, efer) == 0x4d0, "EFER");
_Static_assert(offsetof(struct vmcb, rip) == 0x578, "RIP");
_Static_assert(offsetof(struct vmcb, rax) == 0x5f8, "RAX");
_Static_assert(offsetof(struct vmcb, pat) == 0x668, "PAT");
_Static_assert(sizeof(struct vmcb) == 0x1000, "VMCB");

/* Set per CPU while a body runs as guest; the flag itself is host memory. */
static bool guest_mode[MAX_CPUS];

bool in_guest(void)
{
    return guest_mode[this_cpu()->index];
}

struct guest *this_guest(void)
{
    return this_cpu()->guest;
}

struct vmcb *this_vmcb(void)
{
    return &this_guest()->vmcb;
}

static void npt_init(void)
{
    for (u64 gpa = 0; gpa < 4 * SIZE_1G; gpa += SIZE_2M) {
        *pte_at(npt_pml4, gpa, 2) = gpa | PTE_LEAF | PTE_PS;
    }
}

void npt_map(u64 gpa, u64 hpa)
{
    u64 *pde = pte_at(npt_pml4, gpa, 2);

    if (*pde & PTE_PS) {
        u64 *table = page_alloc();
        u64 base = gpa & ~(SIZE_2M - 1);

        for (unsigned i = 0; i < 512; i++) {
            table[i] = (base + i * PAGE_SIZE) | PTE_LEAF;
        }
        store_release(pde, (u64)table | PTE_TABLE);
    }
    *pte_at(npt_pml4, gpa, 1) = hpa | PTE_LEAF;
}

u64 npt_clone(u64 gpa, u64 hpa)
{
    u64 *root = page_alloc(), *table = root;

    npt_map(gpa, gpa);
    memcpy(root, npt_pml4, PAGE_SIZE);
    for (unsigned level = 4; level > 1; level--) {
        u64 *entry = &table[gpa >> (12 + 9 * (level - 1)) & 511];

        table = page_alloc();
        memcpy(table, (u64 *)(*entry & PTE_ADDRESS), PAGE_SIZE);
        *entry = (u64)table | PTE_TABLE;
    }
    table[gpa >> 12 & 511] = hpa | PTE_LEAF;
    return (u64)root;
}

u64 *npt_entry(u64 gpa, unsigned level)
{
    return pte_at(npt_pml4, gpa, level);
}

void svm_init(void *unused)
{
    struct cpu *c = this_cpu();

    c->guest = &guests[c->index];
    if (!(npt_pml4[0] & PTE_P)) {
        npt_init();
        /* What IOIO and MSR intercepts look at: everything exits. */
        memset(io_map, 0xff, sizeof(io_map));
        memset(msr_map, 0xff, sizeof(msr_map));
    }
    write_msr(MSR_EFER, read_msr(MSR_EFER) | EFER_SVME);
    write_msr(MSR_VM_HSAVE_PA, (u64)c->guest->host_save);
    guest_reset();
}

static void set_mode(struct vmcb *v, enum mode mode)
{
    static const u16 code_attributes[] = {
        [16] = SEGMENT_CODE_16, [32] = SEGMENT_CODE_32, [64] = SEGMENT_CODE_64,
    };
    const struct mode_selectors *m = &mode_selectors[mode];
    u16 dpl = m->cpl ? SEGMENT_DPL_3 : 0;

    v->cs = (struct segment) {
        m->cs, code_attributes[m->code_bits] | dpl, 0xffffffff, 0,
    };
    v->ss = (struct segment) { m->ss, SEGMENT_DATA | dpl, 0xffffffff, 0 };
    v->cpl = m->cpl;
}

void guest_reset(void)
{
    struct cpu *c = this_cpu();
    struct vmcb *v = &c->guest->vmcb;
    struct segment data = {
        USER_DS, SEGMENT_DATA | SEGMENT_DPL_3, 0xffffffff, 0,
    };
    struct { u16 limit; u64 base; } __attribute__((packed)) gdtr, idtr;

    memset(v, 0, sizeof(*v));
    asm volatile("sgdt %0" : "=m"(gdtr));
    asm volatile("sidt %0" : "=m"(idtr));

    v->io_map = (u64)io_map;
    v->msr_map = (u64)msr_map;
    v->asid = GUEST_ASID;
    v->tlb_control = TLB_FLUSH_ALL;
    v->misc = MISC_NP | (machine.tlbi_ctl ? MISC_TLBI : 0);
    v->nested_cr3 = (u64)npt_pml4;
    guest_intercept(EXIT_VMRUN);                /* mandatory */
    guest_intercept(EXIT_VMMCALL);

    set_mode(v, MODE_64);
    v->ds = v->es = data;
    v->gdtr = (struct segment) { 0, 0, gdtr.limit, gdtr.base };
    v->idtr = (struct segment) { 0, 0, idtr.limit, idtr.base };
    v->efer = read_msr(MSR_EFER);
    v->cr0 = read_cr0();
    v->cr3 = read_cr3();
    v->cr4 = read_cr4();
    v->dr6 = 0xffff0ff0;
    v->dr7 = 0x400;
    v->rflags = RFLAGS_FIXED;
    v->pat = read_msr(MSR_PAT);
}

void guest_intercept(u32 code)
{
    struct vmcb *v = this_vmcb();

    if (code < EXIT_WRITE_CR0) {
        v->read_cr |= BIT(code);
    } else if (code < EXIT_READ_DR0) {
        v->write_cr |= BIT(code - EXIT_WRITE_CR0);
    } else if (code < EXIT_WRITE_DR0) {
        v->read_dr |= BIT(code - EXIT_READ_DR0);
    } else if (code < EXIT_EXCEPTION) {
        v->write_dr |= BIT(code - EXIT_WRITE_DR0);
    } else if (code < EXIT_INTR) {
        v->exceptions |= BIT(code - EXIT_EXCEPTION);
    } else {
        v->intercepts[(code - EXIT_INTR) / 32] |= BIT((code - EXIT_INTR) % 32);
    }
}

/*
 * FS, GS, TR and the system call registers are those of the host: VMRUN does
 * not touch them and nothing here loads others.
 */
u64 guest_run_vmcb(struct vmcb *v)
{
    struct regs *regs = &this_guest()->regs;

    v->rax = regs->rax;
    svm_enter((u64)v, regs);
    regs->rax = v->rax;
    v->tlb_control = TLB_KEEP;
    v->event = 0;
    return v->exit_code;
}

u64 guest_run(void)
{
    return guest_run_vmcb(this_vmcb());
}

u64 guest_run_from_32_bit_host(u32 cr3)
{
    struct guest *g = this_guest();

    g->vmcb.rax = g->regs.rax;
    interrupts_off();
    vmrun_excursion((u64)&g->vmcb, cr3);
    g->regs.rax = g->vmcb.rax;
    g->vmcb.tlb_control = TLB_KEEP;
    g->vmcb.event = 0;
    return g->vmcb.exit_code;
}

void guest_prepare_call(void (*fn)(void *), void *arg)
{
    struct guest *g = this_guest();

    set_mode(&g->vmcb, MODE_64);
    g->regs.rbx = (u64)fn;
    g->regs.rdi = (u64)arg;
    g->vmcb.rip = (u64)guest_thunk;
    g->vmcb.rsp = (u64)g->stack + sizeof(g->stack);
    g->vmcb.rflags = RFLAGS_FIXED;
}

bool guest_call_returned(u64 exit_code)
{
    return exit_code == EXIT_VMMCALL;
}

void guest_call(void (*fn)(void *), void *arg)
{
    struct cpu *c = this_cpu();
    struct vmcb *v = this_vmcb();
    u64 exit_code;

    guest_prepare_call(fn, arg);
    guest_mode[c->index] = true;
    exit_code = guest_run();
    guest_mode[c->index] = false;
    if (!guest_call_returned(exit_code)) {
        bail_out("CPU %u: guest exit %lx, RIP %lx, EXITINFO %lx %lx", c->index,
                 exit_code, v->rip, v->exit_info_1, v->exit_info_2);
    }
}

void guest_prepare_execute(const struct code *code, enum mode mode,
                           const struct regs *regs)
{
    struct guest *g = this_guest();

    g->vmcb.exceptions = 0xffffffff;
    guest_intercept(EXIT_SWINT);
    set_mode(&g->vmcb, mode);
    g->regs = *regs;
    g->vmcb.rip = (u64)code->start;
    g->vmcb.rsp = (u64)g->stack + sizeof(g->stack);
    g->vmcb.rflags = RFLAGS_FIXED;
}

u64 guest_execute(const struct code *code, enum mode mode, struct regs *regs)
{
    u64 exit_code;

    guest_prepare_execute(code, mode, regs);
    exit_code = guest_run();
    *regs = this_guest()->regs;
    return exit_code;
}

bool guest_exited(u64 exit_code, const struct code *code, u64 expected)
{
    return exit_code == expected && this_vmcb()->rip == (u64)code->start;
}

bool guest_retired(u64 exit_code, const struct code *code)
{
    return exit_code == EXIT_SWINT && this_vmcb()->rip == (u64)code->end;
}

bool guest_faulted(u64 exit_code, const struct code *code, unsigned vector)
{
    return guest_exited(exit_code, code, EXIT_EXCEPTION + vector) &&
           this_vmcb()->exit_info_1 == 0;
}

static void guest_work_loop(void *unused)
{
    guest_reset();
    guest_call(work_loop, NULL);
}

static struct work enter_guest[MAX_CPUS];

void others_enter_guest(void)
{
    for_each_other_cpu(c) {
        enter_guest[c->index] = (struct work) { guest_work_loop };
        cpu_post(c, &enter_guest[c->index]);
    }
}

void others_leave_guest(void)
{
    struct work leave[MAX_CPUS];

    for_each_other_cpu(c) {
        leave[c->index] = (struct work) { stop_working };
        cpu_post(c, &leave[c->index]);
    }
    for_each_other_cpu(c) {
        cpu_wait(&leave[c->index]);
        cpu_wait(&enter_guest[c->index]);
    }
}

void run_in(enum environment e, void (*body)(void *), void *arg)
{
    if (e == HOST) {
        body(arg);
        return;
    }
    others_enter_guest();
    guest_reset();
    guest_call(body, arg);
    others_leave_guest();
}

void run_in_each(void (*body)(void *), void *arg)
{
    run_in(HOST, body, arg);
    if (machine.svm && machine.npt) {
        run_in(GUEST, body, arg);
    } else {
        note("no SVM with nested paging here: nothing is run as guest");
    }
}
