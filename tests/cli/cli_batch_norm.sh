#!/bin/bash
# Batch normalization with the command: its own traffic in what `sim` and `train` print, running statistics saved with the
# weights and read again, and a file without them refused.
#
# cores: all
set -euo pipefail
[ -z "${SAN-}" ] || { echo 'under a sanitizer mpi_train trains with these norms, and mpi_checkpoint saves their statistics' && exit 77; }
. "$(dirname "$0")/../support/commands.sh"

model=mlp:sizes=784-16-10

# has NAME KIND CALLS PAYLOAD SENT: what the first role of a report moves.
has() {
	tr -d ' \n' <"$TMPDIR/$1.out" | sed 's/"time":.*//' |
		grep -qF "\"$2\":{\"calls\":$3,\"payload_bytes\":$4,\"sent_bytes\":$5," || fail "$1: not $3 calls of $2 with $4, $5 bytes"
}

# C = 16: 2 ranks gather 2 × 33 values of 4 bytes and reduce 32; local statistics send rank 0's running ones, 32.
run sync sim --model $model,norm=sync-batch --strategy ddp --ranks 2 --micro-batch 4 --json
has sync gather_statistics 1 264 132
has sync reduce_statistics 1 128 128
run local sim --model $model,norm=batch --strategy zero3 --ranks 2 --micro-batch 4 --json
has local broadcast_buffers 1 128 128
has local gather_statistics 0 0 0

# Saved by shards, read by one rank: the same network, which validation shows, running statistics and all.
run save train --model $model,norm=sync-batch --strategy zero3 --ranks 2 --micro-batch 8 --steps 20 \
	--optimizer sgd --learning-rate 0.1 --save "$TMPDIR/norm.safetensors"
head -c 1000 "$TMPDIR/norm.safetensors" | grep -qaF '"0.norm.running_var":{"dtype":"F32","shape":[16]' || fail 'no running_var'
run again train --model $model,norm=sync-batch --strategy single --micro-batch 16 --steps 1 --optimizer sgd \
	--learning-rate 1e-12 --init "$TMPDIR/norm.safetensors"
validation() { sed -n 's/^validation loss *\([0-9.]*\)$/\1/p' "$TMPDIR/$1.out"; }
awk -v a="$(validation save)" -v b="$(validation again)" 'BEGIN { d = a > b ? a - b : b - a; exit !(a > 0 && d < 0.1 * a) }' ||
	fail "validation loss $(validation save), and $(validation again) when read again"

# Stages work too; each has its own statistics.
run stages train --model $model,norm=batch --strategy pipeline --ranks 2 --micro-batch 8 --accumulate 2 --steps 20 \
	--optimizer sgd --learning-rate 0.1 --save "$TMPDIR/stages.safetensors"
run staged train --model $model,norm=batch --strategy single --micro-batch 16 --steps 1 --optimizer sgd \
	--learning-rate 1e-12 --init "$TMPDIR/stages.safetensors"
awk -v a="$(validation stages)" -v b="$(validation staged)" 'BEGIN { d = a > b ? a - b : b - a; exit !(a > 0 && d < 0.1 * a) }' ||
	fail "validation loss $(validation stages), and $(validation staged) when read again"

# A file that has the weights and not the running statistics: as the file of the other would be.
run plain train --model $model --strategy single --micro-batch 8 --steps 1 --save "$TMPDIR/plain.safetensors"
refused "has no tensor '0.norm.weight'" "$SHARDLAB" train --model $model,norm=batch --strategy single --micro-batch 8 --steps 1 \
	--init "$TMPDIR/plain.safetensors" || fail 'a file without the norm was read'
