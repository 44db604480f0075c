// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * invlpgb-doctor: can guests of this host have INVLPGB, and what is missing?
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "checks.h"
#include "report.h"

/* Exit status, besides those of the verdict. */
#define EXIT_TROUBLE 3

static void G_GNUC_NORETURN die(const char *message)
{
    fprintf(stderr, "invlpgb-doctor: %s\n", message);
    exit(EXIT_TROUBLE);
}

int main(int argc, char **argv)
{
    static const int status[] = { [OK] = 0, [NO] = 1, [UNKNOWN] = 2 };
    g_autofree char *dump = NULL, *root = NULL, *qemu = NULL;
    gboolean json = FALSE;
    const GOptionEntry options[] = {
        { "cpuid", 0, 0, G_OPTION_ARG_FILENAME, &dump,
          "Judge a recorded CPUID dump instead of this machine's CPUs",
          "FILE" },
        { "root", 0, 0, G_OPTION_ARG_FILENAME, &root,
          "Judge the host whose files are in a directory instead of this one",
          "DIR" },
        { "qemu", 0, 0, G_OPTION_ARG_FILENAME, &qemu,
          "Ask this QEMU instead of the one in PATH", "PROGRAM" },
        { "json", 0, 0, G_OPTION_ARG_NONE, &json,
          "Print JSON instead of a table", NULL },
        { NULL }
    };
    g_autoptr(GOptionContext) context = g_option_context_new(NULL);
    g_autoptr(GError) error = NULL;
    g_autoptr(Report) report = NULL;
    Subject subject = {};

    g_option_context_set_summary(
        context, "Can guests of this host have INVLPGB, and what is missing?");
    g_option_context_add_main_entries(context, options, NULL);
    if (!g_option_context_parse(context, &argc, &argv, &error)) {
        die(error->message);
    }
    if (argc > 1) {
        g_autofree char *message =
            g_strdup_printf("unexpected argument \"%s\"", argv[1]);

        die(message);
    }
    if (root && !g_file_test(root, G_FILE_TEST_IS_DIR)) {
        g_autofree char *message =
            g_strdup_printf("--root %s: not a directory", root);

        die(message);
    }
    if (qemu && !g_file_test(qemu, G_FILE_TEST_IS_EXECUTABLE)) {
        g_autofree char *message =
            g_strdup_printf("--qemu %s: not a program", qemu);

        die(message);
    }

    /* Dumps and trees are of another machine: let nothing of this one in. */
    subject.host.live = !dump && !root;
    subject.host.root = subject.host.live ? "/" : root;
    subject.host.qemu = qemu;
    if (dump) {
        subject.cpus = cpuid_read_dump(dump, &error);
        if (!subject.cpus) {
            die(error->message);
        }
    } else if (root) {
        subject.cpus_unknown = g_strdup("--root without --cpuid");
    } else {
        subject.cpus = cpuid_execute(&error);
        if (!subject.cpus) {
            subject.cpus_unknown = g_strdup(error->message);
        }
    }

    report = report_new(&subject);
    if (json) {
        report_print_json(report, &subject);
    } else {
        report_print_table(report);
    }
    if (fflush(stdout)) {
        g_autofree char *message =
            g_strdup_printf("standard output: %s", g_strerror(errno));

        die(message);
    }
    g_clear_pointer(&subject.cpus, g_ptr_array_unref);
    g_free(subject.cpus_unknown);
    return status[report_summary(report)];
}
