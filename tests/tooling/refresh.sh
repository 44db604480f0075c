# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2154
#
# refresh and format-series: trees back to hooks and new files, what is refused, and that
# nothing of the user's is overwritten.

# Every file of the toy project in our repository, with its content and mode.
ours() {
	find "$PWD/repo" -type f -printf '%P %m\n' | sort
	find "$PWD/repo" -type f -print0 | sort -z | xargs -0 sha256sum
}

# refuse_refresh TEXT...: refresh refuses the tree and changes nothing.
refuse_refresh() {
	local before
	before=$(ours)
	refused "$@" -- "$scripts/refresh" toy tree
	same "$(ours)" "$before"
}

# The tree is what a new checkout gives.
refreshed() {
	"$scripts/refresh" toy tree --check
	rm -rf again
	"$scripts/checkout" toy again
	same "$(git -C again log --format='%T %an %ad %B' base..)" "$(git -C tree log --format='%T %an %ad %B' base..)"
}

test_refresh_of_an_unchanged_tree_changes_nothing() {
	toy
	before=$(ours)
	"$scripts/refresh" toy tree --check
	same "$("$scripts/refresh" toy tree)" ''
	same "$(ours)" "$before"
}

test_refresh_writes_hooks_in_a_pinned_form() {
	toy
	same "$(cat "$hooks/0001-toy-add-a-row.patch")" "$(cat <<-'END'
		From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001
		From: Toy Author <toy@localhost>
		Date: Sun, 9 Sep 2001 03:47:40 +0200
		Subject: [PATCH] toy: add a row

		Why toy: add a row.
		---
		diff --git a/sub/b.c b/sub/b.c
		index 974084f46b17..3711392817f5 100644
		--- a/sub/b.c
		+++ b/sub/b.c
		@@ -18,6 +18,7 @@ row 17
		 row 18
		 row 19
		 row 20
		+row added
		 row 21
		 row 22
		 row 23
	END
	)"
}

test_refresh_takes_an_edit_of_a_hook_and_of_a_new_file() {
	toy
	sed -i 's/^row added$/row changed/' tree/sub/b.c
	echo 'one more' >>tree/new/one.c
	chmod 644 tree/new/two
	git -C tree commit -qa --fixup HEAD~2
	GIT_SEQUENCE_EDITOR=true git -C tree rebase -qi --autosquash base
	same "$("$scripts/refresh" toy tree)" $'hooks/toy/0001-toy-add-a-row.patch\ntoy/new/one.c\ntoy/new/two'
	grep -q '^+row changed$' "$hooks/0001-toy-add-a-row.patch"
	same "$(<repo/toy/new/one.c)" $'one\none more'
	[[ ! -x repo/toy/new/two ]]
	refreshed
}

test_refresh_check_names_what_would_change_and_writes_nothing() {
	toy
	echo more >>tree/new/three.c
	git -C tree commit -qa --fixup HEAD~1
	GIT_SEQUENCE_EDITOR=true git -C tree rebase -qi --autosquash base
	before=$(ours)
	refused "not what the tree gives" toy/new/three.c -- "$scripts/refresh" toy tree --check
	same "$(ours)" "$before"
}

test_refresh_gives_a_new_commit_a_hook() {
	toy
	sed -i 's/^line 30$/& and more/' tree/a.c
	mkdir tree/deep
	echo deep >tree/deep/file
	commit_all 'toy: one more hook, with a file'
	"$scripts/refresh" toy tree
	same "$(tail -n1 "$hooks/series")" '0004-toy-one-more-hook-with-a-file.patch deep/file'
	same "$(<repo/toy/deep/file)" deep
	refreshed
}

test_refresh_gives_a_new_commit_before_the_last_fix_a_place_in_fixes() {
	toy
	git -C tree checkout -q -b other base
	sed -i 's/^line 1$/line one/' tree/a.c
	commit_all 'toy: fix line 1'
	git -C tree cherry-pick base..invlpgb
	"$scripts/refresh" toy tree
	same "$(sed -n 's/^\([^#][^ ]*\).*/\1/p' "$hooks/series" | head -n2)" \
		$'fixes/0001-toy-fix-line-1.patch\nfixes/0001-toy-fix-line-5.patch'
	refreshed
}

test_refresh_removes_what_a_dropped_commit_had() {
	toy
	git -C tree rebase -q --onto HEAD~2 HEAD~1
	"$scripts/refresh" toy tree
	[[ ! -e $hooks/0002-toy-add-a-file.patch && ! -e repo/toy/new/three.c ]]
	refreshed
}

test_refresh_keeps_the_comments_of_the_series() {
	toy
	sed -i -e '/^0001/i # about rows' -e '/^0002/i \\n# about files' "$hooks/series"
	echo '# the end' >>"$hooks/series"
	before=$(<"$hooks/series")
	sed -i 's/^line 30$/& and more/' tree/a.c
	commit_all 'toy: more'
	"$scripts/refresh" toy tree
	same "$(<"$hooks/series")" "${before/'# the end'/$'0004-toy-more.patch\n# the end'}"
}

test_refresh_from_another_point_release_leaves_hooks_alone() {
	toy
	before=$(ours)
	publish 1.1
	rm -rf cache
	"$scripts/checkout" toy other
	same "$(git -C other log --format=%s -1 base)" 'base: toy 1.1+ds'
	"$scripts/refresh" toy other --check
	sed -i 's/^row added$/row changed/' other/sub/b.c
	git -C other commit -qa --fixup HEAD~2
	GIT_SEQUENCE_EDITOR=true git -C other rebase -qi --autosquash base
	same "$("$scripts/refresh" toy other)" hooks/toy/0001-toy-add-a-row.patch
}

test_refresh_refuses_a_dirty_tree() {
	toy
	echo dirty >>tree/a.c
	refuse_refresh "has changes that are in no commit" "commit, stash or remove" " M a.c"
	git -C tree checkout -q a.c
	echo forgotten >tree/new/four.c
	refuse_refresh "has changes that are in no commit" "?? new/four.c"
}

test_refresh_refuses_an_unknown_base() {
	toy
	rm -rf tree
	git init -q tree
	echo other >tree/a.c
	commit_all other
	refuse_refresh "unknown base" "toy-1.0+ds-" "scripts/checkout toy DIR"
	rm -rf cache
	refuse_refresh "unknown base" "there is none"
}

test_refresh_refuses_what_is_no_tree() {
	toy
	rm -rf tree
	refuse_refresh "is not a git tree" "scripts/checkout toy DIR"
	mkdir tree
	refuse_refresh "is not a git tree"
}

test_refresh_refuses_an_unknown_project() {
	toy
	refused "unknown project 'tyo': bases.conf has toy" -- "$scripts/refresh" tyo tree
}

test_refresh_refuses_a_new_file_of_two_commits() {
	toy
	echo more >>tree/new/one.c
	commit_all 'toy: change one.c'
	refuse_refresh "(toy: change one.c) changes new/one.c, which an earlier commit of the series adds" squash
}

test_refresh_refuses_to_remove_a_file_of_the_base() {
	toy
	git -C tree rm -q tool
	commit_all 'toy: remove'
	refuse_refresh "(toy: remove) removes or renames tool"
}

test_refresh_refuses_to_rename_a_file_of_the_base() {
	toy
	git -C tree mv a.c c.c
	commit_all 'toy: rename'
	refuse_refresh "(toy: rename) removes or renames a.c"
}

test_refresh_refuses_another_mode_of_a_file_of_the_base() {
	toy
	chmod 755 tree/a.c
	commit_all 'toy: mode'
	refuse_refresh "a.c, or changes its type or mode"
}

test_refresh_refuses_an_empty_commit() {
	toy
	git -C tree commit -q --allow-empty -m 'toy: nothing'
	refuse_refresh "(toy: nothing) is empty: drop it"
}

test_refresh_refuses_a_merge() {
	toy
	git -C tree checkout -q -b side HEAD~1
	echo side >tree/side
	commit_all 'toy: side'
	git -C tree merge -q -m merge invlpgb
	refuse_refresh "is a merge" "rebase it"
}

test_refresh_refuses_a_commit_to_be_squashed() {
	toy
	echo more >>tree/new/three.c
	git -C tree commit -qa --fixup HEAD~1
	refuse_refresh "fixup! toy: add a file" "--autosquash base"
}

test_refresh_refuses_a_message_that_a_patch_would_cut() {
	toy
	sed -i 's/^line 30$/& and more/' tree/a.c
	commit_all 'toy: cut' $'Before.\n---\nAfter.'
	refuse_refresh "does not survive as a patch" After.
	git -C tree commit -q --amend -m '[toy] bracket' -m Why.
	refuse_refresh "does not survive as a patch" "[toy] bracket"
}

test_refresh_refuses_to_overwrite_a_new_file_edited_here() {
	toy
	echo more >>tree/new/three.c
	git -C tree commit -qa --fixup HEAD~1
	GIT_SEQUENCE_EDITOR=true git -C tree rebase -qi --autosquash base
	echo mine >>repo/toy/new/one.c
	refuse_refresh "hooks or new files of toy have changed since" "would be lost" "check out again"
}

test_refresh_refuses_to_overwrite_a_hook_edited_here() {
	toy
	echo more >>tree/new/three.c
	git -C tree commit -qa --fixup HEAD~1
	GIT_SEQUENCE_EDITOR=true git -C tree rebase -qi --autosquash base
	sed -i 's/^Why toy: add a row/Because/' "$hooks/0001-toy-add-a-row.patch"
	refuse_refresh "hooks or new files of toy have changed since"
}

test_refresh_refuses_to_overwrite_a_file_that_the_series_does_not_list() {
	toy
	echo theirs >tree/new/four.c
	commit_all 'toy: four'
	echo mine >repo/toy/new/four.c
	refuse_refresh "toy/new/four.c, which the series does not list, would be overwritten"
	echo theirs >repo/toy/new/four.c
	"$scripts/refresh" toy tree
	refreshed
}

test_refresh_of_two_trees_refuses_the_one_that_is_behind() {
	toy
	cp -a tree other
	sed -i 's/^line 30$/& and more/' tree/a.c
	commit_all 'toy: first'
	"$scripts/refresh" toy tree
	mv tree first
	mv other tree
	sed -i 's/^line 35$/& and more/' tree/a.c
	commit_all 'toy: second'
	refuse_refresh "have changed since"
	git -C tree rebase -q "$(git -C first rev-parse HEAD)" 2>/dev/null || git -C tree pull -q --rebase ../first
	refuse_refresh "have changed since"
}

test_format_series_gives_patches_for_git_am() {
	toy
	"$scripts/format-series" toy
	same "$(cd repo/dist/toy && ls)" "$(printf '%s\n' 0001-toy-fix-line-5.patch 0002-toy-add-a-row.patch \
		0003-toy-add-a-file.patch 0004-toy-add-a-line-whose-subject-is-as-long-as-mailers-d.patch)"
	mkdir plain
	tar -xJf debian/pool/toy_1.0+ds.orig.tar.xz -C plain --strip-components=1
	git -C plain init -q
	git -C plain add -Af
	git -C plain commit -qm base
	git -C plain am -q "$PWD"/repo/dist/toy/*.patch
	same "$(git -C plain log -4 --format='%T %an %ad %B')" "$(git -C tree log -4 --format='%T %an %ad %B')"
}

test_format_series_writes_the_cover_letter_and_signs_off() {
	toy
	printf 'One & two\n\nWhat it is,\nand why.\n' >"$hooks/cover-letter"
	printf '[user]\nname = Sub Mitter\nemail = sub@localhost\n' >gitconfig
	GIT_CONFIG_GLOBAL=$PWD/gitconfig "$scripts/format-series" --signoff toy out
	grep -qx 'From: Sub Mitter <sub@localhost>' out/0000-cover-letter.patch
	grep -qx 'Subject: \[PATCH 0/4\] One & two' out/0000-cover-letter.patch
	same "$(sed -n '/^$/,/^$/p' out/0000-cover-letter.patch | head -n4)" $'\nWhat it is,\nand why.'
	same "$(grep -l '^Signed-off-by: Sub Mitter <sub@localhost>$' out/*.patch | wc -l)" 4
	grep -q 'SUBJECT HERE\|BLURB HERE' out/* && fail "a placeholder is left"
	refused "--signoff needs your name" -- env GIT_CONFIG_GLOBAL=/dev/null "$scripts/format-series" --signoff toy out2
}

test_format_series_refuses_what_git_am_changes() {
	toy
	printf 'three\r\n' >repo/toy/new/three.c
	refused "git am gives another tree than the hooks" -- "$scripts/format-series" toy out
	[[ ! -e out ]]
}

test_format_series_refuses_a_directory_that_is_not_empty() {
	toy
	mkdir out
	echo mine >out/file
	refused "out exists and is not an empty directory" -- "$scripts/format-series" toy out
	same "$(ls out)" file
}

test_format_series_refuses_a_project_without_a_series() {
	toy
	rm "$hooks/series"
	refused "toy has no series yet" -- "$scripts/format-series" toy
	refused "unknown project 'tyo'" -- "$scripts/format-series" tyo
}
