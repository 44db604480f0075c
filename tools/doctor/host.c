// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a host's files say: this machine's, or those of a recorded tree.
 */
#include <errno.h>
#include <string.h>
#include <zlib.h>

#include "host.h"

static bool check_looking(const Host *host, GError **error)
{
    if (!host->root) {
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_FAILED,
                    "only CPUID is known of this machine");
    }
    return host->root;
}

/* GLib's messages have the path with the root, and are long. */
static void set_error(GError **error, const char *path, const GError *cause)
{
    const char *why = cause->message;

    if (cause->code == G_FILE_ERROR_NOENT) {
        why = g_strerror(ENOENT);
    } else if (cause->code == G_FILE_ERROR_ACCES) {
        why = g_strerror(EACCES);
    } else if (cause->code == G_FILE_ERROR_PERM) {
        why = g_strerror(EPERM);
    }
    g_set_error(error, G_FILE_ERROR, cause->code, "%s: %s", path, why);
}

char *host_read(const Host *host, const char *path, GError **error)
{
    g_autofree char *full = NULL, *text = NULL;
    g_autoptr(GError) local = NULL;

    if (!check_looking(host, error)) {
        return NULL;
    }
    full = g_build_filename(host->root, path, NULL);
    if (!g_file_get_contents(full, &text, NULL, &local)) {
        set_error(error, path, local);
        return NULL;
    }
    return g_strchomp(g_steal_pointer(&text));
}

bool host_exists(const Host *host, const char *path)
{
    g_autofree char *full = NULL;

    if (!host->root) {
        return false;
    }
    full = g_build_filename(host->root, path, NULL);
    return g_file_test(full, G_FILE_TEST_EXISTS);
}

static int compare_names(gconstpointer a, gconstpointer b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

char **host_list(const Host *host, const char *path, GError **error)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    g_autofree char *full = NULL;
    g_autoptr(GError) local = NULL;
    g_autoptr(GDir) dir = NULL;
    const char *name;

    if (!check_looking(host, error)) {
        return NULL;
    }
    full = g_build_filename(host->root, path, NULL);
    dir = g_dir_open(full, 0, &local);
    if (!dir) {
        set_error(error, path, local);
        return NULL;
    }
    while ((name = g_dir_read_name(dir))) {
        g_ptr_array_add(names, g_strdup(name));
    }
    g_ptr_array_sort(names, compare_names);
    g_ptr_array_add(names, NULL);
    return (char **)g_ptr_array_free(g_steal_pointer(&names), FALSE);
}

/* Search one file, compressed or not. Return NULL if there is none. */
static char *search_config(const Host *host, const char *path,
                           const char *option)
{
    g_autofree char *full = g_build_filename(host->root, path, NULL);
    g_autofree char *set = g_strdup_printf("%s=", option);
    g_autofree char *value = g_strdup("n");
    gzFile file = gzopen(full, "r");
    char line[4096];
    bool any = false;

    if (!file) {
        return NULL;
    }
    while (gzgets(file, line, sizeof(line))) {
        any |= g_str_has_prefix(line, "CONFIG_") ||
               g_str_has_prefix(line, "# CONFIG_");
        if (g_str_has_prefix(line, set)) {
            g_free(value);
            value = g_strdup(g_strchomp(line + strlen(set)));
        }
    }
    gzclose(file);
    /* Damaged, or no configuration at all: it tells nothing. */
    return any ? g_steal_pointer(&value) : NULL;
}

char *host_kernel_config(const Host *host, const char *option, GError **error)
{
    g_autofree char *release = NULL, *boot = NULL, *modules = NULL;
    char *value;

    release = host_read(host, "/proc/sys/kernel/osrelease", error);
    if (!release) {
        return NULL;
    }
    boot = g_strdup_printf("/boot/config-%s", release);
    modules = g_strdup_printf("/lib/modules/%s/config", release);
    value = search_config(host, "/proc/config.gz", option);
    if (!value) {
        value = search_config(host, boot, option);
    }
    if (!value) {
        value = search_config(host, modules, option);
    }
    if (!value) {
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_FAILED,
                    "neither /proc/config.gz nor %s nor %s can be read", boot,
                    modules);
    }
    return value;
}

bool host_read_named(const Host *host, const char *path, const char *name,
                     guint64 *number, GError **error)
{
    g_autofree char *text = host_read(host, path, error);
    g_auto(GStrv) lines = NULL;
    char **line;

    if (!text) {
        return false;
    }
    lines = g_strsplit(text, "\n", 0);
    for (line = lines; *line; line++) {
        char *value = strchr(*line, ' ');

        if (!value || strncmp(*line, name, value - *line) ||
            name[value - *line]) {
            continue;
        }
        if (!strcmp(value + 1, "max")) {
            *number = G_MAXUINT64;
            return true;
        }
        if (!g_ascii_string_to_unsigned(value + 1, 10, 0, G_MAXUINT64, number,
                                        error)) {
            g_prefix_error(error, "%s: ", path);
            return false;
        }
        return true;
    }
    g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NOENT, "%s: no line \"%s\"",
                path, name);
    return false;
}

char *host_find_qemu(const Host *host)
{
    if (host->qemu) {
        return g_strdup(host->qemu);
    }
    return host->live ? g_find_program_in_path("qemu-system-x86_64") : NULL;
}

char *host_ask_qemu(const Host *host, const char *const *options,
                    GError **error)
{
    g_autofree char *qemu = host_find_qemu(host), *out = NULL, *err = NULL;
    g_autoptr(GPtrArray) argv = g_ptr_array_new();
    int status;

    if (!qemu) {
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NOENT,
                    host->live ?
                    "there is no qemu-system-x86_64 in PATH" :
                    "of QEMU nothing is known, no --qemu was given");
        return NULL;
    }
    g_ptr_array_add(argv, qemu);
    for (; *options; options++) {
        g_ptr_array_add(argv, (char *)*options);
    }
    g_ptr_array_add(argv, NULL);
    if (!g_spawn_sync(NULL, (char **)argv->pdata, NULL, G_SPAWN_DEFAULT, NULL,
                      NULL, &out, &err, &status, error) ||
        !g_spawn_check_wait_status(status, error)) {
        g_prefix_error(error, "%s: ", qemu);
        return NULL;
    }
    return g_steal_pointer(&out);
}
