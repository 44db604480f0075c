/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A hypervisor just large enough for the tests: one guest per CPU, nested
 * paging, no intercepts but those a test asks for.
 *
 * The guest shares this program's page tables (guest-virtual equals
 * host-virtual), descriptor tables and per-CPU data, so the same C function
 * runs in either.  All guests have the same ASID on all CPUs, as spec.md C.4
 * demands of a hypervisor that lets them use INVLPGB.
 */
#ifndef SVM_H
#define SVM_H

#include "cpu.h"

#define GUEST_ASID      1

enum svm_exit {
    EXIT_READ_CR0       = 0x000,
    EXIT_WRITE_CR0      = 0x010,
    EXIT_READ_DR0       = 0x020,
    EXIT_WRITE_DR0      = 0x030,
    EXIT_EXCEPTION      = 0x040,
    EXIT_INTR           = 0x060,
    EXIT_VINTR          = 0x064,
    EXIT_CR0_SEL_WRITE  = 0x065,
    EXIT_CPUID          = 0x072,
    EXIT_SWINT          = 0x075,
    EXIT_IOIO           = 0x07b,
    EXIT_MSR            = 0x07c,
    EXIT_VMRUN          = 0x080,
    EXIT_VMMCALL        = 0x081,
    EXIT_RDTSCP         = 0x087,
    EXIT_INVLPGB        = 0x0a0,
    EXIT_INVLPGB_ILLEGAL = 0x0a1,
    EXIT_INVPCID        = 0x0a2,
    EXIT_TLBSYNC        = 0x0a4,
    EXIT_NPF            = 0x400,
};
#define EXIT_INVALID    (~0ull)

enum tlb_control {
    TLB_KEEP = 0,
    TLB_FLUSH_ALL = 1,
    TLB_FLUSH_ASID = 3,
    TLB_FLUSH_ASID_NON_GLOBAL = 7,
};

#define MISC_NP         BIT(0)
#define MISC_TLBI       BIT(7)          /* enables INVLPGB and TLBSYNC */

#define EVENT_INTR      (0u << 8)
#define EVENT_EXCEPTION (3u << 8)
#define EVENT_SOFT      (4u << 8)
#define EVENT_VALID     BIT(31)

struct segment {
    u16 selector, attributes;
    u32 limit;
    u64 base;
};
#define SEGMENT_CODE_16 0x09b
#define SEGMENT_CODE_32 0xc9b
#define SEGMENT_CODE_64 0xa9b
#define SEGMENT_DATA    0xc93
#define SEGMENT_DPL_3   0x060

struct vmcb {
    u16 read_cr, write_cr, read_dr, write_dr;   /* 000h */
    u32 exceptions;
    u32 intercepts[3];                          /* 00Ch: from exit code 60h */
    u8 reserved_018[0x40 - 0x18];
    u64 io_map, msr_map, tsc_offset;
    u32 asid;
    u8 tlb_control, reserved_05d[3];
    u64 interrupt_control;
    u64 interrupt_shadow;
    u64 exit_code, exit_info_1, exit_info_2, exit_int_info;
    u64 misc;                                   /* 090h */
    u8 reserved_098[0xa8 - 0x98];
    u64 event;
    u64 nested_cr3;
    u64 virt_ext;
    u64 clean;
    u64 next_rip;                               /* 0C8h */
    u8 reserved_0d0[0x400 - 0xd0];
    struct segment es, cs, ss, ds, fs, gs, gdtr, ldtr, idtr, tr;
    u8 reserved_4a0[0x4cb - 0x4a0];
    u8 cpl;
    u32 reserved_4cc;
    u64 efer;
    u8 reserved_4d8[0x548 - 0x4d8];
    u64 cr4, cr3, cr0, dr7, dr6, rflags, rip;
    u8 reserved_580[0x5d8 - 0x580];
    u64 rsp;
    u8 reserved_5e0[0x5f8 - 0x5e0];
    u64 rax;
    u8 reserved_600[0x640 - 0x600];
    u64 cr2;
    u8 reserved_648[0x668 - 0x648];
    u64 pat;
    u8 reserved_670[0x1000 - 0x670];
} __attribute__((packed));

struct guest {
    struct vmcb vmcb __attribute__((aligned(0x1000)));
    u8 host_save[0x1000];
    u8 stack[STACK_SIZE];
    struct regs regs;
};

/* Turns SVM on, on this CPU, and makes its guest; needs CPUID SVM and NPT. */
void svm_init(void *unused);

/* This CPU's guest. */
struct guest *this_guest(void);
struct vmcb *this_vmcb(void);

/*
 * Sets this CPU's guest to 64-bit CPL 0 with the CPU's present control
 * registers, the instructions enabled and nothing intercepted but VMRUN and
 * VMMCALL.  Its first VMRUN flushes the ASID.
 */
void guest_reset(void);

void guest_intercept(u32 exit_code);

/* One VMRUN; the exit code.  TLB_CONTROL is back at TLB_KEEP afterwards. */
u64 guest_run(void);
/* The same with another VMCB than this guest's. */
u64 guest_run_vmcb(struct vmcb *v);
/*
 * The same by a host in 32-bit protected mode: without paging if @cr3 is 0,
 * else with 4 MiB pages, of which the host needs an identity map.  Of the
 * guest's registers only RAX is loaded and stored.
 */
u64 guest_run_from_32_bit_host(u32 cr3);

/*
 * Runs @fn in the guest until it returns.  Any exit other than that is the
 * end of the program.
 */
void guest_call(void (*fn)(void *), void *arg);
/* The same in two halves, for tests that set up the VMCB in between. */
void guest_prepare_call(void (*fn)(void *), void *arg);
bool guest_call_returned(u64 exit_code);

/*
 * Runs a snippet as the whole of the guest, all exceptions and INTn
 * intercepted.  The outcome is in the exit code.
 */
u64 guest_execute(const struct code *code, enum mode mode, struct regs *regs);
void guest_prepare_execute(const struct code *code, enum mode mode,
                           const struct regs *regs);
/* Whether the snippet's instruction was executed without an exit. */
bool guest_retired(u64 exit_code, const struct code *code);
/* Whether it exited with @expected and RIP on the instruction. */
bool guest_exited(u64 exit_code, const struct code *code, u64 expected);
/* Whether it took exception @vector, error code 0, RIP on the instruction. */
bool guest_faulted(u64 exit_code, const struct code *code, unsigned vector);

/* Guest-physical @gpa now is host-physical @hpa, in all guests; no flush. */
void npt_map(u64 gpa, u64 hpa);
/* The nested entry for @gpa at @level; tables are made as pte_at() does. */
u64 *npt_entry(u64 gpa, unsigned level);

/*
 * The nested CR3 of other tables, which differ in one page: @gpa is @hpa.
 * Later calls of npt_map() may show in them or not.
 */
u64 npt_clone(u64 gpa, u64 hpa);

/* All other CPUs go on waiting for work, as guests; and back. */
void others_enter_guest(void);
void others_leave_guest(void);

/* Where a test body runs. */
enum environment { HOST, GUEST, ENVIRONMENTS };
extern const char *const environment_name[ENVIRONMENTS];

/*
 * Calls @body on this CPU as host or as guest, with all other CPUs waiting for
 * work in the same environment.
 */
void run_in(enum environment e, void (*body)(void *), void *arg);
bool in_guest(void);

/* Calls @fn in both, or only as host if there is no SVM (and says so). */
void run_in_each(void (*body)(void *), void *arg);

#endif
