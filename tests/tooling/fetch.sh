# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2154
#
# fetch-base, with apt on an archive on disk: which version is taken, and what is refused.

# The base that fetch-base takes, "toy 1.0+ds".
base_taken() {
	local tip repo
	read -r tip repo < <("$scripts/fetch-base" "$@" toy)
	git -C "$repo" log -1 --format=%s base | sed 's/^base: //'
}

test_fetch_takes_the_newest_version_to_which_all_hooks_apply() {
	toy
	rm -rf cache
	publish 1.0 1.1 1.2
	same "$(base_taken)" 'toy 1.1+ds'
	same "$("$scripts/fetch-base" toy 2>&1 >/dev/null | sed -n 's/^passing over \([^-]*-[^-]*\).*/\1/p')" 'toy-1.2+ds'
}

test_fetch_passes_over_a_version_whose_archive_the_mirror_lacks() {
	toy
	rm -rf cache
	publish 1.0 1.1
	rm debian/pool/toy_1.1+ds.orig.tar.xz
	same "$(base_taken 2>log)" 'toy 1.0+ds'
	grep -q '^fetch-base: error: cannot download toy_1.1+ds.orig.tar.xz: E: ' log
	grep -qx 'passing over toy 1.1+ds' log
}

test_fetch_passes_over_an_archive_that_the_index_does_not_sign() {
	toy
	rm -rf cache
	publish 1.0 1.1
	printf x | dd of=debian/pool/toy_1.1+ds.orig.tar.xz bs=1 seek=60 conv=notrunc status=none
	same "$(base_taken 2>log)" 'toy 1.0+ds'
	grep -q 'cannot download toy_1.1+ds.orig.tar.xz: E: .*Hash Sum mismatch' log
	same "$(find cache/invlpgb/downloads/* -maxdepth 0 | wc -l)" 1
}

test_fetch_refuses_a_download_with_another_checksum() {
	toy
	rm -rf cache/invlpgb/bases
	file=$(echo cache/invlpgb/downloads/*/toy_1.0+ds.orig.tar.xz)
	echo more >>"$file"
	refused "toy_1.0+ds.orig.tar.xz has SHA256 $(sum "$file")" "the signed index says $(basename "$(dirname "$file")")" \
		"remove $PWD/$(dirname "$file")" -- "$scripts/fetch-base" toy
	same "$(ls cache/invlpgb/bases 2>/dev/null)" ''
}

test_fetch_says_why_there_is_no_base() {
	toy
	sed -i 's/1\.\*/3.*/' repo/bases.conf
	refused "no base for toy: no mirror serves a version that bases.conf accepts" -- "$scripts/fetch-base" toy
	sed -i 's/3\.\*/1.2*/' repo/bases.conf
	publish 1.2
	refused "does not apply, without fuzz, to base: toy 1.2+ds" "passing over toy-1.2+ds" \
		"hooks apply to none of the versions that bases.conf accepts" -- "$scripts/fetch-base" toy
	rm -rf debian
	rm -rf cache
	refused "no base for toy: no mirror serves" "apt said" "E: " -- "$scripts/fetch-base" toy
}

test_fetch_takes_a_source_archive_out_of_a_package() {
	toy
	tree() {
		local tip repo
		read -r tip repo < <("$scripts/fetch-base" toy)
		git -C "$repo" rev-parse "$tip^{tree}"
	}
	from_source=$(tree)
	rm -rf cache
	printf 'toy binary toy-source-9 *\ntoy binary toy-source 1.*\n' >repo/bases.conf
	publish 1.0
	same "$(tree)" "$from_source"
}

test_fetch_asks_no_archive_while_a_base_in_the_cache_will_do() {
	toy
	publish 1.0 1.1
	rm apt/sources.list
	same "$(base_taken)" 'toy 1.0+ds'
	toy_environment
	same "$(base_taken --newest)" 'toy 1.1+ds'
	same "$(base_taken)" 'toy 1.1+ds'
}

test_fetch_refuses_an_archive_with_strange_paths() {
	toy
	mkdir -p x/y
	echo evil >x/evil
	tar -cPf evil.tar --transform 's,^,toy-1/../,' x/evil
	refused "strange path in the archive: 'toy-1/../x/evil'" -- "$scripts/import-tar" <evil.tar
	tar -cf two.tar x tree/a.c
	refused "expected one top directory, found ['tree', 'x']" -- "$scripts/import-tar" <two.tar
	mkfifo x/fifo
	tar -cf fifo.tar x
	refused "x/fifo is neither a file nor a symbolic link" -- "$scripts/import-tar" <fifo.tar
}

# The private apt.sources that the system's sources give, for the host's own release.
test_apt_takes_mirrors_and_keys_from_both_formats() {
	toy
	mkdir -p apt/parts
	cat >apt/sources.list <<-'END'
		# deb http://comment/archive stable main
		deb [arch=amd64 signed-by=/k/one.gpg,/k/two.gpg] http://one/archive stable main contrib # comment
		deb-src http://one/archive stable main
		deb http://one/security stable-security main
		deb http://third/party stable-other main
		deb http://third/party stable nonfree
		deb cdrom:[Debian]/ stable main
	END
	cat >apt/parts/two.sources <<-'END'
		Types: deb
		URIs: http://two/archive http://three/archive
		Suites: stable stable-updates
		Components: main
		Signed-By:
		 -----BEGIN PGP PUBLIC KEY BLOCK-----
		 .
		 key
		 -----END PGP PUBLIC KEY BLOCK-----

		# comment
		Types: deb
		Enabled: no
		URIs: http://disabled/archive
		Suites: stable
		Components: main
	END
	(
		# shellcheck source=scripts/apt.sh
		. "$scripts/apt.sh"
		cache=$PWD/cache
		apt_use test 'archive deb-src trixie' 'security deb CODENAME-security'
	)
	# shellcheck source=/dev/null
	codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
	same "$(<cache/apt/test/apt.sources)" "$(cat <<-END
		Types: deb-src
		URIs: http://one/archive
		Suites: trixie
		Components: main
		Signed-By: /k/one.gpg /k/two.gpg

		Types: deb
		URIs: http://one/security
		Suites: $codename-security
		Components: main

		Types: deb-src
		URIs: http://two/archive
		Suites: trixie
		Components: main
		Signed-By:
		 -----BEGIN PGP PUBLIC KEY BLOCK-----
		 .
		 key
		 -----END PGP PUBLIC KEY BLOCK-----

		Types: deb-src
		URIs: http://three/archive
		Suites: trixie
		Components: main
		Signed-By:
		 -----BEGIN PGP PUBLIC KEY BLOCK-----
		 .
		 key
		 -----END PGP PUBLIC KEY BLOCK-----
	END
	)"
}

test_apt_without_a_debian_mirror_is_refused() {
	toy
	rm -rf cache
	echo 'deb http://third/party focal main' >apt/sources.list
	refused "apt's sources name no Debian mirror" "/etc/apt/sources.list.d" -- "$scripts/fetch-base" toy
	rm apt/sources.list
	refused "apt has no sources" "$PWD/apt/sources.list" -- "$scripts/fetch-base" toy
}

test_apt_lists_of_the_system_stay_as_they_are() {
	toy
	rm -rf cache
	before=$(find apt -printf '%p %T@\n' | sort)
	"$scripts/fetch-base" toy
	same "$(find apt -printf '%p %T@\n' | sort)" "$before"
}

test_deps_names_what_is_missing_or_too_old() {
	toy
	"$scripts/deps" --check || fail "this machine lacks packages: the suite itself needs them"
	printf 'no-such-package # a test\nbash >=99 # another\nbash >=4 # fine\n' >>"$scripts/packages"
	refused 'missing: no-such-package bash>=99' -- "$scripts/deps" --check
	refused 'usage: ' -- "$scripts/deps" --chekc
}
