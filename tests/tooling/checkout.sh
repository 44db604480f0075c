# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2154
#
# checkout, source and apply-series: trees from hooks and new files, and what is refused.

# refuse_series TEXT...: checkout refuses the series and leaves nothing behind.
refuse_series() {
	refused "$@" -- "$scripts/checkout" toy out
	[[ ! -e out ]] || fail "there is a tree"
	same "$(compgen -G '.checkout*' || true)" ''
}

test_checkout_makes_one_commit_per_line_of_the_series() {
	toy
	rm -rf tree
	"$scripts/checkout" toy tree
	same "$(git -C tree log --format='%an|%cn|%s' base..)" "$(printf 'Toy Author|Toy Author|toy: %s\n' \
		'add a line whose subject is as long as mailers dare to leave on one line' \
		'add a file' 'add a row' 'fix line 5')"
	same "$(git -C tree log -1 --format=%b)" 'Böse Zeilen: why.'
	same "$(git -C tree log -1 --format=%ai)" '2001-09-09 03:49:40 +0200'
	same "$(git -C tree show --format= --name-status HEAD~2)" $'A\tnew/one.c\nA\tnew/two\nM\tsub/b.c'
	same "$(git -C tree status --porcelain)" ''
	[[ -x tree/new/two && ! -x tree/new/one.c && -L tree/link && -x tree/tool ]]
	same "$(<tree/kept.log)" 'ignored by git, but part of the archive'
}

test_checkout_gives_the_same_hash_from_an_empty_cache() {
	toy
	rm -rf cache
	"$scripts/checkout" toy out
	same "$(git -C out rev-parse HEAD base)" "$(git -C tree rev-parse HEAD base)"
}

test_checkout_ignores_the_users_git_configuration() {
	toy
	rm -rf cache
	printf '[apply]\nwhitespace = fix\n[core]\nautocrlf = true\n[diff]\nnoprefix = true\n[format]\nsignOff = true\n[i18n]\ncommitEncoding = ISO-8859-1\n' >gitconfig
	GIT_CONFIG_GLOBAL=$PWD/gitconfig "$scripts/checkout" toy out
	same "$(git -C out rev-parse HEAD)" "$(git -C tree rev-parse HEAD)"
	GIT_CONFIG_GLOBAL=$PWD/gitconfig "$scripts/refresh" toy out --check
}

test_checkout_refuses_a_directory_that_is_not_empty() {
	toy
	mkdir out
	echo mine >out/file
	refused "out exists and is not an empty directory" "name another" -- "$scripts/checkout" toy out
	same "$(<out/file)" mine
	refused "exists and is not an empty directory" -- "$scripts/checkout" toy out/file
	same "$(<out/file)" mine
}

test_checkout_refuses_an_unknown_project() {
	toy
	refused "unknown project 'tyo': bases.conf has toy" -- "$scripts/checkout" tyo out
}

test_checkout_refuses_a_hook_that_needs_fuzz() {
	toy
	sed -i 's/^ row 18$/ row 18 /' "$hooks"/*-add-a-row.patch
	refuse_series "0001-toy-add-a-row.patch does not apply, without fuzz, to base: toy 1.0" "sub/b.c:18" "adapt the hook"
}

test_checkout_takes_a_hook_at_another_line() {
	toy
	sed -i 's/^@@ -18,6 +18,7/@@ -10,6 +10,7/' "$hooks"/*-add-a-row.patch
	"$scripts/checkout" toy out
	same "$(git -C out rev-parse HEAD)" "$(git -C tree rev-parse HEAD)"
}

test_checkout_refuses_a_series_that_names_a_missing_hook() {
	toy
	echo 0009-none.patch >>"$hooks/series"
	refuse_series "hooks/toy/series:6: no file" 0009-none.patch
}

test_checkout_refuses_a_hook_that_is_listed_twice() {
	toy
	echo 0002-toy-add-a-file.patch >>"$hooks/series"
	refuse_series "0002-toy-add-a-file.patch is listed twice"
}

test_checkout_refuses_a_new_file_that_is_missing() {
	toy
	rm repo/toy/new/one.c
	refuse_series "new file" "toy/new/one.c does not exist"
}

test_checkout_refuses_a_new_file_of_two_commits() {
	toy
	sed -i '/add-a-file/s,$, new/one.c,' "$hooks/series"
	refuse_series "new/one.c already belongs to 0001-toy-add-a-row.patch" "exactly one commit"
}

test_checkout_refuses_a_new_file_that_the_base_has() {
	toy
	echo mine >repo/toy/a.c
	sed -i '/add-a-file/s,$, a.c,' "$hooks/series"
	refuse_series "new file a.c exists in the base" "belongs in" 0002-toy-add-a-file.patch
}

test_checkout_refuses_a_new_file_outside_the_project() {
	toy
	sed -i '/add-a-file/s,$, ../bases.conf,' "$hooks/series"
	refuse_series "../bases.conf is not a path inside the project"
}

test_checkout_refuses_a_hook_that_makes_a_file() {
	toy
	printf 'diff --git a/x.c b/x.c\nnew file mode 100644\n--- /dev/null\n+++ b/x.c\n@@ -0,0 +1 @@\n+x\n' \
		>>"$hooks/0002-toy-add-a-file.patch"
	refuse_series "0002-toy-add-a-file.patch does more than change lines" "create mode 100644 x.c"
}

test_checkout_refuses_a_hook_that_removes_a_file() {
	toy
	printf 'diff --git a/tool b/tool\ndeleted file mode 100755\n--- a/tool\n+++ /dev/null\n@@ -1 +0,0 @@\n-#!/bin/sh\n' \
		>>"$hooks/0002-toy-add-a-file.patch"
	refuse_series "does more than change lines" "delete mode 100755 tool"
}

test_checkout_refuses_a_hook_that_renames_a_file() {
	toy
	printf 'diff --git a/a.c b/c.c\nsimilarity index 100%%\nrename from a.c\nrename to c.c\n' >>"$hooks/0002-toy-add-a-file.patch"
	refuse_series "does more than change lines" "rename a.c => c.c"
}

test_checkout_refuses_a_hook_on_a_new_file() {
	toy
	printf 'diff --git a/new/one.c b/new/one.c\n--- a/new/one.c\n+++ b/new/one.c\n@@ -1 +1 @@\n-one\n+eins\n' \
		>>"$hooks/0002-toy-add-a-file.patch"
	refuse_series "changes new/one.c, a new file of the series" "change the file itself"
}

test_checkout_refuses_a_hook_without_a_header() {
	toy
	sed -i '/^From: /d' "$hooks/0002-toy-add-a-file.patch"
	refuse_series "0002-toy-add-a-file.patch has no Author in its header" "git format"
}

test_checkout_refuses_a_commit_without_content() {
	toy
	sed -i 's,^\(0002[^ ]*\).*,\1,' "$hooks/series"
	refuse_series "0002-toy-add-a-file.patch neither has a diff nor brings new files"
}

test_source_gives_the_patched_tree_and_the_pristine_one() {
	toy
	path=$("$scripts/source" toy)
	same "$(diff -r --no-dereference --exclude=.git tree "$path")" ''
	git -C tree checkout -q base
	path=$("$scripts/source" --pristine toy)
	same "$(diff -r --no-dereference --exclude=.git tree "$path")" ''
}

test_source_depends_on_the_content_only() {
	toy
	path=$("$scripts/source" toy)
	same "$("$scripts/source" toy)" "$path"
	echo more >>repo/toy/new/one.c
	changed=$("$scripts/source" toy)
	[[ $changed != "$path" ]] || fail "an edit of a new file does not count"
	same "$(<"$changed/new/one.c")" $'one\nmore'
	same "$(<"$path/new/one.c")" one
	cp -r repo other
	same "$(other/scripts/source toy)" "$changed"
}

test_source_takes_a_tree_of_the_users_own() {
	toy
	same "$(TOY_SRC=tree "$scripts/source" toy)" "$PWD/tree"
	refused "TOY_SRC is nowhere, which is not a directory" -- env TOY_SRC=nowhere "$scripts/source" toy
	[[ $(TOY_SRC=tree "$scripts/source" --pristine toy) != "$PWD/tree" ]]
}

test_source_removes_old_trees_but_not_recent_ones() {
	toy
	mkdir -p cache/invlpgb/trees/{toy-old1,toy-old2,toy-recent1,toy-recent2,other-old,toy-old3.partial}
	touch -d '-2 hours' cache/invlpgb/trees/{toy-old1,other-old,toy-old3.partial}
	touch -d '-3 hours' cache/invlpgb/trees/toy-old2
	touch -d '-1 minute' cache/invlpgb/trees/toy-recent[12]
	path=$("$scripts/source" toy)
	same "$(ls cache/invlpgb/trees)" "$(printf '%s\n' other-old "${path##*/}" toy-old3.partial toy-recent1 toy-recent2 | LC_ALL=C sort)"
	touch -d '-2 hours' cache/invlpgb/trees/toy-recent1
	touch -d '-3 hours' cache/invlpgb/trees/toy-recent2
	"$scripts/source" toy
	[[ -e cache/invlpgb/trees/toy-recent1 && ! -e cache/invlpgb/trees/toy-recent2 ]]
}
