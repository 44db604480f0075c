/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Numbers that assembler and C must agree on: selectors, vectors, fixed
 * physical addresses.
 */
#ifndef LAYOUT_H
#define LAYOUT_H

/* Every CPU has a GDT of its own, all with these selectors. */
#define KERNEL_CS64     0x08
#define KERNEL_DS       0x10
#define KERNEL_CS32     0x18
#define KERNEL_CS16     0x20
#define USER_DS         0x2b
#define USER_CS64       0x33
#define USER_CS32       0x3b
#define USER_CS16       0x43
#define TSS_SELECTOR    0x48
#define GDT_ENTRIES     11

/* Vectors above the exceptions. */
#define VECTOR_WAKE     0x30    /* IPI: look at the mailbox */
#define VECTOR_INJECT   0x50    /* used by event injection only */
#define VECTOR_DONE     0x81    /* int $VECTOR_DONE ends every code snippet */
#define VECTOR_SPURIOUS 0xff

/*
 * The real mode code is copied here: SIPI vector 8.  The instruction that
 * real_mode_execute() tries is placed in the second page.
 */
#define LOW_BASE        0x8000
#define LOW_SNIPPET     0x9000

#define CR0_BASE        0x80010033      /* PG, WP, NE, ET, MP, PE */
#define CR4_PSE         0x10
#define CR4_BASE        0x000006a0      /* OSXMMEXCPT, OSFXSR, PGE, PAE */

#define MSR_EFER        0xc0000080
#define EFER_LME        (1 << 8)
#define EFER_NXE        (1 << 11)

#define STACK_SIZE      0x4000

#endif
