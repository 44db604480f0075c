# SPDX-License-Identifier: GPL-2.0-or-later
#
# The devices of the lab's QEMU, and those that the base does not know.

include devices.mak
CONFIG_TLB_PROBE=y
