/*
 * Broadcast TLB invalidation (INVLPGB, TLBSYNC) under KVM
 *
 * KVM intercepts the two instructions unless userspace asks for a VM-wide ASID,
 * with which the guest can execute them natively.  They are few, so that is for
 * who starts a machine to decide, and not for the CPU model.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/util.h"
#include "qemu/error-report.h"
#include "system/kvm_int.h"
#include "tlb-broadcast.h"

#include <linux/kvm.h>

/* Provisional, from asm/kvm_tlb_broadcast.h of the kernels that have it. */
#define KVM_X86_DISABLE_EXITS_INVLPGB (1 << 30)

static const QEnumLookup mode_lookup = {
    .array = (const char *const[]) {
        [KVM_TLB_BROADCAST_INTERCEPT] = "intercept",
        [KVM_TLB_BROADCAST_PASSTHROUGH] = "passthrough",
    },
    .size = KVM_TLB_BROADCAST__MAX,
};

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
