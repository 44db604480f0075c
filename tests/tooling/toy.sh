# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2154
#
# A toy project for the tests of the tooling: a Debian archive of its own on disk, a copy
# of our scripts with hooks for it, and a cache. apt, git and the scripts are the real
# ones; only what they work on is small.

export GIT_AUTHOR_NAME='Toy Author' GIT_AUTHOR_EMAIL=toy@localhost
export GIT_COMMITTER_NAME='Toy Committer' GIT_COMMITTER_EMAIL=committer@localhost

# The upstream sources of a version, in toy-VERSION. 1.1 has lines more than 1.0 in
# front of what the hooks change, 1.2 has other lines there.
toy_sources() {
	local dir=toy-$1
	mkdir -p "$dir/sub"
	seq -f 'line %g' 40 >"$dir/a.c"
	seq -f 'row %g' 40 >"$dir/sub/b.c"
	[[ $1 != 1.1 ]] || sed -i '1i new in 1.1' "$dir/a.c" "$dir/sub/b.c"
	[[ $1 != 1.2 ]] || sed -i 's/^line \(1[0-9]\)$/other \1/' "$dir/a.c"
	printf '#!/bin/sh\n' >"$dir/tool"
	chmod 755 "$dir/tool"
	ln -s a.c "$dir/link"
	echo '*.log' >"$dir/.gitignore"
	echo 'ignored by git, but part of the archive' >"$dir/kept.log"
}

# publish VERSION...: make the archive anew with these versions of the source package toy,
# and of the package toy-source, which has a source archive in it.
publish() {
	local version file entry
	rm -rf debian
	mkdir -p debian/pool debian/dists/trixie{,-backports}/main/{source,binary-amd64}
	for version; do
		toy_sources "$version"
		file=debian/pool/toy_$version+ds.orig.tar.xz
		tar -cJf "$file" --mtime=@0 --sort=name --owner=0 --group=0 --numeric-owner "toy-$version"
		mkdir -p "deb/DEBIAN" deb/usr/src
		cp "$file" "deb/usr/src/toy-source-$version.tar.xz"
		printf 'Package: toy-source\nVersion: %s-1\nArchitecture: all\nMaintainer: toy <toy@localhost>\nDescription: toy\n' \
			"$version" >deb/DEBIAN/control
		dpkg-deb -b deb "debian/pool/toy-source_$version-1_all.deb" >/dev/null
		{
			cat deb/DEBIAN/control
			entry=debian/pool/toy-source_$version-1_all.deb
			printf 'Filename: pool/%s\nSize: %s\nSHA256: %s\n\n' "${entry##*/}" "$(stat -c %s "$entry")" "$(sum "$entry")"
		} >>debian/dists/trixie-backports/main/binary-amd64/Packages
		printf '%s\n' 'Package: toy' 'Binary: toy' "Version: 1:$version+ds-1" 'Maintainer: toy <toy@localhost>' \
			'Architecture: all' 'Format: 3.0 (quilt)' 'Directory: pool' 'Checksums-Sha256:' \
			" $(sum "$file") $(stat -c %s "$file") ${file##*/}" \
			" $(sum "$file") $(stat -c %s "$file") toy_$version+ds-1.dsc" \
			'Files:' " $(md5sum <"$file" | cut -c1-32) $(stat -c %s "$file") ${file##*/}" \
			" $(md5sum <"$file" | cut -c1-32) $(stat -c %s "$file") toy_$version+ds-1.dsc" '' \
			>>debian/dists/trixie/main/source/Sources
		rm -r deb "toy-$version"
	done
	: >debian/dists/trixie-backports/main/source/Sources
	release trixie main/source/Sources
	release trixie-backports main/source/Sources main/binary-amd64/Packages
}

sum() {
	sha256sum <"$1" | cut -c1-64
}

# release SUITE INDEX...
release() {
	local suite=debian/dists/$1 file
	printf '%s\n' 'Origin: Debian' "Suite: $1" "Codename: $1" "Date: $(LC_ALL=C date -u -R)" \
		'Architectures: amd64' 'Components: main' SHA256: >"$suite/Release"
	for file in "${@:2}"; do
		printf ' %s %s %s\n' "$(sum "$suite/$file")" "$(stat -c %s "$suite/$file")" "$file" >>"$suite/Release"
	done
}

# Make the directory that a test is in a copy of the toy project.
toy() {
	cp -a "$scratch/toy/." .
	toy_environment
}

toy_environment() {
	mkdir -p apt
	printf 'deb [trusted=yes] file:%s stable main\n' "$PWD/debian" >apt/sources.list
	printf 'Dir::%s "%s";\n' Etc::sourcelist "$PWD/apt/sources.list" Etc::sourceparts "$PWD/apt/parts" \
		State::lists "$PWD/apt/lists" Cache "$PWD/apt/cache" >apt/apt.conf
	export APT_CONFIG=$PWD/apt/apt.conf XDG_CACHE_HOME=$PWD/cache
	hooks=$PWD/repo/hooks/toy scripts=$PWD/repo/scripts
}

# commit_all SUBJECT [BODY]: commit all changes of the tree "tree".
commit_all() {
	git -C tree add -A
	git -C tree commit -q -m "$1" -m "${2:-Why $1.}" --date "${date:=1000000000} +0200"
	((date += 60))
}

# The toy project: a fix, a hook with two new files, one without a hunk, one more hook.
set_up() {
	mkdir "$scratch/toy"
	cd "$scratch/toy" || exit
	publish 1.0
	mkdir -p repo/hooks/toy
	cp -r "$top/run" "$top/scripts" repo
	echo 'toy source toy 1.*+ds' >repo/bases.conf
	toy_environment
	"$scripts/checkout" toy tree
	sed -i 's/^line 5$/line five/' tree/a.c
	commit_all 'toy: fix line 5'
	"$scripts/refresh" toy tree
	mkdir "$hooks/fixes"
	mv "$hooks/0001-toy-fix-line-5.patch" "$hooks/fixes"
	sed -i 's,^0001,fixes/&,' "$hooks/series"
	rm -rf tree
	"$scripts/checkout" toy tree
	sed -i '/^row 20$/a row added' tree/sub/b.c
	mkdir tree/new
	echo one >tree/new/one.c
	printf '#!/bin/sh\necho two\n' >tree/new/two
	chmod 755 tree/new/two
	commit_all 'toy: add a row'
	echo three >tree/new/three.c
	commit_all 'toy: add a file'
	sed -i '/^line 15$/a line added ' tree/a.c
	commit_all 'toy: add a line whose subject is as long as mailers dare to leave on one line' 'Böse Zeilen: why.'
	"$scripts/refresh" toy tree
	rm -rf tree
	"$scripts/checkout" toy tree
}
