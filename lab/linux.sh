# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2154
#
# Functions that configure and make the lab's kernel. LINUX_CONFIG, words, adds fragments of
# lab/linux/configs. Sourced after lab/build.sh; the caller sets source, and obj to the
# directory to build in.

fragments=("$lab"/linux/*.config)
for word in ${LINUX_CONFIG:-}; do
	fragments+=("$lab/linux/configs/$word.config")
	[[ -e ${fragments[-1]} ]] || die "LINUX_CONFIG has '$word': there is no ${fragments[-1]}"
done

# The same source makes the same kernel, and ccache sees it.
export KBUILD_BUILD_TIMESTAMP='1970-01-01 00:00:00 UTC'
export KBUILD_BUILD_USER=lab KBUILD_BUILD_HOST=lab

kernel_make() {
	make -C "$source" O="$obj" CC="ccache gcc" HOSTCC="ccache gcc" -j"$(nproc)" "$@"
}

# Kconfig drops what it does not know or cannot have without a word. Of an option that
# several fragments have, the last line counts.
check_fragments() {
	local line symbol
	while read -r line; do
		case $line in
		CONFIG_*=*)
			grep -qxF "$line" "$obj/.config" ||
				die "the kernel configuration lost $line"
			;;
		"# CONFIG_"*" is not set")
			symbol=${line#"# "}
			symbol=${symbol%" is not set"}
			! grep -q "^$symbol=" "$obj/.config" ||
				die "the kernel configuration has $symbol, which should be off"
			;;
		esac
	done < <(cat "${fragments[@]}" | tac |
		awk '{ symbol = $1 == "#" ? $2 : $1; sub(/=.*/, "", symbol) } !seen[symbol]++')
}

configure() {
	kernel_make -s tinyconfig
	cat "${fragments[@]}" >>"$obj/.config"
	kernel_make -s olddefconfig
}
