#!/bin/bash
# `train` for real: what it prints, the same command twice, a plan's text instead of options, weights saved and read.
#
# cores: all
set -euo pipefail
. "$(dirname "$0")/../support/commands.sh"

model=mlp:sizes=784-32-10

# JSON: a line a step, then the summary, and nothing else.
run json train --model $model --strategy zero2 --ranks 2 --steps 4 --batch 16 --json
[ "$(wc -l <"$TMPDIR/json.out")" = 5 ] || fail '4 steps and a summary are not 5 lines'
for step in 1 2 3 4; do
	sed -n "${step}p" "$TMPDIR/json.out" | grep -q "^{\"step\": $step, \"loss\": [0-9.]*, \"samples_per_s\": [0-9.e+]*, \
\"tflops_per_device\": [0-9.e-]*, \"mfu\": null, \"learning_rate\": 0.001[,}]" || fail "line $step is not step $step"
done
sed -n 5p "$TMPDIR/json.out" | grep -q '^{"summary": {.*"losses": \[.*"weights_checksum": "[0-9a-f]\{16\}"' ||
	fail 'the last line is no summary'

# The same command twice: the same bits. Text output shows the same checksum.
run again train --model $model --strategy zero2 --ranks 2 --steps 4 --batch 16 --json
[ -n "$(checksum json)" ] && [ "$(checksum json)" = "$(checksum again)" ] || fail 'two runs differ'
run text train --model $model --strategy zero2 --ranks 2 --steps 4 --batch 16
grep -q "$(checksum json)" "$TMPDIR/text.out" || fail 'text and JSON show different checksums'
grep -q 'predicted  *measured' "$TMPDIR/text.out" || fail 'no predicted beside measured'

# The plan's text is the program.
"$SHARDLAB" plan --model $model --strategy zero2 --ranks 2 --batch 16 >"$TMPDIR/plan.txt"
run plan train --plan "$TMPDIR/plan.txt" --steps 4 --json
[ "$(checksum json)" = "$(checksum plan)" ] || fail 'the plan read from its text computes something else'

# One rank needs no mpirun, and joins one that is there.
run alone train --model $model --strategy single --steps 4 --batch 16 --json
OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun --oversubscribe --bind-to none -n 2 \
	"$SHARDLAB" train --model $model --strategy zero2 --steps 4 --batch 16 --json >"$TMPDIR/joined.out" 2>"$TMPDIR/err" ||
	fail 'under mpirun: failed'
[ "$(checksum json)" = "$(checksum joined)" ] || fail 'under mpirun it computes something else'

# Saved weights are where another run begins, whose checksum is that of all ranks' shares.
run save train --model $model --strategy zero3 --ranks 2 --steps 2 --batch 16 --json --save "$TMPDIR/weights.safetensors"
run init train --model $model --steps 1 --batch 16 --json --learning-rate 0 --weight-decay 0 \
	--init "$TMPDIR/weights.safetensors"
[ "$(checksum save)" = "$(checksum init)" ] || fail 'weights that were saved and read are others'

# A Llama's file has q, k and v, gate and up apart, as Hugging Face's have; slices write parts of them, shards read parts.
llama=llama:layers=1,width=32,heads=4,kv_heads=2,hidden=44,context=16,qk_norm=yes,bias=qkv
run parts train --model $llama --strategy tensor --ranks 2 --data tests/golden/text.txt --steps 2 --batch 4 --json \
	--save "$TMPDIR/parts.safetensors"
for part in self_attn.q_proj.weight self_attn.k_proj.bias self_attn.v_proj.weight mlp.gate_proj.weight mlp.up_proj.weight; do
	grep -aq "\"model.layers.0.$part\"" "$TMPDIR/parts.safetensors" || fail "the file of a Llama has no $part"
done
grep -aq 'qkv_proj\|gate_up_proj' "$TMPDIR/parts.safetensors" && fail 'a matrix of several is in the file as one'
run whole train --model $llama --strategy zero3 --ranks 2 --data tests/golden/text.txt --steps 1 --batch 4 --json \
	--learning-rate 0 --weight-decay 0 --init "$TMPDIR/parts.safetensors"
[ "$(checksum parts)" = "$(checksum whole)" ] || fail 'weights that slices saved and shards read are others'
refused "tensor 'model.layers.0.self_attn.q_proj.weight' is 32 × 32, and llama needs 64 × 32; give --model the sizes" "$SHARDLAB" \
	train --model $llama,head_size=16 --data tests/golden/text.txt --steps 1 --batch 2 --init "$TMPDIR/parts.safetensors" ||
	fail 'heads of another size were read'
refused "has a tensor 'model.layers.0.self_attn.k_norm.weight', which llama:" "$SHARDLAB" train \
	--model llama:layers=1,width=32,heads=4,kv_heads=2,hidden=44,context=16,bias=qkv --data tests/golden/text.txt --steps 1 \
	--batch 2 --init "$TMPDIR/parts.safetensors" || fail 'tensors that the model has not were passed over'

# Weights of another shape are refused, also where the file has enough of them.
text=gpt:layers=1,width=16,heads=2
run long train --model $text,context=16 --data tests/golden/text.txt --steps 1 --batch 2 --evaluate no --json \
	--save "$TMPDIR/long.safetensors"
refused "tensor 'wpe.weight' is 16 × 16, and gpt needs 8 × 16; give --model" "$SHARDLAB" train --model $text,context=8 \
	--data tests/golden/text.txt --steps 1 --batch 2 --init "$TMPDIR/long.safetensors" || fail 'longer weights were read'

# Threads whose stacks kernels would run past are refused before they do.
status=0
OMP_STACKSIZE=100k "$SHARDLAB" train --model $model --strategy single --steps 1 --batch 16 --threads 2 >/dev/null \
	2>"$TMPDIR/err" || status=$?
[ $status = 2 ] && [ "$(wc -l <"$TMPDIR/err")" = 1 ] && grep -q '^fatal: .*raise OMP_STACKSIZE' "$TMPDIR/err" ||
	fail "stacks that are too small: exit status $status"

# The same seed, strategy, ranks and threads give the same bits again; another seed does not.
bits() {
	"$SHARDLAB" train --model gpt:layers=2,width=64,heads=4,context=32 --data tests/golden/text.txt --strategy zero2 --ranks 2 --threads 2 \
		--batch 8 --steps 3 --evaluate no --json "$@" 2>/dev/null | grep -o '"weights_checksum": "[0-9a-f]*"'
}
once=$(bits --seed 3)
[ -n "$once" ] && [ "$once" = "$(bits --seed 3)" ] || fail "other bits when repeated with two threads: $once"
[ "$once" != "$(bits --seed 4)" ] || fail 'another seed, and the same bits'

# Files come whole or not at all.
# Weights that are not finite fail one rank or all, when the file is already begun.
status=0
"$SHARDLAB" train --model mlp:sizes=784-10 --strategy ddp --ranks 2 --precision bf16 --optimizer adamw --steps 4 --batch 16 \
	--learning-rate 1e6 --weight-decay 1e6 --save "$TMPDIR/none.safetensors" >"$TMPDIR/none.out" 2>"$TMPDIR/err" || status=$?
[ $status = 1 ] || fail "weights that are not finite: exit status $status"
[ "$(wc -l <"$TMPDIR/err")" = 1 ] && grep -q '^fatal: rank .*the weights of .* are not finite' "$TMPDIR/err" ||
	fail 'weights that are not finite: another line'
if ls "$TMPDIR"/none.safetensors* >/dev/null 2>&1; then fail 'an unfinished file of weights is left'; fi
run trace train --model $model --ranks 2 --strategy ddp --steps 2 --batch 16 --trace "$TMPDIR/trace.json" --json
grep -q '"traceEvents"' "$TMPDIR/trace.json" || fail 'no trace'
# Offload has queues of its own, and the host updates: each has a row with spans on it.
run offload train --model $model --ranks 2 --strategy zero3 --steps 2 --batch 16 --offload optimizer,parameters \
	--trace "$TMPDIR/offload.json" --json
for rank in 0 1; do
	for row in device-to-host host-to-device host; do
		tid=$(sed -n 's/.*"name":"thread_name","pid":'$rank',"tid":\([0-9]*\),"args":{"name":"'$row'"}.*/\1/p' \
			"$TMPDIR/offload.json")
		[ -n "$tid" ] || fail "rank $rank has no row $row"
		spans=$(grep -c "\"ph\":\"X\",\"pid\":$rank,\"tid\":$tid,\"ts\":[0-9.]*,\"dur\":[0-9.]*," "$TMPDIR/offload.json")
		[ "$spans" -ge 2 ] || fail "rank $rank: $spans spans on row $row; the two groups have one each at least"
	done
done
if ls "$TMPDIR"/*.partial >/dev/null 2>&1; then fail 'temporary files are left'; fi
