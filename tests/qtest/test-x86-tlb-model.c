/*
 * QTest of what looks into the strict TLB model: the device tlb-probe and
 * x-query-tlb-model
 *
 * Whatever a guest writes into the device: it goes on.  What needs a CPU that
 * executes something is tested with guests.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "hw/misc/tlb-probe.h"
#include "hw/pci/pci_regs.h"
#include "libqos/pci-pc.h"
#include "libqtest.h"
#include "qobject/qdict.h"
#include "qobject/qlist.h"

#define SLOT            0x10
#define PCI_ID          0x00f01b36
#define FUZZ_COUNT      20000

#define MACHINE         "-machine pc -accel tcg -S -smp 2 "
#define TAGGED          "-cpu qemu64,x-tlb-model=tagged "
#define PROBE           "-device tlb-probe,addr=10 "

typedef struct Probe {
    QTestState *qts;
    QPCIBus *bus;
    QPCIDevice *dev;
    QPCIBar bar;
} Probe;

static Probe probe_start(const char *options)
{
    Probe p = { .qts = qtest_init(options) };

    p.bus = qpci_new_pc(p.qts, NULL);
    p.dev = qpci_device_find(p.bus, QPCI_DEVFN(SLOT, 0));
    g_assert_nonnull(p.dev);
    g_assert_cmphex(qpci_config_readl(p.dev, 0), ==, PCI_ID);
    qpci_device_enable(p.dev);
    p.bar = qpci_iomap(p.dev, 0, NULL);
    return p;
}

static void probe_stop(Probe *p)
{
    g_free(p->dev);
    qpci_free_pc(p->bus);
    qtest_quit(p->qts);
}

static uint64_t get(Probe *p, unsigned reg)
{
    return qpci_io_readq(p->dev, p->bar, reg);
}

static void set(Probe *p, unsigned reg, uint64_t value)
{
    qpci_io_writeq(p->dev, p->bar, reg, value);
}

static void check_defaults(Probe *p)
{
    g_assert_cmphex(get(p, TLB_PROBE_ADDR), ==, 0);
    g_assert_cmphex(get(p, TLB_PROBE_ASID), ==, TLB_PROBE_CURRENT);
    g_assert_cmphex(get(p, TLB_PROBE_PCID), ==, TLB_PROBE_CURRENT);
    g_assert_cmphex(get(p, TLB_PROBE_KIND), ==, TLB_PROBE_LINEAR);
    g_assert_cmphex(get(p, TLB_PROBE_ROOT), ==, TLB_PROBE_CURRENT);
    g_assert_cmphex(get(p, TLB_PROBE_SPACE), ==, TLB_PROBE_CURRENT);
    g_assert_cmphex(get(p, TLB_PROBE_BEFORE), ==, 0);
    g_assert_cmphex(get(p, TLB_PROBE_NUMBER), ==, 0);
}

static void test_registers(void)
{
    Probe p = probe_start(MACHINE TAGGED PROBE);
    unsigned reg;

    g_assert_cmphex(get(&p, TLB_PROBE_MAGIC), ==, TLB_PROBE_MAGIC_VALUE);
    check_defaults(&p);
    for (reg = TLB_PROBE_ADDR; reg <= TLB_PROBE_NUMBER; reg += 8) {
        set(&p, reg, 0x0123456789abcdefULL + reg);
    }
    for (reg = TLB_PROBE_ADDR; reg <= TLB_PROBE_NUMBER; reg += 8) {
        g_assert_cmphex(get(&p, reg), ==, 0x0123456789abcdefULL + reg);
    }
    qtest_system_reset(p.qts);
    qpci_device_enable(p.dev);
    qpci_config_writel(p.dev, PCI_BASE_ADDRESS_0, p.bar.addr);
    check_defaults(&p);
    probe_stop(&p);
}

/* No CPU has given the command. */
static void test_no_cpu(void)
{
    Probe p = probe_start(MACHINE TAGGED PROBE);
    unsigned command;

    for (command = 0; command <= TLB_PROBE_TAKE_REPORT + 1; command++) {
        set(&p, TLB_PROBE_COMMAND, command);
        g_assert_cmpuint(get(&p, TLB_PROBE_STATUS), ==, TLB_PROBE_NO_MODEL);
    }
    probe_stop(&p);
}

static void test_fuzz(void)
{
    Probe p = probe_start(MACHINE TAGGED PROBE);
    unsigned i;

    for (i = 0; i < FUZZ_COUNT; i++) {
        unsigned reg = g_test_rand_int_range(0, TLB_PROBE_BAR_SIZE);
        uint64_t value = (uint64_t)g_test_rand_int() << 32 |
                         (uint32_t)g_test_rand_int();

        if (g_test_rand_bit()) {
            reg &= 0x1f8;
        }
        switch (g_test_rand_int_range(0, 5)) {
        case 0:
            qpci_io_writeb(p.dev, p.bar, reg, value);
            break;
        case 1:
            qpci_io_writel(p.dev, p.bar, reg & ~3, value);
            break;
        case 2:
            set(&p, reg & ~7, value);
            break;
        case 3:
            set(&p, TLB_PROBE_COMMAND, value % 16);
            break;
        default:
            get(&p, reg & ~7);
        }
    }
    g_assert_cmphex(get(&p, TLB_PROBE_MAGIC), ==, TLB_PROBE_MAGIC_VALUE);
    probe_stop(&p);
}

static void test_not_migrated(void)
{
    Probe p = probe_start(MACHINE TAGGED PROBE);
    QDict *rsp = qtest_qmp(p.qts, "{'execute': 'migrate', 'arguments':"
                           " {'uri': 'exec:cat > /dev/null'}}");
    const char *desc;

    g_assert_true(qdict_haskey(rsp, "error"));
    desc = qdict_get_str(qdict_get_qdict(rsp, "error"), "desc");
    g_assert_nonnull(strstr(desc, "tlb-probe"));
    qobject_unref(rsp);
    probe_stop(&p);
}

static QList *query(QTestState *qts, QDict **rsp)
{
    *rsp = qtest_qmp(qts, "{'execute': 'x-query-tlb-model'}");
    g_assert_true(qdict_haskey(*rsp, "return"));
    return qdict_get_qlist(*rsp, "return");
}

static void test_query(void)
{
    QTestState *qts = qtest_init(MACHINE TAGGED);
    const QListEntry *e;
    int index = 0;
    QDict *rsp;

    QLIST_FOREACH_ENTRY(query(qts, &rsp), e) {
        QDict *cpu = qobject_to(QDict, qlist_entry_obj(e));

        g_assert_cmpint(qdict_get_int(cpu, "cpu-index"), ==, index++);
        g_assert_cmpint(qdict_get_int(cpu, "entries"), ==, 0);
        g_assert_cmpint(qdict_get_int(cpu, "stale-uses"), ==, 0);
        g_assert_true(qlist_empty(qdict_get_qlist(cpu, "misuses")));
        g_assert_false(qdict_haskey(cpu, "translations"));
    }
    g_assert_cmpint(index, ==, 2);
    qobject_unref(rsp);

    rsp = qtest_qmp(qts, "{'execute': 'x-query-tlb-model', 'arguments':"
                    " {'asid': 1}}");
    g_assert_true(qdict_haskey(rsp, "error"));
    qobject_unref(rsp);
    qtest_quit(qts);
}

static void test_query_off(void)
{
    QTestState *qts = qtest_init(MACHINE "-cpu qemu64");
    QDict *rsp;

    g_assert_true(qlist_empty(query(qts, &rsp)));
    qobject_unref(rsp);
    qtest_quit(qts);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/x86/tlb-probe/registers", test_registers);
    qtest_add_func("/x86/tlb-probe/no-cpu", test_no_cpu);
    qtest_add_func("/x86/tlb-probe/fuzz", test_fuzz);
    qtest_add_func("/x86/tlb-probe/not-migrated", test_not_migrated);
    qtest_add_func("/x86/tlb-model/query", test_query);
    qtest_add_func("/x86/tlb-model/query-off", test_query_off);
    return g_test_run();
}
