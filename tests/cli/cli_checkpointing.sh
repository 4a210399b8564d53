#!/bin/bash
# --activation-checkpointing at the command: what is wrong is refused in one line, what is right shows in the figures.
set -uo pipefail
. "$(dirname "$0")/../support/commands.sh"

small=gpt:layers=4,width=32,heads=2,context=16

# wrong PATTERN CHECKPOINTING ARGUMENT...: the line begins with the option.
wrong() {
	local before=$errors
	refuse "$1" sim --cluster laptop "${@:3}" --activation-checkpointing "$2"
	[ "$errors" != "$before" ] || grep -q '^fatal: --activation-checkpointing' "$TMPDIR/err" ||
		complain "$2: the line does not begin with the option: $(cat "$TMPDIR/err")"
}

wrong "'banana' is not one of" banana
wrong "'Full' is not one of" Full
wrong "'every' is not one of" every
wrong "'' is not one of" :number_checkpoints=2
wrong "'0' is below 1" every=0
wrong "'-1' is below 1" every=-1
wrong "'x' is not a" every=x
wrong "'1.5'" every=1.5
wrong 'is above 2147483647' every=99999999999999
wrong 'is too large' every=99999999999999999999
wrong 'every=5: gpt has 4 blocks' every=5 --model $small
wrong "unknown key 'checkpoints'" full:checkpoints=2
wrong "'number_checkpoints' is not key=value" full:number_checkpoints
wrong "'two'" full:number_checkpoints=two
wrong 'given twice' full:number_checkpoints=2:number_checkpoints=2
wrong 'more than gpt has blocks, 4' full:number_checkpoints=5 --model $small
wrong 'goes with full' every=2:number_checkpoints=2 --model $small
wrong 'goes with full' selective:number_checkpoints=2 --model $small
wrong 'one_in goes with full' every=2:one_in=2 --model $small
wrong 'one_in goes with full' full:number_checkpoints=2:one_in=2 --model $small
wrong 'full:one_in=5: gpt has 4 blocks' full:one_in=5 --model $small
wrong 'none takes no keys' none:number_checkpoints=2
wrong "'maybe'" full:profile=maybe
wrong "'AUTO'" full:number_checkpoints=AUTO
wrong 'goes with full' every=2:number_checkpoints=auto
wrong 'at most 1024 blocks' full:number_checkpoints=auto --model gpt:layers=1025,width=8,heads=1,context=4
wrong 'selective has none' selective:contiguous_memory_optimization=yes
wrong 'selective has none' selective:synchronize_checkpoint_boundary=yes
wrong 'with --strategy tensor, and not with ddp' full:partition_activations=yes --model $small
wrong 'leave out contiguous_memory' full:partition_activations=yes:contiguous_memory_optimization=yes --strategy tensor --ranks 2 --model $small
wrong 'leave out cpu_checkpointing' full:partition_activations=yes:cpu_checkpointing=yes --strategy tensor --ranks 2 --model $small
wrong 'does not divide by 4 ranks' full:partition_activations=yes --strategy tensor --ranks 4 --micro-batch 1 --model mlp:sizes=8-8-6-8-4
wrong 'selective has none' selective:partition_activations=yes --strategy tensor --ranks 2 --model $small
wrong 'keeps checkpoints in one block on the device' full:cpu_checkpointing=yes:contiguous_memory_optimization=yes
wrong 'keeps checkpoints in one block on the device' full:contiguous_memory_optimization=yes --offload activations
wrong 'selective has none' selective:cpu_checkpointing=yes
wrong 'no attention' selective --model mlp
wrong 'no blocks' full --model params=1e6
wrong 'no blocks' selective --model params=1e6

# Models that store matrices and masks are not run for real.
for keys in attention=standard dropout=0.1; do
	refuse 'cannot be trained: ' train --model "gpt:$keys" --steps 1
done

# Accepted settings show in the output.
# shows PATTERN ARGUMENT...: a line of the output matches, spaces squeezed.
shows() {
	local pattern=$1
	shift
	"$SHARDLAB" "$@" 2>&1 | tr -s ' ' >"$TMPDIR/out"
	grep -qE -- "$pattern" "$TMPDIR/out" && return
	complain "shardlab $*: no line with '$pattern'"
}
sim="sim --model $small --strategy zero3 --ranks 2 --cluster laptop"
shows '^ checkpoints 4$' $sim --activation-checkpointing full
shows '^ checkpoints 2$' $sim --activation-checkpointing every=2
shows '^ plans compared for the least peak 4$' $sim --activation-checkpointing full:number_checkpoints=auto
shows '· checkpointing full:number_checkpoints=[1-4] ·' $sim --activation-checkpointing full:number_checkpoints=auto
shows '^ as laid out, checkpoints apart [0-9.]+ [kM]B$' $sim --activation-checkpointing full:contiguous_memory_optimization=yes
shows '^ recompute [0-9.]+ (µs|ms)$' $sim --activation-checkpointing full:profile=yes
shows '"recompute_s": (0\.0*)?[1-9]' $sim --activation-checkpointing full:profile=yes --json
shows '"arena_bytes_without": [1-9]' $sim --activation-checkpointing full:contiguous_memory_optimization=yes --json
shows '"setting": "every=2"' $sim --activation-checkpointing every=2 --json
shows '^ recompute [0-9.]+ (µs|ms) [0-9.]+ (µs|ms|s)$' train --model gpt:layers=2,width=32,heads=2,context=16 --steps 2 \
	--cluster laptop --activation-checkpointing full:profile=yes
shows '"recompute_s": (0\.0*)?[1-9]' train --model gpt:layers=2,width=32,heads=2,context=16 --steps 2 --json \
	--activation-checkpointing full:profile=yes
shows '^cpu_checkpointing=no\|yes|^ cpu_checkpointing=no\|yes' help checkpointing

# Recomputing takes time, and waiting at every boundary takes more.
step() {
	"$SHARDLAB" sim --model gpt --strategy ddp --ranks 4 --cluster a100-80gb:stack=ceiling --precision bf16 --json "$@" |
		sed -n 's/.*"step_s": \([0-9.e-]*\),\{0,1\}/\1/p'
}
if ! awk -v none="$(step)" -v selective="$(step --activation-checkpointing selective)" \
	-v full="$(step --activation-checkpointing full)" \
	-v wait="$(step --activation-checkpointing full:synchronize_checkpoint_boundary=yes)" \
	'BEGIN { exit !(0 < none && none < selective && selective < full && full < wait) }'; then
	complain "step times: $(step) $(step --activation-checkpointing full)"
fi
