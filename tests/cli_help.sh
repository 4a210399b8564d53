#!/bin/bash
# Help comes from the tables: every command, option, model, strategy, key and cluster is in it, and every line of it that
# begins with an option is an option that the command takes.
set -euo pipefail
. "$(dirname "$0")/support/commands.sh"

# OpenBLAS starts its threads with the program; one that is still starting when it ends looks like a leak.
export OPENBLAS_NUM_THREADS=1

has() {
	grep -qF -- "$2" <<<"$1" || fail "'$2' is missing in: $1"
}

top=$("$SHARDLAB" help)
[ "$top" = "$("$SHARDLAB" --help)" ] || fail 'help and --help differ'
commands=$(sed -n 's/^  shardlab \([a-z]*\)  *[a-z].*/\1/p' <<<"$top" | sort -u)
for command in plan sim compare train validate calibrate view demo help; do
	grep -qx "$command" <<<"$commands" || fail "help does not list $command"
done
for command in lesson advise; do
	! grep -qw "shardlab $command" <<<"$top" || fail "help lists $command, which there is not"
done

for command in plan sim compare train validate calibrate demo; do
	text=$("$SHARDLAB" help "$command")
	[ "$text" = "$("$SHARDLAB" "$command" --help)" ] || fail "help $command and $command --help differ"
	options=$(sed -n 's/^  --\([a-z0-9-]*\).*/\1/p' <<<"$text")
	[ -n "$options" ] || fail "$command has no options"
	for option in $options; do
		# Without its value, or with one that it does not take: the command must know it all the same.
		message=$("$SHARDLAB" "$command" "--$option=" 2>&1) && fail "$command --$option= was taken"
		case $message in
		*'unknown option'* | *'has no option'*) fail "$command: $message" ;;
		esac
	done
done

text=$("$SHARDLAB" help sim)
for option in model strategy ranks cluster batch micro-batch accumulate sequence precision optimizer learning-rate clip \
	activation-checkpointing offload bucket seed config json trace grain require-fit; do
	has "$text" "  --$option"
done
text=$("$SHARDLAB" help train)
for option in init save steps data device comm plan threads trace json; do
	has "$text" "  --$option"
done

text=$("$SHARDLAB" help strategies)
for strategy in single dp ddp zero1 zero2 zero3 fsdp; do
	has "$text" "  $strategy"
done
has "$text" 'fsdp:reshard=yes|no'
text=$("$SHARDLAB" help models)
for model in mlp gpt gpt2-124m gpt2-355m gpt2-774m gpt2-1558m gpt3-175b params=7.5e9; do
	has "$text" "  $model"
done
text=$("$SHARDLAB" help clusters)
for cluster in local local-cuda laptop v100-16gb a100-80gb h100 h200; do
	has "$text" "  $cluster"
done
[[ $("$SHARDLAB" --version) = 'shardlab '[0-9]* ]] || fail 'no version'

# A full disk is not success.
status=0
"$SHARDLAB" help >/dev/full 2>/dev/null || status=$?
[ "$status" = 1 ] || fail "help on a full disk: exit status $status"
