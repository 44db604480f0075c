/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "console.h"
#include "tap.h"
#include "watchdog.h"

static unsigned points, failures;
static bool judge_open;
static const char *group = "none";

void group_begin(const char *name)
{
    group = name;
    note("group %s", name);
}

const char *tap_group(void)
{
    return group;
}

unsigned tap_points(void)
{
    return points;
}

static bool point(bool ok, const char *directive, const char *reason,
                  const char *format, va_list args)
{
    progress();
    print("%sok %u - ", ok ? "" : "not ", ++points);
    print_list(format, args);
    if (directive) {
        print(" # %s %s", directive, reason);
    }
    print("\n");
    return ok;
}

bool report(bool ok, const char *format, ...)
{
    va_list args;

    failures += !ok;
    va_start(args, format);
    point(ok, NULL, NULL, format, args);
    va_end(args);
    return ok;
}

bool report_open(bool ok, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    if (judge_open) {
        failures += !ok;
        point(ok, NULL, NULL, format, args);
    } else {
        point(ok, "TODO", "open in spec.md", format, args);
    }
    va_end(args);
    return ok;
}

void tap_judge_open(void)
{
    judge_open = true;
}

bool record(const char *reason, bool ok, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    point(ok, "TODO", reason, format, args);
    va_end(args);
    return ok;
}

void skip(const char *reason, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    point(true, "SKIP", reason, format, args);
    va_end(args);
}

void note(const char *format, ...)
{
    va_list args;

    print("# ");
    va_start(args, format);
    print_list(format, args);
    va_end(args);
    print("\n");
}

bool tap_finish(void)
{
    print("1..%u\n", points);
    return !failures;
}
