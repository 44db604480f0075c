/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What may be done through a translation that a CPU holds, and when it has to
 * read the page tables again: APM2 5.5.3, SDM3 4.10.2 and 4.10.4.
 *
 * One page is changed from frame to frame behind the CPU's back.  The frame
 * that an access finds then says whether it went through the old translation.
 * A CPU may always have lost that; with strict=1 it must not.
 */
#include "tests.h"
#include "lib/string.h"

#define PAGE            0x0000700000000000ull
#define SLOT            8               /* where stores go, in the page */
#define TEXT            0x800           /* code that tells its frame */
#define MARK            0x5a
#define NO_FRAME        (~0u)           /* it ended with #PF */

#define PTE_KEY_1       BIT(59)
#define PKRU_KEY_1_AD   BIT(2)
#define PKRU_KEY_1_WD   BIT(3)

#define ERROR_P         BIT(0)
#define ERROR_RSV       BIT(3)

CODE(load_code, "mov (%rcx), %rbx");
CODE(load_with_ac_code, ".byte 0x0f, 0x01, 0xcb; mov (%rcx), %rbx");
CODE(store_code, "mov %rax, 8(%rcx)");
CODE(fetch_code, "jmp *%rcx");

enum access { LOAD, STORE, FETCH, LOAD_WITH_AC };

static const struct code *const codes[] = {
    [LOAD] = &load_code,
    [STORE] = &store_code,
    [FETCH] = &fetch_code,
    [LOAD_WITH_AC] = &load_with_ac_code,
};

static u64 *frames[2];
/* The identity map for CPL 0 only, so that CR4.SMEP and SMAP can be set. */
static u64 *kernel_root;
static u64 error;                       /* of the last #PF */

static u64 *pte(void)
{
    return pte_at(boot_pml4, PAGE, 1);
}

static void map(unsigned frame, u64 flags)
{
    store_release(pte(), (u64)frames[frame] | flags);
}

/* Maps frame 0 and makes this CPU forget the page. */
static void map_anew(u64 flags)
{
    map(0, flags);
    flush_local();
}

/* The frame that one access found. */
static unsigned use(enum access a, enum mode mode)
{
    struct regs regs = {
        .rax = MARK, .rcx = PAGE + (a == FETCH ? TEXT : 0),
    };
    struct outcome o;

    frames[0][SLOT / 8] = frames[1][SLOT / 8] = 0;
    o = execute(codes[a], mode, &regs);
    if (o.vector == EXC_PF && (o.cr2 & ~(PAGE_SIZE - 1)) == PAGE) {
        error = o.error;
        return NO_FRAME;
    }
    if (o.vector != VECTOR_DONE) {
        bail_out("access %u: vector %lu, error code %lx, RIP %lx", a, o.vector,
                 o.error, o.rip);
    }
    if (a != STORE) {
        return (u32)regs.rbx;
    }
    return frames[1][SLOT / 8] == MARK;
}

/* Whether @frame is right where the old translation may be used, or not. */
static bool old_if_strict(unsigned frame)
{
    return strict() ? frame == 0 : frame <= 1;
}

/*
 * Permissions that registers give and take.  No change of these registers
 * needs a walk, and none can leave an access allowed that it forbids.
 */

static u64 cr4;                         /* without what is tried */
static enum mode mode;

static void set_wp(bool on)
{
    u64 cr0 = read_cr0();

    write_cr0(on ? cr0 | CR0_WP : cr0 & ~CR0_WP);
}

static void set_smep(bool on)
{
    write_cr4(on ? cr4 | CR4_SMEP : cr4);
}

static void set_smap(bool on)
{
    write_cr4(on ? cr4 | CR4_SMAP : cr4);
}

static enum access load_kind;

static void clear_ac(bool on)
{
    write_cr4(cr4 | CR4_SMAP);
    load_kind = on ? LOAD : LOAD_WITH_AC;
}

static void set_pkru_ad(bool on)
{
    write_pkru(on ? PKRU_KEY_1_AD : 0);
}

static void set_pkru_wd(bool on)
{
    write_pkru(on ? PKRU_KEY_1_WD : 0);
}

static void set_cpl(bool on)
{
    mode = on ? MODE_64_USER : MODE_64;
}

static const struct right {
    const char *what;
    u64 flags;                          /* of the page */
    enum access probe;                  /* always allowed */
    enum access access;                 /* not if restricted */
    void (*restrict_to)(bool on);
    bool kernel_only;                   /* needs kernel_root */
    u64 cr4;
} rights[] = {
    { "CR0.WP", PTE_LEAF & ~PTE_W, LOAD, STORE, set_wp },
    { "CPL", PTE_LEAF & ~PTE_U, LOAD, LOAD, set_cpl },
    { "CR4.SMEP", PTE_LEAF, LOAD, FETCH, set_smep, true, CR4_SMEP },
    { "CR4.SMAP", PTE_LEAF, FETCH, LOAD, set_smap, true, CR4_SMAP },
    { "EFLAGS.AC", PTE_LEAF, FETCH, LOAD, clear_ac, true, CR4_SMAP },
    { "PKRU.AD", PTE_LEAF | PTE_KEY_1, FETCH, LOAD, set_pkru_ad, false,
      CR4_PKE },
    { "PKRU.WD", PTE_LEAF | PTE_KEY_1, LOAD, STORE, set_pkru_wd, false,
      CR4_PKE },
};

static bool has(const struct right *r)
{
    return !(r->cr4 & CR4_SMEP && !machine.smep) &&
           !(r->cr4 & CR4_SMAP && !machine.smap) &&
           !(r->cr4 & CR4_PKE && !machine.pku);
}

static unsigned use_right(const struct right *r)
{
    return use(r->restrict_to == clear_ac ? load_kind : r->access, mode);
}

static void check_right(const struct right *r)
{
    u64 old_cr3 = read_cr3(), old_cr4 = read_cr4();
    bool taken, given;
    unsigned frame;

    if (r->kernel_only) {
        *pte_at(kernel_root, PAGE, 4) = *pte_at(boot_pml4, PAGE, 4);
        write_cr3((u64)kernel_root);
    }
    cr4 = r->cr4 == CR4_PKE ? old_cr4 | CR4_PKE : old_cr4;
    write_cr4(cr4);
    mode = MODE_64;

    map_anew(r->flags);
    r->restrict_to(false);
    taken = use_right(r) == 0;
    r->restrict_to(true);
    taken &= use_right(r) == NO_FRAME && (error & ERROR_P);
    r->restrict_to(false);
    taken &= use_right(r) == 0;

    map_anew(r->flags);
    r->restrict_to(true);
    given = use(r->probe, MODE_64) == 0;
    map(1, r->flags);
    r->restrict_to(false);
    frame = use_right(r);
    given &= old_if_strict(frame);
    invlpg(PAGE);
    given &= use_right(r) == 1;

    set_wp(true);
    if (r->cr4 == CR4_PKE) {
        write_pkru(0);
    }
    write_cr4(old_cr4);
    write_cr3(old_cr3);
    report(taken, "APM2 5.6 %s: %s takes a right at once", here(), r->what);
    if (!report(given, "APM2 5.6 %s: %s gives a right without a walk", here(),
                r->what)) {
        note("frame %d", frame);
    }
}

/*
 * While EFER.NXE is clear bit 63 is reserved, but who has it in a translation
 * from before need not find out before the next walk.
 */
static void check_nxe(void)
{
    u64 efer = read_msr(MSR_EFER);
    bool ok;

    map_anew(PTE_LEAF | PTE_NX);
    ok = use(LOAD, MODE_64) == 0;
    write_msr(MSR_EFER, efer & ~(u64)EFER_NXE);
    ok &= use(FETCH, MODE_64) == NO_FRAME;
    invlpg(PAGE);
    ok &= use(LOAD, MODE_64) == NO_FRAME && (error & ERROR_RSV);
    write_msr(MSR_EFER, efer);
    ok &= use(LOAD, MODE_64) == 0 && use(FETCH, MODE_64) == NO_FRAME;
    report(ok, "APM2 5.6.3 %s: a page with NX is never executed, with EFER.NXE "
           "or without", here());

    map_anew(PTE_LEAF | PTE_NX);
    ok = use(LOAD, MODE_64) == 0;
    map(1, PTE_LEAF);
    write_msr(MSR_EFER, efer & ~(u64)EFER_NXE);
    ok &= old_if_strict(use(LOAD, MODE_64));
    write_msr(MSR_EFER, efer);
    ok &= old_if_strict(use(LOAD, MODE_64));
    invlpg(PAGE);
    ok &= use(LOAD, MODE_64) == 1;
    report(ok, "APM2 5.6.3 %s: a change of EFER.NXE needs no walk", here());
}

/* Rights that the page tables give: software need not invalidate. */

static const struct upgrade {
    const char *what;
    unsigned level;                     /* of the entry that changes */
    u64 set, clear;                     /* what makes it forbid the access */
    enum access access;
    enum mode mode;
    bool not_cached;                    /* nothing can be cached before */
} upgrades[] = {
    { "present, PTE", 1, 0, PTE_P, LOAD, MODE_64, true },
    { "present, PDE", 2, 0, PTE_P, LOAD, MODE_64, true },
    { "present, PDPTE", 3, 0, PTE_P, LOAD, MODE_64, true },
    { "present, PML4E", 4, 0, PTE_P, LOAD, MODE_64, true },
    { "present, to be executed", 1, 0, PTE_P, FETCH, MODE_64, true },
    { "writable, PTE", 1, 0, PTE_W, STORE, MODE_64 },
    { "writable, PDE", 2, 0, PTE_W, STORE, MODE_64_USER },
    { "the user's, PTE", 1, 0, PTE_U, LOAD, MODE_64_USER },
    { "the user's, PML4E", 4, 0, PTE_U, STORE, MODE_64_USER },
    { "executable, PTE", 1, PTE_NX, 0, FETCH, MODE_64 },
    { "executable, PDPTE", 3, PTE_NX, 0, FETCH, MODE_64_USER },
};

static bool upgrade_works(const struct upgrade *u, bool after_fault)
{
    u64 *entry = pte_at(boot_pml4, PAGE, u->level), bad, good;
    bool ok = true;

    map(0, PTE_LEAF);
    good = *entry;
    bad = (good | u->set) & ~u->clear;
    store_release(entry, bad);
    flush_local();

    if (u->not_cached) {
        ok = use(u->access, u->mode) == NO_FRAME && !(error & ERROR_P);
    } else {
        ok = use(LOAD, MODE_64) == 0;
        if (after_fault) {
            ok &= use(u->access, u->mode) == NO_FRAME && (error & ERROR_P);
        }
    }
    if (u->level == 1) {
        map(1, PTE_LEAF);
    } else {
        store_release(entry, good);
        map(1, PTE_LEAF);
    }
    return ok && use(u->access, u->mode) == 1;
}

static void check_upgrades(void)
{
    for (unsigned i = 0; i < ARRAY_SIZE(upgrades); i++) {
        const struct upgrade *u = &upgrades[i];

        report(upgrade_works(u, false) && upgrade_works(u, true),
               "SDM3 4.10.4.3 %s: a page that becomes %s, needs no "
               "invalidation", here(), u->what);
    }
}

/*
 * The fault of one access drops what another one could still use.  QEMU's own
 * TLB does not do that.
 */
static void check_fault_drops(void)
{
    bool ok;

    map_anew(PTE_LEAF & ~PTE_W);
    ok = use(LOAD, MODE_64) == 0;
    map(1, PTE_LEAF & ~PTE_W);
    ok &= use(STORE, MODE_64) == NO_FRAME && use(LOAD, MODE_64) == 1;
    if (strict()) {
        report(ok, "SDM3 4.10.4.1 %s: a page fault drops the translation",
               here());
    }
}

/* Accessed and dirty bits. */

static void check_dirty(void)
{
    const u64 clean = PTE_LEAF & ~PTE_D;
    bool ok;

    map_anew(clean);
    ok = use(LOAD, MODE_64) == 0 && !(*pte() & PTE_D) &&
         use(STORE, MODE_64) == 0 && (*pte() & PTE_D);
    report(ok, "APM2 5.4.2 %s: the first write through a cached page sets D",
           here());

    map_anew(clean);
    ok = use(LOAD, MODE_64) == 0;
    map(1, clean);
    ok &= use(STORE, MODE_64) == 1 && (*pte() & PTE_D) &&
          use(LOAD, MODE_64) == 1;
    report(ok, "APM2 5.4.2 %s: the first write through a cached page walks",
           here());

    map_anew(PTE_LEAF);
    ok = use(LOAD, MODE_64) == 0;
    map(0, clean);
    ok &= use(STORE, MODE_64) == 0 && (!strict() || !(*pte() & PTE_D));
    map(0, clean);
    invlpg(PAGE);
    ok &= use(STORE, MODE_64) == 0 && (*pte() & PTE_D);
    report(ok, "APM2 5.4.2 %s: D that is cleared is set again after INVLPG%s",
           here(), strict() ? ", and not before" : "");
}

static void check_accessed(void)
{
    const u64 unused = PTE_LEAF & ~PTE_A;
    bool ok;

    map_anew(unused);
    ok = use(LOAD, MODE_64) == 0 && (*pte() & PTE_A);
    map(0, unused);
    ok &= use(LOAD, MODE_64) == 0 && (!strict() || !(*pte() & PTE_A));
    map(0, unused);
    invlpg(PAGE);
    ok &= use(LOAD, MODE_64) == 0 && (*pte() & PTE_A);
    report(ok, "APM2 5.4.2 %s: A that is cleared is set again after INVLPG%s",
           here(), strict() ? ", and not before" : "");
}

/* The same for nested page tables, whose entries are cached in one piece. */

static bool guest_uses(enum access a, u64 exit_code)
{
    struct regs regs = { .rax = MARK, .rcx = PAGE };

    return guest_execute(codes[a], MODE_64, &regs) == exit_code;
}

static void check_nested(void)
{
    u64 gpa = (u64)frames[0], *entry;
    bool ok;

    npt_map(gpa, gpa);
    entry = npt_entry(gpa, 1);
    map_anew(PTE_LEAF);

    guest_reset();
    *entry = gpa | (PTE_LEAF & ~PTE_W);
    ok = guest_uses(LOAD, EXIT_SWINT) && guest_uses(STORE, EXIT_NPF);
    *entry = gpa | PTE_LEAF;
    report(ok && guest_uses(STORE, EXIT_SWINT), "APM2 15.25.6 host: a nested "
           "page that becomes writable needs no invalidation");

    guest_reset();
    *entry = gpa | (PTE_LEAF & ~PTE_D);
    ok = guest_uses(LOAD, EXIT_SWINT) && !(*entry & PTE_D) &&
         guest_uses(STORE, EXIT_SWINT) && (*entry & PTE_D);
    *entry = gpa | (PTE_LEAF & ~PTE_D);
    ok &= guest_uses(STORE, EXIT_SWINT) && (!strict() || !(*entry & PTE_D));
    *entry = gpa | (PTE_LEAF & ~PTE_D);
    this_vmcb()->tlb_control = TLB_FLUSH_ALL;
    ok &= guest_uses(STORE, EXIT_SWINT) && (*entry & PTE_D);
    report(ok, "APM2 15.25.5 host: D that is cleared in a nested page table is "
           "set again after a flush%s", strict() ? ", and not before" : "");

    *entry = gpa | PTE_LEAF;
    guest_reset();
}

static void body(void *unused)
{
    for (unsigned i = 0; i < ARRAY_SIZE(rights); i++) {
        if (has(&rights[i])) {
            check_right(&rights[i]);
        } else {
            skip("not in CPUID", "APM2 5.6 %s: %s", here(), rights[i].what);
        }
    }
    check_nxe();
    check_upgrades();
    check_fault_drops();
    check_dirty();
    check_accessed();
}

/* mov $frame, %ebx; int $VECTOR_DONE */
static void fill_frame(unsigned frame)
{
    const u8 text[] = { 0xbb, frame, 0, 0, 0, 0xcd, VECTOR_DONE };

    frames[frame] = page_alloc();
    frames[frame][0] = frame;
    memcpy((u8 *)frames[frame] + TEXT, text, sizeof(text));
}

void test_cached(void)
{
    fill_frame(0);
    fill_frame(1);
    kernel_root = page_alloc();
    for (u64 va = 0; va < SIZE_1G; va += SIZE_2M) {
        *pte_at(kernel_root, va, 2) = va | (PTE_LEAF & ~PTE_U) | PTE_PS;
    }
    run_in_each(body, NULL);
    if (machine.svm && machine.npt) {
        check_nested();
    } else {
        skip("no SVM with nested paging", "APM2 15.25: nested page tables");
    }
    *pte() = 0;
    flush_local();
}
