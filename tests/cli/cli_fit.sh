#!/bin/bash
# A plan that does not fit: sim and the window say what is missing and the cheapest change that mends it, in the same
# words, and it does: with these options it fits, in the step that was promised, and nothing that fits is faster by more
# than a tie.
set -euo pipefail
. "$(dirname "$0")/../support/commands.sh"

# figure NAME KEY: a number of JSON, by its first place.
figure() { sed -n 's/.*"'"$2"'": \([0-9.e+-]*\).*/\1/p' "$TMPDIR/$1.out" | head -n 1; }

# mends WANTED OPTIONS...: what is proposed contains WANTED ("": one of several).
mends() {
	local wanted=$1 change step words
	shift
	run before sim "$@" --json
	grep -q '"fits": false' "$TMPDIR/before.out" || fail "sim $*: fits already"
	change=$(sed -n 's/.*"options": "\(.*\)",*$/\1/p' "$TMPDIR/before.out" | head -n 1)
	step=$(grep -A 3 would_fit_with "$TMPDIR/before.out" | sed -n 's/.*"step_s": \([0-9.e+-]*\).*/\1/p')
	[[ -n "$change" && "$change" == *"$wanted"* ]] || complain "sim $*: would fit with '$change', wanted '$wanted'"
	# An option that is said again stands for the first.
	words=()
	local skip= word
	for word in "$@"; do
		if [ -n "$skip" ]; then skip= && continue; fi
		if [[ " $change " == *" $word "* && $word == --* ]]; then skip=1 && continue; fi
		words+=("$word")
	done
	# shellcheck disable=SC2086
	run after sim "${words[@]}" $change --json
	grep -q '"fits": true' "$TMPDIR/after.out" || complain "sim $* $change: does not fit"
	[ "$(grep -A 30 '"time"' "$TMPDIR/after.out" | sed -n 's/.*"step_s": \([0-9.e+-]*\).*/\1/p' | head -n 1)" = "$step" ] ||
		complain "sim $* $change: another step than $step s"
	run text sim "$@"
	grep -qF -- "would fit with: $change, in " "$TMPDIR/text.out" || complain "sim $*: another change in text"
	run view view "$@" --describe --at 0
	sed -n 2p "$TMPDIR/view.out" | grep -qF -e "Would fit with $change, in " -e "Would just fit with $change, in " || complain "view $*: $(sed -n 2p "$TMPDIR/view.out")"
	sed -n 2p "$TMPDIR/view.out" | grep -q '^Does not fit. A rank needs [0-9.]* GB with libraries, and its device has [0-9.]* GB ([0-9.]* GiB): [0-9.]* GB are missing' ||
		complain "view $*: $(sed -n 2p "$TMPDIR/view.out")"
	grep -q '^matters .*: rank [0-9]* needs [0-9.]* GB, more memory than there is beside libraries, \(for \|before the step begins$\)' "$TMPDIR/view.out" ||
		complain "view $*: what matters does not say that memory overflows beside libraries"
}

# A sanitizer makes plans of this size slow, and sees all of the code in one of them.
if [ -n "${SAN-}" ]; then
	mends '--micro-batch' --model gpt2-124m --strategy ddp --ranks 2 --batch 64 --cluster v100-16gb
	exit 0
fi
mends '--strategy' --model gpt2-774m --strategy ddp --ranks 4 --batch 4 --cluster v100-16gb
mends '--micro-batch' --model gpt2-124m --strategy ddp --ranks 2 --batch 64 --cluster v100-16gb
# Without the keys that keep memory: a strategy that gathers once more.
mends "--strategy fsdp " --model llama-3-8b --strategy fsdp:reshard=no --ranks 4 --cluster v100-16gb --precision fp16 --batch 4 --sequence 1024
! grep -q "that is close" "$TMPDIR/text.out" || complain "without reshard=no: $(grep -A 1 "would fit" "$TMPDIR/text.out")"
mends '--strategy zero3 --micro-batch 1' --model gpt2-1558m --strategy ddp --ranks 4 --cluster v100-16gb:stack=ceiling
# Of what is as fast within a tie, the smallest change of the job: no other strategy where a smaller micro-batch does,
# and no offload where the next stage does.
mends '--micro-batch 1 --accumulate 4' --model llama-3-8b --strategy zero3 --ranks 8 --cluster a100-80gb --precision bf16
! grep -q -e 'would fit with.*--strategy' "$TMPDIR/text.out" || complain "another strategy: $(grep 'would fit' "$TMPDIR/text.out")"
mends '--strategy zero2 --micro-batch 1' --model llama-3-8b --strategy zero1 --ranks 8 --cluster a100-80gb --precision bf16
! grep -q -e 'would fit with.*--offload' "$TMPDIR/text.out" || complain "offload: $(grep 'would fit' "$TMPDIR/text.out")"
# Under a stack it surely fits, or is said to be close; the same of it then in JSON.
mends '--offload optimizer' --model llama-2-7b --strategy single --ranks 1 --batch 16 --precision fp16 --cluster v100-32gb
grep -q '^  that is close: within a twentieth ' "$TMPDIR/text.out" || complain "not close: $(grep -A 1 'would fit' "$TMPDIR/text.out")"
grep -A 4 would_fit_with "$TMPDIR/before.out" | grep -q '"fit": "close"' || complain 'in JSON it is not close'
grep -q '"fit": "close"' "$TMPDIR/after.out" || complain 'with these options it is not close'
# All of a rank's batch at once keeps no gradients for the next micro-batch, and takes less than smaller ones.
mends '--activation-checkpointing full --offload optimizer' --model gpt2-1558m --strategy single --ranks 1 --batch 4 --cluster v100-16gb
! grep -q 'that is close' "$TMPDIR/text.out" || complain "with all of the batch at once: $(grep -A 1 'would fit' "$TMPDIR/text.out")"
# A faster one that is close stands beside one that surely fits.
mends '--offload optimizer' --model params=7e9:units=32 --strategy zero2 --ranks 4 --cluster v100-32gb --precision fp16
grep -q "^  faster, but close to all of a device's memory: --strategy zero3, in " "$TMPDIR/text.out" || complain "not beside: $(grep -A 1 'would fit' "$TMPDIR/text.out")"
[ "$(grep -A 8 would_fit_with "$TMPDIR/before.out" | grep -A 2 '"close": {' | grep -c 'zero3\|step_s')" = 2 ] || complain 'in JSON nothing is beside it'
# A proposal is complete: it names the batch that small micro-batches make up, and what is offloaded already.
mends '--micro-batch 8 --accumulate 2' --model gpt2-124m --strategy ddp --ranks 2 --micro-batch 16 --cluster v100-16gb
mends '--offload optimizer,activations' --model gpt2-1558m --strategy single --ranks 1 --batch 4 --offload activations --cluster v100-16gb
# Stages: many micro-batches, as many ranks.
mends '--micro-batch 2 --accumulate 128' --model llama-2-7b --strategy model --ranks 2 --cluster a100-80gb:stack=ceiling --precision bf16 --micro-batch 8 --accumulate 32
mends '--offload optimizer' --model llama-3-70b --strategy pipeline --ranks 8 --cluster h100 --precision bf16 --sequence 4096 --micro-batch 1 --accumulate 24
# Larger groups of ranks that share one copy.
mends '--strategy hybrid:shard=64 ' --model llama-3-70b --strategy hybrid --ranks 64 --cluster h100 --precision bf16 --micro-batch 1 --sequence 4096

# sim and the window say the same of a plan's file as of its settings.
"$SHARDLAB" plan --model gpt2-124m --strategy ddp --ranks 2 --batch 64 >"$TMPDIR/big.plan"
run settings sim --model gpt2-124m --strategy ddp --ranks 2 --batch 64 --cluster v100-16gb
run file sim --plan "$TMPDIR/big.plan" --cluster v100-16gb
run seen view --plan "$TMPDIR/big.plan" --cluster v100-16gb --describe --at 0
change=$(sed -n 's/.*would fit with: //p' "$TMPDIR/settings.out")
[ -n "$change" ] && [ "$(sed -n 's/.*would fit with: //p' "$TMPDIR/file.out")" = "$change" ] ||
	complain "sim of a plan's file would fit with '$(sed -n 's/.*would fit with: //p' "$TMPDIR/file.out")', of its settings with '$change'"
grep -qF "Would fit with $change" "$TMPDIR/seen.out" || complain "view of a plan's file does not say 'Would fit with $change'"

# Tried by hand: no other setting, and no two, fit and are faster than the proposal.
job='--model gpt2-124m --strategy ddp --ranks 2 --cluster v100-16gb'
run proposed sim $job --batch 64 --json
step=$(grep -A 3 would_fit_with "$TMPDIR/proposed.out" | sed -n 's/.*"step_s": \([0-9.e+-]*\).*/\1/p')
reached=
for change in '--micro-batch 16' '--micro-batch 8' '--activation-checkpointing selective' '--activation-checkpointing full' '--strategy zero1' \
	'--strategy zero2' '--strategy zero3' '--strategy fsdp' '--offload optimizer' '--strategy zero1 --micro-batch 16' '--strategy zero1 --micro-batch 8' \
	'--strategy zero1 --activation-checkpointing full' '--micro-batch 8 --offload optimizer' '--micro-batch 16 --activation-checkpointing selective'; do
	# shellcheck disable=SC2086
	run one sim ${job/--strategy ddp/} $([[ $change == *strategy* ]] || echo --strategy ddp) --batch 64 $change --json
	grep -q '"fits": true' "$TMPDIR/one.out" || continue
	one=$(grep -A 30 '"time"' "$TMPDIR/one.out" | sed -n 's/.*"step_s": \([0-9.e+-]*\).*/\1/p' | head -n 1)
	[ "$one" != "$step" ] || reached=yes
	awk "BEGIN { exit !($step <= 1.09 * $one) }" ||
		complain "$change fits and takes $one s; proposed: $(grep -A 3 would_fit_with "$TMPDIR/proposed.out")"
done
[ -n "$reached" ] || complain "none of these takes the $step s of what is proposed"

# A plan that fits gets no advice; the last caption of one that does not fit says so; so does a job that nothing mends.
run fits sim --model gpt2-124m --strategy zero2 --ranks 2 --cluster a100-80gb
! grep -q 'would fit' "$TMPDIR/fits.out" || complain 'a plan that fits would fit'
run fits view --model gpt2-124m --strategy zero2 --ranks 2 --cluster a100-80gb --describe --at 0
! grep -q '^Does not fit' "$TMPDIR/fits.out" || complain 'a plan that fits has a banner'
run beyond view --model gpt2-124m --strategy ddp --ranks 2 --batch 64 --cluster v100-16gb --describe --step phase
grep '^caption' "$TMPDIR/beyond.out" | tail -n 1 | grep -q '^caption  The step does not fit; with enough memory it would be done in [0-9.]* s\. ' ||
	complain "a step that does not fit ends with: $(grep '^caption' "$TMPDIR/beyond.out" | tail -n 1)"
run never view --model gpt3-175b --strategy zero3 --ranks 64 --cluster v100-16gb --describe --at 0
sed -n 2p "$TMPDIR/never.out" | grep -q 'No change of one or a few settings' || complain "$(sed -n 2p "$TMPDIR/never.out")"

# If no setting mends it, sim says which part of the work to reduce, and that works.
long=(--model tests/golden/configs/qwen2.5-7b.json --strategy fsdp --ranks 8 --cluster a100-80gb)
run long sim "${long[@]}"
grep -qF "  nothing that was tried would fit: take a shorter --sequence (4096 is usual; this is the model's whole context) and --precision bf16" \
	"$TMPDIR/long.out" || complain "the whole context in fp32: $(grep -A 1 'fits: ' "$TMPDIR/long.out")"
run shorter sim "${long[@]}" --sequence 4096 --precision bf16
grep -q '^  would fit with: --micro-batch ' "$TMPDIR/shorter.out" || complain "shorter, in bf16: $(grep -A 1 'fits: ' "$TMPDIR/shorter.out")"
run large sim --model gpt3-175b --strategy zero3 --ranks 64 --cluster v100-16gb
grep -q '^  nothing that was tried would fit: take --precision fp16$' "$TMPDIR/large.out" || complain "$(grep -A 1 'fits: ' "$TMPDIR/large.out")"
run larger sim --model gpt3-175b --strategy ddp --ranks 2 --cluster v100-16gb --precision fp16
grep -q '^  nothing that was tried would fit: take devices with more memory, or a smaller model$' "$TMPDIR/larger.out" ||
	complain "$(grep -A 1 'fits: ' "$TMPDIR/larger.out")"

# compare says the same of the nearest, where none fits; of one alone too, and in JSON.
run several compare --model gpt2-124m --strategy ddp,zero3 --ranks 4 --batch 512 --micro-batch 128 --cluster v100-16gb
grep -qx 'none of them fits; the nearest is zero3' "$TMPDIR/several.out" || complain "none of several: $(tail -n 4 "$TMPDIR/several.out")"
run nearest sim --model gpt2-124m --strategy zero3 --ranks 4 --batch 512 --micro-batch 128 --cluster v100-16gb
grep '^  would fit with: ' "$TMPDIR/nearest.out" >"$TMPDIR/nearest" || complain "nothing would fit: $(grep -A 1 'fits: ' "$TMPDIR/nearest.out")"
grep -qxFf "$TMPDIR/nearest" "$TMPDIR/several.out" || complain "compare and sim differ: $(cat "$TMPDIR/nearest"), $(grep -A 1 '^none' "$TMPDIR/several.out")"
run none compare --model gpt3-175b --strategy ddp --ranks 2 --cluster v100-16gb --precision fp16
[ "$(grep -A 1 '^it does not fit$' "$TMPDIR/none.out" | tail -n 1)" = "$(grep 'nothing that was tried' "$TMPDIR/larger.out")" ] ||
	complain "one that does not fit: $(tail -n 3 "$TMPDIR/none.out")"
run json compare --model gpt2-124m --strategy ddp,zero3 --ranks 4 --batch 512 --micro-batch 128 --cluster v100-16gb --json
[ "$(grep -c '"would_fit_with"' "$TMPDIR/json.out")" = 1 ] || complain 'in JSON nothing would fit'
! grep -q 'nothing that was tried' "$TMPDIR/text.out" "$TMPDIR/shorter.out" || complain 'what can be mended has no way out'
