# SPDX-License-Identifier: GPL-2.0-or-later
#
# Devices of the lab's QEMU; everything else is left out to keep the build
# short.  Symbols that one of these selects need no line here.

# The machine of L1 and L2, and the one most x86 qtests start.
CONFIG_Q35=y
CONFIG_I440FX=y

# Guests report a status through isa-debug-exit and text through isa-debugcon.
CONFIG_ISA_DEBUG=y

# What the base's own qtests plug in.
CONFIG_FDC_ISA=y
CONFIG_HPET=y
CONFIG_PARALLEL=y
CONFIG_PVPANIC_ISA=y
CONFIG_VGA_PCI=y
