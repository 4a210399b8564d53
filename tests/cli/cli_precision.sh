#!/bin/bash
# 16-bit training by the command: weights in fp32 through --save and --init, the plan's text, steps that are skipped in text
# and JSON, an end where no loss scale helps. Every byte as predicted is cli_validate.sh's.
#
# cores: all
set -euo pipefail
[ -z "${SAN-}" ] || { echo 'under a sanitizer mpi_precision trains in 16 bits, and runs of cli_progress.sh diverge' && exit 77; }
. "$(dirname "$0")/../support/commands.sh"

model=mlp:sizes=784-32-10

for precision in bf16 fp16; do
	# The same command twice, and from the plan's text: the same bits.
	options="--model $model --precision $precision --strategy zero2 --ranks 2 --batch 16"
	run $precision train $options --steps 4 --json --save "$TMPDIR/$precision.safetensors"
	run again train $options --steps 4 --json
	"$SHARDLAB" plan $options >"$TMPDIR/plan.txt"
	run plan train --plan "$TMPDIR/plan.txt" --steps 4 --json
	[ -n "$(checksum $precision)" ] && [ "$(checksum $precision)" = "$(checksum again)" ] ||
		fail "two runs in $precision differ"
	[ "$(checksum $precision)" = "$(checksum plan)" ] ||
		fail "the plan in $precision, read from its text, computes something else"
	# The master weights are what is saved: 25,450 of four bytes, and they are what another run begins with, in any
	# precision.
	size=$(stat -c %s "$TMPDIR/$precision.safetensors")
	[ "$size" -gt 101800 ] && [ "$size" -lt 104000 ] || fail "weights saved in $size bytes"
	for other in fp32 bf16 fp16; do
		run init train --model $model --strategy zero3 --ranks 2 --precision $other --steps 1 --batch 16 --json \
			--learning-rate 0 --init "$TMPDIR/$precision.safetensors"
		[ "$(checksum $precision)" = "$(checksum init)" ] ||
			fail "weights saved in $precision and read in $other are others"
	done
done
grep -q '"loss_scale"' "$TMPDIR/bf16.out" && fail 'bf16 has a loss scale'

# A scale that is far too high: the first steps are skipped, DeepSpeed's rule forgives one, and every line says so.
high="--model $model --precision fp16 --strategy ddp --ranks 2 --batch 16 --loss-scale 1073741824 --steps 30"
run high train $high --json
sed -n 1p "$TMPDIR/high.out" | grep -q '"loss_scale": 1073741824.0, "skipped": true, "next_loss_scale": 1073741824.0}$' ||
	fail 'the first overflow is not forgiven'
sed -n 2p "$TMPDIR/high.out" | grep -q '"loss_scale": 1073741824.0, "skipped": true, "next_loss_scale": 536870912.0}$' ||
	fail 'the second overflow does not halve the scale'
sed -n 30p "$TMPDIR/high.out" | grep -q '"skipped": false' || fail 'the last step is skipped as well'
skipped=$(grep -c '"skipped": true' "$TMPDIR/high.out")
tail -n 1 "$TMPDIR/high.out" | grep -q "\"loss_scale\": [0-9.]*, \"skipped\": $skipped[,}]" ||
	fail "the summary does not count $skipped skipped steps"
run text train $high
[ "$(grep -c '^step .* skipped: gradients overflowed at loss scale' "$TMPDIR/text.out")" = "$skipped" ] ||
	fail "the text does not show $skipped skipped steps"
grep -q "steps skipped, loss scale at the end *$skipped, [0-9]" "$TMPDIR/text.out" || fail 'no loss scale at the end'
run torch train $high --json --loss-scaler pytorch
sed -n 1p "$TMPDIR/torch.out" | grep -q '"skipped": true, "next_loss_scale": 536870912.0}$' ||
	fail "PyTorch's rule forgives an overflow"
run grows train --model $model --precision fp16 --loss-scale 64 --loss-scale-window 3 --steps 8 --evaluate no
[ "$(grep -c '^step .* loss scale 64, from now on 128$' "$TMPDIR/grows.out")" = 1 ] || fail 'the scale does not grow'

# If nothing helps: one line, status 1, on one rank and on several.
for ranks in 1 3; do
	for precision in bf16 fp16; do
		status=0
		"$SHARDLAB" train --model $model --precision $precision --ranks $ranks --learning-rate 1e6 --steps 200 \
			>"$TMPDIR/fails.out" 2>"$TMPDIR/err" || status=$?
		[ $status = 1 ] && [ "$(wc -l <"$TMPDIR/err")" = 1 ] && grep -q '^fatal: .*step [0-9]*: ' "$TMPDIR/err" ||
			fail "diverging in $precision on $ranks ranks: exit status $status"
	done
done

# The loss is computed before it is scaled: where it is not finite no smaller scale helps, and the good file stays.
for how in '1 --strategy single' '2 --strategy ddp' '2 --strategy pipeline'; do
	echo good >"$TMPDIR/good.safetensors"
	status=0
	# shellcheck disable=SC2086
	"$SHARDLAB" train --model $model --precision fp16 --batch 24 --steps 10 --learning-rate 1e3 --optimizer sgd --ranks $how \
		--save "$TMPDIR/good.safetensors" --checkpoint "$TMPDIR/good.${how##* }" >"$TMPDIR/fails.out" 2>"$TMPDIR/err" || status=$?
	[ $status = 1 ] && [ "$(wc -l <"$TMPDIR/err")" = 1 ] && grep -q '^fatal: .*step [0-9]*: the loss is not finite in fp16' "$TMPDIR/err" ||
		fail "a loss that is not finite in fp16, $how: exit status $status"
	[ "$(cat "$TMPDIR/good.safetensors")" = good ] && [ ! -e "$TMPDIR/good.${how##* }/latest" ] || fail "$how: it was saved"
done
