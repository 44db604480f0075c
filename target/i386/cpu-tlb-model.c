/*
 * x86 CPU model: properties of the strict TLB model
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "cpu.h"

bool x86_cpu_check_tlb_model(X86CPU *cpu, Error **errp)
{
    const char *model = cpu->tlb_model.model;

    if (!model || tcg_enabled() || g_str_equal(model, "off")) {
        return true;
    }
    error_setg(errp, "x-tlb-model=%s needs \"-accel tcg\": other accelerators "
               "use the TLB of the host's processor", model);
    return false;
}
