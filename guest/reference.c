/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "reference.h"

/* Of real parts, for guests that are not told. */
#define NASID           32768

static bool available(const struct machine *m, const struct state *s)
{
    return m->invlpgb && (!s->guest || s->enabled);
}

struct expectation reference_tlbsync(const struct machine *m,
                                     const struct state *s)
{
    if (!available(m, s)) {
        return (struct expectation) { EXC_UD };
    }
    return (struct expectation) { s->cpl ? EXC_GP : VECTOR_DONE };
}

/* Rows of B.3 that are not open. */
static bool is_illegal(const struct machine *m, const struct state *s,
                       u64 rax, u32 ecx, u32 edx)
{
    u16 count = ecx, asid = edx;

    if (s->cpl) {                                       /* B.3/1 */
        return true;
    }
    if (rax & 0xfc0 || edx & 0xf0000000) {              /* B.3/2 */
        return true;
    }
    if (rax & INVLPGB_VA && count > m->count_max) {     /* B.3/4 */
        return true;
    }
    if (rax & INVLPGB_PCID && !s->pcide) {              /* B.3/6 */
        return true;
    }
    if (rax & INVLPGB_NESTED && !m->nested && !s->hosts_rules) {
        return true;                                    /* B.3/8 */
    }
    if (!s->guest) {                    /* B.3/11: no matter in a guest */
        return s->svme ? asid >= m->nasid : asid != 0;  /* B.3/9, B.3/10 */
    }
    return false;
}

/* B.3/12 and B.3/13: not one piece of canonical addresses. */
static bool is_odd_range(const struct state *s, u64 rax, u32 ecx)
{
    u64 size = ((u64)(u16)ecx + 1) *
               (ecx & INVLPGB_STEP_2M ? SIZE_2M : PAGE_SIZE);
    u64 start = rax & ~(PAGE_SIZE - 1), last;

    if (s->address_bits == 32) {
        start = (u32)start;
        return start + size > BIT(32);
    }
    last = start + size - 1;
    return (u64)((s64)(start << 16) >> 16) != start ||
           (u64)((s64)(last << 16) >> 16) != last ||
           start >> 63 != last >> 63;
}

/* Rows of B.3 that are open, of operands that are legal but for them. */
static bool is_open(const struct machine *m, const struct state *s,
                    u64 rax, u32 ecx, u32 edx)
{
    u16 count = ecx, asid = edx;
    u32 nasid = m->nasid ? m->nasid : NASID;
    bool va_valid = rax & INVLPGB_VA;

    return (ecx & 0x7fff0000) ||                        /* B.3/3 */
           (!va_valid && count > m->count_max) ||       /* B.3/5 */
           (!(rax & INVLPGB_PCID) && edx >> 16) ||      /* B.3/7 */
           (rax & INVLPGB_NESTED && !m->nested) ||      /* B.3/8, I12 */
           (s->guest && asid >= nasid) ||               /* B.3/11 */
           (va_valid && is_odd_range(s, rax, ecx)) ||   /* B.3/12, 13 */
           (!va_valid && ecx & INVLPGB_STEP_2M);        /* B.3/14 */
}

struct expectation reference_invlpgb(const struct machine *m,
                                     const struct state *s,
                                     u64 rax, u64 rcx, u64 rdx)
{
    u32 ecx = rcx, edx = rdx;

    if (!available(m, s)) {
        return (struct expectation) { EXC_UD };
    }
    if (s->address_bits == 16) {                /* I, "address sizes" */
        return (struct expectation) { EXC_UD, .open = true };
    }
    if (is_illegal(m, s, rax, ecx, edx)) {
        return (struct expectation) { EXC_GP };
    }
    if (ecx & 0x7fff0000) {
        return (struct expectation) { EXC_GP, .open = true };
    }
    return (struct expectation) {
        VECTOR_DONE, .open = is_open(m, s, rax, ecx, edx),
    };
}
