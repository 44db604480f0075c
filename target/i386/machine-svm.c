/*
 * x86 SVM: migration of the state that VMRUN loads for INVLPGB and TLBSYNC
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "cpu.h"
#include "migration/vmstate.h"
#include "system/tcg.h"

/*
 * All of it is zero outside of a guest, and in guests whose hypervisor does
 * not use it: their streams stay as they are.
 */
static bool svm_tlbi_needed(void *opaque)
{
    X86CPU *cpu = opaque;
    CPUX86State *env = &cpu->env;

    return tcg_enabled() && (env->intercept_word5 || env->tlbi_enabled);
}

const VMStateDescription vmstate_svm_tlbi = {
    .name = "cpu/svm_tlbi",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = svm_tlbi_needed,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(env.intercept_word5, X86CPU),
        VMSTATE_BOOL(env.tlbi_enabled, X86CPU),
        VMSTATE_END_OF_LIST()
    }
};
