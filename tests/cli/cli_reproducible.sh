#!/bin/bash
# --reproducible: the same bits on 1, 2, 4 and 8 ranks and under every strategy that it is for, from a checkpoint too; and
# without it not, so that the test can fail. What cannot be one tree is refused by name.
#
# cores: all
set -euo pipefail
. "$(dirname "$0")/../support/commands.sh"

gpt=gpt:layers=2,width=32,heads=2,context=16
same=(--model "$gpt" --data tests/golden/text.txt --batch 16 --eval-every 2 --clip 0.5 --json)

# Losses of every step, that of validation, and the weights.
bits() {
	sed -n 's/.*"losses": \(\[[^]]*\]\).*"validation_loss": \([0-9.e-]*\).*"weights_checksum": "\([0-9a-f]*\)".*/\1 \2 \3/p' \
		"$TMPDIR/$1.out" | grep . || fail "no losses or no checksum in: $(tail -n 1 "$TMPDIR/$1.out")"
}

# strategy, options: has the bits of the run `one`
equal() {
	run other train "${same[@]}" --steps 3 --reproducible --strategy "$@"
	[ "$(bits other)" = "$(bits one)" ] || fail "$*: $(bits other) and not $(bits one)"
}

# A sanitizer sees the same code in 16 bits.
if [ -z "${SAN-}" ]; then
	run one train "${same[@]}" --steps 3 --reproducible --strategy single
	equal ddp --ranks 2
	equal ddp --ranks 8 --bucket 1000
	equal zero1 --ranks 4
	equal zero1:reduce=all --ranks 2
	equal zero2 --ranks 8
	equal zero3 --ranks 4 --activation-checkpointing full
	equal fsdp:reshard=no --ranks 8

	run plain train "${same[@]}" --steps 3 --strategy zero2 --ranks 2
	run other train "${same[@]}" --steps 3 --strategy zero2 --ranks 4
	[ "$(bits plain)" != "$(bits other)" ] || fail 'without --reproducible 2 and 4 ranks have the same bits: the test says nothing'
fi

# In 16 bits, where every sum is rounded, with a loss scale; and gone on with on other ranks and under another strategy.
same+=(--precision fp16)
run one train "${same[@]}" --steps 3 --reproducible --strategy single
equal zero2 --ranks 4
run part train "${same[@]}" --reproducible --strategy zero3 --ranks 4 --steps 2 --checkpoint "$TMPDIR/run"
run rest train "${same[@]}" --steps 3 --reproducible --strategy ddp --ranks 2 --resume "$TMPDIR/run"
[ "$(checksum rest)" = "$(checksum one)" ] || fail 'a run that goes on from a checkpoint of other ranks has other weights'
refuse '--micro-batch 2, and this run has 1' train "${same[@]}" --steps 3 --reproducible --micro-batch 1 --resume "$TMPDIR/run"
refuse '--reproducible yes, and this run has no' train "${same[@]}" --steps 3 --resume "$TMPDIR/run"

mlp=(train --model mlp --reproducible --steps 1)
refuse '3 ranks are no power of two' "${mlp[@]}" --ranks 3 --batch 24
refuse '6 micro-batches of 4, no power of two' "${mlp[@]}" --ranks 2 --micro-batch 4 --batch 24
refuse 'say with --micro-batch how large they are' "${mlp[@]}" --ranks 16 --batch 16
for strategy in dp hybrid model pipeline tensor; do
	refuse "--strategy $strategy: sums of this strategy" "${mlp[@]}" --strategy $strategy --ranks 2 --accumulate 8
done
refuse 'use --comm ring' "${mlp[@]}" --ranks 2 --comm mpi
refuse 'a ring adds up' "${mlp[@]}" --strategy ddp:algorithm=ring --ranks 2
refuse 'leave sync=last out' "${mlp[@]}" --strategy fsdp:sync=last --ranks 2
refuse 'leave --offload optimizer out' "${mlp[@]}" --ranks 2 --offload optimizer
refuse 'use --device cpu' "${mlp[@]}" --ranks 2 --device cuda
refuse 'use another norm' train --model mlp:norm=batch --batch 32 --reproducible --steps 1 --micro-batch 4
