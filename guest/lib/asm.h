/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For assembly that C calls. */
#ifndef LIB_ASM_H
#define LIB_ASM_H

    .macro push_callee_saved
    push %rbx
    push %rbp
    push %r12
    push %r13
    push %r14
    push %r15
    .endm

    .macro pop_callee_saved
    pop %r15
    pop %r14
    pop %r13
    pop %r12
    pop %rbp
    pop %rbx
    .endm

#endif
