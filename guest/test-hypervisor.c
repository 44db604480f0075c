/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hypervisors that make one mistake each, and the same without it.  On a TLB
 * that forgets at every VMRUN, all of them pass; with strict=1 on the command
 * line the machine is said to have one that does not, and the mistakes must
 * show.  spec.md C.4 and C.6.
 */
#include "tlb.h"

#define OTHER_ASID      2
/* What QEMU reports instead of a nested root for a guest that has none. */
#define NOT_NESTED      2

static void judge_mistake(bool stale, const char *what)
{
    report(stale == strict(), "spec C.4 host: a hypervisor that %s %s", what,
           strict() ? "reads an old page" : "gets away with it");
}

static void judge_right(bool stale, const char *what)
{
    report(!stale, "spec C.4 host: a hypervisor that %s reads the new page",
           what);
}

/* One page of the window, read by this CPU's guest. */

static void look(void *value)
{
    *(u64 *)value = *(volatile u64 *)window_probe(WINDOW_4K, 0);
}

static void look_as_guest(void *value)
{
    guest_call(look, value);
}

static bool sees_frame(struct cpu *c, unsigned frame)
{
    u64 value;

    if (c == this_cpu()) {
        look_as_guest(&value);
    } else {
        cpu_call(c, look_as_guest, &value);
    }
    return value == window_value(WINDOW_4K, frame);
}

static void become_guest(void *asid)
{
    guest_reset();
    this_vmcb()->asid = *(u32 *)asid;
}

/*
 * A vCPU on this CPU and one on @other have read the old page, and it is
 * replaced; nothing has been invalidated yet.
 */
static void replace_page_of_vcpus(struct cpu *other, u32 other_asid)
{
    u32 asid = GUEST_ASID;

    window_reset(WINDOW_4K);
    become_guest(&asid);
    cpu_call(other, become_guest, &other_asid);
    if (!sees_frame(this_cpu(), 0) || !sees_frame(other, 0)) {
        bail_out("a vCPU does not read the old page");
    }
    window_change(WINDOW_4K);
}

/* Two guests, each with nested page tables of its own. */

static u64 *page;

static void read_page(void *value)
{
    *(u64 *)value = *(volatile u64 *)page;
}

static bool second_guest_reads_first(u32 asid, bool first_is_nested)
{
    u64 *mine = page_alloc(), value[2], first_root;

    page = page_alloc();
    *page = 1;
    *mine = 2;
    guest_reset();
    first_root = this_vmcb()->nested_cr3;
    if (!first_is_nested) {
        this_vmcb()->misc &= ~MISC_NP;
        first_root = NOT_NESTED;
    }
    guest_call(read_page, &value[0]);
    this_vmcb()->misc |= MISC_NP;
    this_vmcb()->nested_cr3 = npt_clone((u64)page, (u64)mine);
    this_vmcb()->asid = asid;
    if (asid == GUEST_ASID) {
        note("violations of %lx and %lx", first_root,
             this_vmcb()->nested_cr3);
    }
    guest_call(read_page, &value[1]);
    if (value[0] != 1 || (value[1] != 1 && value[1] != 2)) {
        bail_out("the guests read %lx and %lx", value[0], value[1]);
    }
    return value[1] == 1;
}

/* A nested page that is moved under a guest that has read it. */
static bool stale_after_nested_change(u8 tlb_control)
{
    u64 *moved = page_alloc(), value[2];

    page = page_alloc();
    *page = 1;
    *moved = 2;
    npt_map((u64)page, (u64)page);
    guest_reset();
    guest_call(read_page, &value[0]);
    npt_map((u64)page, (u64)moved);
    this_vmcb()->tlb_control = tlb_control;
    guest_call(read_page, &value[1]);
    if (value[0] != 1 || (value[1] != 1 && value[1] != 2)) {
        bail_out("the guest reads %lx and %lx", value[0], value[1]);
    }
    return value[1] == 1;
}

/* A vCPU that leaves this CPU, flushes on the other one, and comes back. */

static void flush_by_invlpg(void *unused)
{
    invlpg(window_probe(WINDOW_4K, 0));
}

static void flush_as_guest(void *unused)
{
    guest_call(flush_by_invlpg, NULL);
}

static bool stale_after_return(struct cpu *other, u8 tlb_control)
{
    replace_page_of_vcpus(other, GUEST_ASID);
    cpu_call(other, flush_as_guest, NULL);
    if (!sees_frame(other, 1)) {
        bail_out("INVLPG does not work");
    }
    this_vmcb()->tlb_control = tlb_control;
    return !sees_frame(this_cpu(), 1);
}

/* Two vCPUs; the one on this CPU invalidates. */

static void flush_by_invlpgb(void *unused)
{
    order_stores_before_invlpgb();
    invlpgb(INVLPGB_ASID | INVLPGB_GLOBAL, 0, 0);
}

static void wait_for_invlpgb(void *unused)
{
    tlbsync();
}

static void wait_as_guest(void *unused)
{
    guest_call(wait_for_invlpgb, NULL);
}

static bool stale_after_broadcast(struct cpu *other, u32 other_asid)
{
    replace_page_of_vcpus(other, other_asid);
    guest_call(flush_by_invlpgb, NULL);
    guest_call(wait_for_invlpgb, NULL);
    return !sees_frame(other, 1);
}

/* The vCPU moves to the other CPU between its INVLPGB and its TLBSYNC. */
static bool stale_after_move(struct cpu *other, bool sync_at_put)
{
    replace_page_of_vcpus(other, GUEST_ASID);
    guest_call(flush_by_invlpgb, NULL);
    if (sync_at_put) {
        tlbsync();
    }
    cpu_call(other, wait_as_guest, NULL);
    return !sees_frame(other, 1);
}

static void clean_up(struct cpu *other)
{
    u32 asid = GUEST_ASID;

    if (machine.invlpgb) {
        tlbsync();
    }
    become_guest(&asid);
    cpu_call(other, become_guest, &asid);
}

void test_hypervisor(void)
{
    struct cpu *other = &cpus[1];

    if (!machine.svm || !machine.npt) {
        skip("no SVM with nested paging", "spec C.4: hypervisors");
        return;
    }
    judge_mistake(second_guest_reads_first(GUEST_ASID, true),
                  "runs two guests under one ASID");
    judge_mistake(second_guest_reads_first(GUEST_ASID, false),
                  "runs two guests, one without nested paging, under one ASID");
    judge_right(second_guest_reads_first(OTHER_ASID, true),
                "runs two guests under two ASIDs");
    judge_mistake(stale_after_nested_change(TLB_KEEP),
                  "moves a nested page without a flush");
    judge_right(stale_after_nested_change(TLB_FLUSH_ALL),
                "moves a nested page and flushes all ASIDs");
    if (machine.flush_by_asid) {
        judge_right(stale_after_nested_change(TLB_FLUSH_ASID),
                    "moves a nested page and flushes the ASID");
    } else {
        skip("no FlushByAsid", "spec C.4 host: a flush of one ASID");
    }
    guest_reset();
    if (cpu_count < 2) {
        skip("one CPU only", "spec C.4: hypervisors that move vCPUs");
        return;
    }
    judge_mistake(stale_after_return(other, TLB_KEEP),
                  "does not flush when a vCPU returns to a CPU");
    judge_right(stale_after_return(other, TLB_FLUSH_ALL),
                "flushes when a vCPU returns to a CPU");
    if (skip_without_invlpgb("C.4: native INVLPGB")) {
        clean_up(other);
        return;
    }
    judge_mistake(stale_after_broadcast(other, OTHER_ASID),
                  "gives vCPUs different ASIDs");
    judge_right(stale_after_broadcast(other, GUEST_ASID),
                "gives all vCPUs one ASID");
    judge_mistake(stale_after_move(other, false),
                  "moves a vCPU between INVLPGB and TLBSYNC");
    judge_right(stale_after_move(other, true),
                "executes TLBSYNC before it moves a vCPU");
    clean_up(other);
}
