#!/bin/bash
# The plan's text: prints, parses back to the same text, and gives the same simulation. As JSON and as a graph.
set -euo pipefail
. "$(dirname "$0")/../support/commands.sh"

plan=$TMPDIR/plan.txt

for model in mlp gpt:layers=2,width=32,heads=2 params=1e5; do
	for strategy in single dp ddp zero1 zero2 zero3 fsdp fsdp:reshard=no dp:broadcast=tree:reduce=chain; do
		ranks=3
		[ "$strategy" = single ] && ranks=1
		options="--model $model --strategy $strategy --ranks $ranks --accumulate 2 --clip 1"
		# shellcheck disable=SC2086
		"$SHARDLAB" plan $options >"$plan"
		"$SHARDLAB" plan --plan "$plan" >"$plan.again"
		cmp "$plan" "$plan.again" || fail "$options: the text does not parse back to itself"
		# shellcheck disable=SC2086
		"$SHARDLAB" sim $options --cluster laptop --json >"$plan.json"
		"$SHARDLAB" sim --plan "$plan" --cluster laptop --json >"$plan.again.json"
		cmp "$plan.json" "$plan.again.json" || fail "$options: the text simulates differently"
	done
done

# One role's program only; formats.
"$SHARDLAB" plan --strategy dp --ranks 4 --role worker >"$plan"
grep -q '^role worker' "$plan" || fail 'no worker in the plan of --role worker'
! grep -q '^role root' "$plan" || fail 'the root is in the plan of --role worker'
"$SHARDLAB" plan --strategy zero2 --ranks 2 --format dot >"$plan"
grep -q '^digraph' "$plan" || fail 'dot: no digraph'
"$SHARDLAB" plan --ranks 2 --json >"$plan"
"$SHARDLAB" plan --ranks 2 --format json >"$plan.again"
cmp "$plan" "$plan.again" || fail 'two ways to JSON differ'
grep -q '"operation": "all_reduce"' "$plan" || fail 'JSON: no all_reduce'

# A plan for thousands of ranks is as small as one for eight (but for the padding, which is zeroed).
few=$("$SHARDLAB" plan --strategy zero3 --model gpt --ranks 8 | wc -l)
many=$("$SHARDLAB" plan --strategy zero3 --model gpt --ranks 16384 | wc -l)
[ "$many" -le $((few + few / 20)) ] || fail "8 ranks have $few lines, 16384 have $many"

# Plans of other software are printed, read again and simulated, and are not trained.
"$SHARDLAB" plan --model gpt --strategy zero3 --ranks 2 --as deepspeed >"$plan"
grep -q '^set as deepspeed' "$plan" || fail 'the plan does not say whose it is'
"$SHARDLAB" sim --plan "$plan" --cluster h100 >"$plan.sim"
grep -q 'reserved by the allocator' "$plan.sim" || fail 'the report does not say what the allocator reserves'
refused 'is simulated only' "$SHARDLAB" train --plan "$plan"
refused 'is simulated only' "$SHARDLAB" train --ranks 2 --as pytorch
refused 'is simulated only' "$SHARDLAB" validate --ranks 2 --as pytorch:bucket=views
refused "'torch' is not one of: shardlab, pytorch, deepspeed, megatron" "$SHARDLAB" sim --as torch
