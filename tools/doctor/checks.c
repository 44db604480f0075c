// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What decides whether the guests of a host can have INVLPGB.
 *
 * A check says "ok" or "no" only of what has been looked at, and "unknown" of
 * all else, also where nothing public decides.
 */
#include <stdio.h>
#include <string.h>

#include "checks.h"
#include "kvm.h"

#define PARAMETERS "/sys/module/kvm_amd/parameters/"
#define KVM_AMD    "/sys/kernel/debug/kvm_amd/"
#define CGROUP     "/sys/fs/cgroup"

/* The resource of the misc cgroup controller. */
#define RESOURCE "svm_vm_asid"

/* CPUID 8000_0008.EBX[3] and so on. */
#define LEAF_SIZES         0x80000008
#define LEAF_SVM           0x8000000a
#define LEAF_SEV           0x8000001f
#define LEAF_EXT2          0x80000021
#define BIT_INVLPGB        3
#define BIT_INVLPGB_NESTED 21
#define BIT_NPT            0
#define BIT_NRIPS          3
#define BIT_FLUSHBYASID    6
#define BIT_TLBI_CTL       24
#define BIT_TLBSYNC_SFW_NO 4

/* Linux counts pages in 16 bits, from 1: with this it loops for ever. */
#define COUNT_FATAL 0xffff
/* What all parts have that were looked at. */
#define COUNT_USUAL 7

/* The dynamic ASIDs that KVM keeps in any case: SVM_MIN_DYNAMIC_ASIDS. */
#define MIN_DYNAMIC_ASIDS 1024

const char *const answer_names[] = {
    [NO] = "no", [UNKNOWN] = "unknown", [OK] = "ok"
};

const char *const mode_names[] = {
    [OFF] = "off",
    [EMULATE] = "emulate",
    [INTERCEPT] = "intercept",
    [PASSTHROUGH] = "passthrough",
};

/*
 * Parts that have the feature, from CPUID dumps published by InstLatx64
 * (snapshot of 2026-07-22): all have it complete, with a maximum of 7 and 32768
 * ASIDs.
 */
static const struct {
    unsigned int family, model;
    const char *name;
} parts[] = {
    { 0x19, 0x01, "Milan (Zen 3)" },
    { 0x19, 0x11, "Genoa (Zen 4)" },
    { 0x19, 0x18, "Storm Peak (Zen 4)" },
    { 0x19, 0xa0, "Bergamo (Zen 4)" },
    { 0x1a, 0x02, "Turin (Zen 5)" },
    { 0x1a, 0x08, "Shimada Peak (Zen 5)" },
    { 0x1a, 0x11, "Turin Dense (Zen 5)" },
};

/* Generations, as Linux 7.3 tells them apart: arch/x86/kernel/cpu/amd.c. */
static const struct {
    unsigned int family, first, last, zen;
} generations[] = {
    { 0x17, 0x00, 0x2f, 1 }, { 0x17, 0x50, 0x5f, 1 },
    { 0x17, 0x30, 0x4f, 2 }, { 0x17, 0x60, 0x7f, 2 },
    { 0x17, 0x90, 0x91, 2 }, { 0x17, 0xa0, 0xaf, 2 },
    { 0x19, 0x00, 0x0f, 3 }, { 0x19, 0x20, 0x5f, 3 },
    { 0x19, 0x10, 0x1f, 4 }, { 0x19, 0x60, 0xaf, 4 },
    { 0x1a, 0x00, 0x2f, 5 }, { 0x1a, 0x40, 0x4f, 5 },
    { 0x1a, 0x60, 0x7f, 5 }, { 0x1a, 0xd0, 0xd7, 5 },
};

static void G_GNUC_PRINTF(2, 3)
ok(Check *check, const char *why, ...)
{
    va_list args;

    va_start(args, why);
    check->answer = OK;
    check->why = g_strdup_vprintf(why, args);
    va_end(args);
}

static void G_GNUC_PRINTF(3, 4)
no(Check *check, const char *action, const char *why, ...)
{
    va_list args;

    va_start(args, why);
    check->answer = NO;
    check->why = g_strdup_vprintf(why, args);
    check->action = g_strdup(action);
    va_end(args);
}

static void G_GNUC_PRINTF(3, 4)
unknown(Check *check, const char *action, const char *why, ...)
{
    va_list args;

    va_start(args, why);
    check->answer = UNKNOWN;
    check->why = g_strdup_vprintf(why, args);
    check->action = g_strdup(action);
    va_end(args);
}

/* What was to be read could not be. */
static void unread(Check *check, const GError *error)
{
    bool denied = g_error_matches(error, G_FILE_ERROR, G_FILE_ERROR_ACCES) ||
                  g_error_matches(error, G_FILE_ERROR, G_FILE_ERROR_PERM);

    unknown(check, denied ? "run this as root" : NULL, "%s", error->message);
}

/*
 * The CPUs.
 */

/* Get a leaf of the first CPU; the check becomes unknown if that cannot be. */
static bool first_cpu(const Subject *subject, Check *check, uint32_t leaf,
                      CpuidLeaf *value)
{
    if (!subject->cpus) {
        unknown(check, NULL, "CPUID is not known: %s", subject->cpus_unknown);
        return false;
    }
    if (!cpuid_get(g_ptr_array_index(subject->cpus, 0), leaf, value)) {
        unknown(check, "record all leaves",
                "CPUID %04X_%04X is not in the dump", leaf >> 16,
                leaf & 0xffff);
        return false;
    }
    return true;
}

/* Is a bit set on all CPUs? */
static Answer all_have(const Subject *subject, uint32_t leaf, CpuidReg reg,
                       int bit)
{
    Answer answer = subject->cpus ? OK : UNKNOWN;
    unsigned int i;

    for (i = 0; subject->cpus && i < subject->cpus->len; i++) {
        CpuidLeaf value;

        if (!cpuid_get(g_ptr_array_index(subject->cpus, i), leaf, &value)) {
            answer = MIN(answer, UNKNOWN);
        } else if (!(value.reg[reg] >> bit & 1)) {
            answer = NO;
        }
    }
    return answer;
}

static void judge_bit(const Subject *subject, Check *check, uint32_t leaf,
                      CpuidReg reg, int bit, const char *what,
                      const char *action)
{
    static const char *const registers[] = { "EAX", "EBX", "ECX", "EDX" };
    g_autofree char *name =
        g_strdup_printf("CPUID %04X_%04X.%s[%d], %s", leaf >> 16, leaf & 0xffff,
                        registers[reg], bit, what);
    CpuidLeaf value;

    switch (all_have(subject, leaf, reg, bit)) {
    case OK:
        ok(check, "%s, is set", name);
        break;
    case NO:
        no(check, action, "%s, is clear", name);
        break;
    case UNKNOWN:
        if (first_cpu(subject, check, leaf, &value)) {
            unknown(check, "record all leaves", "%s, is not known of all CPUs",
                    name);
        }
        break;
    }
}

typedef struct Identity {
    char vendor[13];
    unsigned int family, model, stepping;
    /* Generation of AMD's Zen, 0 if it is none or not known. */
    unsigned int zen;
    /* The name of a part that has the feature, or NULL. */
    const char *part;
} Identity;

static bool identify(const Subject *subject, Check *check, Identity *identity)
{
    CpuidLeaf vendor, signature;
    uint32_t eax;
    size_t i;

    *identity = (Identity){};
    if (!first_cpu(subject, check, 0, &vendor) ||
        !first_cpu(subject, check, 1, &signature)) {
        return false;
    }
    memcpy(identity->vendor, &vendor.reg[EBX], 4);
    memcpy(identity->vendor + 4, &vendor.reg[EDX], 4);
    memcpy(identity->vendor + 8, &vendor.reg[ECX], 4);
    for (i = 0; identity->vendor[i]; i++) {
        if (!g_ascii_isprint(identity->vendor[i])) {
            identity->vendor[i] = '?';
        }
    }

    eax = signature.reg[EAX];
    identity->stepping = eax & 0xf;
    identity->family = eax >> 8 & 0xf;
    identity->model = (eax >> 4 & 0xf) | (eax >> 12 & 0xf0);
    if (identity->family == 0xf) {
        identity->family += eax >> 20 & 0xff;
    }
    if (strcmp(identity->vendor, "AuthenticAMD")) {
        return true;
    }
    for (i = 0; i < G_N_ELEMENTS(parts); i++) {
        if (parts[i].family == identity->family &&
            parts[i].model == identity->model) {
            identity->part = parts[i].name;
        }
    }
    for (i = 0; i < G_N_ELEMENTS(generations); i++) {
        if (generations[i].family == identity->family &&
            generations[i].first <= identity->model &&
            identity->model <= generations[i].last) {
            identity->zen = generations[i].zen;
        }
    }
    return true;
}

/*
 * Linux does not believe the bit on any Zen 2 (commit a74bb5f202da), as Cyan
 * Skillfish, 17h/47h, has it and not the instruction.
 */
static bool misreports(const Identity *cpu)
{
    return cpu->zen && cpu->zen < 3;
}

/* Have the CPUs INVLPGB? For checks that are about something else. */
static Answer have_invlpgb(const Subject *subject, const Identity *cpu)
{
    if (misreports(cpu)) {
        return NO;
    }
    return all_have(subject, LEAF_SIZES, EBX, BIT_INVLPGB);
}

static void check_cpu(const Subject *subject, Check *check)
{
    g_autofree char *name = NULL;
    Identity cpu;

    if (!identify(subject, check, &cpu)) {
        return;
    }
    name = g_strdup_printf(
        "%s family %Xh model %02Xh stepping %u%s", cpu.vendor, cpu.family,
        cpu.model, cpu.stepping,
        all_have(subject, 1, ECX, 31) == OK ? ", in a virtual machine" : "");
    if (cpu.part) {
        ok(check, "%s: %s, a part that has INVLPGB", name, cpu.part);
    } else if (strcmp(cpu.vendor, "AuthenticAMD")) {
        no(check, NULL, "%s: only AMD's server parts since Zen 3 have INVLPGB",
           name);
    } else if (misreports(&cpu)) {
        no(check, NULL, "%s: Zen %u is too old, INVLPGB came with Zen 3", name,
           cpu.zen);
    } else {
        unknown(check, NULL,
                "%s: not on the list of parts that have INVLPGB; CPUID decides",
                name);
    }
}

/* There are KVMs that need neither, and cannot intercept. */
static void check_virtualization(const Subject *subject, Check *check)
{
    Answer svm = all_have(subject, 0x80000001, ECX, 2);
    Answer vmx = all_have(subject, 1, ECX, 5);
    CpuidLeaf value;

    if (svm == OK) {
        ok(check, "CPUID has SVM");
    } else if (vmx == OK) {
        ok(check, "CPUID has VMX");
    } else if (svm == NO && vmx == NO) {
        no(check,
           "if this is a virtual machine, let it have nested virtualization",
           "CPUID has neither SVM nor VMX");
    } else if (first_cpu(subject, check, 1, &value) &&
               first_cpu(subject, check, 0x80000001, &value)) {
        unknown(check, "record all leaves",
                "SVM and VMX are not known of all CPUs");
    }
}

static bool leaves_differ(CpuidCpu *a, CpuidCpu *b)
{
    static const uint32_t leaves[] = {
        LEAF_SIZES, LEAF_SVM, LEAF_SEV, LEAF_EXT2
    };
    CpuidLeaf x, y;
    size_t i;

    for (i = 0; i < G_N_ELEMENTS(leaves); i++) {
        bool has_x = cpuid_get(a, leaves[i], &x);
        bool has_y = cpuid_get(b, leaves[i], &y);

        if (has_x != has_y || (has_x && memcmp(&x, &y, sizeof(x)))) {
            return true;
        }
    }
    return cpuid_get(a, 1, &x) != cpuid_get(b, 1, &y) ||
           x.reg[EAX] != y.reg[EAX];
}

/* How many CPUs the kernel has online: "0-3,8", or 0 if that is not known. */
static unsigned int online_cpus(const Subject *subject)
{
    g_autofree char *text =
        host_read(&subject->host, "/sys/devices/system/cpu/online", NULL);
    g_auto(GStrv) ranges = g_strsplit(text ? text : "", ",", 0);
    unsigned int count = 0, i;

    for (i = 0; ranges[i]; i++) {
        unsigned int first, last;

        if (sscanf(ranges[i], "%u-%u", &first, &last) == 2 && first <= last) {
            count += last - first + 1;
        } else if (sscanf(ranges[i], "%u", &first) == 1) {
            count++;
        }
    }
    return count;
}

static void check_same_cpus(const Subject *subject, Check *check)
{
    unsigned int online = online_cpus(subject), i;
    CpuidLeaf value;

    if (!first_cpu(subject, check, 1, &value)) {
        return;
    }
    for (i = 1; i < subject->cpus->len; i++) {
        if (leaves_differ(subject->cpus->pdata[0], subject->cpus->pdata[i])) {
            no(check,
               "load the same microcode on all CPUs, or look at the firmware's settings",
               "CPUID of the CPUs number 0 and %u, as listed, differs", i);
            return;
        }
    }
    if (!online) {
        unknown(check, NULL,
                "CPUID is known of %u CPUs, whether there are more is not",
                subject->cpus->len);
    } else if (online > subject->cpus->len) {
        unknown(check, "let this run on all CPUs, or give it a dump of all",
                "CPUID is known of %u CPUs, %u are online", subject->cpus->len,
                online);
    } else {
        ok(check, "CPUID is known of %u CPUs%s", subject->cpus->len,
           subject->cpus->len > 1 ? ", and the same" : "");
    }
}

static void check_invlpgb(const Subject *subject, Check *check)
{
    Identity cpu;

    if (!identify(subject, check, &cpu)) {
        return;
    }
    if (misreports(&cpu) &&
        all_have(subject, LEAF_SIZES, EBX, BIT_INVLPGB) == OK) {
        no(check, NULL,
           "CPUID 8000_0008.EBX[3] is set, but wrongly: no Zen %u has INVLPGB",
           cpu.zen);
        return;
    }
    judge_bit(subject, check, LEAF_SIZES, EBX, BIT_INVLPGB,
              "INVLPGB and TLBSYNC",
              "use a server part since Zen 3: Milan, Genoa, Bergamo, Storm Peak, Turin, Shimada Peak");
}

static void check_tlbi_ctl(const Subject *subject, Check *check)
{
    judge_bit(subject, check, LEAF_SVM, EDX, BIT_TLBI_CTL,
              "TlbiCtl: enable and intercept INVLPGB and TLBSYNC",
              "no known part has INVLPGB without it; if this is a virtual machine, give it tlbi-ctl");
}

/* Without TlbiCtl, a guest executes what the CPU has. */
static void check_hideable(const Subject *subject, Check *check)
{
    Answer has, controlled = all_have(subject, LEAF_SVM, EDX, BIT_TLBI_CTL);
    Identity cpu;

    if (!identify(subject, check, &cpu)) {
        return;
    }
    has = have_invlpgb(subject, &cpu);
    if (has == NO) {
        ok(check, "what the CPU does not have need not be hidden from guests");
    } else if (controlled == OK) {
        ok(check,
           "TlbiCtl keeps INVLPGB from guests that do not have it in their CPUID");
    } else if (has == UNKNOWN || controlled == UNKNOWN) {
        unknown(check, "record all leaves",
                "INVLPGB and TlbiCtl are not known of all CPUs");
    } else {
        no(check, NULL, "INVLPGB without TlbiCtl: all guests can execute it");
    }
}

static void check_flush_by_asid(const Subject *subject, Check *check)
{
    judge_bit(subject, check, LEAF_SVM, EDX, BIT_FLUSHBYASID, "FlushByAsid",
              "if this is a virtual machine, give it flushbyasid");
}

static void check_nrip_save(const Subject *subject, Check *check)
{
    judge_bit(subject, check, LEAF_SVM, EDX, BIT_NRIPS, "next RIP save",
              "if this is a virtual machine, give it nrip-save");
}

static void check_nested_paging(const Subject *subject, Check *check)
{
    judge_bit(subject, check, LEAF_SVM, EDX, BIT_NPT, "nested paging",
              "if this is a virtual machine, give it npt");
}

static void check_pcid(const Subject *subject, Check *check)
{
    judge_bit(subject, check, 1, ECX, 17, "PCID",
              "if this is a virtual machine, give it pcid");
}

static void check_count(const Subject *subject, Check *check)
{
    unsigned int count;
    CpuidLeaf value;
    Identity cpu;

    if (!identify(subject, check, &cpu) ||
        !first_cpu(subject, check, LEAF_SIZES, &value)) {
        return;
    }
    count = value.reg[EDX] & 0xffff;
    if (have_invlpgb(subject, &cpu) == NO) {
        ok(check, "does not matter without INVLPGB");
    } else if (count == COUNT_FATAL) {
        no(check, "if this is a virtual machine, lower its invlpgb-count-max",
           "CPUID 8000_0008.EDX[15:0] is %u: Linux would loop for ever", count);
    } else {
        ok(check, "CPUID 8000_0008.EDX[15:0] is %u, i.e. %u pages at a time%s",
           count, count + 1,
           count == COUNT_USUAL ? "" : "; all known parts have 7");
    }
}

static void check_nested_translations(const Subject *subject, Check *check)
{
    judge_bit(subject, check, LEAF_SIZES, EBX, BIT_INVLPGB_NESTED,
              "nested translations (KVM offers it to no guest)", NULL);
}

static void check_asids(const Subject *subject, Check *check)
{
    unsigned int asids, guests, sev, left;
    CpuidLeaf svm, sev_leaf;

    if (!first_cpu(subject, check, LEAF_SVM, &svm) ||
        !first_cpu(subject, check, LEAF_SEV, &sev_leaf)) {
        return;
    }
    /* INVLPGB has 16 bits for the ASID; 0 is the host's. */
    asids = MIN(svm.reg[EBX], 0x10000);
    guests = asids ? asids - 1 : 0;
    sev = MIN(sev_leaf.reg[ECX], guests);
    left = guests - sev;
    if (guests <= MIN_DYNAMIC_ASIDS) {
        no(check, "if this is a virtual machine, give it more: svm-nasid",
           "%u ASIDs, and KVM sets none aside of the first %u", asids,
           MIN_DYNAMIC_ASIDS);
    } else if (left <= MIN_DYNAMIC_ASIDS) {
        unknown(check, NULL,
                "%u ASIDs, but SEV guests may have %u of them, if SEV is on",
                asids, sev);
    } else if (sev) {
        ok(check,
           "%u ASIDs, SEV guests may have %u of them (from %u on without SEV-ES), %u are left",
           asids, sev, sev_leaf.reg[EDX], left);
    } else {
        ok(check, "%u ASIDs, none of them for SEV guests", asids);
    }
}

static bool has_word(const char *text, const char *word)
{
    g_auto(GStrv) words = g_strsplit_set(text, " \t\n", 0);

    return g_strv_contains((const char *const *)words, word);
}

/* The value of the first line "NAME : VALUE" of /proc/cpuinfo, or NULL. */
static char *cpuinfo_value(const char *cpuinfo, const char *name)
{
    g_autofree char *pattern = g_strdup_printf("^%s\\s*:\\s*(.*)$", name);
    g_autoptr(GRegex) regex =
        g_regex_new(pattern, G_REGEX_MULTILINE | G_REGEX_RAW, 0, NULL);
    g_autoptr(GMatchInfo) match = NULL;

    g_regex_match(regex, cpuinfo, 0, &match);
    return g_match_info_fetch(match, 1);
}

static char *read_cpuinfo(const Subject *subject, const char *name,
                          GError **error)
{
    g_autofree char *cpuinfo =
        host_read(&subject->host, "/proc/cpuinfo", error);
    char *value;

    if (!cpuinfo) {
        return NULL;
    }
    value = cpuinfo_value(cpuinfo, name);
    if (!value) {
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NOENT,
                    "/proc/cpuinfo: no line \"%s\"", name);
    }
    return value;
}

/* Linux, arch/x86/kernel/cpu/amd.c: X86_BUG_TLBI, "TLBI Erratum #1718". */
static void check_erratum_1718(const Subject *subject, Check *check)
{
    g_autofree char *bugs = read_cpuinfo(subject, "bugs", NULL);
    Answer fixed = all_have(subject, LEAF_EXT2, EAX, BIT_TLBSYNC_SFW_NO);
    Identity cpu;

    if (!identify(subject, check, &cpu)) {
        return;
    }
    if (have_invlpgb(subject, &cpu) == NO) {
        ok(check, "does not matter without INVLPGB");
    } else if (fixed == OK) {
        ok(check,
           "CPUID 8000_0021.EAX[4], TLBSYNC_SFW_NO, is set: the microcode has the fix");
    } else if ((bugs && has_word(bugs, "tlbi")) ||
               (cpu.zen == 5 && fixed == NO)) {
        no(check,
           "update the microcode; which revision has the fix is not public",
           "Zen 5 without CPUID 8000_0021.EAX[4]: every TLBSYNC is needed twice, so that KVM intercepts it in passthrough, too");
    } else if (cpu.zen == 3 || cpu.zen == 4) {
        ok(check, "Linux knows it of Zen 5 only");
    } else {
        unknown(check, NULL, "whether this part has it is not known");
    }
}

static void check_microcode(const Subject *subject, Check *check)
{
    g_autofree char *cpuinfo = NULL, *revision = NULL;
    g_autoptr(GError) error = NULL;
    g_auto(GStrv) lines = NULL;
    unsigned int i;

    cpuinfo = host_read(&subject->host, "/proc/cpuinfo", &error);
    if (!cpuinfo) {
        unread(check, error);
        return;
    }
    revision = cpuinfo_value(cpuinfo, "microcode");
    if (!revision) {
        unknown(check, NULL, "/proc/cpuinfo: no line \"microcode\"");
        return;
    }
    lines = g_strsplit(cpuinfo, "\n", 0);
    for (i = 0; lines[i]; i++) {
        g_autofree char *other = cpuinfo_value(lines[i], "microcode");

        if (other && strcmp(other, revision)) {
            no(check, "load the same microcode on all CPUs",
               "revisions %s and %s on one host", revision, other);
            return;
        }
    }
    if (all_have(subject, LEAF_EXT2, EAX, BIT_TLBSYNC_SFW_NO) == OK) {
        ok(check, "revision %s has the fix of erratum 1718", revision);
    } else {
        unknown(check, NULL,
                "revision %s; no public list says which are good or bad for INVLPGB",
                revision);
    }
}

/*
 * The kernel.
 */

/*
 * The most that KVM gives to guests, as its parameter has it; NULL if there is
 * no such parameter, and "" if that is not known.
 */
static char *kvm_mode(const Subject *subject, GError **error)
{
    g_autoptr(GError) local = NULL;
    char *mode = host_read(&subject->host, PARAMETERS "invlpgb", &local);

    if (mode) {
        return mode;
    }
    if (local->code == G_FILE_ERROR_NOENT &&
        host_exists(&subject->host, "/sys/module/kvm_amd")) {
        return NULL;
    }
    if (local->code == G_FILE_ERROR_NOENT) {
        g_clear_error(&local);
        g_set_error(&local, G_FILE_ERROR, G_FILE_ERROR_NOENT,
                    "kvm_amd is not loaded");
    }
    g_propagate_error(error, g_steal_pointer(&local));
    return g_strdup("");
}

/* If it gives something then the kernel has found all that it needs for it. */
static bool kvm_gives_it(const Subject *subject)
{
    g_autofree char *mode = kvm_mode(subject, NULL);

    return mode && (!strcmp(mode, "intercept") || !strcmp(mode, "passthrough"));
}

static void check_kernel(const Subject *subject, Check *check)
{
    g_autofree char *release = NULL, *mode = NULL;
    g_autoptr(GError) error = NULL;
    unsigned int major, minor;
    const char *age = "";

    release = host_read(&subject->host, "/proc/sys/kernel/osrelease", &error);
    if (!release) {
        unread(check, error);
        return;
    }
    if (sscanf(release, "%u.%u", &major, &minor) == 2 &&
        (major < 6 || (major == 6 && minor < 15))) {
        age = "; Linux before 6.15 does not use INVLPGB itself";
    }
    mode = kvm_mode(subject, &error);
    if (!mode) {
        no(check, "boot a kernel with the patches, see ./run series linux",
           "Linux %s: kvm_amd has no parameter invlpgb%s", release, age);
    } else if (*mode) {
        ok(check, "Linux %s: kvm_amd has the parameter invlpgb%s", release,
           age);
    } else {
        unknown(check,
                error->code == G_FILE_ERROR_NOENT ? "modprobe kvm_amd" : NULL,
                "Linux %s: %s%s", release, error->message, age);
    }
}

static void check_broadcast_flush(const Subject *subject, Check *check)
{
    g_autofree char *value = NULL;
    g_autoptr(GError) error = NULL;

    value = host_kernel_config(&subject->host, "CONFIG_BROADCAST_TLB_FLUSH",
                               &error);
    if (value && !strcmp(value, "y")) {
        ok(check, "CONFIG_BROADCAST_TLB_FLUSH=y");
    } else if (value) {
        no(check,
           "boot a 64-bit kernel with CONFIG_CPU_SUP_AMD=y, 6.15 or later",
           "CONFIG_BROADCAST_TLB_FLUSH is not set");
    } else if (kvm_gives_it(subject)) {
        ok(check, "KVM offers INVLPGB, which takes CONFIG_BROADCAST_TLB_FLUSH");
    } else {
        unread(check, error);
    }
}

static void check_pti(const Subject *subject, Check *check)
{
    g_autofree char *flags = NULL;
    g_autoptr(GError) error = NULL;

    flags = read_cpuinfo(subject, "flags", &error);
    if (!flags) {
        unread(check, error);
    } else if (has_word(flags, "pti")) {
        no(check, "boot without pti=on",
           "page table isolation is on, which turns INVLPGB off");
    } else {
        ok(check, "page table isolation is off");
    }
}

/*
 * Options with which the kernel was told not to use INVLPGB: directly, or by
 * taking PCID away. Linux has no name for the feature, only the number 419;
 * PCID is 145.
 */
static bool option_against(const char *option)
{
    static const char *const features[] = { "419", "pcid", "145", NULL };
    g_auto(GStrv) cleared = NULL;
    unsigned int i;

    if (!strcmp(option, "tlbi=ipi") || !strcmp(option, "nopcid")) {
        return true;
    }
    if (!g_str_has_prefix(option, "clearcpuid=")) {
        return false;
    }
    cleared = g_strsplit(option + strlen("clearcpuid="), ",", 0);
    for (i = 0; features[i]; i++) {
        if (g_strv_contains((const char *const *)cleared, features[i])) {
            return true;
        }
    }
    return false;
}

static void check_command_line(const Subject *subject, Check *check)
{
    g_autofree char *cmdline = NULL;
    g_autoptr(GError) error = NULL;
    g_auto(GStrv) options = NULL;
    unsigned int i;

    cmdline = host_read(&subject->host, "/proc/cmdline", &error);
    if (!cmdline) {
        unread(check, error);
        return;
    }
    options = g_strsplit(cmdline, " ", 0);
    /* What follows is for init. */
    for (i = 0; options[i] && strcmp(options[i], "--"); i++) {
        if (option_against(options[i])) {
            g_autofree char *action =
                g_strdup_printf("boot without %s", options[i]);

            no(check, action, "the kernel was booted with %s", options[i]);
            return;
        }
    }
    ok(check, "the kernel was booted with nothing that turns INVLPGB off");
}

/*
 * KVM.
 */

static void check_kvm(const Subject *subject, Check *check)
{
    static const char *const action =
        "load kvm_amd, and look for SVM in the firmware's settings";
    g_autoptr(GError) error = NULL;
    KvmOffer offer;

    if (!subject->host.root) {
        unknown(check, NULL, "only CPUID is known of this machine");
    } else if (!host_exists(&subject->host, "/dev/kvm")) {
        no(check, action, "there is no /dev/kvm");
    } else if (!subject->host.live || kvm_ask(&subject->host, &offer, &error)) {
        ok(check, "there is /dev/kvm");
    } else if (error->code == G_FILE_ERROR_ACCES) {
        ok(check, "there is /dev/kvm, but not for this user");
    } else {
        no(check, action, "%s", error->message);
    }
}

static void check_kvm_intercept(const Subject *subject, Check *check)
{
    static const char *const action =
        "load kvm_amd with invlpgb=intercept or passthrough; if it was, "
        "the kernel's log says what is missing";
    g_autofree char *mode = NULL;
    g_autoptr(GError) error = NULL, unasked = NULL;
    KvmOffer offer;
    bool asked = kvm_ask(&subject->host, &offer, &unasked);

    mode = kvm_mode(subject, &error);
    if (asked && offer.supported) {
        ok(check, "KVM offers INVLPGB to guests");
    } else if (!mode) {
        no(check, "boot a kernel with the patches",
           "kvm_amd has no parameter invlpgb");
    } else if (*mode && !asked && strcmp(mode, "off")) {
        ok(check, "kvm_amd has invlpgb=%s; not asked: %s", mode,
           unasked->message);
    } else if (*mode) {
        no(check, action, "kvm_amd has invlpgb=%s%s", mode,
           asked ? ", and KVM does not offer INVLPGB to guests" : "");
    } else if (asked) {
        no(check, action, "KVM does not offer INVLPGB to guests");
    } else {
        unread(check, error);
    }
}

static void check_kvm_passthrough(const Subject *subject, Check *check)
{
    g_autofree char *mode = NULL, *blocked = NULL;
    g_autoptr(GError) error = NULL, unseen = NULL;
    KvmOffer offer;
    bool asked = kvm_ask(&subject->host, &offer, NULL);

    mode = kvm_mode(subject, &error);
    blocked = host_read(&subject->host, KVM_AMD "invlpgb_blocked", &unseen);
    if (asked && offer.native) {
        ok(check, "KVM lets VMs disable the exits of INVLPGB");
    } else if (!mode) {
        no(check, "boot a kernel with the patches",
           "kvm_amd has no parameter invlpgb");
    } else if (!*mode) {
        if (asked) {
            no(check, NULL,
               "KVM does not let VMs disable the exits of INVLPGB");
        } else {
            unread(check, error);
        }
    } else if (strcmp(mode, "passthrough")) {
        no(check,
           "load kvm_amd with invlpgb=passthrough; if it was, the kernel's log says what is missing",
           "kvm_amd has invlpgb=%s", mode);
    } else if (asked || (blocked && strcmp(blocked, "0"))) {
        no(check, "write 0 to " KVM_AMD "invlpgb_blocked",
           "root has blocked it for new VMs");
    } else if (blocked) {
        ok(check, "kvm_amd has invlpgb=passthrough, and nobody has blocked it");
    } else {
        unread(check, unseen);
    }
}

static void check_kvm_emulate(const Subject *subject, Check *check)
{
    g_autofree char *mode = kvm_mode(subject, NULL);
    g_autoptr(GError) error = NULL;
    KvmOffer offer;

    if (kvm_ask(&subject->host, &offer, &error)) {
        if (offer.emulated) {
            ok(check, "KVM_GET_EMULATED_CPUID has INVLPGB");
        } else {
            no(check, "boot a kernel whose KVM can emulate INVLPGB",
               "KVM_GET_EMULATED_CPUID does not have INVLPGB");
        }
    } else if (!mode) {
        no(check, "boot a kernel with the patches",
           "kvm_amd has no parameter invlpgb");
    } else {
        unread(check, error);
    }
}

static void check_npt(const Subject *subject, Check *check)
{
    g_autofree char *npt = NULL;
    g_autoptr(GError) error = NULL;

    npt = host_read(&subject->host, PARAMETERS "npt", &error);
    if (!npt) {
        unread(check, error);
    } else if (!strcmp(npt, "Y") || !strcmp(npt, "1")) {
        ok(check, "kvm_amd uses nested paging");
    } else {
        no(check, "load kvm_amd without npt=0", "kvm_amd has npt=%s", npt);
    }
}

static void check_nested(const Subject *subject, Check *check)
{
    g_autofree char *nested = NULL;
    g_autoptr(GError) error = NULL;

    nested = host_read(&subject->host, PARAMETERS "nested", &error);
    if (!nested) {
        unread(check, error);
    } else if (!strcmp(nested, "Y") || !strcmp(nested, "1")) {
        ok(check,
           "guests can have SVM; those that do are intercepted, so use svm=off for passthrough");
    } else {
        ok(check, "guests cannot have SVM");
    }
}

/* How many VMs have a VM-wide ASID. */
static bool asids_in_use(const Subject *subject, guint64 *used, GError **error)
{
    g_autofree char *vms =
        host_read(&subject->host, KVM_AMD "invlpgb_vms", NULL);
    g_auto(GStrv) lines = NULL;

    if (vms) {
        lines = g_strsplit(vms, "\n", 0);
        *used = *vms ? g_strv_length(lines) : 0;
        return true;
    }
    return host_read_named(&subject->host, CGROUP "/misc.current", RESOURCE,
                           used, error);
}

static void check_pool(const Subject *subject, Check *check)
{
    g_autofree char *text = NULL;
    g_autoptr(GError) error = NULL;
    guint64 size, used;

    text = host_read(&subject->host, PARAMETERS "vm_asids", &error);
    if (!text) {
        unread(check, error);
    } else if (!g_ascii_string_to_unsigned(text, 10, 0, G_MAXUINT, &size,
                                           &error)) {
        unknown(check, NULL, PARAMETERS "vm_asids: %s", error->message);
    } else if (!size) {
        no(check, "load kvm_amd with invlpgb=passthrough and vm_asids=auto",
           "KVM has set no VM-wide ASIDs aside");
    } else if (!asids_in_use(subject, &used, &error)) {
        unknown(check, "run this as root",
                "%" G_GUINT64_FORMAT
                " VM-wide ASIDs; how many are in use was not seen: %s",
                size, error->message);
    } else if (used >= size) {
        no(check,
           "stop VMs that have passthrough, or load kvm_amd with more vm_asids",
           "all of %" G_GUINT64_FORMAT " VM-wide ASIDs are in use", size);
    } else {
        ok(check,
           "%" G_GUINT64_FORMAT " VM-wide ASIDs, %" G_GUINT64_FORMAT " in use",
           size, used);
    }
}

/* The cgroup of this process. */
static char *own_cgroup(const Subject *subject, GError **error)
{
    g_autofree char *text =
        host_read(&subject->host, "/proc/self/cgroup", error);
    g_auto(GStrv) lines = NULL;
    char **line;

    if (!text) {
        return NULL;
    }
    lines = g_strsplit(text, "\n", 0);
    for (line = lines; *line; line++) {
        if (g_str_has_prefix(*line, "0::/")) {
            return g_strdup(*line + strlen("0::"));
        }
    }
    g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_FAILED,
                "/proc/self/cgroup: no line \"0::\", cgroup v2 is not in use");
    return NULL;
}

/*
 * How many more VM-wide ASIDs the quota of one cgroup allows. Return false, and
 * what is wrong in the check, if that is none or not known.
 */
static bool judge_quota(const Subject *subject, Check *check, const char *group,
                        guint64 *left)
{
    g_autofree char *max = g_build_filename(CGROUP, group, "misc.max", NULL);
    g_autofree char *current =
        g_build_filename(CGROUP, group, "misc.current", NULL);
    g_autofree char *action = NULL;
    g_autoptr(GError) error = NULL;
    guint64 limit, used;

    *left = G_MAXUINT64;
    if (!host_read_named(&subject->host, max, RESOURCE, &limit, &error)) {
        if (g_error_matches(error, G_FILE_ERROR, G_FILE_ERROR_NOENT)) {
            return true;
        }
        unread(check, error);
        return false;
    }
    if (limit == G_MAXUINT64) {
        return true;
    }
    if (!host_read_named(&subject->host, current, RESOURCE, &used, &error)) {
        unread(check, error);
        return false;
    }
    if (used >= limit) {
        action = g_strdup_printf("raise %s in %s", RESOURCE, max);
        no(check, action,
           "the quota of cgroup %s, %" G_GUINT64_FORMAT ", is used up", group,
           limit);
        return false;
    }
    *left = limit - used;
    return true;
}

/* The quotas that count for a VM that is started like this program. */
static void check_quota(const Subject *subject, Check *check)
{
    guint64 left, least = G_MAXUINT64;
    g_autofree char *group = NULL;
    g_autoptr(GError) error = NULL;
    bool top;

    group = own_cgroup(subject, &error);
    if (!group) {
        unread(check, error);
        return;
    }
    do {
        g_autofree char *child = g_steal_pointer(&group);

        if (!judge_quota(subject, check, child, &left)) {
            return;
        }
        least = MIN(least, left);
        top = !strcmp(child, "/");
        group = g_path_get_dirname(child);
    } while (!top);

    /* The file is in no real root. */
    if (host_exists(&subject->host, CGROUP "/misc.max")) {
        unknown(check, "run this outside of the container",
                "quotas above this container's cgroup cannot be seen");
    } else if (least == G_MAXUINT64) {
        ok(check, "nothing limits this cgroup");
    } else {
        ok(check, "%" G_GUINT64_FORMAT " more VM-wide ASIDs for this cgroup",
           least);
    }
}

/*
 * What runs the VMs.
 */

static void check_qemu(const Subject *subject, Check *check)
{
    static const char *const options[] = { "-cpu", "help", NULL };
    g_autofree char *path = host_find_qemu(&subject->host), *help = NULL;
    g_autoptr(GError) error = NULL;

    help = host_ask_qemu(&subject->host, options, &error);
    if (!help) {
        unknown(check, path ? NULL : "name it with --qemu", "%s",
                error->message);
    } else if (has_word(help, "invlpgb")) {
        ok(check, "%s knows the CPU feature invlpgb", path);
    } else {
        no(check, "use a QEMU with the patches, see ./run series qemu",
           "%s does not know the CPU feature invlpgb", path);
    }
}

/* Does "-accel kvm,tlb-broadcast=A|B|C" have a mode? */
static void judge_qemu_mode(const Subject *subject, Check *check,
                            const char *mode)
{
    static const char *const options[] = { "-h", NULL };
    g_autofree char *path = host_find_qemu(&subject->host), *help = NULL;
    g_autoptr(GError) error = NULL;
    g_autoptr(GRegex) regex =
        g_regex_new("tlb-broadcast=([a-z|]+)", G_REGEX_RAW, 0, NULL);
    g_autoptr(GMatchInfo) match = NULL;
    g_autofree char *values = NULL;
    g_auto(GStrv) modes = NULL;

    help = host_ask_qemu(&subject->host, options, &error);
    if (!help) {
        unknown(check, path ? NULL : "name it with --qemu", "%s",
                error->message);
        return;
    }
    g_regex_match(regex, help, 0, &match);
    values = g_match_info_fetch(match, 1);
    modes = g_strsplit(values ? values : "", "|", 0);
    if (g_strv_contains((const char *const *)modes, mode)) {
        ok(check, "%s has -accel kvm,tlb-broadcast=%s", path, mode);
    } else {
        no(check, "use a QEMU with the patches, see ./run series qemu",
           "%s does not have -accel kvm,tlb-broadcast=%s", path, mode);
    }
}

static void check_qemu_emulate(const Subject *subject, Check *check)
{
    judge_qemu_mode(subject, check, "emulate");
}

static void check_qemu_passthrough(const Subject *subject, Check *check)
{
    judge_qemu_mode(subject, check, "passthrough");
}

static void check_libvirt(const Subject *subject, Check *check)
{
    static const char *const map =
        "/usr/share/libvirt/cpu_map/x86_features.xml";
    g_autofree char *features = NULL;
    g_autoptr(GError) error = NULL;

    features = host_read(&subject->host, map, &error);
    if (!features) {
        unread(check, error);
    } else if (strstr(features, "<feature name='invlpgb'") ||
               strstr(features, "<feature name=\"invlpgb\"")) {
        ok(check, "libvirt knows the CPU feature invlpgb");
    } else {
        no(check,
           "use a libvirt with the patches, or start QEMU without libvirt",
           "%s does not have invlpgb", map);
    }
}

/*
 * Running VMs.
 */

static guint64 vm_statistic(const Subject *subject, const char *vm,
                            const char *name)
{
    g_autofree char *path =
        g_strdup_printf("/sys/kernel/debug/kvm/%s/%s", vm, name);
    g_autofree char *text = host_read(&subject->host, path, NULL);

    return text ? g_ascii_strtoull(text, NULL, 10) : 0;
}

static Vm *look_at_vm(const Subject *subject, const char *name)
{
    guint64 asid = vm_statistic(subject, name, "vm_asid");
    guint64 demotions = vm_statistic(subject, name, "invlpgb_demotions");
    guint64 exits = vm_statistic(subject, name, "invlpgb_exits") +
                    vm_statistic(subject, name, "tlbsync_exits");
    static const char *const also_exits =
        "; it also had exits: of a vCPU with svm or with another count, or "
        "for erratum 1718";
    Vm *vm = g_new0(Vm, 1);

    vm->name = g_strdup(name);
    if (demotions) {
        vm->mode = mode_names[INTERCEPT];
        vm->why = g_strdup_printf(
            "demoted from passthrough, ASID %" G_GUINT64_FORMAT, asid);
    } else if (asid) {
        vm->mode = mode_names[PASSTHROUGH];
        vm->why = g_strdup_printf(
            "ASID %" G_GUINT64_FORMAT "%s", asid, exits ? also_exits : "");
    } else if (exits) {
        vm->mode = mode_names[INTERCEPT];
        vm->why = g_strdup_printf("%" G_GUINT64_FORMAT " exits", exits);
    } else {
        vm->why = g_strdup("has not used INVLPGB so far");
    }
    return vm;
}

static void vm_free(Vm *vm)
{
    g_free(vm->name);
    g_free(vm->why);
    g_free(vm);
}

static void look_at_vms(const Subject *subject, Report *report)
{
    g_autoptr(GError) error = NULL;
    g_auto(GStrv) names =
        host_list(&subject->host, "/sys/kernel/debug/kvm", &error);
    char **name;

    if (!names) {
        report->vms_unknown = g_strdup(error->message);
        return;
    }
    report->vms = g_ptr_array_new_with_free_func((GDestroyNotify)vm_free);
    for (name = names; *name; name++) {
        /* PROCESS-FILE */
        if (g_ascii_isdigit(**name)) {
            g_ptr_array_add(report->vms, look_at_vm(subject, *name));
        }
    }
}

#define WITH_CPU (1 << INTERCEPT | 1 << PASSTHROUGH)
#define ALL      (1 << OFF | 1 << EMULATE | WITH_CPU)

static const struct {
    const char *name;
    unsigned int needed_by;
    void (*judge)(const Subject *subject, Check *check);
} checks[] = {
    { "cpu", 0, check_cpu },
    { "same-cpus", WITH_CPU, check_same_cpus },
    { "virtualization", WITH_CPU, check_virtualization },
    { "invlpgb", WITH_CPU, check_invlpgb },
    { "tlbi-ctl", WITH_CPU, check_tlbi_ctl },
    { "hideable", 1 << OFF, check_hideable },
    { "count", WITH_CPU, check_count },
    { "flush-by-asid", WITH_CPU, check_flush_by_asid },
    { "nrip-save", WITH_CPU, check_nrip_save },
    { "pcid", WITH_CPU, check_pcid },
    { "nested-paging", 1 << PASSTHROUGH, check_nested_paging },
    { "asids", 1 << PASSTHROUGH, check_asids },
    { "nested-translations", 0, check_nested_translations },
    { "erratum-1718", 0, check_erratum_1718 },
    { "microcode", 0, check_microcode },
    { "kernel", WITH_CPU, check_kernel },
    { "broadcast-flush", WITH_CPU, check_broadcast_flush },
    { "pti", WITH_CPU, check_pti },
    { "command-line", WITH_CPU, check_command_line },
    { "kvm", ALL, check_kvm },
    { "kvm-emulate", 1 << EMULATE, check_kvm_emulate },
    { "kvm-intercept", WITH_CPU, check_kvm_intercept },
    { "kvm-passthrough", 1 << PASSTHROUGH, check_kvm_passthrough },
    { "npt", 1 << PASSTHROUGH, check_npt },
    { "nested", 0, check_nested },
    { "pool", 1 << PASSTHROUGH, check_pool },
    { "quota", 1 << PASSTHROUGH, check_quota },
    { "qemu", 1 << EMULATE | WITH_CPU, check_qemu },
    { "qemu-emulate", 1 << EMULATE, check_qemu_emulate },
    { "qemu-passthrough", 1 << PASSTHROUGH, check_qemu_passthrough },
    { "libvirt", 0, check_libvirt },
};

static void check_free(Check *check)
{
    g_free(check->why);
    g_free(check->action);
    g_free(check);
}

/* The worst of all checks that a mode needs, and which these are. */
static void judge_mode(Report *report, Mode mode)
{
    g_autoptr(GString) why = g_string_new(NULL);
    Answer verdict = OK;
    unsigned int i;

    for (i = 0; i < report->checks->len; i++) {
        const Check *check = g_ptr_array_index(report->checks, i);

        if (!(check->needed_by & 1 << mode) || check->answer > verdict ||
            check->answer == OK) {
            continue;
        }
        if (check->answer < verdict) {
            g_string_truncate(why, 0);
            verdict = check->answer;
        }
        g_string_append_printf(why, "%s%s", why->len ? ", " : "", check->name);
    }
    report->verdict[mode] = verdict;
    report->verdict_why[mode] = g_string_free(g_steal_pointer(&why), FALSE);
}

Report *report_new(const Subject *subject)
{
    Report *report = g_new0(Report, 1);
    size_t i;

    report->checks = g_ptr_array_new_with_free_func((GDestroyNotify)check_free);
    for (i = 0; i < G_N_ELEMENTS(checks); i++) {
        Check *check = g_new0(Check, 1);

        check->name = checks[i].name;
        check->needed_by = checks[i].needed_by;
        checks[i].judge(subject, check);
        g_assert(check->why);
        g_ptr_array_add(report->checks, check);
    }
    for (i = 0; i < MODES; i++) {
        judge_mode(report, i);
    }
    look_at_vms(subject, report);
    return report;
}

void report_free(Report *report)
{
    size_t i;

    g_ptr_array_unref(report->checks);
    for (i = 0; i < MODES; i++) {
        g_free(report->verdict_why[i]);
    }
    g_clear_pointer(&report->vms, g_ptr_array_unref);
    g_free(report->vms_unknown);
    g_free(report);
}

Answer report_summary(const Report *report)
{
    return MAX(report->verdict[EMULATE],
               MAX(report->verdict[INTERCEPT], report->verdict[PASSTHROUGH]));
}
