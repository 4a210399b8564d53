#!/bin/bash
# Every lesson is what the program does: each command is run, each picture drawn, and the translations have the same. Then
# the command itself: the list, a lesson without a terminal, other languages, bad input.
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
run text lesson 6 --no-input
[ "$(grep -c '^caption ' "$TMPDIR/text.out")" = 1 ] || fail 'without a display a picture is not one moment'

# The picture of lesson 3 shows the end of the first half, as the words below it say.
run ring lesson 3 --no-input
grep -q '^caption .*Now each rank owns one finished chunk' "$TMPDIR/ring.out" || fail 'lesson 3 shows another round'

refuse "there is no lesson '99'" lesson 99
refuse "there is no lesson 'nothing'" lesson nothing
refuse "--from: lesson 1 has" lesson 1 --from 9999
refuse "unexpected argument '2'" lesson 1 2
refuse "lesson 1 has no exercise 'none'" lesson 1 --check none
refuse '--language' lesson --language fr
refuse 'plan has no option --language' plan --language en

# ---- languages ----

run chinese lesson --language zh
grep -q '^0\. 五分钟入门 .* 5 分钟 ' "$TMPDIR/chinese.out" || fail 'the list is not Chinese'
[ "$(grep -c '^[0-9]*\. ' "$TMPDIR/chinese.out")" = "$count" ] || fail 'the list lacks lessons in Chinese'
LANG=zh_CN.UTF-8 LC_ALL='' LANGUAGE='' run user lesson
cmp -s "$TMPDIR/user.out" "$TMPDIR/chinese.out" || fail 'a Chinese user does not get the Chinese list'
LANG=zh_CN.UTF-8 LC_ALL='' LANGUAGE='' run user lesson --language en
cmp -s "$TMPDIR/user.out" "$TMPDIR/list.out" || fail 'a Chinese user cannot have the English list'
run behind lesson --language zh --no-input 1 --from 3
run taught lesson 1 --language zh --no-input --from 3
cmp -s "$TMPDIR/behind.out" "$TMPDIR/taught.out" || fail 'the number behind the options is another lesson'
grep -q '激活值一层一层往上涨' "$TMPDIR/taught.out" || fail 'the lesson is not Chinese'
grep -qxF '本课到此结束。' "$TMPDIR/taught.out" || fail 'the program does not speak Chinese'

# A tree of its own, in which translations are damaged. Nothing of them is run.
mkdir -p "$TMPDIR/tree/build"
cp "$SHARDLAB" "$TMPDIR/tree/build"
cp -r lessons "$TMPDIR/tree"
program=$TMPDIR/tree/build/shardlab zh=$TMPDIR/tree/lessons/zh
"$program" lesson --verify --language zh >"$TMPDIR/out" 2>"$TMPDIR/err" || fail 'a translation is not like its lesson'
# damage FILE LINES MESSAGE: with only those lines (as sed has them), it is refused.
damage() {
	sed -n "$2" "lessons/zh/$1" >"$zh/$1"
	refuse "$3" lesson --verify
	cp "lessons/zh/$1" "$zh"
}
damage 00-five-minutes.md 's/--ranks 4/--ranks 8/; p' \
	"zh/00-five-minutes.md:12: another command than $TMPDIR/tree/build/../lessons/00-five-minutes.md:14 has"
damage 00-five-minutes.md '/^## 接下来/q; p' "the piece 'text' of"
damage 03-ring-all-reduce.md '/^## /q; p' "is missing"
rm "$zh/04-ddp.md"
refuse 'zh/04-ddp.md:1: this translation of ' lesson --verify
run none lesson 3 --verify --language zh
cp lessons/zh/04-ddp.md "$zh"
cp lessons/zh/04-ddp.md "$zh/98-none.md"
refuse 'zh/98-none.md:1: there is no lesson ' lesson --verify
rm "$zh/98-none.md"
# Outputs are copied from the lesson, and nothing else.
sed 's/^  total .*/  total 1/' lessons/zh/00-five-minutes.md >"$zh/00-five-minutes.md"
refuse "another output" lesson --verify
"$program" lesson 0 --update --language zh >"$TMPDIR/out" 2>"$TMPDIR/err" || fail 'outputs are not copied'
cmp -s "$zh/00-five-minutes.md" lessons/zh/00-five-minutes.md || fail 'an update changes more than outputs'
unset program

# ---- exercises: checked in the folder where the learner is ----

cd "$TMPDIR"
# exercise LESSON NAME FILE WRONG RIGHT: what is wrong in that file is said to be, and what is right.
exercise() {
	echo "$4" >"$3"
	if "$SHARDLAB" lesson "$1" --check "$2" >check.out 2>err; then fail "$2: $4 is not right"; fi
	grep -q '^not yet: ' err || fail "$2: the check does not say that it failed"
	echo "$5" >"$3"
	run solved lesson "$1" --check "$2"
	grep -qx 'Solved.' solved.out || fail "$2: $5 is right"
	grep -q "$2" state/shardlab/lessons.json || fail "$2 is not in the progress"
}
if LANG=zh_CN.UTF-8 LC_ALL='' LANGUAGE='' "$SHARDLAB" lesson --check largest-batch 1 >check.out 2>err; then fail 'no file is right'; fi
grep -qx '还没有通过：这里没有文件 batch；该写什么，见第 1 课' err && [ ! -s check.out ] || fail "without its file: $(cat err)"
exercise 1 largest-batch batch 15 14
exercise 1 largest-batch batch 13 14
exercise 4 hide-it micro-batch 3 4
exercise 4 hide-it micro-batch 5 4
exercise 8 fit-it choice zero2 zero3
exercise 14 choose options '--strategy zero1 --micro-batch 8' '--strategy zero1 --micro-batch 4'
exercise 14 choose options '--strategy zero2 --micro-batch 4' '--strategy zero1 --micro-batch 4'
exercise 15 four-nodes choice hybrid:shard=4 hybrid:shard=8
exercise 15 four-nodes choice hybrid:shard=16 hybrid:shard=8
exercise 16 four-calls options '--bucket 3MiB' '--bucket 2MiB'
for i in $(seq 100); do printf 'Q: Who are you? A: A shard.\0'; done >talk
run mine train --model "$OLDPWD/lessons/17/tiny" --data talk --data-type bytes --strategy single --batch 8 --steps 60 \
	--learning-rate 5e-3 --evaluate no --save mine
exercise 17 who-are-you answer 'A bucket.' 'A shard.'
# Solutions in C are in tests/support/lessons; the file that a learner begins with is not right.
if [ -z "${SAN-}" ]; then
	ln -s "$OLDPWD/tools" tools
	for name in buckets backwards; do
		lesson=$(sed -n 's/.* exercise of lesson \([0-9]*\).*/\1/p' "$OLDPWD/tests/support/lessons/$name.c")
		cp "$OLDPWD/lessons/18/late.c" $name.c
		if "$SHARDLAB" lesson "$lesson" --check $name >check.out 2>err; then fail "$name: late.c is not right"; fi
		cp "$OLDPWD/tests/support/lessons/$name.c" .
		run solved lesson "$lesson" --check $name
		grep -qx 'Solved.' solved.out || fail "$name is right"
	done
fi
[ "$(grep -h '^<!-- exercise: ' "$OLDPWD"/lessons/*.md | wc -l)" = 9 ] || fail 'an exercise is not tried here'

exit $((errors > 0))
