/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Entries of all 256 vectors, and the two ways to run a code snippet. */
#include "asm.h"
#include "layout.h"

    .text
    .globl trap_vectors, trap_vectors_end
    .align 16
trap_vectors:
    .set vector, 0
    .rept 256
    .align 16
    /* #DF, #TS, #NP, #SS, #GP, #PF, #AC, #CP, #VC, #SX push an error code. */
    .if (0x60227d00 >> (vector & 31)) & (vector < 32) & 1
    .else
    pushq $0
    .endif
    pushq $vector
    jmp trap_common
    .set vector, vector + 1
    .endr
    .align 16
trap_vectors_end:

trap_common:
    push %rax
    push %rbx
    push %rcx
    push %rdx
    push %rsi
    push %rdi
    push %rbp
    push %r8
    push %r9
    push %r10
    push %r11
    push %r12
    push %r13
    push %r14
    push %r15
    mov %rsp, %rdi
    cld
    call trap
    pop %r15
    pop %r14
    pop %r13
    pop %r12
    pop %r11
    pop %r10
    pop %r9
    pop %r8
    pop %rbp
    pop %rdi
    pop %rsi
    pop %rdx
    pop %rcx
    pop %rbx
    pop %rax
    add $16, %rsp
    iretq

/*
 * void snippet_enter(struct regs *regs, struct iret_frame *frame,
 *                    u64 *saved_rsp);
 *
 * Comes back through snippet_leave, to which trap() returns with RSP set to
 * *saved_rsp.
 */
    .globl snippet_enter, snippet_leave
snippet_enter:
    push_callee_saved
    mov %rsp, (%rdx)
    pushq 32(%rsi)
    pushq 24(%rsi)
    pushq 16(%rsi)
    pushq 8(%rsi)
    pushq (%rsi)
    mov (%rdi), %rax
    mov 8(%rdi), %rbx
    mov 16(%rdi), %rcx
    mov 24(%rdi), %rdx
    mov 32(%rdi), %rsi
    mov 40(%rdi), %rdi
    iretq

snippet_leave:
    pop_callee_saved
    ret

/*
 * void svm_enter(u64 vmcb, struct regs *regs);
 *
 * One VMRUN.  RAX is in the VMCB; the other registers of struct regs are
 * loaded before and stored after.
 */
    .globl svm_enter
svm_enter:
    push_callee_saved
    push %rsi
    mov %rdi, %rax
    clgi
    mov 8(%rsi), %rbx
    mov 16(%rsi), %rcx
    mov 24(%rsi), %rdx
    mov 40(%rsi), %rdi
    mov 32(%rsi), %rsi
    vmrun %rax
    push %rdi
    mov 8(%rsp), %rdi
    mov %rbx, 8(%rdi)
    mov %rcx, 16(%rdi)
    mov %rdx, 24(%rdi)
    mov %rsi, 32(%rdi)
    pop 40(%rdi)
    stgi
    pop %rsi
    pop_callee_saved
    ret

/* A guest that calls the C function in RBX with the argument in RDI. */
    .globl guest_thunk
guest_thunk:
    call *%rbx
    vmmcall

    .section .note.GNU-stack, "", @progbits
