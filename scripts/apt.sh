# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2154
#
# apt with lists of its own: the system's mirrors and keys, other suites. Neither
# the system's sources nor its lists change. Sourced after lib.sh.

# The Debian entries of the system's own sources, in both of apt's formats, one a
# line, tab-separated: "archive" or "security", URI, the rest of a deb822 stanza
# (Signed-By, Trusted) with "\n" for line breaks.
apt_mirrors() {
	local codename=$1 list='' parts='' files=()
	eval "$(apt-config shell list Dir::Etc::sourcelist/f parts Dir::Etc::sourceparts/d)"
	for file in "$list" "${parts%/}"/*.list "${parts%/}"/*.sources; do
		[[ ! -f $file ]] || files+=("$file")
	done
	((${#files[@]})) || die "apt has no sources: neither $list nor a file in $parts"
	awk -v codename="$codename" '
	function entry(uris, suites, components, trust,    i, n, uri, kind) {
		if (" " components " " !~ / main /)
			return
		if (" " suites " " ~ " (" codename "|stable|oldstable)/? ")
			kind = "archive"
		else if (" " suites " " ~ " (" codename "|stable|oldstable)(-security|/updates) ")
			kind = "security"
		else
			return
		n = split(uris, uri, " ")
		for (i = 1; i <= n; i++)
			if (uri[i] !~ /^cdrom:/ && !seen[kind, uri[i]]++)
				print kind "\t" uri[i] "\t" trust
	}
	function stanza() {
		if (tolower(field["enabled"]) !~ /^ *(no|false|off|0) *$/)
			entry(field["uris"], field["suites"], field["components"], trust)
		split("", field)
		trust = name = ""
	}
	FNR == 1 { stanza() }
	FILENAME ~ /\.sources$/ {
		if (/^#/)
			next
		if (/^[ \t]*$/) {
			stanza()
			next
		}
		value = $0
		if (/^[^ \t]/) {
			name = tolower(substr($0, 1, index($0, ":") - 1))
			value = substr($0, index($0, ":") + 1)
		}
		field[name] = field[name] " " value
		if (name == "signed-by" || name == "trusted")
			trust = trust $0 "\\n"
		next
	}
	{ sub(/#.*/, "") }
	/^[ \t]*deb(-src)?[ \t]/ {
		trust = ""
		if (match($0, /\[[^]]*\]/)) {
			n = split(substr($0, RSTART + 1, RLENGTH - 2), option, " ")
			for (i = 1; i <= n; i++)
				if (option[i] ~ /^signed-by=/ && gsub(/,/, " ", option[i]) >= 0)
					trust = trust "Signed-By: " substr(option[i], 11) "\\n"
				else if (option[i] ~ /^trusted=/)
					trust = trust "Trusted: " substr(option[i], 9) "\\n"
			$0 = substr($0, 1, RSTART - 1) substr($0, RSTART + RLENGTH)
		}
		uri = $2
		suite = $3
		$1 = $2 = $3 = ""
		entry(uri, suite, $0, trust)
		trust = ""
	}
	END { stanza() }' "${files[@]}"
}

# apt_use NAME LINE...: from here on apt_get means lists of their own, called NAME,
# with what each LINE says: archive or security, type (deb or deb-src), suites. Lines for an archive
# that the system has no mirror of are left out.
apt_use() {
	local kind uri trust wanted type suites
	apt_state=$cache/apt/$1
	shift
	apt_codename=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
	mkdir -p "$apt_state"/{lists,cache}
	apt_mirrors "$apt_codename" | while IFS=$'\t' read -r kind uri trust; do
		printf '%s\n' "$@" | while read -r wanted type suites; do
			[[ $wanted != "$kind" ]] ||
				printf 'Types: %s\nURIs: %s\nSuites: %s\nComponents: main\n%b\n' \
					"$type" "$uri" "${suites//CODENAME/$apt_codename}" "$trust"
		done
	done >"$apt_state/apt.sources.$$"
	mv "$apt_state/apt.sources.$$" "$apt_state/apt.sources"
	grep -q '^URIs' "$apt_state/apt.sources" ||
		die "apt's sources name no Debian mirror for $apt_codename: add one to /etc/apt/sources.list.d"
}

# _apt, to whom apt run by root would change, cannot enter a private cache.
apt_options() {
	printf '%s\n' -o "Dir::State::lists=$apt_state/lists" -o "Dir::Cache=$apt_state/cache" \
		-o "Dir::Etc::sourcelist=$apt_state/apt.sources" -o Dir::Etc::sourceparts=/dev/null \
		-o APT::Sandbox::User=root -o Acquire::Languages=none -o Acquire::PDiffs=false \
		-o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false \
		-o DPkg::Lock::Timeout=600 -o Dpkg::Use-Pty=0
}

apt_get() {
	local options
	mapfile -t options < <(apt_options)
	apt-get "${options[@]}" "$@"
}

apt_cache() {
	local options
	mapfile -t options < <(apt_options)
	apt-cache "${options[@]}" "$@"
}

# A mirror may lack one of the suites: what the others have is enough to go on.
apt_update() {
	apt_get -q update >"$apt_state/update.log" 2>&1 ||
		note "apt-get update had errors: $(grep -m1 '^[EW]:' "$apt_state/update.log")"
}
