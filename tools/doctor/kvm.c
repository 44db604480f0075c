// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What KVM offers, by its own word.
 */
#include <asm/kvm_tlb_broadcast.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "kvm.h"

#define MAX_ENTRIES   1024
#define CPUID_INVLPGB (1 << 3)

/* Does a list of CPUID leaves that KVM can give to guests have the bit? */
static bool lists_invlpgb(int kvm, unsigned long request, bool *found,
                          GError **error)
{
    g_autofree struct kvm_cpuid2 *list =
        g_malloc0(sizeof(*list) + MAX_ENTRIES * sizeof(list->entries[0]));
    unsigned int i;

    list->nent = MAX_ENTRIES;
    if (ioctl(kvm, request, list)) {
        int code = errno;

        g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(code),
                    "/dev/kvm: KVM_GET_%s_CPUID: %s",
                    request == KVM_GET_SUPPORTED_CPUID ?
                    "SUPPORTED" : "EMULATED",
                    g_strerror(code));
        return false;
    }
    for (i = 0; i < list->nent; i++) {
        if (list->entries[i].function == 0x80000008) {
            *found = list->entries[i].ebx & CPUID_INVLPGB;
        }
    }
    return true;
}

static bool ask(int kvm, KvmOffer *offer, GError **error)
{
    int disable;

    if (ioctl(kvm, KVM_GET_API_VERSION, 0) != KVM_API_VERSION) {
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_FAILED,
                    "/dev/kvm: not the API of KVM, version %d",
                    KVM_API_VERSION);
        return false;
    }
    if (!lists_invlpgb(kvm, KVM_GET_SUPPORTED_CPUID, &offer->supported,
                       error)) {
        return false;
    }
    if (ioctl(kvm, KVM_CHECK_EXTENSION, KVM_CAP_EXT_EMUL_CPUID) > 0 &&
        !lists_invlpgb(kvm, KVM_GET_EMULATED_CPUID, &offer->emulated, error)) {
        return false;
    }
    disable = ioctl(kvm, KVM_CHECK_EXTENSION, KVM_CAP_X86_DISABLE_EXITS);
    offer->native = disable > 0 && disable & KVM_X86_DISABLE_EXITS_INVLPGB;
    return true;
}

bool kvm_ask(const Host *host, KvmOffer *offer, GError **error)
{
    bool right;
    int kvm;

    *offer = (KvmOffer){};
    if (!host->live) {
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_FAILED,
                    "KVM of another machine cannot be asked");
        return false;
    }
    kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);
    if (kvm < 0) {
        int code = errno;

        g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(code),
                    "/dev/kvm: %s", g_strerror(code));
        return false;
    }
    right = ask(kvm, offer, error);
    close(kvm);
    return right;
}
