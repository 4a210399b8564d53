#!/bin/bash
# --activation-checkpointing at the command: what is wrong is refused in one line, what is right shows in the figures.
set -uo pipefail

export OPENBLAS_NUM_THREADS=1 SHARDLAB_CONFIG=$TMPDIR/none.yaml
small=gpt:layers=4,width=32,heads=2,context=16
errors=0

# refuse PATTERN CHECKPOINTING ARGUMENT...
refuse() {
	local pattern=$1 checkpointing=$2 status=0
	shift 2
	"$SHARDLAB" sim --cluster laptop "$@" --activation-checkpointing "$checkpointing" >"$TMPDIR/out" 2>"$TMPDIR/err" || status=$?
	if [ "$status" != 2 ] || [ -s "$TMPDIR/out" ] || [ "$(wc -l <"$TMPDIR/err")" != 1 ] ||
		! grep -q '^fatal: --activation-checkpointing' "$TMPDIR/err" || ! grep -qF -- "$pattern" "$TMPDIR/err"; then
		echo "$checkpointing: exit status $status, wanted 'fatal: … $pattern …':"
		head -n 5 "$TMPDIR/err" "$TMPDIR/out"
		errors=$((errors + 1))
	fi
}

refuse "'banana' is not one of" banana
refuse "'Full' is not one of" Full
refuse "'every' is not one of" every
refuse "'' is not one of" :number_checkpoints=2
refuse "'0' is below 1" every=0
refuse "'-1' is below 1" every=-1
refuse "'x' is not a" every=x
refuse "'1.5'" every=1.5
refuse 'is above 2147483647' every=99999999999999
refuse 'is too large' every=99999999999999999999
refuse 'every=5: gpt has 4 blocks' every=5 --model $small
refuse "unknown key 'checkpoints'" full:checkpoints=2
refuse "'number_checkpoints' is not key=value" full:number_checkpoints
refuse "'two'" full:number_checkpoints=two
refuse 'given twice' full:number_checkpoints=2:number_checkpoints=2
refuse 'more than gpt has blocks, 4' full:number_checkpoints=5 --model $small
refuse 'goes with full' every=2:number_checkpoints=2 --model $small
refuse 'goes with full' selective:number_checkpoints=2 --model $small
refuse 'none takes no keys' none:number_checkpoints=2
refuse 'no attention' selective --model mlp
refuse 'no blocks' full --model params=1e6
refuse 'no blocks' selective --model params=1e6

exit $((errors > 0))
