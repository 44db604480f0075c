/*
 * x86 strict TLB model: who has used a translation that should be gone?
 *
 * All functions may be called on any thread.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef I386_TCG_TLB_WITNESS_H
#define I386_TCG_TLB_WITNESS_H

#include "cpu.h"
#include "tlb_model.h"

/* More at a time are refused. */
#define X86_TLB_DOORBELLS_MAX   64
/* More nested roots than this have no number. */
#define X86_TLB_VMS_MAX         1024
/* More than this are counted, and not kept. */
#define X86_TLB_REPORTS_MAX     64

/**
 * X86TLBDoorbell: from now on, something must be translated anew
 * @addr: linear address, or physical if @physical
 * @owner: whose translations: see x86_tlb_owner()
 * @space: X86TLBEntry::space; global entries are meant in any case
 * @time: entries whose walk began before are old
 * @physical: meant is what leads to the page of @addr, guest-physical entries
 *     included, instead of what @addr leads to
 * @any_space: @space is of no importance
 */
typedef struct X86TLBDoorbell {
    uint64_t addr;
    uint64_t owner;
    uint64_t space;
    uint64_t time;
    bool physical;
    bool any_space;
} X86TLBDoorbell;

/**
 * X86TLBReportKind: what was wrong with the use of an entry
 * @X86_TLB_REPORT_VIOLATION: it was made in another owner's name
 * @X86_TLB_REPORT_STALE: a doorbell said that it had to go
 * @X86_TLB_REPORT__MAX: number of kinds
 */
typedef enum X86TLBReportKind {
    X86_TLB_REPORT_VIOLATION,
    X86_TLB_REPORT_STALE,
    X86_TLB_REPORT__MAX,
} X86TLBReportKind;

/**
 * X86TLBReport: an entry was used that should not have been
 * @entry: the entry
 * @addr: address that was translated, of the entry's kind
 * @owner: in whose name; X86TLBEntry::owner is who filled it
 * @age: number of entries that this CPU has filled since
 * @cpu_index: the CPU
 * @doorbell: number of the doorbell, if @kind is X86_TLB_REPORT_STALE
 * @kind: what was wrong
 */
typedef struct X86TLBReport {
    X86TLBEntry entry;
    uint64_t addr;
    uint64_t owner;
    uint64_t age;
    int cpu_index;
    unsigned doorbell;
    X86TLBReportKind kind;
} X86TLBReport;

/**
 * x86_tlb_owner: who is it that translates under this root?
 * @root: nCR3, or X86_TLB_ROOT_*
 *
 * Returns: @root, or the number of the VM to which it was tied, as a value
 * that no root has.
 */
uint64_t x86_tlb_owner(uint64_t root);

/**
 * x86_tlb_tie: say which VM a nested root belongs to
 * @root: nCR3
 * @vm: number of the VM
 *
 * A hypervisor that uses a page as root of one VM after another gives them
 * different numbers.  Otherwise translations of the first look as if they
 * were the second's.
 *
 * Returns: false if too many roots are tied.
 */
bool x86_tlb_tie(uint64_t root, uint32_t vm);

/**
 * x86_tlb_ring: ring a doorbell
 * @doorbell: is copied
 * @number: set to its number, which is not used again
 *
 * Each CPU notices it at the end of its translation block at the latest:
 * see x86_tlb_ring_unheard().
 *
 * Returns: false if too many are ringing.
 */
bool x86_tlb_ring(const X86TLBDoorbell *doorbell, uint32_t *number);

/**
 * x86_tlb_ring_unheard: number of CPUs that do not yet look up anew what they
 *     have looked up before the last doorbell
 */
unsigned x86_tlb_ring_unheard(void);

/**
 * x86_tlb_silence: end a doorbell, since its address may be translated as it
 *     was before
 * @number: its number
 *
 * Returns: false if there is none of this number.
 */
bool x86_tlb_silence(uint32_t number);

/**
 * x86_tlb_witness_reset: end all doorbells, untie all roots, forget all
 *     reports
 */
void x86_tlb_witness_reset(void);

/**
 * x86_tlb_witness: judge the use of an entry
 * @env: CPU state
 * @entry: what was found
 * @addr: address that is translated
 */
void x86_tlb_witness(CPUX86State *env, const X86TLBEntry *entry, vaddr addr);

/**
 * x86_tlb_take_report: take the oldest report
 * @report: to be set
 *
 * Returns: false if there is none.
 */
bool x86_tlb_take_report(X86TLBReport *report);

/**
 * X86TLBReportFunc: called for a report
 * @report: the report
 * @opaque: the caller's
 */
typedef void X86TLBReportFunc(const X86TLBReport *report, void *opaque);

/**
 * x86_tlb_foreach_report: call a function for each report not yet taken, the
 *     oldest first
 * @func: must not call any function of this header
 * @opaque: for @func
 */
void x86_tlb_foreach_report(X86TLBReportFunc *func, void *opaque);

#endif /* I386_TCG_TLB_WITNESS_H */
