/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ways into 64-bit mode: from PVH or Multiboot (the boot CPU), from SIPI (all others), and
 * back from an excursion to real mode.
 *
 * The identity map covers 0-1 GiB and 3-4 GiB (where the local APIC is) with
 * 2 MiB pages.  The third gigabyte is left for a test window below 4 GiB.
 */
#include "asm.h"
#include "layout.h"

#define PAGE_TABLE      0x007           /* P, W, U */
#define PAGE_2M         0x0e7           /* PS, D, A, U, W, P */
#define PAGE_2M_UC      0x0f7           /* and PCD */

#define LOW(label)      (LOW_BASE + (label) - low_start)

    .section .note.pvh, "a", @note
    .align 4
    .long 4                             /* name size */
    .long 8                             /* descriptor size */
    .long 18                            /* XEN_ELFNOTE_PHYS32_ENTRY */
    .asciz "Xen"
    .quad pvh_start

/*
 * Multiboot knows 32-bit ELF files only; with addresses of its own the header
 * does not depend on the format.
 */
#define MULTIBOOT_MAGIC 0x1badb002
#define MULTIBOOT_FLAGS 0x00010003      /* addresses below, aligned, memory */

    .section .multiboot, "a"
    .align 4
multiboot_header:
    .long MULTIBOOT_MAGIC, MULTIBOOT_FLAGS
    .long -(MULTIBOOT_MAGIC + MULTIBOOT_FLAGS)
    .long multiboot_header, image_start, image_data_end, image_end
    .long multiboot_start

    .text
    .code32
multiboot_start:
    movl $1, is_multiboot
    /* fall through */
    .globl pvh_start
pvh_start:
    cli
    cld
    mov %ebx, start_info
    lgdt boot_gdt_pointer
    ljmp $KERNEL_CS32, $1f
1:  mov $start64, %ebx
    /* fall through */

/* 32-bit protected mode, paging off; goes on at %ebx in 64-bit mode. */
enter_long_mode:
    mov $KERNEL_DS, %eax
    mov %eax, %ds
    mov %eax, %es
    mov %eax, %ss
    mov $CR4_BASE, %eax
    mov %eax, %cr4
    mov $boot_pml4, %eax
    mov %eax, %cr3
    mov $MSR_EFER, %ecx
    rdmsr
    or $(EFER_LME | EFER_NXE), %eax
    wrmsr
    mov $CR0_BASE, %eax
    mov %eax, %cr0
    ljmp $KERNEL_CS64, $long_mode

    .code64
long_mode:
    xor %eax, %eax
    mov %eax, %fs
    mov %eax, %gs
    mov $USER_DS, %eax                  /* survives an IRET to CPL 3 */
    mov %eax, %ds
    mov %eax, %es
    mov %ebx, %ebx
    jmp *%rbx

start64:
    mov $boot_stack_top, %esp
    mov is_multiboot(%rip), %edi
    mov start_info(%rip), %esi
    xor %ebp, %ebp
    call boot_main
0:  cli
    hlt
    jmp 0b

ap_start64:
    mov ap_stack_top(%rip), %rsp
    mov ap_cpu(%rip), %rdi
    xor %ebp, %ebp
    call ap_main
0:  cli
    hlt
    jmp 0b

/* From 64-bit code with paging to 32-bit code without.  Changes EAX. */
    .macro turn_paging_off
    pushq $KERNEL_CS32
    pushq $.Lpaging_off\@
    lretq
    .code32
.Lpaging_off\@:
    mov $KERNEL_DS, %eax
    mov %eax, %ss
    mov %cr0, %eax
    and $0x7fffffff, %eax               /* PG */
    mov %eax, %cr0
    .endm

/*
 * void switch_paging(u64 cr3, u64 cr4);
 *
 * Turns paging off and, with these, on again.  Both are below 4 GiB, and so is
 * the stack; the caller has interrupts off and CR4.PCIDE clear.
 */
    .globl switch_paging
switch_paging:
    push_callee_saved
    turn_paging_off
    mov %esi, %cr4
    mov %edi, %cr3
    or $0x80000000, %eax                /* PG */
    mov %eax, %cr0
    ljmp $KERNEL_CS64, $1f

    .code64
1:  pop_callee_saved
    ret

/*
 * unsigned real_mode_excursion(void);
 *
 * Leaves long mode, runs the code at LOW_SNIPPET in real mode and returns the
 * vector it ended with.
 *
 * void vmrun_excursion(u64 vmcb, u64 cr3);
 *
 * Leaves long mode and does one VMRUN in 32-bit protected mode, without paging
 * if cr3 is 0 and else with PSE.  Both arguments are below 4 GiB.
 *
 * The caller of either has interrupts off, CR4.PCIDE clear and the boot page
 * tables loaded.
 */
    .globl real_mode_excursion, vmrun_excursion
vmrun_excursion:
    mov $do_vmrun, %r8d
    jmp excursion
real_mode_excursion:
    mov $enter_real_mode, %r8d
excursion:
    push_callee_saved
    mov $0xc0000101, %ecx               /* GS.base: lost with the selector */
    rdmsr
    push %rax
    push %rdx
    sub $32, %rsp
    sidt (%rsp)
    sgdt 16(%rsp)
    mov %rsp, excursion_rsp(%rip)
    mov %r8d, %ebx                      /* which, unlike R8, stays reachable */
    lgdt boot_gdt_pointer
    turn_paging_off
    mov $MSR_EFER, %ecx
    rdmsr
    and $~EFER_LME, %eax
    wrmsr
    jmp *%ebx

enter_real_mode:
    ljmp $KERNEL_CS16, $LOW(leave_protected_mode)

do_vmrun:
    test %esi, %esi
    jz 1f
    mov $CR4_PSE, %eax                  /* and no PAE */
    mov %eax, %cr4
    mov %esi, %cr3
    mov %cr0, %eax
    or $0x80000000, %eax                /* PG */
    mov %eax, %cr0
1:  mov %edi, %eax
    clgi
    vmrun %eax
    stgi
    mov %cr0, %eax
    and $0x7fffffff, %eax               /* PG */
    mov %eax, %cr0
    mov $excursion_back, %ebx
    jmp enter_long_mode

    .code64
excursion_back:
    mov excursion_rsp(%rip), %rsp
    lgdt 16(%rsp)
    lidt (%rsp)
    add $32, %rsp
    pop %rdx
    pop %rax
    mov $0xc0000101, %ecx
    wrmsr
    pop_callee_saved
    movzbl LOW(excursion_vector), %eax
    ret

/* Copied to LOW_BASE; must stay free of relative references to the outside. */
    .section .text.low, "ax"
    .globl low_start, low_end
low_start:
    .code16
    cli
    xor %ax, %ax
    mov %ax, %ds
leave_real_mode:
    lgdtl LOW(low_gdt_pointer)
    mov %cr0, %eax
    or $1, %al
    mov %eax, %cr0
    ljmpl $KERNEL_CS32, $LOW(1f)
    .code32
1:  mov $ap_start64, %ebx
    mov $KERNEL_DS, %eax
    mov %eax, %ds
    cmpb $0, LOW(on_excursion)
    je 2f
    movb $0, LOW(on_excursion)
    mov $excursion_back, %ebx
2:  mov $enter_long_mode, %eax
    jmp *%eax

    .code16
leave_protected_mode:
    mov $KERNEL_DS, %ax
    mov %ax, %ds
    mov %ax, %es
    mov %ax, %ss
    mov %cr0, %eax
    and $~1, %al
    mov %eax, %cr0
    ljmp $0, $LOW(1f)
1:  xor %ax, %ax
    mov %ax, %ds
    mov %ax, %es
    mov %ax, %ss
    mov $LOW_BASE, %sp
    lidtl LOW(real_mode_idt_pointer)
    /* Interrupt vectors of real mode: offset, segment. */
    movl $LOW(real_mode_ud), 6 * 4
    movl $LOW(real_mode_gp), 13 * 4
    movl $LOW(real_mode_done), VECTOR_DONE * 4
    movb $1, LOW(on_excursion)
    xor %eax, %eax
    xor %ecx, %ecx
    xor %edx, %edx
    ljmp $0, $LOW_SNIPPET

real_mode_ud:
    movb $6, LOW(excursion_vector)
    jmp leave_real_mode
real_mode_gp:
    movb $13, LOW(excursion_vector)
    jmp leave_real_mode
real_mode_done:
    movb $VECTOR_DONE, LOW(excursion_vector)
    jmp leave_real_mode

    .align 4
low_gdt_pointer:
    .word GDT_ENTRIES * 8 - 1
    .long boot_gdt
real_mode_idt_pointer:
    .word 0x3ff
    .long 0
on_excursion:
    .byte 0
excursion_vector:
    .byte 0
low_end:

    .data
    .align 8
boot_gdt_pointer:
    .word GDT_ENTRIES * 8 - 1
    .quad boot_gdt

is_multiboot:
    .long 0

    .align 8
    .globl boot_gdt
boot_gdt:
    .quad 0
    .quad 0x00af9b000000ffff            /* 64-bit code */
    .quad 0x00cf93000000ffff            /* data */
    .quad 0x00cf9b000000ffff            /* 32-bit code */
    .quad 0x000f9b000000ffff            /* 16-bit code */
    .quad 0x00cff3000000ffff            /* data, DPL 3 */
    .quad 0x00affb000000ffff            /* 64-bit code, DPL 3 */
    .quad 0x00cffb000000ffff            /* 32-bit code, DPL 3 */
    .quad 0x000ffb000000ffff            /* 16-bit code, DPL 3 */
    .quad 0, 0                          /* TSS */

    .align 4096
    .globl boot_pml4, boot_pdpt
boot_pml4:
    .quad boot_pdpt + PAGE_TABLE
    .fill 511, 8, 0
boot_pdpt:
    .quad boot_pd0 + PAGE_TABLE, 0, 0, boot_pd3 + PAGE_TABLE
    .fill 508, 8, 0
boot_pd0:
    .set i, 0
    .rept 512
    .quad i * 0x200000 + PAGE_2M
    .set i, i + 1
    .endr
boot_pd3:
    .set i, 0
    .rept 512
    .quad 0xc0000000 + i * 0x200000 + PAGE_2M_UC
    .set i, i + 1
    .endr

    .bss
    .align 16
    .fill STACK_SIZE, 1, 0
boot_stack_top:

    .globl ap_stack_top, ap_cpu
start_info:
    .quad 0
ap_stack_top:
    .quad 0
ap_cpu:
    .quad 0
excursion_rsp:
    .quad 0

    .section .note.GNU-stack, "", @progbits
