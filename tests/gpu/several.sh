#!/bin/bash
# Several GPUs with NCCL: builds, and at 2, 4 and 8 GPUs, as many as are here, checks plans beside the CPU's, validates,
# and times GPT-2 124M; then writes the rows of kernels/RESULTS.md.
#
#     tests/gpu/several.sh [LOG]            LOG: where all of it is kept (several.log)
#
# Settings: COMM (nccl), MAKE (make; none: what is built already), MICRO_BATCH (16, of each GPU), STEPS (30), SPEED_MODEL (gpt2-124m),
# RESULTS (kernels/RESULTS.md; none: no table).
log=$(realpath -m "${1:-several.log}")
. "$(dirname "$0")/common.sh"
: "${MAKE:=make}" "${MICRO_BATCH:=16}" "${STEPS:=30}" "${SPEED_MODEL:=gpt2-124m}" "${RESULTS:=kernels/RESULTS.md}"
# Units for eight stages, heads for eight ranks.
export MODEL=${SEVERAL_MODEL:-gpt:layers=8,width=64,heads=8,context=32}
export COMM=${COMM:-nccl} CLUSTER=none COMMAND="tests/gpu/several.sh"

# rate RANKS STRATEGY: tokens a second and GPU.
rate() {
	local at=$folder/$1-${2%%:*}
	limited 300 "$SHARDLAB" train --device cuda --comm "$COMM" --model "$SPEED_MODEL" --data "$DATA" --precision bf16 \
		--strategy "$2" --ranks "$1" --micro-batch "$MICRO_BATCH" --batch $(($1 * MICRO_BATCH)) --steps "$STEPS" \
		--evaluate no --json >"$at" 2>"$at.err" || { tail -n 1 "$at.err" >&2 && return 1; }
	awk "BEGIN { printf \"%.0f\", $(figure "$at" units_per_s) / $1 }"
}

# part ROW COMMAND...: runs a script of this folder with RANKS set; what its row says, in $text.
part() {
	ROW=part "$@" 2>&1 | tee "$folder/part" | sed -u '/^@/d'
	local status=${PIPESTATUS[0]}
	text=$(sed -n 's/^@row\tpart\t//p' "$folder/part")
	return $status
}

measure() {
	local failed=0 one each
	begin 'several GPUs'
	local devices
	devices=$(gpu_fact devices)
	if [ "$devices" -lt 2 ]; then
		echo "skipped: several GPUs: there is one"
		return
	fi
	one=$(rate 1 single) || return 1
	echo "one GPU: $one tokens/s"
	for ranks in 2 4 8; do
		local result='' bad=''
		[ "$ranks" -le "$devices" ] || { echo "not run: $ranks GPUs: there are $devices" && continue; }
		echo "== $ranks GPUs"
		export RANKS=$ranks
		part tests/gpu/plans.sh || bad=1
		result="$text; "
		part tests/gpu/validate.sh || bad=1
		result="$result$text; tokens/s a GPU ÷ one's:"
		for strategy in ddp zero1 zero2 zero3 fsdp $([ "$ranks" -lt 4 ] || echo hybrid:shard=2); do
			if each=$(rate "$ranks" "$strategy"); then
				echo "$strategy: $each tokens/s a GPU"
				result="$result $strategy $(awk "BEGIN { printf \"%.3f\", $each / $one }"),"
			else
				bad=1
			fi
		done
		row "nccl-$ranks" "${bad:+FAILED: }${result%,}"
		failed=$((failed + ${bad:-0}))
	done
	return $((failed > 0))
}

if [ "$MAKE" != none ]; then
	if [ ! -e /dev/nvidiactl ] && [ ! -e /dev/dxg ]; then # asked before minutes of building: Linux's driver, that of WSL
		echo 'skipped: several GPUs: no GPU: there is no NVIDIA driver (no /dev/nvidiactl)'
		exit 0
	fi
	$MAKE "$SHARDLAB" "$build/libshardlab-cuda.so" "$build/tests/gpu/ask_gpu" || exit 1
fi
(measure) 2>&1 | tee "$log"
status=${PIPESTATUS[0]}
if [ "$RESULTS" != none ] && grep -q '^@row' "$log"; then
	tests/gpu/record.sh "$log" || status=1
fi
exit "$status"
