/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a host's files say: this machine's, or those of a recorded tree.
 */
#ifndef DOCTOR_HOST_H
#define DOCTOR_HOST_H

#include <glib.h>
#include <stdbool.h>

typedef struct Host {
    /* Where the files are; NULL if the host cannot be looked at. */
    const char *root;
    /* The root is this machine's: ask KVM, and run programs. */
    bool live;
    /* QEMU to ask; NULL for the one in PATH, if the host is this machine. */
    const char *qemu;
} Host;

/*
 * Read a file, without white space at its end. If there is none then the error
 * is G_FILE_ERROR_NOENT; any other error means that nobody can tell.
 */
char *host_read(const Host *host, const char *path, GError **error);

bool host_exists(const Host *host, const char *path);

/* Names in a directory, sorted; NULL if it cannot be read. */
char **host_list(const Host *host, const char *path, GError **error);

/*
 * The value of an option in the kernel's configuration, "n" if it is not set.
 * Return NULL if no configuration was found.
 */
char *host_kernel_config(const Host *host, const char *option, GError **error);

/*
 * The number in the line "NAME NUMBER" of a file, as cgroups have them;
 * G_MAXUINT64 for "max". Return false if there is no such line.
 */
bool host_read_named(const Host *host, const char *path, const char *name,
                     guint64 *number, GError **error);

/* What QEMU prints when it is run with an option. */
char *host_ask_qemu(const Host *host, const char *const *options,
                    GError **error);

/* QEMU's path, or NULL if there is none. */
char *host_find_qemu(const Host *host);

#endif
