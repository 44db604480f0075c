/*
 * QTest of the CPU model side of INVLPGB and TLBSYNC
 *
 * - each name sets its CPUID bit, and TCG supports the bit
 * - no bit is set unless it is asked for: not by a named model, nor by "max"
 * - some models have a version with the feature, and no other version has it
 * - "invlpgb-nested" falls with "invlpgb"
 * - defaults and limits of "invlpgb-count-max" and "svm-nasid"
 * - what is refused ends with status 1 and a message that names it
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qobject/qdict.h"
#include "qobject/qlist.h"
#include "qobject/qnum.h"
#include "libqtest.h"

static const struct {
    const char *name;
    uint32_t leaf;
    const char *reg;
    int bit;
} features[] = {
    { "invlpgb",        0x80000008, "EBX", 3 },
    { "invlpgb-nested", 0x80000008, "EBX", 21 },
    { "tlbi-ctl",       0x8000000A, "EDX", 24 },
    { "tlbsync-sfw-no", 0x80000021, "EAX", 4 },
};

static QTestState *start(const char *cpu)
{
    return qtest_initf("-machine q35 -accel tcg -cpu %s", cpu);
}

/* Property of the first CPU; the caller owns the reply. */
static QDict *get_cpu_property(QTestState *qts, const char *property)
{
    QDict *cpus = qtest_qmp(qts, "{'execute': 'query-cpus-fast'}");
    QDict *cpu = qobject_to(QDict,
                            qlist_peek(qdict_get_qlist(cpus, "return")));
    QDict *rsp = qtest_qmp(qts, "{'execute': 'qom-get', 'arguments':"
                           " {'path': %s, 'property': %s}}",
                           qdict_get_str(cpu, "qom-path"), property);

    g_assert(qdict_haskey(rsp, "return"));
    qobject_unref(cpus);
    return rsp;
}

static int64_t get_cpu_int(QTestState *qts, const char *property)
{
    QDict *rsp = get_cpu_property(qts, property);
    int64_t value = qdict_get_int(rsp, "return");

    qobject_unref(rsp);
    return value;
}

/* Is this bit set in the list of feature words that @property holds? */
static bool has_bit(QTestState *qts, const char *property, int feature)
{
    QDict *rsp = get_cpu_property(qts, property);
    const QListEntry *e;
    bool set = false;

    QLIST_FOREACH_ENTRY(qdict_get_qlist(rsp, "return"), e) {
        QDict *word = qobject_to(QDict, qlist_entry_obj(e));

        if (qdict_get_int(word, "cpuid-input-eax") == features[feature].leaf &&
            g_str_equal(qdict_get_str(word, "cpuid-register"),
                        features[feature].reg)) {
            set = qdict_get_int(word, "features") &
                  (1U << features[feature].bit);
        }
    }
    qobject_unref(rsp);
    return set;
}

static void test_names(void)
{
    g_autoptr(GString) cpu = g_string_new("EPYC-Genoa");
    QTestState *qts;
    int i;

    for (i = 0; i < ARRAY_SIZE(features); i++) {
        g_string_append_printf(cpu, ",+%s", features[i].name);
    }
    qts = start(cpu->str);
    for (i = 0; i < ARRAY_SIZE(features); i++) {
        g_test_message("%s", features[i].name);
        g_assert_true(has_bit(qts, "feature-words", i));
        g_assert_false(has_bit(qts, "filtered-features", i));
    }
    qtest_quit(qts);
}

static void test_absent(const void *data)
{
    QTestState *qts = start(data);
    int i;

    for (i = 0; i < ARRAY_SIZE(features); i++) {
        g_test_message("%s", features[i].name);
        g_assert_false(has_bit(qts, "feature-words", i));
    }
    qtest_quit(qts);
}

static void test_version(const void *data)
{
    QTestState *qts = start(data);

    g_assert_true(has_bit(qts, "feature-words", 0));
    g_assert_false(has_bit(qts, "feature-words", 1));
    g_assert_false(has_bit(qts, "feature-words", 2));
    g_assert_true(has_bit(qts, "feature-words", 3));
    g_assert_cmpint(get_cpu_int(qts, "invlpgb-count-max"), ==, 7);
    qtest_quit(qts);
}

static void test_dependency(void)
{
    QTestState *qts = start("EPYC-Genoa,-invlpgb,+invlpgb-nested");

    g_assert_false(has_bit(qts, "feature-words", 1));
    qtest_quit(qts);
}

static void test_numbers(void)
{
    QTestState *qts = start("EPYC-Genoa,+invlpgb");

    g_assert_cmpint(get_cpu_int(qts, "invlpgb-count-max"), ==, 7);
    g_assert_cmpint(get_cpu_int(qts, "svm-nasid"), ==, 16);
    qtest_quit(qts);

    qts = start("EPYC-Genoa,+invlpgb,invlpgb-count-max=65534,svm-nasid=65536");
    g_assert_cmpint(get_cpu_int(qts, "invlpgb-count-max"), ==, 65534);
    g_assert_cmpint(get_cpu_int(qts, "svm-nasid"), ==, 65536);
    qtest_quit(qts);

    qts = start("EPYC-Genoa,invlpgb-count-max=0,svm-nasid=2");
    g_assert_cmpint(get_cpu_int(qts, "invlpgb-count-max"), ==, 0);
    g_assert_cmpint(get_cpu_int(qts, "svm-nasid"), ==, 2);
    qtest_quit(qts);
}

static const struct {
    const char *name;
    const char *cpu;
    const char *messages[2];
} refused[] = {
    { "count-max", "EPYC-Genoa,+invlpgb,invlpgb-count-max=65535",
      { "invlpgb-count-max=65535", "65534" } },
    { "count-max-type", "EPYC-Genoa,invlpgb-count-max=65536",
      { "invlpgb-count-max", "65536" } },
    { "nasid-small", "EPYC-Genoa,svm-nasid=1",
      { "svm-nasid=1", "between 2 and 65536" } },
    { "nasid-large", "EPYC-Genoa,svm-nasid=65537",
      { "svm-nasid=65537", "between 2 and 65536" } },
    { "misspelt", "EPYC-Genoa,+invlpgb,invlpgb-max=1",
      { "invlpgb-max", "not found" } },
    { "enforce", "EPYC-Genoa,-svm,+tlbi-ctl,enforce",
      { "CPUID.8000000AH:EDX.tlbi-ctl", "[bit 24]" } },
};

static void test_refused(const void *data)
{
    int i = GPOINTER_TO_INT(data), j;
    g_autofree char *err = NULL;
    g_autoptr(GError) gerr = NULL;
    int status;
    const char *argv[] = {
        g_getenv("QTEST_QEMU_BINARY"), "-machine", "q35", "-accel", "tcg",
        "-cpu", refused[i].cpu, "-nodefaults", "-display", "none", "-S", NULL
    };

    g_assert_true(g_spawn_sync(NULL, (char **)argv, NULL, 0, NULL, NULL, NULL,
                               &err, &status, &gerr));
    g_test_message("%s", err);
    g_assert_true(WIFEXITED(status));
    g_assert_cmpint(WEXITSTATUS(status), ==, 1);
    for (j = 0; j < ARRAY_SIZE(refused[i].messages); j++) {
        g_assert_nonnull(strstr(err, refused[i].messages[j]));
    }
}

int main(int argc, char **argv)
{
    static const char *const absent[] = {
        "max", "EPYC-Milan", "EPYC-Milan-v2", "EPYC-Genoa", "EPYC-Genoa-v1",
        "qemu64",
    };
    static const char *const versions[] = { "EPYC-Milan-v4", "EPYC-Genoa-v3" };
    int i;

    g_test_init(&argc, &argv, NULL);

    if (!qtest_has_accel("tcg")) {
        printf("1..0 # SKIP this QEMU has no TCG\n");
        return 0;
    }

    qtest_add_func("x86/cpu/invlpgb/names", test_names);
    for (i = 0; i < ARRAY_SIZE(absent); i++) {
        g_autofree char *path = g_strdup_printf("x86/cpu/invlpgb/absent/%s",
                                                absent[i]);
        qtest_add_data_func(path, absent[i], test_absent);
    }
    for (i = 0; i < ARRAY_SIZE(versions); i++) {
        g_autofree char *path = g_strdup_printf("x86/cpu/invlpgb/version/%s",
                                                versions[i]);
        qtest_add_data_func(path, versions[i], test_version);
    }
    qtest_add_func("x86/cpu/invlpgb/dependency", test_dependency);
    qtest_add_func("x86/cpu/invlpgb/numbers", test_numbers);
    for (i = 0; i < ARRAY_SIZE(refused); i++) {
        g_autofree char *path = g_strdup_printf("x86/cpu/invlpgb/refused/%s",
                                                refused[i].name);
        qtest_add_data_func(path, GINT_TO_POINTER(i), test_refused);
    }
    return g_test_run();
}
