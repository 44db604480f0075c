/*
 * x86 strict TLB model: translations that go only when the architecture says
 *
 * The model is the worst case that a real CPU may show.  It holds every
 * translation that was ever filled, tagged as SVM and PCIDs tag them, and an
 * invalidation drops what it must drop and nothing else.
 *
 * No QEMU header is used, so that the same file is part of QEMU, of a unit
 * test and of a fuzzer.
 *
 * "spec" is the project's reference for INVLPGB and TLBSYNC, "APM2" volume 2
 * of AMD's manual, "SDM3" volume 3 of Intel's, which defines PCIDs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef I386_TCG_TLB_MODEL_H
#define I386_TCG_TLB_MODEL_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * X86TLBKind: what the address of an entry is
 * @X86_TLB_LINEAR: a linear address, tagged with ASID and PCID
 * @X86_TLB_NESTED: a guest-physical address, tagged with its ASID only.  The
 *     guest's own flushes do not concern it (APM2 15.16.1, 15.16.2).
 */
typedef enum X86TLBKind {
    X86_TLB_LINEAR,
    X86_TLB_NESTED,
} X86TLBKind;

/**
 * X86TLBEntry: one translation
 * @addr: first address, aligned to the size; a linear address is canonical
 * @phys: physical address of @addr
 * @owner: whose page tables said so, in the caller's encoding.  Not compared:
 *     an entry that is found in another's name is an isolation violation.
 * @space: address of stage 1's page tables.  Not compared.
 * @time: when the walk began, by the caller's clock
 * @number: set by x86_tlb_model_insert(), as X86TLBStats.inserts was then
 * @stage1_attrs: leaf attributes of stage 1, in the caller's encoding.  What
 *     they permit depends on CR0, CR4, EFER, CPL and PKRU at the time of use.
 * @stage2_attrs: the same for nested paging
 * @asid: 0 is the host's
 * @pcid: 0 to 0xfff.  Not compared if @global; 0 if @kind is nested.
 * @kind: an X86TLBKind
 * @shift: log2 of the size: 12, 21, 22 or 30
 * @stage1_shift: log2 of the size of stage 1's page, not less than @shift;
 *     @shift if there is no stage 1.  With nested paging an entry has the
 *     smaller size of both stages.  What invalidates any address of stage 1's
 *     page invalidates all its fragments: software knows of one page only.
 * @global: valid for all PCIDs of @asid, and of no other ASID (spec B.2)
 */
typedef struct X86TLBEntry {
    uint64_t addr;
    uint64_t phys;
    uint64_t owner;
    uint64_t space;
    uint64_t time;
    uint64_t number;
    uint32_t stage1_attrs;
    uint32_t stage2_attrs;
    uint16_t asid;
    uint16_t pcid;
    uint8_t kind;
    uint8_t shift;
    uint8_t stage1_shift;
    bool global;
} X86TLBEntry;

/**
 * X86TLBContext: in whose name an address is looked up
 * @asid: current ASID
 * @pcid: current PCID, 0 with CR4.PCIDE = 0; not compared if @kind is nested
 * @kind: an X86TLBKind
 */
typedef struct X86TLBContext {
    uint16_t asid;
    uint16_t pcid;
    uint8_t kind;
} X86TLBContext;

/**
 * X86TLBMatch: what an invalidation covers
 * @first: first address, if @by_address
 * @last: last address, inclusive; not below @first
 * @time: if @by_time
 * @asid: if @by_asid
 * @pcid: if @by_pcid
 * @by_asid: cover one ASID only
 * @by_pcid: cover one PCID only; does not restrict @globals (spec B.2)
 * @by_address: cover only entries of whose stage-1 page a part is in the range
 * @by_time: cover only entries whose walk began before @time.  Others may stay:
 *     they were made after the invalidation was asked for.
 * @globals: cover global entries too
 * @nested: cover guest-physical entries too.  They have neither a linear
 *     address nor a PCID to compare, so that only @by_asid spares any.  Spec
 *     is silent on this; invalidating more is always legal (spec B.2).
 *
 * Linear addresses that are not global are always covered.
 */
typedef struct X86TLBMatch {
    uint64_t first;
    uint64_t last;
    uint64_t time;
    uint16_t asid;
    uint16_t pcid;
    bool by_asid;
    bool by_pcid;
    bool by_address;
    bool by_time;
    bool globals;
    bool nested;
} X86TLBMatch;

/**
 * x86_tlb_match_all: everything: reset, SMI, RSM, TLB_CONTROL 1
 *
 * The host's entries are included (APM2 15.16.1).
 */
X86TLBMatch x86_tlb_match_all(void);

/**
 * x86_tlb_match_paging_mode: a change of CR0.PG or of CR4.PGE, PAE, PSE, PCIDE,
 *     PKE
 * @asid: current ASID; no other is affected (APM2 15.16.1)
 *
 * Covers the ASID's linear addresses with all PCIDs and global entries.
 */
X86TLBMatch x86_tlb_match_paging_mode(uint16_t asid);

/**
 * x86_tlb_match_mov_cr3: MOV to CR3 without bit 63, or a task switch
 * @asid: current ASID; no other is affected (APM2 15.16.1)
 * @pcid: PCID in the new value; 0 with CR4.PCIDE = 0
 *
 * Covers the non-global entries of that PCID (SDM3 4.10.4.1).
 */
X86TLBMatch x86_tlb_match_mov_cr3(uint16_t asid, uint16_t pcid);

/**
 * x86_tlb_match_tlb_control: TLB_CONTROL of a VMRUN
 * @asid: the guest's ASID
 * @tlb_control: 1, 3 or 7; 0 asks for nothing and others are refused
 *
 * 1: everything.  3: all of this ASID.  7: this ASID's non-global linear
 * addresses; guest-physical ones are spared, since a change of nested page
 * tables needs 1 or 3 (APM2 15.16.1).
 */
X86TLBMatch x86_tlb_match_tlb_control(uint16_t asid, uint8_t tlb_control);

/**
 * x86_tlb_match_invlpg: INVLPG
 * @asid: current ASID
 * @pcid: current PCID
 * @addr: linear address; nothing is covered if it is not canonical
 *
 * Covers this PCID's entries and the global ones of any PCID (SDM3 4.10.4.1).
 */
X86TLBMatch x86_tlb_match_invlpg(uint16_t asid, uint16_t pcid, uint64_t addr);

/**
 * x86_tlb_match_invlpga: INVLPGA
 * @asid: ECX; need not be the current one
 * @addr: rAX, always a linear address (APM2 15.16.2)
 *
 * The operands name no PCID: all are covered, and global entries.
 */
X86TLBMatch x86_tlb_match_invlpga(uint16_t asid, uint64_t addr);

/**
 * x86_tlb_match_invpcid: INVPCID
 * @asid: current ASID
 * @type: 0: @addr of @pcid, 1: @pcid, 2: all PCIDs and global entries,
 *     3: all PCIDs; without 2, global entries are spared (SDM3 4.10.4.1)
 * @pcid: of the descriptor
 * @addr: of the descriptor; canonical
 */
X86TLBMatch x86_tlb_match_invpcid(uint16_t asid, unsigned type, uint16_t pcid,
                                  uint64_t addr);

/**
 * x86_tlb_match_invlpgb: INVLPGB
 * @rax: flags and address
 * @ecx: count and step
 * @edx: ASID and PCID
 * @va_bits: width of a linear address: 48, or 57 with CR4.LA57
 *
 * The operands are legal.  In a guest, the caller has put the current ASID
 * into @edx and set rAX[2], as hardware does (spec C.4).
 *
 * The range is [VA, VA + (count + 1) * step), with all page sizes, also if
 * only a part of a page is inside (spec B.2).  A range that is not canonical,
 * wraps or crosses the hole is all addresses (spec B.3/12, B.3/13).  Without
 * rAX[0] address, count and step are ignored.  There are no
 * paging-structure caches, so that "final translation only" is, too.
 */
X86TLBMatch x86_tlb_match_invlpgb(uint64_t rax, uint32_t ecx, uint32_t edx,
                                  unsigned va_bits);

/**
 * X86TLBDropCause: why an entry went
 * @X86_TLB_DROP_INVALIDATE: an invalidation covered it
 * @X86_TLB_DROP_REPLACE: a new entry for the same address took its place
 * @X86_TLB_DROP_PERMISSION: it did not permit an access
 * @X86_TLB_DROP_EVICT: the capacity, or the caller's wish
 * @X86_TLB_DROP__MAX: number of causes
 */
typedef enum X86TLBDropCause {
    X86_TLB_DROP_INVALIDATE,
    X86_TLB_DROP_REPLACE,
    X86_TLB_DROP_PERMISSION,
    X86_TLB_DROP_EVICT,
    X86_TLB_DROP__MAX,
} X86TLBDropCause;

/**
 * X86TLBStats: counters of one model
 * @hits: lookups that found an entry
 * @misses: lookups that did not
 * @inserts: entries ever inserted
 * @drops: entries ever dropped, by cause
 * @live: entries held now
 * @peak: largest number of entries ever held
 * @bytes: memory in use for entries and their index
 */
typedef struct X86TLBStats {
    uint64_t hits;
    uint64_t misses;
    uint64_t inserts;
    uint64_t drops[X86_TLB_DROP__MAX];
    uint32_t live;
    uint32_t peak;
    size_t bytes;
} X86TLBStats;

/**
 * X86TLBModel: the translations of one logical CPU
 *
 * Not thread-safe: only the CPU's own thread may use it.
 */
typedef struct X86TLBModel X86TLBModel;

/**
 * x86_tlb_model_new: create an empty model
 * @capacity: number of entries above which an insertion evicts a random one;
 *     0 for no limit
 * @seed: of evictions: with the same seed, the same calls evict the same
 *     entries
 */
X86TLBModel *x86_tlb_model_new(uint32_t capacity, uint64_t seed);

/**
 * x86_tlb_model_free: free a model and its entries
 * @model: may be NULL
 */
void x86_tlb_model_free(X86TLBModel *model);

/**
 * x86_tlb_model_lookup: translate an address
 * @model: the model
 * @context: in whose name
 * @addr: address of the kind that @context says
 *
 * Returns: the entry, valid until the model is changed, or NULL.
 */
const X86TLBEntry *x86_tlb_model_lookup(X86TLBModel *model,
                                        const X86TLBContext *context,
                                        uint64_t addr);

/**
 * x86_tlb_model_peek: look for a translation without counting the look
 * @model: the model
 * @context: in whose name
 * @addr: address of the kind that @context says
 *
 * Returns: the entry, valid until the model is changed, or NULL.
 */
const X86TLBEntry *x86_tlb_model_peek(const X86TLBModel *model,
                                      const X86TLBContext *context,
                                      uint64_t addr);

/**
 * x86_tlb_model_insert: add a translation
 * @model: the model
 * @entry: is copied
 *
 * Drops the entries that translate one of its addresses in a context in which
 * @entry does, too.  A CPU that holds two translations of an address may use
 * either (SDM3 4.10.2.3).  Here the newer one wins, so that a lookup has one
 * answer, whatever the order of pages and sizes in which they were filled.
 *
 * Returns: the copy, valid until the model is changed.
 */
const X86TLBEntry *x86_tlb_model_insert(X86TLBModel *model,
                                        const X86TLBEntry *entry);

/**
 * x86_tlb_model_drop: drop an entry
 * @model: the model
 * @entry: result of a lookup or insertion
 * @cause: X86_TLB_DROP_PERMISSION if it does not permit an access, or
 *     X86_TLB_DROP_EVICT
 *
 * A page fault drops the translation that led to it (SDM3 4.10.4.1), so that
 * software need not invalidate in order to grant more rights.
 */
void x86_tlb_model_drop(X86TLBModel *model, const X86TLBEntry *entry,
                        X86TLBDropCause cause);

/**
 * x86_tlb_model_evict: drop a random entry
 * @model: the model
 *
 * Returns: false if there was none.
 */
bool x86_tlb_model_evict(X86TLBModel *model);

/**
 * x86_tlb_model_invalidate: drop all entries that an invalidation covers
 * @model: the model
 * @match: what it covers
 *
 * Returns: number of entries dropped.
 */
uint32_t x86_tlb_model_invalidate(X86TLBModel *model,
                                  const X86TLBMatch *match);

/**
 * x86_tlb_model_stats: read the counters
 * @model: the model
 * @stats: to be filled
 */
void x86_tlb_model_stats(const X86TLBModel *model, X86TLBStats *stats);

/**
 * x86_tlb_model_count_asid: number of entries held for one ASID
 * @model: the model
 * @asid: the ASID
 */
uint32_t x86_tlb_model_count_asid(const X86TLBModel *model, uint16_t asid);

/**
 * X86TLBEntryFunc: called for an entry
 * @entry: the entry
 * @opaque: the caller's
 */
typedef void X86TLBEntryFunc(const X86TLBEntry *entry, void *opaque);

/**
 * x86_tlb_model_foreach: call a function for each entry, in no special order
 * @model: the model
 * @func: must not change the model
 * @opaque: for @func
 */
void x86_tlb_model_foreach(const X86TLBModel *model, X86TLBEntryFunc *func,
                           void *opaque);

/* Linux has up to 33 in flight, if the count maximum is 0 (spec G.2). */
#define X86_TLB_PENDING_MAX     64

/**
 * X86TLBPending: INVLPGBs of one CPU that have not taken effect
 * @n: number of matches; 0 is an empty list
 * @match: none covers another
 *
 * If there are more than fit, all become one that covers them and, as a rule,
 * more: hardware may always invalidate more than it was asked (spec B.2).
 */
typedef struct X86TLBPending {
    unsigned n;
    X86TLBMatch match[X86_TLB_PENDING_MAX];
} X86TLBPending;

/**
 * x86_tlb_pending_add: add an INVLPGB
 * @pending: the list
 * @match: what it covers
 */
void x86_tlb_pending_add(X86TLBPending *pending, const X86TLBMatch *match);

/**
 * x86_tlb_pending_apply: let the INVLPGBs take effect on one CPU
 * @pending: the list, which does not change: there are other CPUs
 * @model: that CPU's
 *
 * Returns: number of entries dropped.
 */
uint32_t x86_tlb_pending_apply(const X86TLBPending *pending,
                               X86TLBModel *model);

/**
 * x86_tlb_pending_clear: forget the INVLPGBs
 * @pending: the list
 */
void x86_tlb_pending_clear(X86TLBPending *pending);

/**
 * x86_tlb_pending_is_empty: is there nothing that has to take effect?
 * @pending: the list
 */
bool x86_tlb_pending_is_empty(const X86TLBPending *pending);

#endif /* I386_TCG_TLB_MODEL_H */
