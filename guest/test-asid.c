/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a hypervisor relies on: which ASIDs VMRUN takes, TLB_CONTROL, INVLPGB
 * issued by the host for its guest's ASID.  spec.md A.3, C.1 and C.7.
 */
#include "tlb.h"

CODE(nop, "nop");

static void do_nothing(void *unused)
{
}

static bool vmrun_returns(void)
{
    guest_prepare_call(do_nothing, NULL);
    return guest_call_returned(guest_run());
}

static bool vmrun_is_invalid(void)
{
    guest_prepare_call(do_nothing, NULL);
    return guest_run() == EXIT_INVALID;
}

static void asids(void)
{
    guest_reset();
    this_vmcb()->asid = 0;
    report(vmrun_is_invalid(), "spec C.1 host: VMRUN with ASID 0 is "
           "VMEXIT_INVALID");
    guest_reset();
    this_vmcb()->asid = machine.nasid - 1;
    report(vmrun_returns(), "spec A.3 host: VMRUN takes the last ASID, %u",
           machine.nasid - 1);
    guest_reset();
    this_vmcb()->asid = machine.nasid;
    report(vmrun_is_invalid(), "spec A.3 host: VMRUN with ASID %u is "
           "VMEXIT_INVALID", machine.nasid);
    guest_reset();
    this_vmcb()->asid = 0xffffffff;
    report(vmrun_is_invalid(), "spec A.3 host: VMRUN with ASID FFFFFFFFh is "
           "VMEXIT_INVALID");

    guest_reset();
    report(vmrun_returns(), "spec C.1 host: VMRUN goes on to work after that");
    if (machine.vmcb_clean) {
        this_vmcb()->clean = 0xffffffff;
        report(vmrun_returns(), "APM2 15.15 host: VMRUN with an unchanged VMCB "
               "marked clean");
    } else {
        skip("no VMCB clean bits", "APM2 15.15 host: VMRUN with clean bits");
    }
}

/*
 * Which bits of CR3 must be zero depends on the mode of the guest, not of the
 * host: without paging the upper half is not used.
 */
static void vmrun_cr3(void)
{
    struct regs regs = { 0 };
    struct vmcb *v = this_vmcb();
    u64 exit_code;

    guest_reset();
    v->cr3 |= BIT(machine.phys_bits);
    report(vmrun_is_invalid(), "APM2 15.5.1 host: VMRUN of a 64-bit guest with "
           "a reserved bit in CR3 is VMEXIT_INVALID");

    guest_reset();
    guest_prepare_execute(&nop, MODE_32, &regs);
    v->efer = EFER_SVME;
    v->cr4 = 0;
    v->cr0 = CR0_PE | BIT(4);
    v->cr3 = BIT(machine.phys_bits);
    exit_code = guest_run();
    report(guest_retired(exit_code, &nop), "APM2 15.5.1 host: VMRUN of a guest "
           "without paging does not look at the upper half of CR3");
    guest_reset();
}

/* How the guest is told; it does its reading in guest_call(). */

static void by_tlb_control(void *value)
{
    this_vmcb()->tlb_control = *(u8 *)value;
}

static bool tlb_control_reaches(u8 value, enum window w)
{
    struct experiment e = {
        .window = w,
        .alone = true,
        .through = guest_call,
        .invalidate = by_tlb_control,
        .arg = &value,
    };

    add_probes_everywhere(&e);
    guest_reset();
    return experiment(&e);
}

/* What it does to others, which read: the host or another guest. */

static void by_vmrun_with_tlb_control(void *value)
{
    this_vmcb()->asid = GUEST_ASID + 1;
    this_vmcb()->tlb_control = *(u8 *)value;
    guest_call(do_nothing, NULL);
    this_vmcb()->asid = GUEST_ASID;
}

static bool tlb_control_1_reaches_others(void (*through)(void (*)(void *),
                                                         void *))
{
    u8 value = TLB_FLUSH_ALL;
    struct experiment e = {
        .window = WINDOW_4K_GLOBAL,
        .alone = true,
        .through = through,
        .invalidate = by_vmrun_with_tlb_control,
        .arg = &value,
    };

    add_probes_everywhere(&e);
    guest_reset();
    guest_call(do_nothing, NULL);
    return experiment(&e);
}

static void tlb_control(void)
{
    static const u8 reserved[] = { 2, 4, 5, 6, 8, 0x80, 0xff };
    bool ok = true;

    for (unsigned i = 0; i < ARRAY_SIZE(reserved); i++) {
        guest_reset();
        this_vmcb()->tlb_control = reserved[i];
        ok &= vmrun_is_invalid();
    }
    report(ok, "APM2 15.16.1 host: VMRUN with a reserved TLB_CONTROL is "
           "VMEXIT_INVALID");
    guest_reset();
    report(vmrun_returns(), "spec C.1 host: TLB_CONTROL 0 is accepted");
    report(tlb_control_reaches(TLB_FLUSH_ALL, WINDOW_4K) &&
           tlb_control_reaches(TLB_FLUSH_ALL, WINDOW_4K_GLOBAL),
           "spec C.1 host: TLB_CONTROL 1 drops the guest's entries");
    report(tlb_control_1_reaches_others(guest_call),
           "spec C.1 host: TLB_CONTROL 1 drops other guests' entries");
    report(tlb_control_1_reaches_others(NULL),
           "spec C.1 host: TLB_CONTROL 1 drops the host's entries");
    if (!machine.flush_by_asid) {
        skip("no FlushByAsid", "spec C.1 host: TLB_CONTROL 3 and 7");
        return;
    }
    report(tlb_control_reaches(TLB_FLUSH_ASID, WINDOW_4K) &&
           tlb_control_reaches(TLB_FLUSH_ASID, WINDOW_4K_GLOBAL),
           "spec C.1 host: TLB_CONTROL 3 drops the guest's entries");
    report(tlb_control_reaches(TLB_FLUSH_ASID_NON_GLOBAL, WINDOW_4K),
           "spec C.1 host: TLB_CONTROL 7 drops the guest's non-global entries");
}

static void by_invlpga(void *asid)
{
    invlpga(window_probe(WINDOW_4K, 0), *(u32 *)asid);
}

static bool invlpga_reaches(u32 asid, bool host_reads)
{
    struct experiment e = {
        .window = WINDOW_4K,
        .alone = true,
        .through = host_reads ? NULL : guest_call,
        .invalidate = by_invlpga,
        .arg = &asid,
    };

    add_probe(&e, 0);
    guest_reset();
    return experiment(&e);
}

static void host_invlpga(void)
{
    report(invlpga_reaches(GUEST_ASID, false),
           "APM2 15.16.2 host: INVLPGA drops an address of the guest's ASID");
    report(invlpga_reaches(0, true),
           "APM2 15.16.2 host: INVLPGA drops an address of the host's ASID");
    if (strict()) {
        report(!invlpga_reaches(GUEST_ASID + 1, false) &&
               !invlpga_reaches(GUEST_ASID, true),
               "APM2 15.16.2 host: INVLPGA leaves other ASIDs alone");
    }
}

struct operands {
    u64 rax;
    u32 ecx, edx;
};

static void issue(void *arg)
{
    struct operands *o = arg;

    order_stores_before_invlpgb();
    invlpgb(o->rax, o->ecx, o->edx);
    tlbsync();
}

/* This CPU is host and all, itself too, have the guest do the reading. */
static void check_host_form(const char *what, u64 rax, u32 ecx, enum window w)
{
    struct operands o = { rax, ecx, GUEST_ASID };
    struct experiment e = {
        .window = w,
        .through = guest_call,
        .invalidate = issue,
        .arg = &o,
    };

    if (rax & INVLPGB_VA) {
        o.rax |= window_probe(w, 3 * PAGE_SIZE);
        add_probes_in_range(&e, 3 * PAGE_SIZE, (ecx + 1) * PAGE_SIZE);
    } else {
        add_probes_everywhere(&e);
    }
    report(experiment(&e), "spec C.7 host: %s drops the guest's entries on all "
           "CPUs", what);
}

static void host_invlpgb(void)
{
    u32 max = machine.count_max;

    others_enter_guest();
    guest_reset();
    check_host_form("the guest's ASID", INVLPGB_ASID, 0, WINDOW_4K);
    check_host_form("the guest's ASID, 2 MiB pages,", INVLPGB_ASID, 0,
                    WINDOW_2M);
    check_host_form("the guest's ASID and global", INVLPGB_ASID |
                    INVLPGB_GLOBAL, 0, WINDOW_4K_GLOBAL);
    check_host_form("the guest's ASID and VA", INVLPGB_ASID | INVLPGB_VA, max,
                    WINDOW_4K);
    check_host_form("any ASID", 0, 0, WINDOW_4K);
    check_host_form("any ASID and global", INVLPGB_GLOBAL, 0, WINDOW_4K_GLOBAL);
    check_host_form("any ASID and VA", INVLPGB_VA, max, WINDOW_4K);
    others_leave_guest();
}

/* Nested translations: guest-physical pages that move. */

static u64 *page, *moved_page;

static void read_page(void *seen)
{
    ((u64 *)seen)[this_cpu()->index] = *(volatile u64 *)page;
}

static unsigned guests_that_see(u64 value)
{
    u64 seen[MAX_CPUS] = { 0 };
    unsigned n = 0;

    cpu_call_others(read_page, seen);
    guest_call(read_page, seen);
    for (unsigned i = 0; i < cpu_count; i++) {
        n += seen[i] == value;
    }
    return n;
}

static void nested_translations(void)
{
    struct operands o = {
        INVLPGB_ASID | INVLPGB_GLOBAL | INVLPGB_NESTED, 0, GUEST_ASID,
    };
    bool ok;

    page = page_alloc();
    moved_page = page_alloc();
    *page = 1;
    *moved_page = 2;
    npt_map((u64)page, (u64)page);
    others_enter_guest();               /* the first VMRUN flushes */
    guest_reset();
    ok = guests_that_see(1) == cpu_count;
    npt_map((u64)page, (u64)moved_page);
    issue(&o);
    report(ok && guests_that_see(2) == cpu_count,
           "spec C.7 host: the guest's ASID, global and nested drop nested "
           "translations on all CPUs");
    others_leave_guest();
}

void test_asid(void)
{
    if (!machine.svm || !machine.npt) {
        skip("no SVM with nested paging", "spec C: ASIDs");
        return;
    }
    asids();
    vmrun_cr3();
    tlb_control();
    host_invlpga();
    if (!skip_without_invlpgb("C.7: host INVLPGB aimed at a guest")) {
        host_invlpgb();
        if (machine.nested) {
            nested_translations();
        } else {
            skip("CPUID 8000_0008 EBX[21] is clear",
                 "spec C.7 host: nested translations");
        }
    }
    note_stale_count("asid");
    guest_reset();
}
