# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2154
#
# lint-hooks: each rule is broken once.

# insert COUNT LINE: lines to add to the hunk of the second hook.
insert() {
	local count
	for ((count = 0; count < $1; count++)); do
		sed -i "/^+row added/a +$2" "$hooks/0001-toy-add-a-row.patch"
	done
}

refuse_hook() {
	refused "0001-toy-add-a-row.patch: $1" -- "$scripts/lint-hooks" toy
}

test_lint_hooks_passes_good_hooks_and_adds_them_up() {
	toy
	insert 7 more
	same "$("$scripts/lint-hooks" toy)" 'toy: 1 fixes, 3 hooks with 2 hunks in 2 files, 9 added lines, 3 new files'
	same "$("$scripts/lint-hooks")" "$("$scripts/lint-hooks" toy)"
	refused "unknown project 'tyo'" -- "$scripts/lint-hooks" tyo
}

test_lint_hooks_limits_the_lines_of_a_hunk() {
	toy
	insert 8 more
	refuse_hook "sub/b.c:18: 9 added lines in a hunk, more than 8"
	echo 'toy sub/b.c 9 25 a test' >>"$scripts/hook-budgets"
	"$scripts/lint-hooks" toy
	echo 'toy a.c 9 25' >>"$scripts/hook-budgets"
	refused "an exception without a reason: toy a.c 9 25" -- "$scripts/lint-hooks" toy
}

test_lint_hooks_limits_the_lines_of_a_file_over_all_hooks() {
	toy
	echo 'toy sub/b.c 90 25 a test' >>"$scripts/hook-budgets"
	insert 24 more
	"$scripts/lint-hooks" toy
	printf '%s\n' 'diff --git a/sub/b.c b/sub/b.c' '--- a/sub/b.c' '+++ b/sub/b.c' '@@ -1,3 +1,4 @@' '+top' ' row 1' ' row 2' ' row 3' \
		>>"$hooks/0002-toy-add-a-file.patch"
	refused "hooks/toy: sub/b.c: 26 added lines in all hooks, more than 25" -- "$scripts/lint-hooks" toy
}

test_lint_hooks_leaves_fixes_their_size_and_loops() {
	toy
	sed -i 's/^+line five/&\n+\tfor (;;)\n&\n&\n&\n&\n&\n&\n&\n&/' "$hooks/fixes/0001-toy-fix-line-5.patch"
	"$scripts/lint-hooks" toy
}

test_lint_hooks_refuses_loops_and_function_bodies() {
	toy
	for line in '\tfor (i = 0; i < n; i++)' '\twhile (x) {' '\tdo {' '\tlist_for_each_entry(a, b, c)' '    QTAILQ_FOREACH(a, b, c) {'; do
		cp "$scratch/toy/repo/hooks/toy/0001-toy-add-a-row.patch" "$hooks"
		insert 1 "$line"
		refuse_hook "sub/b.c:18: a loop: "
	done
	for line in 'int f(void) {' '{'; do
		cp "$scratch/toy/repo/hooks/toy/0001-toy-add-a-row.patch" "$hooks"
		insert 1 "$line"
		refuse_hook "sub/b.c:18: a function body: $line"
	done
	cp "$scratch/toy/repo/hooks/toy/0001-toy-add-a-row.patch" "$hooks"
	insert 1 '\t/* wait for (all) of them while (busy) */'
	insert 1 'struct s x = {'
	insert 1 '\tif (x) {'
	"$scripts/lint-hooks" toy
}

test_lint_hooks_wants_context() {
	toy
	sed -i -e 's/^@@ -18,6 +18,7/@@ -19,5 +19,6/' -e '/^ row 18$/d' "$hooks/0001-toy-add-a-row.patch"
	refuse_hook "sub/b.c:19: 2 lines of context, not 3"
}

test_lint_hooks_refuses_white_space_hunks() {
	toy
	sed -i -e 's/^ row 21$/-row 21\n+row  21/' -e '/^+row added/d' "$hooks/0001-toy-add-a-row.patch"
	refuse_hook "sub/b.c:18: changes only white space"
}

test_lint_hooks_wants_a_message() {
	toy
	sed -i '/^Why toy: add a row/d' "$hooks/0001-toy-add-a-row.patch"
	refuse_hook "no message"
	sed -i 's/^---$/Fixes: 123\n---/' "$hooks/0001-toy-add-a-row.patch"
	refuse_hook "no message"
}

test_lint_hooks_refuses_signatures_and_long_subjects() {
	toy
	sed -i '0,/^---$/s/^---$/Signed-off-by: Toy Author <toy@localhost>\n---/' "$hooks/0001-toy-add-a-row.patch"
	refuse_hook "a trailer that only the submitter can give"
	sed -i 's/^Subject: .*/& with a subject that goes on much longer than what git log --oneline can show of it/' \
		"$hooks/0001-toy-add-a-row.patch"
	refuse_hook "a subject of 97 characters, more than 80"
}

test_lint_hooks_refuses_to_make_or_remove_files() {
	toy
	printf 'diff --git a/x b/x\nnew file mode 100644\n' >>"$hooks/0001-toy-add-a-row.patch"
	refuse_hook "new file mode 100644: a hook only changes lines of files that exist"
}

test_lint_hooks_wants_fixes_first() {
	toy
	sed -i '/^fixes/{h;d};$G' "$hooks/series"
	refused "hooks/toy/fixes/0001-toy-fix-line-5.patch: fixes come first in the series" -- "$scripts/lint-hooks" toy
}

test_lint_hooks_wants_everything_listed() {
	toy
	cp "$hooks/0002-toy-add-a-file.patch" "$hooks/0009-left-over.patch"
	echo stray >repo/toy/new/stray.c
	refused "toy/new/stray.c: in no line of hooks/toy/series" "hooks/toy/0009-left-over.patch: in no line" -- "$scripts/lint-hooks" toy
}
