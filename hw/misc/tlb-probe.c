/*
 * Probe of the x86 strict TLB model
 *
 * Software under test looks into the TLB of the CPU that it runs on, and says
 * which addresses must be translated anew.  See docs/specs/tlb-probe.rst.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/log.h"
#include "qemu/module.h"
#include "cpu.h"
#include "exec/cputlb.h"
#include "hw/boards.h"
#include "hw/misc/tlb-probe.h"
#include "hw/pci/pci_device.h"
#include "qom/object.h"
#include "tcg/system/tlb_tagged_internal.h"
#include "tcg/system/tlb_witness.h"
#include "migration/vmstate.h"
#include "trace.h"

#define TYPE_TLB_PROBE "tlb-probe"
OBJECT_DECLARE_SIMPLE_TYPE(TLBProbeState, TLB_PROBE)

#define N_OPERANDS ((TLB_PROBE_NUMBER - TLB_PROBE_ADDR) / 8 + 1)

/* From the range that pci-ids.rst leaves to experiments */
#define PCI_DEVICE_ID_TLB_PROBE 0x00f0

/**
 * TLBProbeBank: what one CPU has written and gets to read
 * @operand: in the order of their registers
 * @result: of the last command
 * @status: TLB_PROBE_*, of the last command
 */
typedef struct TLBProbeBank {
    uint64_t operand[N_OPERANDS];
    uint64_t result[TLB_PROBE_N_RESULTS];
    uint64_t status;
} TLBProbeBank;

/**
 * TLBProbeState:
 * @banks: one for each CPU that may be, and one for all who are none
 * @n_cpus: number of CPUs that may be
 */
struct TLBProbeState {
    PCIDevice parent_obj;

    MemoryRegion mmio;
    TLBProbeBank *banks;
    unsigned n_cpus;
};

static TLBProbeBank *current_bank(TLBProbeState *s)
{
    return &s->banks[current_cpu ? current_cpu->cpu_index : s->n_cpus];
}

static uint64_t operand(const TLBProbeBank *bank, hwaddr reg)
{
    return bank->operand[(reg - TLB_PROBE_ADDR) / 8];
}

static uint64_t operand_or(const TLBProbeBank *bank, hwaddr reg,
                           uint64_t current)
{
    uint64_t value = operand(bank, reg);

    return value == TLB_PROBE_CURRENT ? current : value;
}

/* Returns: false if an operand is out of range. */
static bool get_context(const TLBProbeBank *bank, CPUX86State *env,
                        X86TLBContext *context)
{
    uint64_t asid = operand_or(bank, TLB_PROBE_ASID, x86_tagged_tlb_asid(env));
    uint64_t pcid = operand_or(bank, TLB_PROBE_PCID, x86_tagged_tlb_pcid(env));
    uint64_t kind = operand(bank, TLB_PROBE_KIND);

    if (asid > UINT16_MAX || pcid > 0xfff || kind > TLB_PROBE_NESTED) {
        return false;
    }
    *context = (X86TLBContext) {
        .asid = asid,
        .pcid = pcid,
        .kind = kind == TLB_PROBE_NESTED ? X86_TLB_NESTED : X86_TLB_LINEAR,
    };
    return true;
}

static void put_entry(TLBProbeBank *bank, const X86TLBEntry *entry,
                      uint64_t age)
{
    uint32_t attrs = entry->stage1_attrs;
    uint64_t *result = bank->result;

    result[TLB_PROBE_R_ADDR] = entry->addr;
    result[TLB_PROBE_R_PHYS] = entry->phys;
    result[TLB_PROBE_R_ASID] = entry->asid;
    result[TLB_PROBE_R_PCID] = entry->pcid;
    result[TLB_PROBE_R_FLAGS] =
        (entry->global ? TLB_PROBE_F_GLOBAL : 0) |
        (attrs & X86_TLB_ATTR_DIRTY ? TLB_PROBE_F_DIRTY : 0) |
        (attrs & PG_RW_MASK ? TLB_PROBE_F_WRITABLE : 0) |
        (attrs & PG_USER_MASK ? TLB_PROBE_F_USER : 0) |
        (attrs & X86_TLB_ATTR_NX ? TLB_PROBE_F_NX : 0);
    result[TLB_PROBE_R_SHIFT] = entry->shift;
    result[TLB_PROBE_R_STAGE1_SHIFT] = entry->stage1_shift;
    result[TLB_PROBE_R_OWNER] = entry->owner;
    result[TLB_PROBE_R_SPACE] = entry->space;
    result[TLB_PROBE_R_TIME] = entry->time;
    result[TLB_PROBE_R_AGE] = age;
}

static uint64_t do_lookup(TLBProbeBank *bank, CPUX86State *env, bool evict)
{
    X86TLBModel *model = env_archcpu(env)->tagged_tlb->model;
    X86TLBContext context;
    const X86TLBEntry *entry;
    X86TLBStats stats;

    if (!get_context(bank, env, &context)) {
        return TLB_PROBE_BAD_OPERAND;
    }
    entry = x86_tlb_model_peek(model, &context, operand(bank, TLB_PROBE_ADDR));
    if (!entry) {
        return TLB_PROBE_NOTHING;
    }
    x86_tlb_model_stats(model, &stats);
    put_entry(bank, entry, stats.inserts - entry->number);
    if (evict) {
        x86_tlb_model_drop(model, entry, X86_TLB_DROP_EVICT);
        tlb_flush(env_cpu(env));
    }
    return TLB_PROBE_OK;
}

static uint64_t do_evict_random(CPUX86State *env)
{
    if (!x86_tlb_model_evict(env_archcpu(env)->tagged_tlb->model)) {
        return TLB_PROBE_NOTHING;
    }
    tlb_flush(env_cpu(env));
    return TLB_PROBE_OK;
}

static uint64_t do_counters(TLBProbeBank *bank, CPUX86State *env)
{
    const X86TaggedTLB *tlb = env_archcpu(env)->tagged_tlb;
    uint64_t *result = bank->result;
    X86TLBContext context;
    X86TLBStats stats;

    if (!get_context(bank, env, &context)) {
        return TLB_PROBE_BAD_OPERAND;
    }
    x86_tlb_model_stats(tlb->model, &stats);
    result[TLB_PROBE_C_HITS] = stats.hits;
    result[TLB_PROBE_C_MISSES] = stats.misses;
    result[TLB_PROBE_C_INSERTS] = stats.inserts;
    result[TLB_PROBE_C_INVALIDATED] = stats.drops[X86_TLB_DROP_INVALIDATE];
    result[TLB_PROBE_C_REPLACED] = stats.drops[X86_TLB_DROP_REPLACE];
    result[TLB_PROBE_C_PERMISSION] = stats.drops[X86_TLB_DROP_PERMISSION];
    result[TLB_PROBE_C_EVICTED] = stats.drops[X86_TLB_DROP_EVICT];
    result[TLB_PROBE_C_LIVE] = stats.live;
    result[TLB_PROBE_C_PEAK] = stats.peak;
    result[TLB_PROBE_C_BYTES] = stats.bytes;
    result[TLB_PROBE_C_IN_ASID] = x86_tlb_model_count_asid(tlb->model,
                                                           context.asid);
    result[TLB_PROBE_C_VIOLATIONS] = tlb->reports[X86_TLB_REPORT_VIOLATION];
    result[TLB_PROBE_C_STALE] = tlb->reports[X86_TLB_REPORT_STALE];
    result[TLB_PROBE_C_PENDING] = tlb->pending.n;
    return TLB_PROBE_OK;
}

static uint64_t do_ring(TLBProbeBank *bank, CPUX86State *env, bool physical)
{
    uint64_t root = operand_or(bank, TLB_PROBE_ROOT, x86_tagged_tlb_root(env));
    uint64_t space = operand_or(bank, TLB_PROBE_SPACE,
                                x86_tagged_tlb_space(env));
    X86TLBDoorbell doorbell = {
        .addr = operand(bank, TLB_PROBE_ADDR),
        .owner = x86_tlb_owner(root),
        .space = space,
        .time = operand(bank, TLB_PROBE_BEFORE),
        .physical = physical,
        .any_space = space == TLB_PROBE_ANY,
    };
    uint32_t number;

    if (!x86_tlb_ring(&doorbell, &number)) {
        return TLB_PROBE_FULL;
    }
    bank->operand[(TLB_PROBE_NUMBER - TLB_PROBE_ADDR) / 8] = number;
    return TLB_PROBE_OK;
}

static uint64_t do_silence(const TLBProbeBank *bank)
{
    uint64_t number = operand(bank, TLB_PROBE_NUMBER);

    return number <= UINT32_MAX && x86_tlb_silence(number) ?
           TLB_PROBE_OK : TLB_PROBE_NOTHING;
}

static uint64_t do_tie(const TLBProbeBank *bank, CPUX86State *env)
{
    uint64_t root = operand_or(bank, TLB_PROBE_ROOT, x86_tagged_tlb_root(env));
    uint64_t number = operand(bank, TLB_PROBE_NUMBER);

    if (root & ~MAKE_64BIT_MASK(12, 40) || number > UINT32_MAX) {
        return TLB_PROBE_BAD_OPERAND;
    }
    return x86_tlb_tie(root, number) ? TLB_PROBE_OK : TLB_PROBE_FULL;
}

static uint64_t do_take_report(TLBProbeBank *bank)
{
    X86TLBReport report;

    if (!x86_tlb_take_report(&report)) {
        return TLB_PROBE_NOTHING;
    }
    put_entry(bank, &report.entry, report.age);
    bank->result[TLB_PROBE_R_KIND] =
        report.kind == X86_TLB_REPORT_STALE ? TLB_PROBE_STALE :
                                              TLB_PROBE_VIOLATION;
    bank->result[TLB_PROBE_R_CPU] = report.cpu_index;
    bank->result[TLB_PROBE_R_USED_ADDR] = report.addr;
    bank->result[TLB_PROBE_R_USER] = report.owner;
    bank->result[TLB_PROBE_R_DOORBELL] = report.doorbell;
    return TLB_PROBE_OK;
}

static uint64_t do_command(TLBProbeBank *bank, uint64_t command)
{
    CPUX86State *env = current_cpu ? cpu_env(current_cpu) : NULL;

    memset(bank->result, 0, sizeof(bank->result));
    if (!env || !env_archcpu(env)->tagged_tlb) {
        return TLB_PROBE_NO_MODEL;
    }
    switch (command) {
    case TLB_PROBE_LOOKUP:
        return do_lookup(bank, env, false);
    case TLB_PROBE_EVICT:
        return do_lookup(bank, env, true);
    case TLB_PROBE_EVICT_RANDOM:
        return do_evict_random(env);
    case TLB_PROBE_COUNTERS:
        return do_counters(bank, env);
    case TLB_PROBE_RING:
        return do_ring(bank, env, false);
    case TLB_PROBE_RING_PHYSICAL:
        return do_ring(bank, env, true);
    case TLB_PROBE_SILENCE:
        return do_silence(bank);
    case TLB_PROBE_TIE:
        return do_tie(bank, env);
    case TLB_PROBE_TAKE_REPORT:
        return do_take_report(bank);
    default:
        return TLB_PROBE_BAD_COMMAND;
    }
}

static uint64_t tlb_probe_read(void *opaque, hwaddr addr, unsigned size)
{
    TLBProbeBank *bank = current_bank(opaque);

    switch (addr) {
    case TLB_PROBE_MAGIC:
        return TLB_PROBE_MAGIC_VALUE;
    case TLB_PROBE_TIME:
        return x86_tagged_tlb_tick();
    case TLB_PROBE_UNHEARD:
        return x86_tlb_ring_unheard();
    case TLB_PROBE_STATUS:
        return bank->status;
    case TLB_PROBE_ADDR ... TLB_PROBE_NUMBER:
        return operand(bank, addr);
    case TLB_PROBE_RESULT ...
         TLB_PROBE_RESULT + (TLB_PROBE_N_RESULTS - 1) * 8:
        return bank->result[(addr - TLB_PROBE_RESULT) / 8];
    default:
        qemu_log_mask(LOG_GUEST_ERROR, "tlb-probe: read of register 0x%"
                      HWADDR_PRIx ", which does not exist\n", addr);
        return 0;
    }
}

static void tlb_probe_write(void *opaque, hwaddr addr, uint64_t value,
                            unsigned size)
{
    TLBProbeBank *bank = current_bank(opaque);

    switch (addr) {
    case TLB_PROBE_COMMAND:
        bank->status = do_command(bank, value);
        trace_tlb_probe_command(current_cpu ? current_cpu->cpu_index : -1,
                                value, bank->status);
        if (bank->status >= TLB_PROBE_BAD_COMMAND) {
            qemu_log_mask(LOG_GUEST_ERROR, "tlb-probe: command %" PRIu64
                          " ends with status %" PRIu64 "\n", value,
                          bank->status);
        }
        break;
    case TLB_PROBE_ADDR ... TLB_PROBE_NUMBER:
        bank->operand[(addr - TLB_PROBE_ADDR) / 8] = value;
        break;
    default:
        qemu_log_mask(LOG_GUEST_ERROR, "tlb-probe: write of register 0x%"
                      HWADDR_PRIx ", which does not exist or is read-only\n",
                      addr);
    }
}

static const MemoryRegionOps tlb_probe_ops = {
    .read = tlb_probe_read,
    .write = tlb_probe_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = { .min_access_size = 8, .max_access_size = 8 },
    .impl = { .min_access_size = 8, .max_access_size = 8 },
};

static void tlb_probe_reset(DeviceState *dev)
{
    TLBProbeState *s = TLB_PROBE(dev);

    memset(s->banks, 0, (s->n_cpus + 1) * sizeof(*s->banks));
    for (unsigned i = 0; i <= s->n_cpus; i++) {
        for (hwaddr reg = TLB_PROBE_ASID; reg <= TLB_PROBE_SPACE; reg += 8) {
            if (reg != TLB_PROBE_KIND) {
                s->banks[i].operand[(reg - TLB_PROBE_ADDR) / 8] =
                    TLB_PROBE_CURRENT;
            }
        }
    }
    x86_tlb_witness_reset();
}

static void tlb_probe_realize(PCIDevice *pdev, Error **errp)
{
    TLBProbeState *s = TLB_PROBE(pdev);
    bool ambiguous = false;

    object_resolve_path_type("", TYPE_TLB_PROBE, &ambiguous);
    if (ambiguous) {
        error_setg(errp, "at most one %s device is permitted: it is for all "
                   "CPUs", TYPE_TLB_PROBE);
        return;
    }
    s->n_cpus = MACHINE(qdev_get_machine())->smp.max_cpus;
    s->banks = g_new0(TLBProbeBank, s->n_cpus + 1);
    memory_region_init_io(&s->mmio, OBJECT(s), &tlb_probe_ops, s,
                          TYPE_TLB_PROBE, TLB_PROBE_BAR_SIZE);
    pci_register_bar(pdev, 0, PCI_BASE_ADDRESS_SPACE_MEMORY, &s->mmio);
}

static void tlb_probe_exit(PCIDevice *pdev)
{
    g_free(TLB_PROBE(pdev)->banks);
    x86_tlb_witness_reset();
}

/* What it has been told is worth nothing to the TLBs of another machine. */
static const VMStateDescription vmstate_tlb_probe = {
    .name = TYPE_TLB_PROBE,
    .unmigratable = 1,
};

static void tlb_probe_class_init(ObjectClass *klass, void *data)
{
    DeviceClass *dc = DEVICE_CLASS(klass);
    PCIDeviceClass *pc = PCI_DEVICE_CLASS(klass);

    pc->realize = tlb_probe_realize;
    pc->exit = tlb_probe_exit;
    pc->vendor_id = PCI_VENDOR_ID_REDHAT;
    pc->device_id = PCI_DEVICE_ID_TLB_PROBE;
    pc->class_id = PCI_CLASS_OTHERS;
    dc->desc = "Probe of the strict TLB model";
    dc->vmsd = &vmstate_tlb_probe;
    device_class_set_legacy_reset(dc, tlb_probe_reset);
    set_bit(DEVICE_CATEGORY_MISC, dc->categories);
}

static const TypeInfo tlb_probe_info = {
    .name = TYPE_TLB_PROBE,
    .parent = TYPE_PCI_DEVICE,
    .instance_size = sizeof(TLBProbeState),
    .class_init = tlb_probe_class_init,
    .interfaces = (InterfaceInfo[]) {
        { INTERFACE_CONVENTIONAL_PCI_DEVICE },
        { },
    },
};

static void tlb_probe_register_types(void)
{
    type_register_static(&tlb_probe_info);
}

type_init(tlb_probe_register_types)
