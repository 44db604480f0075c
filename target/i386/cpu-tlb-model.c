/*
 * x86 CPU model: properties of the strict TLB model
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "cpu.h"

static int find_name(const char *const *names, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (!name || g_str_equal(names[i], name)) {
            return i;
        }
    }
    return -1;
}

bool x86_cpu_check_tlb_model(X86CPU *cpu, Error **errp)
{
    static const char *const models[] = { "off", "tagged" };
    static const char *const actions[] = {
        [X86_TLB_ACTION_REPORT] = "report",
        [X86_TLB_ACTION_PAUSE] = "pause",
        [X86_TLB_ACTION_ABORT] = "abort",
    };
    X86TLBModelOptions *options = &cpu->tlb_model;
    int model = find_name(models, ARRAY_SIZE(models), options->model);
    int action = find_name(actions, ARRAY_SIZE(actions), options->action);

    if (model < 0) {
        error_setg(errp, "x-tlb-model=%s is unknown: use \"off\" or "
                   "\"tagged\"", options->model);
        return false;
    }
    if (action < 0) {
        error_setg(errp, "x-tlb-model-action=%s is unknown: use \"report\", "
                   "\"pause\" or \"abort\"", options->action);
        return false;
    }
    if (options->early > 100) {
        error_setg(errp, "x-tlb-model-early=%u is out of range: it must be "
                   "between 0 and 100 percent", options->early);
        return false;
    }
    if (model && !tcg_enabled()) {
        error_setg(errp, "x-tlb-model=%s needs \"-accel tcg\": other "
                   "accelerators use the TLB of the host's processor",
                   options->model);
        return false;
    }
    options->tagged = model;
    options->action_value = action;
    return true;
}
