// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * CPUID of all CPUs of a machine: this one, or one that was recorded.
 */
#define _GNU_SOURCE
#include <cpuid.h>
#include <errno.h>
#include <glib.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "cpus.h"

/* No dump of a machine that exists comes near: 1024 CPUs make 6 MiB. */
#define MAX_DUMP_BYTES (64 << 20)

/* What is shown of a line that is wrong. */
#define MAX_SHOWN 72

const uint32_t cpuid_leaves[] = {
    0x00000000, 0x00000001, 0x80000000, 0x80000001, 0x80000002, 0x80000003,
    0x80000004, 0x80000008, 0x8000000a, 0x8000001f, 0x80000021,
};
const size_t cpuid_nr_leaves = G_N_ELEMENTS(cpuid_leaves);

/*
 * The formats of dumps: which lines are entries, and what an entry looks like.
 * All other lines are comments: headings, names of CPUs, decoded values.
 */
static const struct {
    const char *program;
    const char *start;
    const char *entry;
} formats[] = {
    {
        "cpuid -r",
        "^\\s*0x\\S+ 0x\\S+:",
        "^\\s*0x(?<leaf>[0-9a-f]{8}) 0x(?<subleaf>[0-9a-f]{2}): eax=0x(?<eax>[0-9a-f]{8}) "
        "ebx=0x(?<ebx>[0-9a-f]{8}) ecx=0x(?<ecx>[0-9a-f]{8}) edx=0x(?<edx>[0-9a-f]{8})\\s*$",
    },
    {
        "InstLatx64 or AIDA64",
        "^\\s*CPUID \\S+:",
        "^\\s*CPUID (?<leaf>[0-9a-f]{8}): (?<eax>[0-9a-f]{8})-(?<ebx>[0-9a-f]{8})-"
        "(?<ecx>[0-9a-f]{8})-(?<edx>[0-9a-f]{8})"
        "(?:\\s+\\[(?:SL (?<subleaf>[0-9a-f]{2})\\]|.*))?\\s*$",
    },
    {
        "x86info -r",
        "^\\s*eax in:",
        "^\\s*eax in: 0x(?<leaf>[0-9a-f]{8}), eax = (?<eax>[0-9a-f]{8}) ebx = (?<ebx>[0-9a-f]{8}) "
        "ecx = (?<ecx>[0-9a-f]{8}) edx = (?<edx>[0-9a-f]{8})\\s*$",
    },
};

static GPtrArray *cpus_new(void)
{
    return g_ptr_array_new_with_free_func((GDestroyNotify)g_hash_table_unref);
}

static CpuidCpu *cpus_add(GPtrArray *cpus)
{
    CpuidCpu *cpu = g_hash_table_new_full(NULL, NULL, NULL, g_free);

    g_ptr_array_add(cpus, cpu);
    return cpu;
}

static void cpu_set(CpuidCpu *cpu, uint32_t leaf, const CpuidLeaf *value)
{
    g_hash_table_insert(cpu, GUINT_TO_POINTER(leaf),
                        g_memdup2(value, sizeof(*value)));
}

bool cpuid_get(CpuidCpu *cpu, uint32_t leaf, CpuidLeaf *value)
{
    const CpuidLeaf *found = g_hash_table_lookup(cpu, GUINT_TO_POINTER(leaf));
    const CpuidLeaf *highest =
        g_hash_table_lookup(cpu, GUINT_TO_POINTER(leaf & 0x80000000));

    /* Intel's CPUs repeat their highest basic leaf there. */
    if (highest && highest->reg[EAX] < leaf) {
        *value = (CpuidLeaf){};
        return true;
    }
    if (found) {
        *value = *found;
    }
    return found;
}

GPtrArray *cpuid_execute(GError **error)
{
    g_autoptr(GPtrArray) cpus = cpus_new();
    long number, configured = sysconf(_SC_NPROCESSORS_CONF);
    cpu_set_t *set = CPU_ALLOC(configured), *old = CPU_ALLOC(configured);
    size_t size = CPU_ALLOC_SIZE(configured), i;

    if (sched_getaffinity(0, size, old)) {
        CPU_ZERO_S(size, old);
    }
    for (number = 0; number < configured; number++) {
        CpuidCpu *cpu;

        CPU_ZERO_S(size, set);
        CPU_SET_S(number, size, set);
        if (sched_setaffinity(0, size, set)) {
            continue;
        }
        cpu = cpus_add(cpus);
        for (i = 0; i < cpuid_nr_leaves; i++) {
            CpuidLeaf value;

            __cpuid_count(cpuid_leaves[i], 0, value.reg[EAX], value.reg[EBX],
                          value.reg[ECX], value.reg[EDX]);
            cpu_set(cpu, cpuid_leaves[i], &value);
        }
    }
    sched_setaffinity(0, size, old);
    CPU_FREE(set);
    CPU_FREE(old);
    if (!cpus->len) {
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_FAILED,
                    "this process may be moved to no CPU: %s",
                    g_strerror(errno));
        return NULL;
    }
    return g_steal_pointer(&cpus);
}

/* A line as it can be shown: whatever is in it, and however long it is. */
static char *shown(const char *line)
{
    g_autofree char *start = g_strndup(line, MAX_SHOWN);

    return g_strescape(g_strstrip(start), NULL);
}

static uint32_t group(GMatchInfo *match, const char *name)
{
    g_autofree char *text = g_match_info_fetch_named(match, name);

    return text ? g_ascii_strtoull(text, NULL, 16) : 0;
}

static void add_entry(GPtrArray *cpus, GMatchInfo *match)
{
    uint32_t leaf = group(match, "leaf");
    CpuidCpu *cpu;
    CpuidLeaf value = {
        .reg = {
            [EAX] = group(match, "eax"),
            [EBX] = group(match, "ebx"),
            [ECX] = group(match, "ecx"),
            [EDX] = group(match, "edx"),
        },
    };

    if (group(match, "subleaf")) {
        return;
    }

    /* All programs start a CPU with leaf 0, however they announce it. */
    cpu = cpus->len ? g_ptr_array_index(cpus, cpus->len - 1) : cpus_add(cpus);
    if (g_hash_table_contains(cpu, GUINT_TO_POINTER(leaf))) {
        if (leaf) {
            /* x86info does not say which subleaf it is; the first is 0. */
            return;
        }
        cpu = cpus_add(cpus);
    }
    cpu_set(cpu, leaf, &value);
}

static bool parse_line(GPtrArray *cpus, GRegex *const start[],
                       GRegex *const entry[], const char *line,
                       const char *path, unsigned int number, GError **error)
{
    size_t i;

    for (i = 0; i < G_N_ELEMENTS(formats); i++) {
        g_autoptr(GMatchInfo) match = NULL;
        g_autofree char *text = NULL;

        if (!g_regex_match(start[i], line, 0, NULL)) {
            continue;
        }
        if (g_regex_match(entry[i], line, 0, &match)) {
            add_entry(cpus, match);
            return true;
        }
        text = shown(line);
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
                    "%s:%u: \"%s\" is no value of CPUID as %s writes it", path,
                    number, text, formats[i].program);
        return false;
    }
    return true;
}

static GRegex *compile(const char *pattern)
{
    /* Dumps may have names of CPUs in any encoding. */
    GRegex *regex = g_regex_new(
        pattern, G_REGEX_CASELESS | G_REGEX_RAW | G_REGEX_OPTIMIZE, 0, NULL);

    g_assert(regex);
    return regex;
}

static bool parse(GPtrArray *cpus, char *text, const char *path, GError **error)
{
    GRegex *start[G_N_ELEMENTS(formats)], *entry[G_N_ELEMENTS(formats)];
    unsigned int number = 0;
    bool right = true;
    char *line;
    size_t i;

    for (i = 0; i < G_N_ELEMENTS(formats); i++) {
        start[i] = compile(formats[i].start);
        entry[i] = compile(formats[i].entry);
    }
    while (right && (line = strsep(&text, "\n"))) {
        right = parse_line(cpus, start, entry, line, path, ++number, error);
    }
    for (i = 0; i < G_N_ELEMENTS(formats); i++) {
        g_regex_unref(start[i]);
        g_regex_unref(entry[i]);
    }
    return right;
}

GPtrArray *cpuid_read_dump(const char *path, GError **error)
{
    g_autoptr(GPtrArray) cpus = cpus_new();
    g_autofree char *text = NULL;
    const char *zero;
    size_t length;

    if (!g_file_get_contents(path, &text, &length, error)) {
        return NULL;
    }
    if (length > MAX_DUMP_BYTES) {
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
                    "%s: %zu bytes are too many for a CPUID dump", path,
                    length);
        return NULL;
    }
    zero = memchr(text, 0, length);
    if (zero) {
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
                    "%s: byte %td is 0: this is not a text", path, zero - text);
        return NULL;
    }
    if (!parse(cpus, text, path, error)) {
        return NULL;
    }
    if (!cpus->len) {
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
                    "%s: no values of CPUID as cpuid -r, InstLatx64, AIDA64 or x86info -r write them",
                    path);
        return NULL;
    }
    return g_steal_pointer(&cpus);
}
