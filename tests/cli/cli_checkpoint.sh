#!/bin/bash
# Checkpoints from the command: what was saved on some ranks goes on with others, a run that was killed goes on from its
# last, what does not fit is refused by name, and what is damaged is found. (Bit for bit, strategy by strategy:
# tests/mpi/mpi_checkpoint.c.)
#
# cores: all
set -euo pipefail
. "$(dirname "$0")/../support/commands.sh"

run=$TMPDIR/run
gpt=gpt:layers=2,width=32,heads=2,context=16
same=(--model "$gpt" --data tests/golden/text.txt --batch 12 --evaluate no --json)

# Saved by 1, 2, 3 ranks, and gone on with by others: train_run itself makes sure that the state is the same.
run whole train "${same[@]}" --strategy zero2 --ranks 2 --steps 4
run saved train "${same[@]}" --strategy zero2 --ranks 2 --steps 2 --checkpoint "$run" --checkpoint-every 1 --checkpoint-keep 1 --log "$TMPDIR/run.csv"
[ "$(ls "$run")" = "$(printf '%s\n' latest step-00000002)" ] || fail "the folder has: $(ls "$run")"
cp "$TMPDIR/run.csv" "$TMPDIR/other.csv"
run again train "${same[@]}" --strategy zero2 --ranks 2 --steps 4 --resume "$run" --log "$TMPDIR/run.csv"
[ "$(cut -d , -f 1 "$TMPDIR/run.csv" | paste -s -d ' ')" = 'step 1 2 3 4' ] || fail "the log of two runs: $(cat "$TMPDIR/run.csv")"
head -n 3 "$TMPDIR/run.csv" | cmp -s - "$TMPDIR/other.csv" || fail 'the log has other lines of the first run'
[ "$(checksum whole)" = "$(checksum again)" ] || fail 'a run that was resumed ends with other weights'
others=('single --ranks 1' 'ddp --ranks 3' 'pipeline --ranks 3 --accumulate 2' 'zero3 --ranks 4 --offload optimizer,parameters')
[ -z "${SAN-}" ] || others=("${others[2]}") # mpi_checkpoint has each strategy
for other in "${others[@]}"; do
	# shellcheck disable=SC2086
	run other train "${same[@]}" --strategy $other --steps 4 --checkpoint "$run.other" --resume "$run/step-00000002"
	run back train "${same[@]}" --strategy zero1 --ranks 2 --steps 5 --checkpoint "$run.other" --resume latest
	rm -r "$run.other"
done

# The checkpoint's contents.
run show checkpoint show "$run"
grep -q '^  step        2$' "$TMPDIR/show.out" || fail 'checkpoint show does not say the step'
grep -q 'first_moment  *34,176 elements' "$TMPDIR/show.out" || fail 'checkpoint show does not say the moments'
run verify checkpoint verify "$run"
run weights checkpoint weights "$run" --save "$TMPDIR/weights"
run init train "${same[@]}" --steps 1 --learning-rate 0 --weight-decay 0 --init "$TMPDIR/weights"
[ "$(checksum saved)" = "$(checksum init)" ] || fail 'the weights of a checkpoint are others than those of its run'

# The bytes that sim predicts, and the headers of the files.
run sim sim --model $gpt --strategy zero2 --ranks 2 --batch 12 --cluster laptop --checkpoint-every 1 --mtbf 6h --json
bytes=$(sed -n 's/^    "bytes": \([0-9]*\),$/\1/p' "$TMPDIR/sim.out" | sort -u) # of the plan, and of its checkpoints
[ "$bytes" = 410120 ] || fail "sim says that a checkpoint has '$bytes' bytes"
grep -q '"goodput": 0.9' "$TMPDIR/sim.out" || fail 'sim says no goodput'
for file in "$run"/step-00000002/*.safetensors; do
	header=$(od -An -t u8 -N 8 "$file")
	bytes=$((bytes - $(stat -c %s "$file") + header + 8))
done
[ "$bytes" = 0 ] || fail "the files have $((-bytes)) bytes more than sim says"

# A setting that does not go with the checkpoint is named, and nothing is written.
resume=(train "${same[@]}" --strategy zero2 --ranks 2 --steps 4 --resume "$run")
refuse '--learning-rate 0.001, and this run has 0.002' "${resume[@]}" --learning-rate 2e-3
refuse '--seed 1, and this run has 2' "${resume[@]}" --seed 2
refuse '--precision fp32' "${resume[@]}" --precision bf16
refuse '--batch 12' train "${same[@]/12/8}" --strategy zero2 --ranks 2 --steps 4 --resume "$run"
refuse '--model gpt:layers=2' train --model mlp --steps 4 --resume "$run"
refuse 'saved with --offload optimizer:delayed=no, and this run has optimizer:delayed=yes' "${resume[@]}" --offload optimizer:delayed=yes
sed '$s/[a-y]/z/' tests/golden/text.txt >"$TMPDIR/text.txt" # a letter far behind the first samples
refuse '--data has other samples' train --model $gpt --data "$TMPDIR/text.txt" --batch 12 --steps 4 --resume "$run"
refuse '--init: --resume has the weights' "${resume[@]}" --init "$TMPDIR/weights"
refuse 'is of step 2 already' train "${same[@]}" --strategy zero2 --ranks 2 --steps 2 --resume "$run"
refuse 'of which run? Give --checkpoint' train "${same[@]}" --steps 4 --resume latest
refuse 'there is no checkpoint in it' train "${same[@]}" --steps 4 --resume "$TMPDIR/weights"
refuse "--checkpoint-every '5x': give a number of steps" train "${same[@]}" --checkpoint "$run" --checkpoint-every 5x
refuse '--checkpoint-keep: there are no checkpoints' train "${same[@]}" --checkpoint-keep 3
"$SHARDLAB" compare --model $gpt --strategy zero2,ddp --ranks 2 --batch 12 --cluster laptop --mtbf 6h >"$TMPDIR/mtbf" ||
	fail 'compare --mtbf'
[ "$(grep -cE '^(zero2|ddp) .* [0-9]+ steps +[0-9.]+ %$' "$TMPDIR/mtbf")" = 2 ] || fail "no best interval: $(cat "$TMPDIR/mtbf")"
grep -q '^with a failure every 6 h; goodput: ' "$TMPDIR/mtbf" || fail 'compare: no time between failures'
# A time is another number of steps for each strategy: it is said as it was given. The best number of steps is the nearest.
run every compare --model $gpt --strategy zero2,ddp --ranks 2 --batch 12 --cluster laptop --checkpoint-every 10min
grep -qF '; every 10 min; async:' "$TMPDIR/every.out" || fail "compare: $(grep 'every' "$TMPDIR/every.out")"
run best sim --model $gpt --strategy zero2 --ranks 2 --batch 12 --cluster laptop --mtbf 20000h
grep -q '^with a failure every 20000 h: best every [0-9]* steps, ' "$TMPDIR/best.out" || fail "sim: $(grep failure "$TMPDIR/best.out")"
run best sim --model gpt --strategy ddp --ranks 2 --cluster laptop --mtbf 2h --json
awk '/"best_every"/ { n = $2 } /"best_s"/ { t = $2 } /"step_s"/ { step = $2 } END { d = n - t / step; exit d < -0.5 || d > 0.5 }' "$TMPDIR/best.out" ||
	fail "sim: not the nearest number of steps: $(grep -E '"(best_every|best_s|step_s)"' "$TMPDIR/best.out")"
refuse "--mtbf '6': give a time, as 90s" sim --model $gpt --cluster laptop --mtbf 6
refuse "is what is written for --checkpoint" train "${same[@]}" --checkpoint "$run" --save "$run"
refuse 'it has checkpoints of another run, up to step-00000002; give --resume latest' train "${same[@]}" --steps 4 --checkpoint "$run"
run elsewhere train "${same[@]}" --steps 1 --checkpoint "$run.other"
refuse 'it has checkpoints of another run' train "${same[@]}" --steps 4 --checkpoint "$run" --resume "$run.other"
rm -r "$run.other"
refuse 'cannot be made' train "${same[@]}" --checkpoint /proc/none
refuse 'checkpoint takes what to do' checkpoint shows "$run"
refuse 'where to? Give --save' checkpoint weights "$run"

# The plan with these sections is printed, and runs.
run plan plan --model $gpt --strategy zero2 --ranks 2 --batch 12 --checkpoint "$run"
cp "$TMPDIR/plan.out" "$TMPDIR/plan"
run planned train --plan "$TMPDIR/plan" --data tests/golden/text.txt --evaluate no --json --steps 4 --resume "$run"
[ "$(checksum whole)" = "$(checksum planned)" ] || fail 'the plan from a file ends with other weights'
"$SHARDLAB" plan --model $gpt --strategy zero2 --ranks 2 --batch 12 >"$TMPDIR/plan"
refuse 'it has no sections save and restore' train --plan "$TMPDIR/plan" --data tests/golden/text.txt --steps 4 --resume "$run"

# A flipped bit is found, whichever rank's it is.
damaged=$run/step-00000002/rank-00001.safetensors
cp "$damaged" "$TMPDIR/good"
printf '\377' | dd of="$damaged" bs=1 seek=100000 conv=notrunc status=none
status=0
"$SHARDLAB" checkpoint verify "$run" >"$TMPDIR/out" 2>"$TMPDIR/err" || status=$?
[ $status = 1 ] && grep -q 'rank-00001.safetensors: it is not as it was saved' "$TMPDIR/err" ||
	fail "verify of a damaged checkpoint: exit status $status"
status=0
"$SHARDLAB" checkpoint weights "$run" --save "$TMPDIR/damaged.safetensors" >"$TMPDIR/out" 2>"$TMPDIR/err" || status=$?
[ $status = 1 ] && grep -q 'rank-00001.safetensors: it is not as it was saved' "$TMPDIR/err" && [ ! -e "$TMPDIR/damaged.safetensors" ] ||
	fail "weights of a damaged checkpoint: exit status $status"
status=0
"$SHARDLAB" "${resume[@]}" >"$TMPDIR/out" 2>"$TMPDIR/err" || status=$?
[ $status != 0 ] && grep -q 'rank-00001.safetensors: it is not as it was saved' "$TMPDIR/err" ||
	fail "a damaged checkpoint was taken: exit status $status"
# One that is cut short is no download.
truncate -s -4 "$damaged"
status=0
"$SHARDLAB" checkpoint verify "$run" >"$TMPDIR/out" 2>"$TMPDIR/err" || status=$?
[ $status = 1 ] && grep -q 'rank-00001.safetensors: it is not as it was saved: its size has changed; take an older' "$TMPDIR/err" ||
	fail "verify of a checkpoint that is cut short: exit status $status, $(cat "$TMPDIR/err")"
cp "$TMPDIR/good" "$damaged"

# The run's last line has the checkpoints, and not what else lies there.
mkdir -p "$run.listed/step-00000099.partial"
touch "$run.listed/notes"
"$SHARDLAB" train "${same[@]/--json/--seed=1}" --strategy single --steps 1 --checkpoint "$run.listed" >"$TMPDIR/listed" 2>&1 || true
grep -qxF "wrote $run.listed (latest, step-00000001)" "$TMPDIR/listed" || fail "what was written: $(tail -n 2 "$TMPDIR/listed")"
rm -r "$run.listed"

# Of a run's folder all checkpoints are looked at: which of them is whole has a name. Without `latest` the folder is used.
run two train --model mlp:sizes=784-32-10 --strategy single --batch 12 --steps 2 --checkpoint "$run.two" --checkpoint-every 1 --evaluate no
run verified checkpoint verify "$run.two"
[ "$(grep -c ': whole: 1 file, ' "$TMPDIR/verified.out")" = 2 ] || fail "verify: $(cat "$TMPDIR/verified.out")"
sed -i 's/"step": 2/"step": 3/' "$run.two/step-00000002/checkpoint.json"
status=0
"$SHARDLAB" checkpoint verify "$run.two" >"$TMPDIR/out" 2>"$TMPDIR/err" || status=$?
[ $status = 1 ] && grep -q 'step-00000002/checkpoint.json: it is not as it was saved.* 1 of 2 .*: .*/step-00000001$' "$TMPDIR/err" ||
	fail "verify of two: exit status $status, $(cat "$TMPDIR/err")"
rm "$run.two/latest"
refuse 'it has checkpoints of another run, up to step-00000002' train --model mlp:sizes=784-32-10 --batch 12 --steps 2 --checkpoint "$run.two"
refuse 'with --learning-rate 0.001, and this run has 0.1;' train --model mlp:sizes=784-32-10 --strategy single --batch 12 --steps 4 \
	--learning-rate 0.1 --resume "$run.two/step-00000001"

# No room is told before the first step. (Later it costs a checkpoint and not the run: tests/cli/cli_room.sh.)
(
	trap '' XFSZ
	ulimit -f 100
	refused 'no room for its 418.7 kB' "$SHARDLAB" train "${same[@]}" --strategy single --steps 4 --checkpoint "$TMPDIR/full"
) || exit 1
[ -z "$(ls "$TMPDIR/full")" ] || fail "left behind: $(ls "$TMPDIR/full")"

# A run that is stopped, and cannot leave a checkpoint, does not end with the status of one that can be gone on with.
"$SHARDLAB" train "${same[@]}" --strategy single --steps 100000000 --checkpoint "$TMPDIR/away" >"$TMPDIR/away.out" 2>"$TMPDIR/err" &
until grep -qs '"step": 3,' "$TMPDIR/away.out" || ! kill -0 $! 2>/dev/null; do sleep 0.1; done
until rm -rf "$TMPDIR/away" 2>/dev/null; do sleep 0.1; done # a save may be under way
echo none >"$TMPDIR/away"
kill -INT $!
status=0
wait $! || status=$?
[ $status = 1 ] && grep -q '^stopped by the user after step [0-9]*, without a checkpoint of it: .' "$TMPDIR/err" ||
	fail "a run that is stopped and leaves no checkpoint: exit status $status"

# Killed at any moment, it goes on from a checkpoint, and ends as if nothing had been. The pipe is full long before the last
# step: the run is not over when it is killed, however fast the machine.
long=(train --model gpt:layers=1,width=16,heads=2,context=8 --data tests/golden/text.txt --batch 4 --evaluate no --json --strategy single --steps 600)
run long "${long[@]}"
mkfifo "$TMPDIR/steps"
for step in $([ -n "${SAN-}" ] || echo 1 7) 20; do
	"$SHARDLAB" "${long[@]}" --checkpoint "$TMPDIR/killed" --checkpoint-every 1 >"$TMPDIR/steps" 2>"$TMPDIR/err" &
	exec 3<"$TMPDIR/steps"
	for _ in $(seq $((step + 1))); do read -r <&3 || fail 'a run that is to be killed ends'; done
	kill -9 $!
	wait $! 2>/dev/null || true
	exec 3<&-
	[ -e "$TMPDIR/killed/latest" ] || fail "no checkpoint of step $step"
	run killed "${long[@]}" --checkpoint "$TMPDIR/killed" --checkpoint-every 1000 --resume latest
	[ "$(checksum long)" = "$(checksum killed)" ] || fail 'a run that was killed and resumed ends with other weights'
	[ -z "$(find "$TMPDIR/killed" -name '*.partial')" ] || fail "left behind: $(ls "$TMPDIR/killed")"
	rm -r "$TMPDIR/killed"
done
