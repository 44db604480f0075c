# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2154
#
# Functions that configure the lab's QEMU. Sourced after lab/build.sh.

# Debian's source archive lacks edk2's images, but configure wants to unpack them when it
# finds bzip2: give it a PATH without.
hide_bzip2() {
	local dir=$1 from
	rm -rf "$dir"
	mkdir "$dir"
	for from in /usr/bin/*; do
		[[ $from == */bzip2 ]] || ln -s "$from" "$dir"
	done
	PATH=$dir
}

# The list of devices for a tree: the base does not know those of the series.
qemu_devices() {
	if [[ -e $1/hw/misc/tlb-probe.c ]]; then
		echo series
	else
		echo devices
	fi
}

# qemu_configure SOURCE DIR LOG: go to the build directory DIR and configure it, once.
qemu_configure() {
	local source=$1 dir=$2 log=$3 devices
	cd "$dir" || return
	if [[ ! -e $source/pc-bios/edk2-x86_64-code.fd.bz2 ]]; then
		hide_bzip2 "$dir/path"
	fi
	[[ ! -e build.ninja ]] || return 0
	# configure takes a name below the source tree's configs/devices.
	devices=$(realpath --relative-to="$source/configs/devices/x86_64-softmmu" \
		"$lab/qemu/$(qemu_devices "$source")")
	logged "$log" "configuring QEMU" "$source/configure" \
		--python=/usr/bin/python3 \
		--cc="ccache gcc" \
		--target-list=x86_64-softmmu \
		--without-default-features \
		--without-default-devices \
		--with-devices-x86_64="$devices" \
		--enable-system \
		--enable-tcg \
		--enable-kvm \
		--disable-fdt \
		--disable-docs \
		--disable-install-blobs \
		--disable-download \
		--disable-debug-info
}
