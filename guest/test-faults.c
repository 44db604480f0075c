/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a page fault tells about its cause: the error code of #PF (APM2 8.4.2)
 * and EXITINFO1 of a nested page fault (APM2 15.25.6), for bad entries on every
 * level of the tables.
 */
#include "tests.h"
#include "lib/string.h"

#define ERROR_P         BIT(0)
#define ERROR_W         BIT(1)
#define ERROR_U         BIT(2)
#define ERROR_RSV       BIT(3)
#define ERROR_I         BIT(4)
#define ERROR_PK        BIT(5)
#define ERROR_FINAL     BIT(32)
#define ERROR_WALK      BIT(33)
#define NO_FAULT        (~0ull)

CODE(load_code, "mov (%rcx), %rbx");
CODE(store_code, "mov %rbx, (%rcx)");
CODE(fetch_code, "jmp *%rcx");

enum access { LOAD, STORE, FETCH, ACCESSES };

static const struct {
    const struct code *code;
    u64 error;
} accesses[ACCESSES] = {
    [LOAD] = { &load_code, 0 },
    [STORE] = { &store_code, ERROR_W },
    [FETCH] = { &fetch_code, ERROR_I },
};

static const enum mode modes[] = { MODE_64, MODE_64_USER };

/*
 * Everything is seen through one page, by three ways: as a 4 KiB page and as
 * part of a larger one.  It begins like a page table, for the tests where it
 * is one, and has an INTn that ends a snippet at END.
 */
#define BASE            0x0000680000000000ull   /* guest-virtual */
#define NESTED_BASE     0x0000008000000000ull   /* guest-physical */
#define FINAL           (BASE + 4 * SIZE_1G)    /* guest page at NESTED_BASE */
#define WALK            (BASE + 5 * SIZE_1G)    /* guest page table there */
#define END             0x800
#define INT_DONE        (0xcdull | VECTOR_DONE << 8)

static u8 *page;

static u64 page_size(unsigned leaf)
{
    return PAGE_SIZE << 9 * (leaf - 1);
}

/* Where the page is below @base, mapped by an entry of level @leaf. */
static u64 address(u64 base, unsigned leaf)
{
    return base + (leaf - 1) * SIZE_1G + ((u64)page & (page_size(leaf) - 1));
}

static u64 leaf_entry(unsigned leaf)
{
    return ((u64)page & ~(page_size(leaf) - 1)) | PTE_LEAF |
           (leaf > 1 ? PTE_PS : 0);
}

/* The entries that are spoilt, and their bits below 32 that must be 0. */
static const struct place {
    const char *name;
    unsigned level, leaf;
    unsigned low_bits[2];
} places[] = {
    { "PML4E", 4, 1, { 7 } },
    { "PDPTE", 3, 1 },
    { "PDE", 2, 1 },
    { "PTE", 1, 1 },
    { "PDE of a 2 MiB page", 2, 2, { 13, 20 } },
    { "PDPTE of a 1 GiB page", 3, 3, { 13, 29 } },
};

static bool exists(const struct place *p)
{
    return p->leaf < 3 || machine.page_1g;
}

/* All bits to be tried; 0 ends the list, it is P. */
static void reserved_bits(const struct place *p, unsigned bits[5])
{
    unsigned n = 0;

    for (unsigned i = 0; i < ARRAY_SIZE(p->low_bits) && p->low_bits[i]; i++) {
        bits[n++] = p->low_bits[i];
    }
    if (machine.phys_bits < 52) {
        bits[n++] = machine.phys_bits;
    }
    if (machine.phys_bits < 51) {
        bits[n++] = 51;
    }
    bits[n] = 0;
}

static void set_nxe(bool on)
{
    u64 efer = read_msr(MSR_EFER);

    write_msr(MSR_EFER, on ? efer | EFER_NXE : efer & ~(u64)EFER_NXE);
}

/*
 * One access to @va, which must end with that error.  Bits of @undefined may
 * have any value in it.
 */
static bool access_gives(enum access a, enum mode mode, u64 va, u64 error,
                         u64 undefined)
{
    const struct code *code = accesses[a].code;
    struct regs regs = { .rcx = va, .rbx = INT_DONE };
    struct outcome o = execute(code, mode, &regs);
    bool ok;

    if (error == NO_FAULT) {
        ok = o.vector == VECTOR_DONE &&
             o.rip == (a == FETCH ? va : (u64)code->end) + 2;
    } else {
        ok = o.vector == EXC_PF && o.cr2 == va &&
             o.rip == (a == FETCH ? va : (u64)code->start) &&
             !((o.error ^ error) & ~undefined);
    }
    if (!ok) {
        note("access %u, CPL %u: vector %lu, error code %lx, not %lx; CR2 %lx, "
             "RIP %lx", a, mode_selectors[mode].cpl, o.vector, o.error, error,
             o.cr2, o.rip);
    }
    return ok;
}

static bool all_succeed(u64 va)
{
    bool ok = true;

    for (unsigned i = 0; i < ARRAY_SIZE(modes) * ACCESSES; i++) {
        ok &= access_gives(i % ACCESSES, modes[i / ACCESSES], va, NO_FAULT, 0);
    }
    return ok;
}

static bool all_fault(u64 va, u64 error, u64 undefined)
{
    bool ok = true;

    for (unsigned i = 0; i < ARRAY_SIZE(modes) * ACCESSES; i++) {
        enum mode mode = modes[i / ACCESSES];
        u64 expected = error | accesses[i % ACCESSES].error |
                       (mode_selectors[mode].cpl == 3 ? ERROR_U : 0);

        ok &= access_gives(i % ACCESSES, mode, va, expected, undefined);
    }
    return ok;
}

static bool bit_faults(const struct place *p, unsigned bit, u64 undefined)
{
    u64 va = address(BASE, p->leaf) + END;
    u64 *entry = pte_at(boot_pml4, va, p->level);
    bool ok;

    *entry |= BIT(bit);
    flush_local();
    ok = all_fault(va, ERROR_P | ERROR_RSV, undefined);
    *entry &= ~BIT(bit);
    flush_local();
    return all_succeed(va) && ok;
}

static void page_faults(void *unused)
{
    for (const struct place *p = places; p < places + ARRAY_SIZE(places); p++) {
        u64 va = address(BASE, p->leaf) + END;
        u64 *entry;
        unsigned bits[5];
        bool ok;

        if (!exists(p)) {
            skip("no 1 GiB pages", "APM2 8.4.2 %s: bits of a %s", here(),
                 p->name);
            continue;
        }
        *pte_at(boot_pml4, va, p->leaf) = leaf_entry(p->leaf);
        reserved_bits(p, bits);
        for (unsigned i = 0; bits[i]; i++) {
            report(bit_faults(p, bits[i], 0), "APM2 8.4.2 %s: bit %u of a %s, "
                   "reserved, is #PF with P and RSV", here(), bits[i], p->name);
        }
        set_nxe(false);
        ok = bit_faults(p, 63, ERROR_I);        /* ID is undefined then */
        set_nxe(true);
        report(ok, "APM2 8.4.2 %s: NX of a %s without EFER.NXE is #PF with P "
               "and RSV", here(), p->name);

        entry = pte_at(boot_pml4, va, p->level);
        *entry |= PTE_NX;
        flush_local();
        ok = access_gives(LOAD, MODE_64, va, NO_FAULT, 0) &&
             access_gives(STORE, MODE_64, va, NO_FAULT, 0) &&
             access_gives(FETCH, MODE_64, va, ERROR_P | ERROR_I, 0);
        *entry &= ~PTE_NX;
        flush_local();
        report(ok, "APM2 8.4.2 %s: NX of a %s with EFER.NXE is #PF with P and "
               "ID, for fetches", here(), p->name);
    }
}

/* With an access before keys are turned on, which leaves a TLB entry. */
static void protection_keys(void *unused)
{
    u64 va = address(BASE, 1) + END, cr4 = read_cr4();
    u64 *entry = pte_at(boot_pml4, va, 1);
    bool ok = true;

    *entry = leaf_entry(1) | BIT(59);           /* key 1 */
    write_cr4(cr4 | CR4_PKE);
    write_pkru(BIT(2));                         /* which may not be accessed */
    write_cr4(cr4);
    for (unsigned i = 0; i < ARRAY_SIZE(modes); i++) {
        ok &= access_gives(LOAD, modes[i], va, NO_FAULT, 0);
    }
    write_cr4(cr4 | CR4_PKE);
    for (unsigned i = 0; i < ARRAY_SIZE(modes); i++) {
        u64 user = mode_selectors[modes[i]].cpl == 3 ? ERROR_U : 0;

        ok &= access_gives(LOAD, modes[i], va, ERROR_P | ERROR_PK | user, 0);
    }
    write_pkru(0);
    write_cr4(cr4);
    *entry = leaf_entry(1);
    flush_local();
    report(ok, "APM2 5.6.7 %s: the key of a page counts from when CR4.PKE is "
           "set", here());
}

/* What is wrong with a nested entry, and which accesses fault for it. */
struct flaw {
    const char *what;
    u64 set, clear;
    u64 error;
    bool faults[ACCESSES];      /* to the final address */
    bool walk_faults;           /* of page tables, always user writes */
    bool no_nxe, no_guest_nxe;  /* of the host, of the guest */
};

/* One guest; both paths to the nested entry. */
static bool nested_access_gives(enum access a, enum mode mode, u64 va, u64 gpa,
                                const struct flaw *f, bool walk)
{
    const struct code *code = accesses[a].code;
    struct regs regs = { .rcx = va, .rbx = INT_DONE };
    bool faults = walk ? f->walk_faults : f->faults[a];
    u64 error = f->error | ERROR_U |
                (walk ? ERROR_W | ERROR_WALK :
                        accesses[a].error | ERROR_FINAL);
    u64 undefined = f->no_nxe && !walk ? ERROR_I : 0;
    struct vmcb *v = this_vmcb();
    u64 exit_code;
    bool ok;

    guest_reset();
    v->efer |= EFER_NXE;
    if (f->no_guest_nxe) {
        v->efer &= ~(u64)EFER_NXE;
    }
    exit_code = guest_execute(code, mode, &regs);
    if (faults) {
        ok = exit_code == EXIT_NPF && v->exit_info_2 == gpa &&
             v->rip == (a == FETCH ? va : (u64)code->start) &&
             !((v->exit_info_1 ^ error) & ~undefined);
    } else {
        ok = exit_code == EXIT_SWINT &&
             v->rip == (a == FETCH ? va : (u64)code->end);
    }
    if (!ok) {
        note("access %u, CPL %u: exit %lx, EXITINFO1 %lx, not %lx; EXITINFO2 "
             "%lx, RIP %lx", a, mode_selectors[mode].cpl, exit_code,
             v->exit_info_1, faults ? error : 0, v->exit_info_2, v->rip);
    }
    return ok;
}

static void check_flaw(const struct place *p, const struct flaw *f)
{
    u64 gpa = address(NESTED_BASE, p->leaf);
    u64 *entry = npt_entry(gpa, p->level), good = *entry;
    bool final = true, walk = true;

    *entry = (good | f->set) & ~f->clear;
    set_nxe(!f->no_nxe);
    for (unsigned i = 0; i < ARRAY_SIZE(modes) * ACCESSES; i++) {
        enum access a = i % ACCESSES;
        enum mode mode = modes[i / ACCESSES];

        final &= nested_access_gives(a, mode, FINAL + END, gpa + END, f, false);
        walk &= nested_access_gives(a, mode, WALK + END, gpa, f, true);
    }
    set_nxe(true);
    *entry = good;
    report(final, "APM2 15.25.6 host: nested %s %s (%lxh): faults of a page of "
           "the guest", p->name, f->what, f->set | f->clear);
    report(walk, "APM2 15.25.6 host: nested %s %s (%lxh): faults of a page "
           "table of the guest", p->name, f->what, f->set | f->clear);
}

static void nested_reserved_bits(const struct place *p)
{
    struct flaw f = {
        .what = "with a reserved bit",
        .error = ERROR_P | ERROR_RSV,
        .faults = { true, true, true },
        .walk_faults = true,
    };
    unsigned bits[5];

    reserved_bits(p, bits);
    for (unsigned i = 0; bits[i]; i++) {
        f.set = BIT(bits[i]);
        check_flaw(p, &f);
    }
    f.what = "with NX, no EFER.NXE of the host";
    f.set = PTE_NX;
    f.no_nxe = true;
    check_flaw(p, &f);
}

static void nested_page_faults(void)
{
    static const struct flaw flaws[] = {
        { "in order" },
        { "not present", .clear = PTE_P, .faults = { true, true, true },
          .walk_faults = true },
        { "read-only", .clear = PTE_W, .error = ERROR_P,
          .faults = { [STORE] = true }, .walk_faults = true },
        { "not for users", .clear = PTE_U, .error = ERROR_P,
          .faults = { true, true, true }, .walk_faults = true },
        { "with NX", .set = PTE_NX, .error = ERROR_P,
          .faults = { [FETCH] = true } },
        { "with NX, no EFER.NXE of the guest", .set = PTE_NX,
          .error = ERROR_P, .faults = { [FETCH] = true },
          .no_guest_nxe = true },
    };

    for (const struct place *p = places; p < places + ARRAY_SIZE(places); p++) {
        u64 gpa = address(NESTED_BASE, p->leaf);

        if (!exists(p)) {
            skip("no 1 GiB pages", "APM2 15.25.6 host: nested %s", p->name);
            continue;
        }
        *npt_entry(gpa, p->leaf) = leaf_entry(p->leaf);
        *pte_at(boot_pml4, FINAL, 1) = gpa | PTE_LEAF;
        *pte_at(boot_pml4, WALK, 2) = gpa | PTE_TABLE;
        for (unsigned i = 0; i < ARRAY_SIZE(flaws); i++) {
            check_flaw(p, &flaws[i]);
        }
        nested_reserved_bits(p);
    }
}

/* What a guest's access leaves in the nested PTE. */
static u64 accessed_and_dirty(enum access a, u64 va)
{
    struct regs regs = { .rcx = va + END, .rbx = INT_DONE };
    u64 *entry = npt_entry(address(NESTED_BASE, 1), 1);

    *entry &= ~(PTE_A | PTE_D);
    guest_reset();
    guest_execute(accesses[a].code, MODE_64, &regs);
    return *entry & (PTE_A | PTE_D);
}

static void nested_accessed_and_dirty(void)
{
    u64 gpa = address(NESTED_BASE, 1);

    *pte_at(boot_pml4, FINAL, 1) = gpa | PTE_LEAF;
    *pte_at(boot_pml4, WALK, 2) = gpa | PTE_TABLE;
    report(accessed_and_dirty(LOAD, FINAL) == PTE_A &&
           accessed_and_dirty(FETCH, FINAL) == PTE_A &&
           accessed_and_dirty(STORE, FINAL) == (PTE_A | PTE_D),
           "APM2 15.25.5 host: the final address sets A, and D for writes, in "
           "the nested PTE");
    report(accessed_and_dirty(LOAD, WALK) == (PTE_A | PTE_D) &&
           accessed_and_dirty(FETCH, WALK) == (PTE_A | PTE_D),
           "APM2 15.25.5 host: a table of the guest sets A and D in the nested "
           "PTE");
}

void test_faults(void)
{
    u64 done = INT_DONE, *other = page_alloc();

    page = page_alloc();
    memcpy(page + END, &done, sizeof(done));
    memcpy((u8 *)other + END, &done, sizeof(done));
    *(u64 *)page = (u64)other | PTE_LEAF;

    run_in_each(page_faults, NULL);
    if (machine.pku) {
        run_in_each(protection_keys, NULL);
    } else {
        skip("no protection keys", "APM2 5.6.7 host: keys");
    }
    if (machine.svm && machine.npt && machine.phys_bits > 39) {
        nested_page_faults();
        nested_accessed_and_dirty();
        *pte_at(boot_pml4, FINAL, 1) = *pte_at(boot_pml4, WALK, 2) = 0;
        flush_local();
        guest_reset();
    } else {
        skip("no SVM with nested paging above 39 bits",
             "APM2 15.25.6 host: nested page faults");
    }
}
