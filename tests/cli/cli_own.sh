#!/bin/bash
# Strategies and algorithms of one's own, with the files of lessons 18 and 19: what is wrong is refused by the rule that it
# breaks, what is right is part of everything and trains to the loss of single. The tree's program has none of them.
# cores: all
set -euo pipefail
. "$(dirname "$0")/../support/commands.sh"

if [ -n "${SAN-}" ]; then
	echo 'skipped: own.sh links what was built without sanitizers'
	exit 77
fi
tree=$PWD BUILD=$(dirname "$SHARDLAB")
export BUILD
cd "$TMPDIR"

# own FILE...: links them.
own() {
	"$tree/tools/own.sh" "$@" >own.out 2>err || fail "own.sh $*: exit status $?"
	[ ! -s err ] || fail "own.sh $*: something on stderr"
}

# broken FILE RULE WORDS ARGUMENT...: the program with this file refuses.
broken() {
	local file=$1 rule=$2 words=$3 status=0
	shift 3
	own "$tree/lessons/$file"
	build/own/shardlab "$@" >out 2>err || status=$?
	if [ "$status" = 0 ] || [ "$(wc -l <err)" != 1 ] || ! grep -q "^fatal: rule $rule .*$words" err; then
		complain "$file: exit status $status, wanted 'fatal: rule $rule … $words …': $(cat err)"
	fi
}

broken 18/first.c 6 'initialize all' plan --strategy late --ranks 4
broken 18/second.c 5 'adamw all' sim --strategy late --ranks 3 --accumulate 2
broken 18/third.c 4 'all_reduce all' train --strategy late --ranks 2 --steps 1
broken 19/first.c 2 'round 1: rank 0 sends to rank 1, which receives from 2' plan --strategy mine --ranks 3
broken 19/first.c 2 'round 1' collective direct-all-reduce --ranks 3 --bytes 12
broken 19/second.c 5 'both have' sim --strategy mine --ranks 64
broken 19/second.c 5 'both have' view --collective direct-all-reduce --ranks 4 --bytes 16 --describe
broken 19/third.c 2 'closed forms' train --strategy mine --ranks 2 --steps 1

# Both together, and nothing but these is new.
own "$tree/lessons/18/late.c" "$tree/lessons/19/direct.c"
mkdir -p "$TMPDIR/other"
build/own/shardlab help strategies >out
grep -q '^  late  ' out || complain 'help does not list the strategy'
grep -q 'mine:algorithm=direct|ring' out || complain 'help does not list its key'
refuse "unknown strategy 'late'" plan --strategy late
refuse "unknown collective 'direct-all-reduce'" collective direct-all-reduce

for ranks in 2 3 4 5 8 16 17 64; do
	for strategy in late mine zero2; do
		build/own/shardlab plan --strategy "$strategy" --ranks "$ranks" --accumulate 2 >plan.txt 2>err ||
			complain "$strategy on $ranks ranks: $(cat err)"
	done
done
build/own/shardlab plan --strategy mine --ranks 8 >mine.plan
"$SHARDLAB" plan --plan mine.plan >out 2>err && complain 'a plan with an unknown strategy is read'
build/own/shardlab plan --plan mine.plan | cmp -s - mine.plan || complain 'the plan is not what it was, written and read'

# The same closed form as the ring's, so as many bytes; all of late's traffic is exposed.
sent() {
	build/own/shardlab sim --strategy "$1" --ranks 4 --cluster v100-16gb --json >out && grep -m 1 '"sent_bytes"' out
}
[ "$(sent mine)" = "$(sent ddp)" ] || complain 'direct does not send what ring sends'
[ "$(sent late)" = "$(sent ddp)" ] || complain 'late does not send what ddp sends'
build/own/shardlab view --race all-reduce --ranks 8 --bytes 1MB --cluster v100-16gb --describe >race.out
grep -qE '^(3rd|2nd) +direct: .* 2 \(n − 1\) · hop\(S/n\)' race.out || complain 'direct is not in the race'
"$SHARDLAB" view --race all-reduce --ranks 8 --bytes 1MB --cluster v100-16gb --describe >race.out
grep -q direct race.out &&
	complain 'direct is in the race of the tree'

# Real ranks.
losses() {
	build/own/shardlab train --model mlp --strategy "$1" --ranks "$2" --batch 12 --steps 6 --evaluate no --json |
		sed -n 's/.*"losses": \[\([^]]*\)\].*/\1/p'
}
losses single 1 >single.losses
[ "$(tr -cd , <single.losses | wc -c)" = 5 ] || fail 'single has no six losses'
for strategy in late mine; do
	for ranks in 2 3; do
		losses "$strategy" "$ranks" >own.losses
		paste -d, single.losses own.losses | awk -F, '{ for (i = 1; i <= NF / 2; i++) {
				d = $i - $(i + NF / 2); if (d < 0) d = -d; if (!(d < 1e-5)) exit 1 } exit NF != 12 }' ||
			complain "$strategy on $ranks ranks: losses $(cat own.losses), single has $(cat single.losses)"
	done
done

# Bad input: one line that says what to do.
: >empty.c
echo 'int x = ;' >wrong.c
echo 'const struct strategy strategy_x = {.name = 1 +};' >>wrong.c
for file in '' none.c empty.c; do
	status=0
	# shellcheck disable=SC2086
	"$tree/tools/own.sh" $file >out 2>err || status=$?
	[ "$status" = 2 ] && [ "$(wc -l <err)" = 1 ] && grep -q '^tools/own.sh: ' err ||
		complain "own.sh $file: exit status $status, $(cat err)"
done
! "$tree/tools/own.sh" wrong.c >out 2>err || complain 'a file that does not compile is linked'
grep -q 'wrong.c:1' err || complain 'the compiler does not say where'
status=0
BUILD=$TMPDIR/other "$tree/tools/own.sh" "$tree/lessons/18/late.c" >out 2>err || status=$?
[ "$status" = 2 ] && grep -q 'run make first' err || complain 'nothing is built, and it does not say so'

exit $((errors > 0))
