// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reports for people, as a table, and for programs, as JSON.
 */
#include <stdio.h>

#include "report.h"

void report_print_table(const Report *report)
{
    unsigned int i;

    printf("%-20s %-8s %s\n", "check", "answer", "why, and what to do");
    for (i = 0; i < report->checks->len; i++) {
        const Check *check = g_ptr_array_index(report->checks, i);

        printf("%-20s %-8s %s\n", check->name, answer_names[check->answer],
               check->why);
        if (check->action) {
            printf("%-20s %-8s -> %s\n", "", "", check->action);
        }
    }

    printf("\n%-20s %-8s %s\n", "mode", "verdict", "decided by");
    for (i = 0; i < MODES; i++) {
        printf("%-20s %-8s %s\n", mode_names[i],
               answer_names[report->verdict[i]], report->verdict_why[i]);
    }

    if (!report->vms) {
        printf("\nrunning VMs were not seen: %s\n", report->vms_unknown);
        return;
    }
    printf("\n%-20s %-12s %s\n", "running VM", "mode", "why");
    for (i = 0; i < report->vms->len; i++) {
        const Vm *vm = g_ptr_array_index(report->vms, i);

        printf("%-20s %-12s %s\n", vm->name, vm->mode ? vm->mode : "unknown",
               vm->why);
    }
    if (!report->vms->len) {
        printf("none\n");
    }
}

static void print_string(const char *text)
{
    /* Files and programs may say anything. */
    g_autofree char *valid = text ? g_utf8_make_valid(text, -1) : NULL;
    const char *at;

    if (!valid) {
        fputs("null", stdout);
        return;
    }
    putchar('"');
    for (at = valid; *at; at++) {
        if (*at == '"' || *at == '\\') {
            printf("\\%c", *at);
        } else if ((unsigned char)*at < ' ') {
            printf("\\u%04x", *at);
        } else {
            putchar(*at);
        }
    }
    putchar('"');
}

/* A member of an object, in front of it a comma unless it is the first. */
static void print_name(bool first, const char *name)
{
    fputs(first ? "" : ", ", stdout);
    print_string(name);
    fputs(": ", stdout);
}

static void print_member(bool first, const char *name, const char *text)
{
    print_name(first, name);
    print_string(text);
}

static void print_cpuid(const Subject *subject)
{
    CpuidLeaf value;
    bool first = true;
    size_t i;

    for (i = 0; subject->cpus && i < cpuid_nr_leaves; i++) {
        g_autofree char *name = g_strdup_printf("%08x", cpuid_leaves[i]);

        if (!cpuid_get(g_ptr_array_index(subject->cpus, 0), cpuid_leaves[i],
                       &value)) {
            continue;
        }
        print_name(first, name);
        printf("[\"%08x\", \"%08x\", \"%08x\", \"%08x\"]", value.reg[EAX],
               value.reg[EBX], value.reg[ECX], value.reg[EDX]);
        first = false;
    }
}

static void print_check(const Check *check)
{
    bool first = true;
    Mode mode;

    print_member(true, "name", check->name);
    print_member(false, "answer", answer_names[check->answer]);
    print_member(false, "why", check->why);
    print_member(false, "action", check->action);
    print_name(false, "needed_by");
    putchar('[');
    for (mode = 0; mode < MODES; mode++) {
        if (check->needed_by & 1 << mode) {
            fputs(first ? "" : ", ", stdout);
            print_string(mode_names[mode]);
            first = false;
        }
    }
    putchar(']');
}

void report_print_json(const Report *report, const Subject *subject)
{
    unsigned int i;

    printf("{\n \"version\": 1,\n \"cpus\": %u,\n \"cpuid\": {",
           subject->cpus ? subject->cpus->len : 0);
    print_cpuid(subject);
    printf("},\n \"checks\": [");
    for (i = 0; i < report->checks->len; i++) {
        printf("%s\n  {", i ? "," : "");
        print_check(g_ptr_array_index(report->checks, i));
        putchar('}');
    }
    printf("\n ],\n \"verdicts\": {");
    for (i = 0; i < MODES; i++) {
        printf("%s\n  ", i ? "," : "");
        print_string(mode_names[i]);
        fputs(": {", stdout);
        print_member(true, "answer", answer_names[report->verdict[i]]);
        print_member(false, "decided_by", report->verdict_why[i]);
        putchar('}');
    }
    printf("\n },\n \"vms\": ");
    if (report->vms) {
        putchar('[');
        for (i = 0; i < report->vms->len; i++) {
            const Vm *vm = g_ptr_array_index(report->vms, i);

            printf("%s\n  {", i ? "," : "");
            print_member(true, "name", vm->name);
            print_member(false, "mode", vm->mode);
            print_member(false, "why", vm->why);
            putchar('}');
        }
        printf("]");
    } else {
        printf("null");
    }
    printf("\n}\n");
}
