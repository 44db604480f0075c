/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Types, registers and instructions. */
#ifndef X86_H
#define X86_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "layout.h"

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int64_t s64;

#define ARRAY_SIZE(a)   (sizeof(a) / sizeof((a)[0]))
#define BIT(n)          (1ull << (n))
#define PAGE_SIZE       0x1000ull
#define SIZE_2M         0x200000ull
#define SIZE_1G         0x40000000ull

#define EXC_DB  1
#define EXC_NMI 2
#define EXC_BP  3
#define EXC_UD  6
#define EXC_GP  13
#define EXC_PF  14

#define CR0_PE          BIT(0)
#define CR0_MP          BIT(1)
#define CR0_EM          BIT(2)
#define CR0_TS          BIT(3)
#define CR0_NE          BIT(5)
#define CR0_WP          BIT(16)
#define CR0_PG          BIT(31)
#define CR3_NOFLUSH     BIT(63)
#define CR4_PAE         BIT(5)
#define CR4_PGE         BIT(7)
#define CR4_LA57        BIT(12)
#define CR4_PCIDE       BIT(17)
#define CR4_SMEP        BIT(20)
#define CR4_SMAP        BIT(21)
#define CR4_PKE         BIT(22)

#define EFER_LMA        BIT(10)
#define EFER_SVME       BIT(12)

#define MSR_VM_HSAVE_PA 0xc0010117
#define MSR_APIC_BASE   0x1b
#define MSR_PAT         0x277
#define MSR_GS_BASE     0xc0000101

#define RFLAGS_FIXED    BIT(1)
#define RFLAGS_IF       BIT(9)
#define RFLAGS_VM       BIT(17)

/* INVLPGB operands, spec.md B.1. */
#define INVLPGB_VA      BIT(0)
#define INVLPGB_PCID    BIT(1)
#define INVLPGB_ASID    BIT(2)
#define INVLPGB_GLOBAL  BIT(3)
#define INVLPGB_FINAL   BIT(4)
#define INVLPGB_NESTED  BIT(5)
#define INVLPGB_STEP_2M BIT(31)         /* in ECX */

static inline u64 read_cr0(void)
{
    u64 v;

    asm volatile("mov %%cr0, %0" : "=r"(v));
    return v;
}

static inline u64 read_cr2(void)
{
    u64 v;

    asm volatile("mov %%cr2, %0" : "=r"(v));
    return v;
}

static inline u64 read_cr3(void)
{
    u64 v;

    asm volatile("mov %%cr3, %0" : "=r"(v));
    return v;
}

static inline u64 read_cr4(void)
{
    u64 v;

    asm volatile("mov %%cr4, %0" : "=r"(v));
    return v;
}

static inline void write_cr0(u64 v)
{
    asm volatile("mov %0, %%cr0" : : "r"(v) : "memory");
}

static inline void write_cr3(u64 v)
{
    asm volatile("mov %0, %%cr3" : : "r"(v) : "memory");
}

static inline void write_cr4(u64 v)
{
    asm volatile("mov %0, %%cr4" : : "r"(v) : "memory");
}

static inline u64 read_msr(u32 msr)
{
    u32 lo, hi;

    asm volatile("rdmsr" : "=a"(lo), "=d"(hi) : "c"(msr));
    return lo | (u64)hi << 32;
}

static inline void write_msr(u32 msr, u64 v)
{
    asm volatile("wrmsr" : : "c"(msr), "a"((u32)v), "d"((u32)(v >> 32))
                 : "memory");
}

static inline void write_pkru(u32 v)
{
    asm volatile(".byte 0x0f, 0x01, 0xef" : : "a"(v), "c"(0), "d"(0)
                 : "memory");
}

static inline u64 read_tsc(void)
{
    u32 lo, hi;

    asm volatile("rdtsc" : "=a"(lo), "=d"(hi));
    return lo | (u64)hi << 32;
}

struct cpuid {
    u32 eax, ebx, ecx, edx;
};

static inline struct cpuid cpuid(u32 leaf, u32 subleaf)
{
    struct cpuid r;

    asm volatile("cpuid" : "=a"(r.eax), "=b"(r.ebx), "=c"(r.ecx), "=d"(r.edx)
                 : "a"(leaf), "c"(subleaf));
    return r;
}

static inline void out8(u16 port, u8 v)
{
    asm volatile("outb %0, %1" : : "a"(v), "Nd"(port));
}

static inline void out32(u16 port, u32 v)
{
    asm volatile("outl %0, %1" : : "a"(v), "Nd"(port));
}

static inline u32 in32(u16 port)
{
    u32 v;

    asm volatile("inl %1, %0" : "=a"(v) : "Nd"(port));
    return v;
}

static inline u8 in8(u16 port)
{
    u8 v;

    asm volatile("inb %1, %0" : "=a"(v) : "Nd"(port));
    return v;
}

static inline void pause(void)
{
    asm volatile("pause" : : : "memory");
}

static inline void compiler_barrier(void)
{
    asm volatile("" : : : "memory");
}

static inline void interrupts_off(void)
{
    asm volatile("cli" : : : "memory");
}

static inline void invlpg(u64 va)
{
    asm volatile("invlpg (%0)" : : "r"(va) : "memory");
}

static inline void invlpga(u64 va, u32 asid)
{
    asm volatile("invlpga" : : "a"(va), "c"(asid) : "memory");
}

/*
 * Encoded by hand: assemblers know these two only since binutils 2.36.
 */
static inline void invlpgb(u64 rax, u32 ecx, u32 edx)
{
    asm volatile(".byte 0x0f, 0x01, 0xfe"
                 : : "a"(rax), "c"(ecx), "d"(edx) : "memory");
}

static inline void tlbsync(void)
{
    asm volatile(".byte 0x0f, 0x01, 0xff" : : : "memory");
}

/*
 * INVLPGB is weakly ordered; a locked instruction orders earlier stores to
 * page tables before it (spec.md C.6).
 */
static inline void order_stores_before_invlpgb(void)
{
    asm volatile("lock orq $0, (%%rsp)" : : : "memory", "cc");
}

struct invpcid_descriptor {
    u64 pcid;
    u64 va;
};

static inline void invpcid(u64 type, u64 pcid, u64 va)
{
    struct invpcid_descriptor d = { pcid, va };

    asm volatile("invpcid %0, %1" : : "m"(d), "r"(type) : "memory");
}

#define load_acquire(p)     __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define store_release(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE)

#endif
