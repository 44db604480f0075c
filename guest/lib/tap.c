/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "console.h"
#include "tap.h"
#include "watchdog.h"

static unsigned points, failures;
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

bool report(bool ok, const char *format, ...)
{
    va_list args;

    progress();
    failures += !ok;
    print("%sok %u - ", ok ? "" : "not ", ++points);
    va_start(args, format);
    print_list(format, args);
    va_end(args);
    print("\n");
    return ok;
}

void skip(const char *reason, const char *format, ...)
{
    va_list args;

    progress();
    print("ok %u - ", ++points);
    va_start(args, format);
    print_list(format, args);
    va_end(args);
    print(" # SKIP %s\n", reason);
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
