#!/bin/bash
# What advise says besides its table: what was fixed and by whom, what caps the largest micro-batch, what would do where
# nothing fits, and what mends the file itself. That its proposals hold is tried.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/support/commands.sh

# has TEXT NAME: it stands in what NAME printed.
has() { grep -qF -- "$1" "$TMPDIR/$2.out" || complain "no '$1' in: $(cat "$TMPDIR/$2.out")"; }
hasnt() { ! grep -qF -- "$1" "$TMPDIR/$2.out" || complain "'$1' in: $(cat "$TMPDIR/$2.out")"; }

# fits OPTIONS...: sim, with the margin that advise leaves.
fits() {
	run tried sim "$@" --json
	grep -q '"fits": true' "$TMPDIR/tried.out" || complain "sim $*: does not fit"
}

run open advise --model gpt2-124m --ranks 4 --cluster v100-16gb --batch 64
has 'in 2 precisions: ' open
hasnt 'not searched' open
# Memory's own limit is with a larger batch: that many samples fit, and one more does not.
has 'largest micro-batch: 16, all of a rank'"'"'s batch, with ' open
held=$(sed -n 's/^  memory would hold \([0-9]*\): the same with --micro-batch \1 --batch \([0-9]*\)$/\1 \2/p' "$TMPDIR/open.out")
most=$(sed -n 's/^largest .*, with \(--strategy .*\) --micro-batch .*/\1/p' "$TMPDIR/open.out")
[ $((${held% *} * 4)) = "${held#* }" ] || complain "memory would hold $held"
# shellcheck disable=SC2086
fits --model gpt2-124m --ranks 4 --cluster v100-16gb $most --micro-batch "${held% *}"
# shellcheck disable=SC2086
"$SHARDLAB" sim --model gpt2-124m --ranks 4 --cluster v100-16gb $most --micro-batch $((${held% *} + 1)) >"$TMPDIR/over.out"
hasnt 'fits: yes' over
run fixed advise --model gpt2-124m --ranks 4 --cluster v100-16gb --batch 64 --precision fp16 --micro-batch 4 --strategy zero1,zero1,zero3
has 'not searched: strategy zero1,zero1,zero3 (--strategy) · precision fp16 (--precision)' fixed
has 'micro-batch 4 (--micro-batch)' fixed
has ', 2 strategies in 1 precision: ' fixed
has 'largest micro-batch: 4, as was asked for, with' fixed
run memory advise --model llama-3-8b --ranks 8 --cluster a100-80gb --batch 256 --strategy zero2 --precision bf16
grep -q '^largest micro-batch: 8, with' "$TMPDIR/memory.out" || complain "capped by memory: $(grep largest "$TMPDIR/memory.out")"

# A precision that a file leaves to its program is searched; one that it says is not.
printf '{"train_micro_batch_size_per_gpu": 8, "bf16": {"enabled": %s}, "zero_optimization": {"stage": 3}}' true >"$TMPDIR/says.json"
printf '{"train_micro_batch_size_per_gpu": 8, "bf16": {"enabled": %s}, "zero_optimization": {"stage": 3}}' '"auto"' >"$TMPDIR/auto.json"
file=(--model llama-2-7b --ranks 8 --cluster a100-80gb)
"$SHARDLAB" advise --config "$TMPDIR/says.json" "${file[@]}" >"$TMPDIR/says.out" 2>/dev/null
has "not searched: precision bf16 ($TMPDIR/says.json)" says
# The file itself does not fit: the change is a smaller micro-batch, and no other strategy.
has 'the file itself, zero3' says
grep -q '^  would fit, in .* a step, in place of the file: shardlab sim .*--strategy zero3.*--micro-batch [1-4] ' "$TMPDIR/says.out" ||
	complain "the file itself: $(grep -A 3 'the file itself' "$TMPDIR/says.out")"
"$SHARDLAB" advise --config "$TMPDIR/auto.json" "${file[@]}" >"$TMPDIR/auto.out" 2>/dev/null
has 'in 2 precisions: ' auto
hasnt 'not searched' auto

# A loss scale goes with the precision of its file.
printf '{"train_micro_batch_size_per_gpu": 2, "fp16": {"enabled": true, "initial_scale_power": 12}, "zero_optimization": {"stage": 2}}' >"$TMPDIR/fp16.json"
"$SHARDLAB" advise --config "$TMPDIR/fp16.json" --model gpt2-124m --ranks 4 --cluster v100-16gb >"$TMPDIR/fp16.out" 2>"$TMPDIR/said" ||
	complain "advise of fp16 with a loss scale: $(cat "$TMPDIR/said")"
has "not searched: precision fp16 ($TMPDIR/fp16.json)" fp16
has ' --loss-scale 4096' fp16

# Nothing fits: so much memory, or so many ranks, would do, and does.
run none advise --model llama-3-70b --ranks 8 --cluster a100-40gb --precision bf16 --margin 0
has 'nothing fits' none
grep -q '^next: devices of [0-9.]* GB ([0-9.]* GiB) with --strategy ' "$TMPDIR/none.out" || complain "memory: $(grep -A 5 '^nothing fits' "$TMPDIR/none.out")"
grep -q '^      nodes of [0-9.]* TB ([0-9.]* GiB) with --strategy .*--offload ' "$TMPDIR/none.out" || complain 'no memory of a node'
hasnt 'would fit with' none
# What is named is enough: no number of ranks holds this sequence, and the 16 bits are those that the card has.
run way advise --model qwen3-8b --ranks 2 --cluster v100-16gb --precision fp32
has ' --precision fp16 ' way
hasnt 'would be needed' way
hasnt ' bf16' way
ranks=$(sed -n 's/^      \(--ranks .*\) with \(--strategy .*\): [0-9.]* m\{0,1\}s a step$/\1 \2/p' "$TMPDIR/none.out" | head -n 1)
# shellcheck disable=SC2086
fits --model llama-3-70b --cluster a100-40gb $ranks --require-fit

# What was advised for a program fits as that program's file, under the class that it is read as.
for target in deepspeed:advised.json accelerate:advised.yaml trainer:advised.json torchtitan:advised.toml; do
	written=$TMPDIR/${target#*:} large=(--model gpt2-1558m --sequence 1024 --ranks 8 --cluster a100-40gb)
	"$SHARDLAB" advise "${large[@]}" --batch 64 --emit "${target%:*}:$written" >"$TMPDIR/emitted.out" 2>&1
	has 'note: judged as ' emitted
	"$SHARDLAB" sim --config "$written" "${large[@]}" >"$TMPDIR/again.out" 2>/dev/null
	has '  fits: yes' again
done

# A strategy of many keys stands in full once above the table; figures of a node's memory are marked.
long=zero3:prefetch=15099494:live=1000000000:reuse=1000000000
run long advise --model gpt2-124m --ranks 4 --cluster a100-40gb --strategy $long --batch 16
has "zero3:… below is $long" long
[ "$(grep -c "^[0-9].*$long" "$TMPDIR/long.out")" = 0 ] || complain 'the table has the strategy in full'
has ' · shardlab ' long

# JSON has all of it, the seed and the version.
run json advise --model gpt2-124m --ranks 4 --cluster v100-16gb --batch 64 --precision fp16 --seed 7 --clip 1 --json
has '"version": "' json
has '"seed": 7' json
has '"settings": "clip 1 ' json
has '"setting": "precision"' json
has '"by": "--precision"' json
refuse '--batch 7 is not divisible by 2 ranks' advise --ranks 2 --batch 7
exit $errors
