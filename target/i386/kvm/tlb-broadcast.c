/*
 * Broadcast TLB invalidation (INVLPGB, TLBSYNC) under KVM
 *
 * KVM intercepts the two instructions unless userspace asks for a VM-wide ASID,
 * with which the guest can execute them natively.  They are few, so that is for
 * who starts a machine to decide, and not for the CPU model.
 *
 * On hosts that do not have the instructions KVM emulates them.  It reports that
 * apart from what the CPU supports.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/util.h"
#include "qemu/error-report.h"
#include "hw/boards.h"
#include "system/kvm_int.h"
#include "cpu-invlpgb.h"
#include "tlb-broadcast.h"

#include <linux/kvm.h>

/* Provisional, from asm/kvm_tlb_broadcast.h of the kernels that have it. */
#define KVM_X86_DISABLE_EXITS_INVLPGB (1 << 30)

static const QEnumLookup mode_lookup = {
    .array = (const char *const[]) {
        [KVM_TLB_BROADCAST_AUTO] = "auto",
        [KVM_TLB_BROADCAST_EMULATE] = "emulate",
        [KVM_TLB_BROADCAST_INTERCEPT] = "intercept",
        [KVM_TLB_BROADCAST_PASSTHROUGH] = "passthrough",
    },
    .size = KVM_TLB_BROADCAST__MAX,
};

/* More functions than KVM emulates anything of. */
#define EMULATED_CPUID_MAX 64

/* The function of KVM_GET_EMULATED_CPUID, all zeroes if there is none. */
static struct kvm_cpuid_entry2 get_emulated_cpuid(KVMState *s,
                                                  uint32_t function)
{
    g_autofree struct kvm_cpuid2 *cpuid =
        g_malloc0(sizeof(*cpuid) +
                  EMULATED_CPUID_MAX * sizeof(*cpuid->entries));
    struct kvm_cpuid_entry2 none = { };
    int i;

    cpuid->nent = EMULATED_CPUID_MAX;
    if (kvm_ioctl(s, KVM_GET_EMULATED_CPUID, cpuid) < 0) {
        return none;
    }
    for (i = 0; i < cpuid->nent; i++) {
        if (cpuid->entries[i].function == function) {
            return cpuid->entries[i];
        }
    }
    return none;
}

static bool emulates_invlpgb(KVMState *s)
{
    return get_emulated_cpuid(s, 0x80000008).ebx & CPUID_8000_0008_EBX_INVLPGB;
}

uint32_t kvm_x86_tlb_broadcast_emulated_cpuid(KVMState *s, uint32_t function,
                                              int reg)
{
    if (s->tlb_broadcast != KVM_TLB_BROADCAST_AUTO &&
        s->tlb_broadcast != KVM_TLB_BROADCAST_EMULATE) {
        return 0;
    }
    /* KVM cannot read the instructions of a guest with encrypted memory. */
    if (current_machine->cgs) {
        return 0;
    }
    if (function == 0x80000008 && reg == R_EBX && emulates_invlpgb(s)) {
        return CPUID_8000_0008_EBX_INVLPGB;
    }
    /* KVM obeys the guest's CPUID here, and its own is a proposal. */
    if (function == 0x80000008 && reg == R_EDX && emulates_invlpgb(s)) {
        return INVLPGB_COUNT_MAX_LIMIT;
    }
    if (function == 0x80000021 && reg == R_EAX) {
        return get_emulated_cpuid(s, function).eax &
               CPUID_8000_0021_EAX_TLBSYNC_SFW_NO;
    }
    return 0;
}

static int get_mode(Object *obj, Error **errp)
{
    return KVM_STATE(obj)->tlb_broadcast;
}

static void set_mode(Object *obj, int value, Error **errp)
{
    KVMState *s = KVM_STATE(obj);

    if (s->fd != -1) {
        error_setg(errp, "Cannot set properties after the accelerator has "
                   "been initialized");
        return;
    }
    s->tlb_broadcast = value;
}

void kvm_x86_tlb_broadcast_class_init(ObjectClass *oc)
{
    object_class_property_add_enum(oc, "tlb-broadcast", "KVMTLBBroadcast",
                                   &mode_lookup, get_mode, set_mode);
    object_class_property_set_description(oc, "tlb-broadcast",
        "How guests execute INVLPGB and TLBSYNC");
}

int kvm_x86_tlb_broadcast_init(KVMState *s)
{
    int ret;

    if (s->tlb_broadcast == KVM_TLB_BROADCAST_EMULATE &&
        !emulates_invlpgb(s)) {
        error_report("tlb-broadcast=emulate: KVM does not offer it on this "
                     "host");
        error_printf("It needs kvm_amd with invlpgb=intercept, on a host that "
                     "cannot intercept; the kernel log says what it can. Or "
                     "use tlb-broadcast=auto.\n");
        return -ENOTSUP;
    }
    if (s->tlb_broadcast != KVM_TLB_BROADCAST_PASSTHROUGH) {
        return 0;
    }
    if (!(kvm_vm_check_extension(s, KVM_CAP_X86_DISABLE_EXITS) &
          KVM_X86_DISABLE_EXITS_INVLPGB)) {
        error_report("tlb-broadcast=passthrough: KVM does not offer it on "
                     "this host");
        error_printf("Load kvm_amd with invlpgb=passthrough; the kernel log "
                     "says what is missing. Or use tlb-broadcast=intercept.\n");
        return -ENOTSUP;
    }
    ret = kvm_vm_enable_cap(s, KVM_CAP_X86_DISABLE_EXITS, 0,
                            KVM_X86_DISABLE_EXITS_INVLPGB);
    switch (ret) {
    case 0:
        return 0;
    case -ENOSPC:
        error_report("tlb-broadcast=passthrough: all ASIDs for VMs are in "
                     "use");
        error_printf("The parameter vm_asids of kvm_amd sets how many there "
                     "are. Or use tlb-broadcast=intercept.\n");
        return ret;
    case -EBUSY:
        error_report("tlb-broadcast=passthrough: the quota of ASIDs of the "
                     "misc cgroup is used up");
        error_printf("Raise misc.max of the cgroup, or use "
                     "tlb-broadcast=intercept.\n");
        return ret;
    default:
        error_report("tlb-broadcast=passthrough: KVM refuses it: %s",
                     strerror(-ret));
        return ret;
    }
}

bool kvm_x86_tlb_broadcast_check_cpu(X86CPU *cpu, Error **errp)
{
    ERRP_GUARD();

    if (kvm_state->tlb_broadcast == KVM_TLB_BROADCAST_PASSTHROUGH &&
        (cpu->env.features[FEAT_8000_0001_ECX] & CPUID_EXT3_SVM)) {
        error_setg(errp, "tlb-broadcast=passthrough: a CPU that has SVM "
                   "cannot execute INVLPGB natively");
        error_append_hint(errp, "Use -cpu ...,svm=off, or "
                          "tlb-broadcast=intercept.\n");
        return false;
    }
    return true;
}
