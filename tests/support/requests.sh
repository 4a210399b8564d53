#!/bin/bash
# A grid of requests (models × strategies × ranks × precision × checkpointing × offload × accumulation) and the results of
# each. A change of the structure must leave all of them as they were.
#
#     tests/support/requests.sh requests              the requests, a line each
#     tests/support/requests.sh plans [DIR]           a line a request: checksums of the plan's text and of sim --json
#     tests/support/requests.sh runs [DIR]            a line a request that two cores can train: what validate --json measured without
#                                         its times, and the checksum of the weights after three steps
#
# With DIR the whole texts are kept there, so that diff -r compares two trees. A request whose settings contradict each
# other is part of the grid: its line says `status 2`, whatever the message. EVERY=N takes every N-th request. $SHARDLAB is
# the program.
set -euo pipefail

shardlab=${SHARDLAB:?the program under test}
keep=${2-}

# The full product is taken in steps of a prime, so that every pair of settings meets.
requests() {
	local models strategies ranks precisions checkpointings offloads accumulates i k
	models=(mlp:sizes=784-48-32-10 mlp:sizes=784-33-10,norm=sync-batch gpt:layers=2,width=48,heads=4,context=32
		gpt:layers=3,width=64,heads=2,context=16,dropout=0.1 gpt gpt2-124m params=7.5e6:units=4)
	strategies=(single dp ddp zero1 zero2 zero3 fsdp hybrid model pipeline tensor dp:broadcast=tree:reduce=chain
		ddp:algorithm=halving-doubling zero3:prefetch=0:reuse=100000 fsdp:reshard=no:sync=last pipeline:schedule=gpipe
		tensor:sequence=yes)
	ranks=(2 4 3 8 1 64 2 4)
	precisions=(fp32 bf16 fp16)
	checkpointings=(none full none selective every=2)
	offloads=(none none optimizer none optimizer,parameters activations none optimizer:delayed=yes)
	accumulates=(1 2 1 4)
	for ((i = 0; i < 23 * 800; i += 23)); do
		k=$i
		local model=${models[k % ${#models[@]}]}
		k=$((i * 7 / 5))
		local strategy=${strategies[k % ${#strategies[@]}]}
		local count=${ranks[(i / 3) % ${#ranks[@]}]}
		if [ "${strategy%%:*}" = single ]; then count=1; fi
		echo "--model $model --strategy $strategy --ranks $count --precision ${precisions[(i / 7) % 3]}" \
			"--activation-checkpointing ${checkpointings[(i / 11) % 5]} --offload ${offloads[(i / 13) % 8]}" \
			"--accumulate ${accumulates[(i / 17) % 4]} --micro-batch 2"
	done | sort -u | awk -v every="${EVERY:-1}" 'NR % every == 0'
	llamas
}

# The Llama family under each strategy, whatever EVERY is.
llamas() {
	local model=llama:layers=3,width=32,heads=4,kv_heads=2,hidden=48,context=16,vocabulary=64 strategy
	for strategy in dp ddp zero1 zero2 zero3 zero3:secondary=2 fsdp fsdp:backward=post fsdp:prefetch=two:backward=none \
		hybrid pipeline tensor; do
		echo "--model $model --strategy $strategy --ranks 2 --micro-batch 2"
		echo "--model $model,qk_norm=yes,bias=qkv,tied=yes --strategy $strategy --ranks 4 --precision bf16" \
			"--activation-checkpointing full --accumulate 2 --micro-batch 2"
	done
}

# sum TEXT-FILE: its checksum and length
sum() {
	cksum <"$1" | tr ' ' ':'
}

scratch=$(mktemp -d "${TMPDIR:-/tmp}/grid.XXXXXX")
trap 'rm -rf "$scratch"' EXIT

# answer NAME COMMAND...: runs it, its output into a file, which is kept where a folder was given; prints the checksum.
answer() {
	local name=$1 status=0
	shift
	"$@" >"$scratch/out" 2>"$scratch/err" || status=$?
	if [ -n "$keep" ]; then cp "$scratch/out" "$keep/$name"; fi
	if [ $status != 0 ]; then echo "status $status"; else sum "$scratch/out"; fi
}

# A prediction without the version of what made it.
prediction() {
	"$shardlab" sim --json "$@" >"$scratch/all" || return
	sed '/^  "version": /d' "$scratch/all"
}

plans() {
	local line number=0
	while IFS= read -r line; do
		number=$((number + 1))
		# shellcheck disable=SC2086 # words are options
		echo "$line | plan $(answer "$number.plan" "$shardlab" plan $line)" \
			"sim $(answer "$number.json" prediction --cluster laptop $line)"
	done
}

# The measured figures, without times and what only the machine decides.
measured() {
	"$shardlab" validate --json --cluster laptop "$@" >"$scratch/validate" 2>"$scratch/err" || [ $? = 1 ] || return 2
	grep -E '"(quantity|role|predicted|measured)"' "$scratch/validate" | grep -A 3 'bytes\|calls' | grep -v '^--'
	"$shardlab" train --json --cluster laptop --steps 3 --evaluate no "$@" 2>"$scratch/err" |
		grep -o '"weights_checksum": "[0-9a-f]*"'
}

runs() {
	local line number=0
	while IFS= read -r line; do
		number=$((number + 1))
		# shellcheck disable=SC2086
		echo "$line | $(answer "$number.run" measured $line)"
	done < <(grep -E -- '--ranks [1234] ' | grep -vE 'gpt2-124m|params=|--model gpt ')
}

if [ -n "$keep" ]; then mkdir -p "$keep"; fi
case ${1-} in
requests) requests ;;
plans) requests | plans ;;
runs) requests | runs ;;
*)
	echo "usage: tests/support/requests.sh requests|plans|runs [DIR]" >&2
	exit 2
	;;
esac
