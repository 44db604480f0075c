/*
 * Probe of the x86 strict TLB model: registers of the device
 *
 * See docs/specs/tlb-probe.rst.  No QEMU header is used, so that guests can
 * include the file.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_MISC_TLB_PROBE_H
#define HW_MISC_TLB_PROBE_H

/* In BAR 0, each of 8 bytes, and accessed as such */
#define TLB_PROBE_MAGIC         0x000
#define TLB_PROBE_TIME          0x008
#define TLB_PROBE_UNHEARD       0x010
#define TLB_PROBE_STATUS        0x018
#define TLB_PROBE_COMMAND       0x020
/* Operands */
#define TLB_PROBE_ADDR          0x028
#define TLB_PROBE_ASID          0x030
#define TLB_PROBE_PCID          0x038
#define TLB_PROBE_KIND          0x040
#define TLB_PROBE_ROOT          0x048
#define TLB_PROBE_SPACE         0x050
#define TLB_PROBE_BEFORE        0x058
#define TLB_PROBE_NUMBER        0x060
#define TLB_PROBE_RESULT        0x100
#define TLB_PROBE_N_RESULTS     16

#define TLB_PROBE_BAR_SIZE      0x1000

/* "TLBPROBE" in memory */
#define TLB_PROBE_MAGIC_VALUE   0x45424f5250424c54ULL

/* ASID, PCID, ROOT and SPACE: the CPU's own; their value after reset */
#define TLB_PROBE_CURRENT       0xffffffffffffffffULL
/* SPACE: all */
#define TLB_PROBE_ANY           0xfffffffffffffffeULL

/* KIND */
#define TLB_PROBE_LINEAR        0
#define TLB_PROBE_NESTED        1

/* COMMAND */
#define TLB_PROBE_LOOKUP        1
#define TLB_PROBE_EVICT         2
#define TLB_PROBE_EVICT_RANDOM  3
#define TLB_PROBE_COUNTERS      4
#define TLB_PROBE_RING          5
#define TLB_PROBE_RING_PHYSICAL 6
#define TLB_PROBE_SILENCE       7
#define TLB_PROBE_TIE           8
#define TLB_PROBE_TAKE_REPORT   9

/* STATUS */
#define TLB_PROBE_OK            0
#define TLB_PROBE_NOTHING       1       /* there is no such thing */
#define TLB_PROBE_FULL          2       /* there are too many already */
#define TLB_PROBE_BAD_COMMAND   3
#define TLB_PROBE_BAD_OPERAND   4
#define TLB_PROBE_NO_MODEL      5       /* no CPU, or one without the model */

/* RESULT of TLB_PROBE_LOOKUP and, from TLB_PROBE_R_KIND on, _TAKE_REPORT */
#define TLB_PROBE_R_ADDR        0
#define TLB_PROBE_R_PHYS        1
#define TLB_PROBE_R_ASID        2
#define TLB_PROBE_R_PCID        3
#define TLB_PROBE_R_FLAGS       4
#define TLB_PROBE_R_SHIFT       5
#define TLB_PROBE_R_STAGE1_SHIFT 6
#define TLB_PROBE_R_OWNER       7
#define TLB_PROBE_R_SPACE       8
#define TLB_PROBE_R_TIME        9
#define TLB_PROBE_R_AGE         10
#define TLB_PROBE_R_KIND        11
#define TLB_PROBE_R_CPU         12
#define TLB_PROBE_R_USED_ADDR   13
#define TLB_PROBE_R_USER        14
#define TLB_PROBE_R_DOORBELL    15

/* RESULT[TLB_PROBE_R_FLAGS] */
#define TLB_PROBE_F_GLOBAL      (1 << 0)
#define TLB_PROBE_F_DIRTY       (1 << 1)
#define TLB_PROBE_F_WRITABLE    (1 << 2)
#define TLB_PROBE_F_USER        (1 << 3)
#define TLB_PROBE_F_NX          (1 << 4)

/* RESULT[TLB_PROBE_R_KIND] */
#define TLB_PROBE_VIOLATION     0
#define TLB_PROBE_STALE         1

/* RESULT of TLB_PROBE_COUNTERS */
#define TLB_PROBE_C_HITS        0
#define TLB_PROBE_C_MISSES      1
#define TLB_PROBE_C_INSERTS     2
#define TLB_PROBE_C_INVALIDATED 3
#define TLB_PROBE_C_REPLACED    4
#define TLB_PROBE_C_PERMISSION  5
#define TLB_PROBE_C_EVICTED     6
#define TLB_PROBE_C_LIVE        7
#define TLB_PROBE_C_PEAK        8
#define TLB_PROBE_C_BYTES       9
#define TLB_PROBE_C_IN_ASID     10
#define TLB_PROBE_C_VIOLATIONS  11
#define TLB_PROBE_C_STALE       12
#define TLB_PROBE_C_PENDING     13

#endif /* HW_MISC_TLB_PROBE_H */
