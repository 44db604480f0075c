/*
 * QTest of what migration does when INVLPGB differs between both ends
 *
 * - the same CPU at both ends: the guest moves
 * - another feature bit or another page count: the destination ends and says
 *   which property differs, and the source has never stopped
 * - the stream of a CPU without the feature has nothing of this in it
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qobject/qdict.h"
#include "libqtest.h"

#define FULL "EPYC-Genoa,+invlpgb,+tlbsync-sfw-no"

static char *scratch;

static QTestState *start(const char *cpu, const char *options)
{
    return qtest_initf("-machine q35 -accel tcg -smp 2 -m 8M -nodefaults "
                       "-cpu %s %s", cpu, options);
}

static char *get_string(QTestState *qts, const char *command, const char *key)
{
    QDict *rsp = qtest_qmp(qts, "{'execute': %s}", command);
    QDict *ret = qdict_get_qdict(rsp, "return");
    char *value = g_strdup(qdict_get_try_str(ret, key) ?: "none");

    qobject_unref(rsp);
    return value;
}

/* Wait until a migration has ended, and return how. */
static char *wait_for_end(QTestState *qts)
{
    for (;;) {
        char *status = get_string(qts, "query-migrate", "status");

        if (g_str_equal(status, "completed") || g_str_equal(status, "failed")) {
            return status;
        }
        g_free(status);
        g_usleep(10000);
    }
}

static void migrate(QTestState *qts, const char *uri)
{
    qtest_qmp_assert_success(qts, "{'execute': 'migrate', 'arguments':"
                             " {'uri': %s}}", uri);
}

static void test_same(void)
{
    g_autofree char *uri = g_strdup_printf("unix:%s/same", scratch);
    g_autofree char *incoming = g_strdup_printf("-incoming %s", uri);
    g_autofree char *status = NULL;
    QTestState *to = start(FULL ",invlpgb-count-max=63", incoming);
    QTestState *from = start(FULL ",invlpgb-count-max=63", "");

    migrate(from, uri);
    status = wait_for_end(from);
    g_assert_cmpstr(status, ==, "completed");
    qtest_qmp_eventwait(to, "RESUME");
    qtest_quit(from);
    qtest_quit(to);
    unlink(uri + strlen("unix:"));
}

static const struct {
    const char *name;
    const char *from;
    const char *to;
    const char *message;
} differences[] = {
    { "invlpgb", FULL, "EPYC-Genoa,+tlbsync-sfw-no",
      "CPU 0: the guest was started with invlpgb=on, but here it is off" },
    { "invlpgb-nested", FULL, FULL ",+invlpgb-nested",
      "CPU 0: the guest was started with invlpgb-nested=off, but here it is "
      "on" },
    { "tlbi-ctl", FULL ",+tlbi-ctl", FULL,
      "CPU 0: the guest was started with tlbi-ctl=on, but here it is off" },
    { "tlbsync-sfw-no", FULL, "EPYC-Genoa,+invlpgb",
      "CPU 0: the guest was started with tlbsync-sfw-no=on, but here it is "
      "off" },
    { "count-max", FULL ",invlpgb-count-max=63", FULL,
      "CPU 0: the guest was started with invlpgb-count-max=63, but here it is "
      "7" },
};

static void test_different(const void *data)
{
    int i = GPOINTER_TO_INT(data);
    g_autofree char *uri = g_strdup_printf("unix:%s/%s", scratch,
                                           differences[i].name);
    g_autofree char *said = g_strdup_printf("%s/stderr", scratch);
    g_autofree char *incoming = g_strdup_printf("-incoming %s 2>%s", uri, said);
    g_autofree char *status = NULL, *state = NULL, *text = NULL;
    QTestState *to = start(differences[i].to, incoming);
    QTestState *from = start(differences[i].from, "");

    qtest_set_expected_status(to, EXIT_FAILURE);
    migrate(from, uri);
    status = wait_for_end(from);
    g_assert_cmpstr(status, ==, "failed");
    qtest_wait_qemu(to);
    qtest_quit(to);
    g_assert_true(g_file_get_contents(said, &text, NULL, NULL));
    g_test_message("%s", text);
    g_assert_nonnull(strstr(text, differences[i].message));
    g_assert_nonnull(strstr(text, "Use the same -cpu options"));

    state = get_string(from, "query-status", "status");
    g_assert_cmpstr(state, ==, "running");
    g_assert_null(qtest_qmp_event_ref(from, "STOP"));
    qtest_quit(from);
    unlink(uri + strlen("unix:"));
    unlink(said);
}

/* A stream in a file, and whether @text is in it. */
static bool stream_has(const char *cpu, const char *text)
{
    g_autofree char *path = g_strdup_printf("%s/stream", scratch);
    g_autofree char *uri = g_strdup_printf("file:%s", path);
    g_autofree char *status = NULL, *stream = NULL;
    QTestState *qts = start(cpu, "");
    gsize size;

    migrate(qts, uri);
    status = wait_for_end(qts);
    g_assert_cmpstr(status, ==, "completed");
    qtest_quit(qts);
    g_assert_true(g_file_get_contents(path, &stream, &size, NULL));
    unlink(path);
    return memmem(stream, size, text, strlen(text));
}

static void test_stream(void)
{
    g_assert_true(stream_has(FULL, "x86-cpu-invlpgb"));
    g_assert_false(stream_has("EPYC-Genoa,+tlbsync-sfw-no", "x86-cpu-invlpgb"));
    g_assert_false(stream_has("max", "x86-cpu-invlpgb"));
}

int main(int argc, char **argv)
{
    g_autoptr(GError) err = NULL;
    int i, ret;

    g_test_init(&argc, &argv, NULL);

    if (!qtest_has_accel("tcg")) {
        printf("1..0 # SKIP this QEMU has no TCG\n");
        return 0;
    }
    scratch = g_dir_make_tmp("invlpgb-migration-XXXXXX", &err);
    g_assert_no_error(err);

    qtest_add_func("x86/invlpgb/migration/same", test_same);
    for (i = 0; i < ARRAY_SIZE(differences); i++) {
        g_autofree char *path = g_strdup_printf(
            "x86/invlpgb/migration/different/%s", differences[i].name);
        qtest_add_data_func(path, GINT_TO_POINTER(i), test_different);
    }
    qtest_add_func("x86/invlpgb/migration/stream", test_stream);
    ret = g_test_run();

    rmdir(scratch);
    return ret;
}
