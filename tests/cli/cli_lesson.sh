#!/bin/bash
# Every lesson is what the program does: each command is run, each picture drawn. Then the command itself: the list, a
# lesson without a terminal, bad input.
set -euo pipefail
. "$(dirname "$0")/../support/commands.sh"

# Under sanitizers the lessons' own commands find nothing that other tests of theirs do not.
if [ -n "${SAN-}" ]; then
	run verify lesson 0 --verify
else
	"$SHARDLAB" lesson --verify >"$TMPDIR/verify.out" 2>"$TMPDIR/err" || fail 'a lesson is not what the program does'
fi

export XDG_STATE_HOME=$TMPDIR/state
run list lesson
grep -q '^0\. ' "$TMPDIR/list.out" || fail 'the list has no lesson 0'
count=$(grep -c '^[0-9]*\. ' "$TMPDIR/list.out")
[ "$count" = "$(find lessons -maxdepth 1 -name '[0-9]*.md' | wc -l)" ] || fail "$count lessons in the list"

# Without a terminal nothing waits, and nothing is taken down as done.
run taught lesson 1 --no-input --from 3
grep -q 'parameters' "$TMPDIR/taught.out" || fail 'the lesson does not show'
[ ! -e "$XDG_STATE_HOME" ] || fail 'a lesson that nobody took is in the progress'

refuse "there is no lesson '99'" lesson 99
refuse "there is no lesson 'nothing'" lesson nothing
refuse "--from: lesson 1 has" lesson 1 --from 9999
refuse "lesson 1 has no exercise 'none'" lesson 1 --check none
refuse '--language' lesson --language fr
refuse 'plan has no option --language' plan --language en

# An exercise is checked in the folder where the learner is. check LESSON EXERCISE FILE WORDS: with WORDS in FILE.
folder=$PWD
cd "$TMPDIR"
check() {
	echo "$4" >"$3"
	"$SHARDLAB" lesson "$1" --check "$2" >check.out 2>err
}
solved() {
	check "$@" && grep -qx 'Solved.' check.out || complain "lesson $1: $4 does not solve $2: $(cat err)"
}
unsolved() {
	! check "$@" || complain "lesson $1: $4 solves $2"
	grep -q '^not yet: ' err || complain "lesson $1: the check of $2 does not say that it failed"
}
unsolved 1 largest-batch batch 1000000
unsolved 1 largest-batch batch 13
solved 1 largest-batch batch 14
grep -q largest-batch state/shardlab/lessons.json || fail 'the exercise is not in the progress'
unsolved 4 hide-it micro-batch 3
solved 4 hide-it micro-batch 4
unsolved 4 hide-it micro-batch 5
unsolved 8 fit-it strategy zero2
solved 8 fit-it strategy zero3
unsolved 15 two-nodes strategy hybrid:shard=4
solved 15 two-nodes strategy hybrid:shard=8
unsolved 15 two-nodes strategy hybrid:shard=16

# What has to be written is in tests/support/lessons.
if [ -z "${SAN-}" ]; then
	ln -s "$folder/tools" tools
	for file in buckets backwards; do cp "$folder/tests/support/lessons/$file.c" .; done
	solved 18 buckets note 1
	solved 19 backwards note 1
	cp "$folder/lessons/18/late.c" buckets.c
	unsolved 18 buckets note 1
fi

exit $((errors > 0))
