/*
 * x86 strict TLB model: VMCB clean bits
 *
 * A processor may keep what VMRUN loads from a VMCB and #VMEXIT stores there.
 * At the next VMRUN of the VMCB at the same address it may take from its own
 * copy what the hypervisor has marked clean (APM volume 2, 15.15).  With the
 * strict TLB model it always does: a field that was changed, but not marked
 * dirty, keeps its value.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "cpu.h"
#include "exec/address-spaces.h"
#include "tcg/svm_clean.h"
#include "tcg/tlb_tagged.h"
#include "target/i386/trace.h"

/*
 * The emulation reads some fields of the VMCB long after VMRUN.  From VMRUN to
 * #VMEXIT the VMCB in memory therefore says what the CPU believes.  #VMEXIT
 * then puts back what the hypervisor had written where it stores nothing
 * itself.
 *
 * A CPU's copies are used by its own thread, or, to drop them, while that
 * thread does not execute; there are no locks.  The VMCB in memory is the
 * processor's as long as the guest runs.  If somebody else writes there all
 * the same, that is not undone: #VMEXIT puts back only what still is as VMRUN
 * left it.
 *
 * Copies are not migrated, and a CPU without a copy reads all fields, as it
 * may.  If the machine is migrated while a guest runs under fields that were
 * not marked dirty, these stay in the VMCB.
 */

/* It bounds the memory; a CPU may forget a VMCB at any time. */
#define MAX_COPIES      64

/* Bits of the clean field (APM volume 2, 15.15.3). */
typedef enum CleanGroup {
    GROUP_I,
    GROUP_IOPM,
    GROUP_ASID,
    GROUP_TPR,
    GROUP_NP,
    GROUP_CR,
    GROUP_DR,
    GROUP_DT,
    GROUP_SEG,
    GROUP_CR2,
} CleanGroup;

static const char *const group_names[] = {
    [GROUP_I] = "I",
    [GROUP_IOPM] = "IOPM",
    [GROUP_ASID] = "ASID",
    [GROUP_TPR] = "TPR",
    [GROUP_NP] = "NP",
    [GROUP_CR] = "CRx",
    [GROUP_DR] = "DRx",
    [GROUP_DT] = "DT",
    [GROUP_SEG] = "SEG",
    [GROUP_CR2] = "CR2",
};

/**
 * VMCBField: a field that has a clean bit
 * @group: its clean bit
 * @stored: #VMEXIT stores it
 * @offset: in the VMCB
 * @size: in bytes
 */
typedef struct VMCBField {
    CleanGroup group;
    bool stored;
    uint16_t offset;
    uint16_t size;
} VMCBField;

#define CONTROL(group, name)                                            \
    { group, false, offsetof(struct vmcb, control.name),                \
      sizeof_field(struct vmcb, control.name) }
#define SAVED(group, name)                                              \
    { group, true, offsetof(struct vmcb, save.name),                    \
      sizeof_field(struct vmcb, save.name) }

/* What VMRUN reads; the remaining fields of the groups have no effect. */
static const VMCBField fields[] = {
    CONTROL(GROUP_I, intercept_cr_read),
    CONTROL(GROUP_I, intercept_cr_write),
    CONTROL(GROUP_I, intercept_dr_read),
    CONTROL(GROUP_I, intercept_dr_write),
    CONTROL(GROUP_I, intercept_exceptions),
    CONTROL(GROUP_I, intercept),
    CONTROL(GROUP_I, intercept_word5),
    CONTROL(GROUP_I, tsc_offset),
    CONTROL(GROUP_IOPM, iopm_base_pa),
    CONTROL(GROUP_IOPM, msrpm_base_pa),
    CONTROL(GROUP_ASID, asid),
    /* V_TPR, V_IRQ and V_GIF are stored, what is above is not. */
    { GROUP_TPR, true, offsetof(struct vmcb, control.int_ctl), 2 },
    { GROUP_TPR, false, offsetof(struct vmcb, control.int_ctl) + 2, 2 },
    CONTROL(GROUP_TPR, int_vector),
    /* Not in the manual's list, but Linux has NP_ENABLE in this group, too. */
    CONTROL(GROUP_NP, nested_ctl),
    CONTROL(GROUP_NP, nested_cr3),
    SAVED(GROUP_CR, cr0),
    SAVED(GROUP_CR, cr3),
    SAVED(GROUP_CR, cr4),
    SAVED(GROUP_CR, efer),
    SAVED(GROUP_DR, dr6),
    SAVED(GROUP_DR, dr7),
    SAVED(GROUP_DT, gdtr.limit),
    SAVED(GROUP_DT, gdtr.base),
    SAVED(GROUP_DT, idtr.limit),
    SAVED(GROUP_DT, idtr.base),
    SAVED(GROUP_SEG, es),
    SAVED(GROUP_SEG, cs),
    SAVED(GROUP_SEG, ss),
    SAVED(GROUP_SEG, ds),
    SAVED(GROUP_CR2, cr2),
};

/**
 * VMCBCopy: what a CPU believes of a VMCB
 * @addr: its physical address
 * @vmcb: the fields that have a clean bit
 */
typedef struct VMCBCopy {
    hwaddr addr;
    struct vmcb vmcb;
} VMCBCopy;

/**
 * X86VMCBCache: the VMCBs that a CPU knows
 * @copies: of VMCBCopy; the last one used comes first
 * @written: the VMCB of the last VMRUN, as the hypervisor had written it
 */
typedef struct X86VMCBCache {
    GQueue copies;
    struct vmcb written;
} X86VMCBCache;

static void access_vmcb(CPUX86State *env, size_t offset, void *buf,
                        size_t size, bool write)
{
    MemTxAttrs attrs = cpu_get_mem_attrs(env);

    address_space_rw(cpu_addressspace(env_cpu(env), attrs),
                     env->vm_vmcb + offset, attrs, buf, size, write);
}

static void *field_of(struct vmcb *vmcb, const VMCBField *field)
{
    return (uint8_t *)vmcb + field->offset;
}

/* The CPU's copy of the VMCB at @addr, put first, or NULL. */
static VMCBCopy *find_copy(X86VMCBCache *cache, hwaddr addr)
{
    for (GList *link = cache->copies.head; link; link = link->next) {
        VMCBCopy *copy = link->data;

        if (copy->addr == addr) {
            g_queue_unlink(&cache->copies, link);
            g_queue_push_head_link(&cache->copies, link);
            return copy;
        }
    }
    return NULL;
}

static VMCBCopy *new_copy(X86VMCBCache *cache, hwaddr addr)
{
    VMCBCopy *copy;

    if (cache->copies.length == MAX_COPIES) {
        copy = g_queue_pop_tail(&cache->copies);
    } else {
        copy = g_new(VMCBCopy, 1);
    }
    copy->addr = addr;
    g_queue_push_head(&cache->copies, copy);
    return copy;
}

void svm_clean_vmrun(CPUX86State *env)
{
    X86CPU *cpu = env_archcpu(env);
    uint32_t clean = 0;
    X86VMCBCache *cache;
    VMCBCopy *copy;

    if (!x86_tagged_tlb_active(env) ||
        !(env->features[FEAT_SVM] & CPUID_SVM_VMCBCLEAN)) {
        return;
    }
    if (!cpu->vmcb_cache) {
        cpu->vmcb_cache = g_new0(X86VMCBCache, 1);
    }
    cache = cpu->vmcb_cache;
    access_vmcb(env, 0, &cache->written, sizeof(cache->written), false);
    copy = find_copy(cache, env->vm_vmcb);
    if (copy) {
        clean = le32_to_cpu(cache->written.control.clean);
    } else {
        copy = new_copy(cache, env->vm_vmcb);
    }

    for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
        const VMCBField *field = &fields[i];
        void *believed = field_of(&copy->vmcb, field);
        void *written = field_of(&cache->written, field);

        if (!(clean & (1U << field->group))) {
            memcpy(believed, written, field->size);
        } else if (memcmp(believed, written, field->size)) {
            trace_x86_svm_clean_stale(CPU(cpu)->cpu_index, env->vm_vmcb,
                                      field->offset,
                                      group_names[field->group]);
            access_vmcb(env, field->offset, believed, field->size, true);
        }
    }
}

void svm_clean_vmexit(CPUX86State *env)
{
    X86VMCBCache *cache = env_archcpu(env)->vmcb_cache;
    struct vmcb vmcb;
    VMCBCopy *copy;

    if (!cache) {
        return;
    }
    copy = g_queue_peek_head(&cache->copies);
    access_vmcb(env, 0, &vmcb, sizeof(vmcb), false);

    for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
        const VMCBField *field = &fields[i];
        void *believed = field_of(&copy->vmcb, field);
        void *written = field_of(&cache->written, field);
        void *now = field_of(&vmcb, field);

        if (field->stored) {
            memcpy(believed, now, field->size);
        } else if (!memcmp(now, believed, field->size) &&
                   memcmp(now, written, field->size)) {
            access_vmcb(env, field->offset, written, field->size, true);
        }
    }
}

void svm_clean_forget(X86CPU *cpu)
{
    X86VMCBCache *cache = cpu->vmcb_cache;

    if (cache) {
        g_queue_clear_full(&cache->copies, g_free);
        g_free(cache);
        cpu->vmcb_cache = NULL;
    }
}
