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

# An exercise is checked in the folder where the learner is.
cd "$TMPDIR"
echo 1000000 >batch
if "$SHARDLAB" lesson 1 --check largest-batch >check.out 2>err; then fail 'a batch of a million fits'; fi
grep -q '^not yet: ' err || fail 'the check does not say that it failed'
echo 1 >batch
run solved lesson 1 --check largest-batch
grep -qx 'Solved.' solved.out || fail 'a batch of one does not fit'
grep -q largest-batch state/shardlab/lessons.json || fail 'the exercise is not in the progress'

exit $((errors > 0))
