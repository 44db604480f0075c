/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What invalidations leave alone.  CPUs may always drop more than asked, so
 * all of this is judged on QEMU's strict TLB model only: it is worth something
 * only if it drops exactly what it must.
 */
#include "tlb.h"

#define OTHER_ASID      2

/* The page that is read; the one after it is never. */
static u64 target, next_page;

static void by_nothing(void *unused)
{
}

static void by_cr3(void *unused)
{
    write_cr3(read_cr3());
}

static void by_cr3_of_other_pcid(void *unused)
{
    write_cr3((u64)boot_pml4 | CONTEXT_PCID(1));
    write_cr3((u64)boot_pml4 | CR3_NOFLUSH);
}

static void by_cr3_that_keeps(void *unused)
{
    write_cr3((u64)boot_pml4 | CONTEXT_PCID(0) | CR3_NOFLUSH);
    write_cr3((u64)boot_pml4 | CR3_NOFLUSH);
}

static void by_invlpg_of_next(void *unused)
{
    invlpg(next_page);
}

static void by_invlpg(void *unused)
{
    invlpg(target);
}

static void by_invpcid_0_of_next(void *unused)
{
    invpcid(0, CONTEXT_PCID(0), next_page);
}

static void by_invpcid_0_of_other_pcid(void *unused)
{
    invpcid(0, CONTEXT_PCID(1), target);
}

static void by_invpcid_0(void *unused)
{
    invpcid(0, CONTEXT_PCID(0), target);
}

static void by_invpcid_1_of_other_pcid(void *unused)
{
    invpcid(1, CONTEXT_PCID(1), 0);
}

static void by_invpcid_1(void *unused)
{
    invpcid(1, CONTEXT_PCID(0), 0);
}

static void by_invpcid_3(void *unused)
{
    invpcid(3, 0, 0);
}

static void by_registers(void *unused)
{
    u64 cr0 = read_cr0(), efer = read_msr(MSR_EFER);

    write_cr0(cr0 & ~CR0_WP);
    write_cr0(cr0);
    write_msr(MSR_EFER, efer & ~(u64)EFER_NXE);
    write_msr(MSR_EFER, efer);
}

static void broadcast(u64 rax, u32 edx)
{
    order_stores_before_invlpgb();
    invlpgb(rax, 0, edx);
    tlbsync();
}

static void by_invlpgb_of_next(void *unused)
{
    broadcast(next_page | INVLPGB_VA | INVLPGB_ASID | INVLPGB_GLOBAL, 0);
}

static void by_invlpgb_of_other_pcid(void *unused)
{
    broadcast(INVLPGB_PCID | INVLPGB_ASID, CONTEXT_PCID(1) << 16);
}

static void by_invlpgb_without_global(void *unused)
{
    broadcast(INVLPGB_ASID, 0);
}

static void by_tlbsync_alone(void *unused)
{
    tlbsync();
}

enum need { NOTHING, PCIDE, INVPCID, INVPCID_PCIDE, INVLPGB, INVLPGB_PCIDE };

/* Read by the CPU that invalidates, through PCID CONTEXT_PCID(0) if any. */
static const struct {
    const char *what;
    enum window window;
    void (*invalidate)(void *unused);
    enum need need;
} own[] = {
    { "MOV CR3 spares global pages", WINDOW_4K_GLOBAL, by_cr3 },
    { "CR0.WP and EFER.NXE spare all", WINDOW_2M, by_registers },
    { "INVLPG spares other pages", WINDOW_4K, by_invlpg_of_next },
    { "INVLPG spares other global pages", WINDOW_4K_GLOBAL, by_invlpg_of_next },
    { "MOV CR3 spares other PCIDs", WINDOW_4K, by_cr3_of_other_pcid, PCIDE },
    { "MOV CR3 with bit 63 spares its PCID", WINDOW_4K, by_cr3_that_keeps,
      PCIDE },
    { "INVLPG spares other PCIDs", WINDOW_2M, by_invlpg, PCIDE },
    { "INVPCID 3 spares global pages", WINDOW_2M_GLOBAL, by_invpcid_3,
      INVPCID },
    { "INVPCID 0 spares other pages", WINDOW_4K, by_invpcid_0_of_next,
      INVPCID_PCIDE },
    { "INVPCID 0 spares other PCIDs", WINDOW_4K, by_invpcid_0_of_other_pcid,
      INVPCID_PCIDE },
    { "INVPCID 0 spares global pages", WINDOW_4K_GLOBAL, by_invpcid_0,
      INVPCID_PCIDE },
    { "INVPCID 1 spares other PCIDs", WINDOW_4K, by_invpcid_1_of_other_pcid,
      INVPCID_PCIDE },
    { "INVPCID 1 spares global pages", WINDOW_4K_GLOBAL, by_invpcid_1,
      INVPCID_PCIDE },
    { "TLBSYNC alone spares all", WINDOW_4K, by_tlbsync_alone, INVLPGB },
    { "INVLPGB spares other pages", WINDOW_4K, by_invlpgb_of_next, INVLPGB },
    { "INVLPGB spares global pages", WINDOW_4K_GLOBAL,
      by_invlpgb_without_global, INVLPGB },
    { "INVLPGB spares other PCIDs", WINDOW_4K, by_invlpgb_of_other_pcid,
      INVLPGB_PCIDE },
};

static void check(enum window w, void (*through)(void (*)(void *), void *),
                  void (*invalidate)(void *), unsigned contexts,
                  const char *what)
{
    struct experiment e = {
        .window = w,
        .alone = true,
        .through = through,
        .contexts = contexts,
        .invalidate = invalidate,
    };

    target = window_probe(w, 0);
    next_page = window_probe(w, SIZE_2M);
    add_probe(&e, 0);
    report(experiment_spares(&e), "APM2 5.5.3 %s: %s", here(), what);
}

static void body(void *unused)
{
    for (unsigned i = 0; i < ARRAY_SIZE(own); i++) {
        enum need need = own[i].need;
        bool pcide = need == PCIDE || need == INVPCID_PCIDE ||
                     need == INVLPGB_PCIDE;

        if ((pcide && !machine.pcid) ||
            (need >= INVLPGB && !machine.invlpgb) ||
            ((need == INVPCID || need == INVPCID_PCIDE) && !machine.invpcid)) {
            skip("not in CPUID", "APM2 5.5.3 %s: %s", here(), own[i].what);
            continue;
        }
        set_pcide_here(pcide);
        check(own[i].window, NULL, own[i].invalidate, pcide, own[i].what);
        set_pcide_here(false);
    }
}

/* Read by the guest of the CPU that invalidates, or by that as host. */

static void by_pge(void *unused)
{
    flush_local();
}

static void in_guest_by_pge(void *unused)
{
    guest_call(by_pge, NULL);
}

static void in_guest_by_invlpg(void *unused)
{
    guest_call(by_invlpg, NULL);
}

static void by_invlpgb_of_all(void *unused)
{
    broadcast(INVLPGB_GLOBAL, 0);
}

static void in_guest_by_invlpgb(void *unused)
{
    guest_call(by_invlpgb_of_all, NULL);
}

static void in_other_guest_by_invlpgb(void *unused)
{
    this_vmcb()->asid = OTHER_ASID;
    guest_call(by_invlpgb_of_all, NULL);
    this_vmcb()->asid = GUEST_ASID;
}

static void by_invlpgb_of_other_asid(void *unused)
{
    broadcast(INVLPGB_ASID | INVLPGB_GLOBAL, OTHER_ASID);
}

static void by_invlpgb_of_host(void *unused)
{
    broadcast(INVLPGB_ASID | INVLPGB_GLOBAL, 0);
}

static void by_invlpga_of_host(void *unused)
{
    invlpga(target, 0);
}

static void vmrun_with(u8 tlb_control, u32 asid)
{
    this_vmcb()->asid = asid;
    this_vmcb()->tlb_control = tlb_control;
    guest_call(by_nothing, NULL);
    this_vmcb()->asid = GUEST_ASID;
}

static void by_vmrun(void *unused)
{
    vmrun_with(TLB_KEEP, GUEST_ASID);
}

static void by_tlb_control_3(void *unused)
{
    vmrun_with(TLB_FLUSH_ASID, GUEST_ASID);
}

static void by_tlb_control_3_of_other(void *unused)
{
    vmrun_with(TLB_FLUSH_ASID, OTHER_ASID);
}

static void by_tlb_control_7(void *unused)
{
    vmrun_with(TLB_FLUSH_ASID_NON_GLOBAL, GUEST_ASID);
}

static const struct {
    const char *what;
    enum window window;
    void (*invalidate)(void *unused);
    bool host_reads;
    bool invlpgb;
} others[] = {
    { "VMRUN and #VMEXIT spare the guest", WINDOW_4K, by_vmrun },
    { "VMRUN and #VMEXIT spare the host", WINDOW_4K, by_vmrun, true },
    { "the host's CR4.PGE spares the guest", WINDOW_4K, by_pge },
    { "the host's INVLPG spares the guest", WINDOW_4K, by_invlpg },
    { "the guest's CR4.PGE spares the host", WINDOW_4K, in_guest_by_pge, true },
    { "the guest's INVLPG spares the host", WINDOW_2M, in_guest_by_invlpg,
      true },
    { "INVLPGA of ASID 0 spares the guest", WINDOW_4K, by_invlpga_of_host },
    { "TLB_CONTROL 3 spares the host", WINDOW_4K, by_tlb_control_3, true },
    { "TLB_CONTROL 3 spares other ASIDs", WINDOW_4K,
      by_tlb_control_3_of_other },
    { "TLB_CONTROL 7 spares the host", WINDOW_4K, by_tlb_control_7, true },
    { "TLB_CONTROL 7 spares global pages", WINDOW_4K_GLOBAL,
      by_tlb_control_7 },
    { "the guest's INVLPGB spares the host", WINDOW_4K, in_guest_by_invlpgb,
      true, true },
    { "another guest's INVLPGB spares the guest", WINDOW_4K,
      in_other_guest_by_invlpgb, false, true },
    { "the host's INVLPGB spares other ASIDs", WINDOW_4K,
      by_invlpgb_of_other_asid, false, true },
    { "the host's INVLPGB of ASID 0 spares the guest", WINDOW_4K,
      by_invlpgb_of_host, false, true },
};

void test_spared(void)
{
    if (!strict()) {
        skip("no strict TLB model", "APM2 5.5.3: what invalidations spare");
        return;
    }
    run_in_each(body, NULL);
    if (!machine.svm || !machine.npt || !machine.flush_by_asid) {
        skip("no SVM with nested paging and FlushByAsid",
             "APM2 15.16: what invalidations spare");
        return;
    }
    guest_reset();
    guest_call(by_nothing, NULL);               /* the first VMRUN flushes */
    for (unsigned i = 0; i < ARRAY_SIZE(others); i++) {
        if (others[i].invlpgb && !machine.invlpgb) {
            skip("no INVLPGB", "APM2 15.16 host: %s", others[i].what);
            continue;
        }
        check(others[i].window, others[i].host_reads ? NULL : guest_call,
              others[i].invalidate, 0, others[i].what);
    }
    guest_reset();
}
