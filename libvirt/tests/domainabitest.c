/*
 * domainabitest.c: what must be the same in two definitions of a guest
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include "testutils.h"
#include "conf/domain_conf.h"

#define VIR_FROM_THIS VIR_FROM_NONE

struct testInfo {
    const char *src;
    const char *dst;
    bool stable;
    virDomainXMLOption *xmlopt;
};


static virDomainDef *
testParse(const struct testInfo *info,
          const char *kvm)
{
    g_autofree char *xml = g_strdup_printf("<domain type='qemu'>"
                                           "  <name>guest</name>"
                                           "  <uuid>c7a5fdbd-edaf-9455-926a-d65c16db1809</uuid>"
                                           "  <memory>219136</memory>"
                                           "  <os><type arch='x86_64' machine='pc'>hvm</type></os>"
                                           "  <features><kvm>%s</kvm></features>"
                                           "</domain>", kvm);

    return virDomainDefParseString(xml, info->xmlopt, NULL, 0);
}


static int
testCheckABI(const void *opaque)
{
    const struct testInfo *info = opaque;
    g_autoptr(virDomainDef) src = testParse(info, info->src);
    g_autoptr(virDomainDef) dst = testParse(info, info->dst);
    bool stable;

    if (!src || !dst)
        return -1;

    stable = virDomainDefCheckABIStability(src, dst, info->xmlopt);
    virResetLastError();

    return stable == info->stable ? 0 : -1;
}


static int
mymain(void)
{
    g_autoptr(virDomainXMLOption) xmlopt = virTestGenericDomainXMLConfInit();
    int ret = 0;

#define DO_TEST(_src, _dst, _stable) \
    do { \
        struct testInfo info = { _src, _dst, _stable, xmlopt }; \
        if (virTestRun(_src " -> " _dst, testCheckABI, &info) < 0) \
            ret = -1; \
    } while (0)

#define PASSTHROUGH "<tlb-broadcast state='on' mode='passthrough'/>"
#define INTERCEPT "<tlb-broadcast state='on' mode='intercept'/>"
#define DEFAULT "<tlb-broadcast state='on'/>"
#define OFF "<tlb-broadcast state='off'/>"

    DO_TEST("", "", true);
    DO_TEST(PASSTHROUGH, PASSTHROUGH, true);
    DO_TEST(PASSTHROUGH, INTERCEPT, false);
    DO_TEST(INTERCEPT, DEFAULT, false);
    DO_TEST(DEFAULT, OFF, false);
    DO_TEST(OFF, "", false);

    return ret == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

VIR_TEST_MAIN(mymain)
