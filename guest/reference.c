/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "reference.h"

static bool available(const struct machine *m, const struct state *s)
{
    return m->invlpgb && (!s->guest || s->enabled);
}

unsigned reference_tlbsync(const struct machine *m, const struct state *s)
{
    if (!available(m, s)) {
        return EXC_UD;
    }
    return s->cpl ? EXC_GP : VECTOR_DONE;
}

unsigned reference_invlpgb(const struct machine *m, const struct state *s,
                           u64 rax, u64 rcx, u64 rdx)
{
    u32 ecx = rcx, edx = rdx;
    u16 count = ecx, asid = edx;
    bool va_valid = rax & INVLPGB_VA;
    bool pcid_valid = rax & INVLPGB_PCID;

    if (!available(m, s)) {
        return EXC_UD;
    }
    if (s->address_bits == 16) {                /* I, "address sizes" */
        return EXC_UD;
    }
    if (s->cpl) {                               /* B.3/1 */
        return EXC_GP;
    }
    if (rax & 0xfc0 || edx & 0xf0000000) {      /* B.3/2 */
        return EXC_GP;
    }
    if (ecx & 0x7fff0000) {                     /* B.3/3 */
        return EXC_GP;
    }
    if (va_valid && count > m->count_max) {     /* B.3/4; B.3/5: else ignored */
        return EXC_GP;
    }
    if (pcid_valid && !s->pcide) {              /* B.3/6; B.3/7: else ignored */
        return EXC_GP;
    }
    if (rax & INVLPGB_NESTED && !m->nested) {   /* B.3/8 */
        return EXC_GP;
    }
    if (!s->guest) {                            /* B.3/11: ignored in a guest */
        if (s->svme ? asid >= m->nasid : asid != 0) {   /* B.3/9, B.3/10 */
            return EXC_GP;
        }
    }
    /*
     * B.3/12 to 14: non-canonical addresses, ranges that wrap or cross the
     * hole, and a step without an address are accepted.
     */
    return VECTOR_DONE;
}
