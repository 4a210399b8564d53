#!/bin/bash
# --checkpoint-async: steps go on while a checkpoint is written, the next one waits for it, a death in between leaves the
# one before, a failure is a line, and what is there in the end is what a run that waits leaves. (Strategy by strategy:
# tests/mpi/mpi_checkpoint.c.)
#
# cores: all
set -euo pipefail
. "$(dirname "$0")/../support/commands.sh"

gpt=gpt:layers=2,width=32,heads=2,context=16
same=(train --model "$gpt" --data tests/golden/text.txt --batch 12 --evaluate no --json)

# The same run in both ways: the same checkpoints and weights, and as many bytes as the plan says.
two=(--strategy zero2 --ranks 2 --steps 6 --checkpoint-every 2 --checkpoint-keep 0)
run sync "${same[@]}" "${two[@]}" --checkpoint "$TMPDIR/sync"
run async "${same[@]}" "${two[@]}" --checkpoint "$TMPDIR/async" --checkpoint-async
[ "$(checksum sync)" = "$(checksum async)" ] || fail 'a run with --checkpoint-async ends with other weights'
for step in 2 4 6; do
	for file in rank-00000.safetensors rank-00001.safetensors; do
		cmp "$TMPDIR/sync/step-0000000$step/$file" "$TMPDIR/async/step-0000000$step/$file" || fail "step $step: other state"
	done
	run verify checkpoint verify "$TMPDIR/async/step-0000000$step"
done
for name in sync async; do
	grep -q '"saved": {"bytes": 410120, "rank_bytes": 205064, "saves": 3, ' "$TMPDIR/$name.out" || fail "$name: not as many bytes as the plan says"
done
run sim sim --model "$gpt" --strategy zero2 --ranks 2 --batch 12 --cluster laptop --checkpoint-async --json
tr -d ' \n' <"$TMPDIR/sim.out" | grep -q '"saved":{"bytes":410120,"rank_bytes":205064}' || fail 'sim says other bytes'

# The plan has the snapshots, and runs from its text.
run plan plan --model "$gpt" --strategy zero2 --ranks 2 --batch 12 --checkpoint "$TMPDIR/planned" --checkpoint-async
grep -q 'item parameters x=parameters.* -> snapshot=snapshot.parameters\[0:' "$TMPDIR/plan.out" || fail 'the plan has no snapshot'
cp "$TMPDIR/plan.out" "$TMPDIR/plan"
run planned train --plan "$TMPDIR/plan" --data tests/golden/text.txt --evaluate no --json --steps 6 --checkpoint "$TMPDIR/planned"
[ "$(checksum sync)" = "$(checksum planned)" ] || fail 'the plan from a file ends with other weights'
refuse '--checkpoint-async: there are no checkpoints' "${same[@]}" --checkpoint-async

if [ -n "${SAN-}" ]; then # a sanitizer wants to be loaded first
	echo 'left out: a disk that is slow or fails'
	exit $((errors > 0))
fi

# A disk that is slow as long as a file is there, and one that fails.
cat >"$TMPDIR/disk.c" <<-'END'
	#define _GNU_SOURCE
	#include <errno.h>
	#include <fcntl.h>
	#include <stdlib.h>
	#include <sys/syscall.h>
	#include <unistd.h>
	int fsync(int fd)
	{
		while (!access(getenv("SLOW"), F_OK)) {
			close(open(getenv("WAITS"), O_CREAT | O_WRONLY, 0666));
			usleep(1000);
		}
		if (!access(getenv("BROKEN"), F_OK))
			return errno = EIO, -1;
		return (int)syscall(SYS_fsync, fd);
	}
END
${CC:-cc} -shared -fPIC "$TMPDIR/disk.c" -o "$TMPDIR/disk.so"
export SLOW=$TMPDIR/slow WAITS=$TMPDIR/waits BROKEN=$TMPDIR/broken

# begin STEPS: a run with a checkpoint every 5 steps, in the background.
begin() {
	rm -f "$TMPDIR/slowly.out" "$WAITS"
	LD_PRELOAD=$TMPDIR/disk.so "$SHARDLAB" "${same[@]}" --strategy single --steps "$1" --checkpoint "$TMPDIR/slowly" --checkpoint-every 5 \
		--checkpoint-async >"$TMPDIR/slowly.out" 2>"$TMPDIR/err" &
	trap "kill -9 $! 2>/dev/null || true" EXIT
}
has() { grep -qs "\"step\": $1," "$TMPDIR/slowly.out"; }
until_step() {
	until has "$1" || ! kill -0 $! 2>/dev/null; do sleep 0.02; done
	has "$1" || fail "no step $1"
}

# While the first is written steps go on, up to the next.
: >"$SLOW"
begin 20
until_step 10
[ -n "$(find "$TMPDIR/slowly" -name 'step-00000005.*.partial')" ] || fail "step 10, and the checkpoint of step 5 is not being written: $(ls "$TMPDIR/slowly")"
sleep 0.2
! has 11 || fail 'the checkpoint of step 10 did not wait for that of step 5'
rm "$SLOW"
wait $! || fail 'a run on a slow disk ends'
[ "$(cat "$TMPDIR/slowly/latest")" = step-00000020 ] || fail "latest: $(cat "$TMPDIR/slowly/latest")"

# Killed meanwhile: the one before stays, nothing else does once the next run begins.
rm -r "$TMPDIR/slowly"
begin 1000000
until [ -e "$TMPDIR/slowly/latest" ] || ! kill -0 $! 2>/dev/null; do sleep 0.02; done
: >"$SLOW"
until [ -e "$WAITS" ] || ! kill -0 $! 2>/dev/null; do sleep 0.02; done
before=$(cat "$TMPDIR/slowly/latest")
kill -9 $!
wait $! 2>/dev/null || true
rm "$SLOW"
[ "$(cat "$TMPDIR/slowly/latest")" = "$before" ] || fail "latest was $before, and is $(cat "$TMPDIR/slowly/latest")"
run verify checkpoint verify "$TMPDIR/slowly"
step=$((10#${before#step-} + 2))
run gone_on "${same[@]}" --strategy single --steps $step --checkpoint "$TMPDIR/slowly" --checkpoint-async --resume latest
run whole "${same[@]}" --strategy single --steps $step
[ "$(checksum whole)" = "$(checksum gone_on)" ] || fail 'a run that was killed while it wrote, and resumed, ends with other weights'
[ -z "$(find "$TMPDIR/slowly" -name '*.partial')" ] || fail "left behind: $(ls "$TMPDIR/slowly")"

# ends_badly LATEST SAID OPTION...: the run ends in the step behind a checkpoint that the slow disk has not written yet. Nothing is
# left of one that is ruined, and what was right is still saved. ("": no checkpoint.)
ends_badly() {
	local latest=$1 said=$2 status=0 found
	shift 2
	rm -rf "$TMPDIR/slowly" "$WAITS"
	: >"$SLOW"
	LD_PRELOAD=$TMPDIR/disk.so "$SHARDLAB" train --evaluate no --json --steps 9 --learning-rate 1e6 --weight-decay 1e6 --checkpoint "$TMPDIR/slowly" \
		--checkpoint-async "$@" >"$TMPDIR/slowly.out" 2>"$TMPDIR/err" &
	until [ -e "$WAITS" ] || ! kill -0 $! 2>/dev/null; do sleep 0.02; done
	sleep 0.2 # for the step behind it
	rm "$SLOW"
	wait $! || status=$?
	[ $status = 1 ] && [ "$(wc -l <"$TMPDIR/err")" = 1 ] && grep -q "$said" "$TMPDIR/err" || fail "$*: a run that diverges: exit status $status"
	found=$(find "$TMPDIR/slowly" -mindepth 1 -maxdepth 1 -printf '%f\n' | sort | tr '\n' ' ')
	[ "$found" = "${latest:+latest $latest }" ] && { [ -z "$latest" ] || [ "$(cat "$TMPDIR/slowly/latest")" = "$latest" ]; } ||
		fail "$*: a run that diverges leaves: $found"
}
for way in '--strategy single' '--strategy zero2 --ranks 2'; do
	# shellcheck disable=SC2086
	ends_badly step-00000001 'the loss is not finite' --model "$gpt" --data tests/golden/text.txt --batch 12 --checkpoint-every 1 $way
	# shellcheck disable=SC2086
	ends_badly '' 'step 4: its update left parameters that are not finite' --model mlp:sizes=784-10 --batch 16 --checkpoint-every 4 $way
done

# It fails: a line at the end of a step, and the run goes on. Without its last one it ends with status 1.
rm -rf "$TMPDIR/slowly"
: >"$BROKEN"
begin 8
status=0
wait $! || status=$?
rm "$BROKEN"
[ $status = 1 ] && grep -q '^warning: no checkpoint of step 5: .*Input/output error; the run goes on$' "$TMPDIR/err" &&
	grep -q '^fatal: no checkpoint of step 8: .*Input/output error$' "$TMPDIR/err" &&
	[ "$(wc -l <"$TMPDIR/err")" = 2 ] || fail 'not a line for each checkpoint that failed'
[ -z "$(ls "$TMPDIR/slowly")" ] || fail "left behind: $(ls "$TMPDIR/slowly")"
exit $((errors > 0))
