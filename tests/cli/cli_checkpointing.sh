#!/bin/bash
# --activation-checkpointing at the command: what is wrong is refused in one line, what is right shows in the figures.
set -uo pipefail
. "$(dirname "$0")/../support/commands.sh"

export OPENBLAS_NUM_THREADS=1 SHARDLAB_CONFIG=$TMPDIR/none.yaml
small=gpt:layers=4,width=32,heads=2,context=16
errors=0

# refuse PATTERN CHECKPOINTING ARGUMENT...
refuse() {
	local pattern=$1 checkpointing=$2
	shift 2
	if ! refused "$pattern" "$SHARDLAB" sim --cluster laptop "$@" --activation-checkpointing "$checkpointing"; then
		errors=$((errors + 1))
	elif ! grep -q '^fatal: --activation-checkpointing' "$TMPDIR/err"; then
		echo "$checkpointing: the line does not begin with the option: $(cat "$TMPDIR/err")"
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
refuse "'maybe'" full:profile=maybe
refuse "'AUTO'" full:number_checkpoints=AUTO
refuse 'goes with full' every=2:number_checkpoints=auto
refuse 'at most 1024 blocks' full:number_checkpoints=auto --model gpt:layers=1025,width=8,heads=1,context=4
refuse 'selective has none' selective:contiguous_memory_optimization=yes
refuse 'selective has none' selective:synchronize_checkpoint_boundary=yes
refuse 'with --strategy tensor, and not with ddp' full:partition_activations=yes --model $small
refuse 'leave out contiguous_memory' full:partition_activations=yes:contiguous_memory_optimization=yes --strategy tensor --ranks 2 --model $small
refuse 'leave out cpu_checkpointing' full:partition_activations=yes:cpu_checkpointing=yes --strategy tensor --ranks 2 --model $small
refuse 'does not divide by 4 ranks' full:partition_activations=yes --strategy tensor --ranks 4 --micro-batch 1 --model mlp:sizes=8-8-6-8-4
refuse 'selective has none' selective:partition_activations=yes --strategy tensor --ranks 2 --model $small
refuse 'one block on the device' full:cpu_checkpointing=yes:contiguous_memory_optimization=yes
refuse 'one block on the device' full:contiguous_memory_optimization=yes --offload activations
refuse 'selective has none' selective:cpu_checkpointing=yes
refuse 'no attention' selective --model mlp
refuse 'no blocks' full --model params=1e6
refuse 'no blocks' selective --model params=1e6

# What stores matrices and masks is not run for real.
for keys in attention=standard dropout=0.1; do
	"$SHARDLAB" train --model "gpt:$keys" --steps 1 >"$TMPDIR/out" 2>"$TMPDIR/err"
	if [ "$?" != 2 ] || [ -s "$TMPDIR/out" ] || ! grep -q '^fatal: --model gpt.* cannot be trained: ' "$TMPDIR/err"; then
		echo "train --model gpt:$keys is not refused" && cat "$TMPDIR/err"
		errors=$((errors + 1))
	fi
done

# What is right shows.
# shows PATTERN ARGUMENT...: a line of the output matches, spaces squeezed.
shows() {
	local pattern=$1
	shift
	"$SHARDLAB" "$@" 2>&1 | tr -s ' ' | grep -qE -- "$pattern" && return
	echo "shardlab $*: no line with '$pattern'"
	errors=$((errors + 1))
}
sim="sim --model $small --strategy zero3 --ranks 2 --cluster laptop"
shows '^ checkpoints 4$' $sim --activation-checkpointing full
shows '^ checkpoints 2$' $sim --activation-checkpointing every=2
shows '^ plans compared for the least peak 4$' $sim --activation-checkpointing full:number_checkpoints=auto
shows '· checkpointing full:number_checkpoints=[1-4] ·' $sim --activation-checkpointing full:number_checkpoints=auto
shows '^ as laid out, checkpoints apart [0-9.]+ [kM]B$' $sim --activation-checkpointing full:contiguous_memory_optimization=yes
shows '^ recompute [0-9.]+ (us|ms)$' $sim --activation-checkpointing full:profile=yes
shows '"recompute_s": (0\.0*)?[1-9]' $sim --activation-checkpointing full:profile=yes --json
shows '"arena_bytes_without": [1-9]' $sim --activation-checkpointing full:contiguous_memory_optimization=yes --json
shows '"setting": "every=2"' $sim --activation-checkpointing every=2 --json
shows '^ recompute [0-9.]+ (us|ms) [0-9.]+ (us|ms|s)$' train --model gpt:layers=2,width=32,heads=2,context=16 --steps 2 \
	--cluster laptop --activation-checkpointing full:profile=yes
shows '"recompute_s": (0\.0*)?[1-9]' train --model gpt:layers=2,width=32,heads=2,context=16 --steps 2 --json \
	--activation-checkpointing full:profile=yes
shows '^cpu_checkpointing=no\|yes|^ cpu_checkpointing=no\|yes' help checkpointing

# Recomputing takes time, and waiting at every boundary takes more.
step() {
	"$SHARDLAB" sim --model gpt --strategy ddp --ranks 4 --cluster a100-80gb --precision bf16 --json "$@" |
		sed -n 's/.*"step_s": \([0-9.e-]*\),\{0,1\}/\1/p'
}
if ! awk -v none="$(step)" -v selective="$(step --activation-checkpointing selective)" \
	-v full="$(step --activation-checkpointing full)" \
	-v wait="$(step --activation-checkpointing full:synchronize_checkpoint_boundary=yes)" \
	'BEGIN { exit !(0 < none && none < selective && selective < full && full < wait) }'; then
	echo "step times: $(step) $(step --activation-checkpointing full)"
	errors=$((errors + 1))
fi

exit $((errors > 0))
