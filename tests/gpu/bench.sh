#!/bin/bash
# How fast a GPU trains GPT-2 124M in bf16, and in what memory, beside its limits and beside PyTorch in the same run
# (where python3 has torch): what `make bench-gpu` runs.
#
# Settings: MICRO_BATCHES (4 8 16 32 64), STEPS (30), REPEATS (20: of a timing), VOCABULARY (50304: PyTorch's, in whole pieces as
# the rows of ours are), PEAK (989: dense bf16 TFLOP/s of the card), SPEED_MODEL, LAYERS, WIDTH
# and CONTEXT (GPT-2 124M's), PYTORCH (python3; none: without), LOSSES (losses.sh: what compares the loss curve), PARTS (train
# strategies memory matrix ladder pytorch losses), TRAIN_OPTIONS (more of `train`'s, as "--attention auto"), FIGURES (a folder: figures that another call with it wrote are here too).
. "$(dirname "$0")/common.sh"
: "${MICRO_BATCHES:=4 8 16 32 64}" "${STEPS:=30}" "${PEAK:=989}" "${SPEED_MODEL:=gpt2-124m}" "${LAYERS:=12}" "${WIDTH:=768}"
: "${REPEATS:=20}" "${VOCABULARY:=50304}" "${CONTEXT:=1024}" "${PYTORCH:=python3}" "${PARTS:=train strategies memory matrix ladder pytorch losses}"
: "${LOSSES:=tests/gpu/losses.sh}"
begin 'speed and memory'
: "${FIGURES:=$folder}"
failed=''

# GPU memory besides the arena that PyTorch counts too: cuBLASLt's workspace,
# CUDA_WORKSPACE_BYTES of real/cuda/device.h.
workspace=$((64 << 20))

# part NAME: is it wanted?
part() {
	case " $PARTS " in *" $1 "*) echo "== $1" ;; *) return 1 ;; esac
}

# train FILE OPTION...: JSON in FILE, or the reason why not.
train() {
	local out=$1
	shift
	# shellcheck disable=SC2086
	limited 300 "$SHARDLAB" train --device cuda --model "$SPEED_MODEL" --data "$DATA" --precision bf16 --sequence "$CONTEXT" \
		--steps "$STEPS" --evaluate no --json ${TRAIN_OPTIONS-} "$@" >"$out" 2>"$out.err" || {
		echo "$*: $(tail -n 1 "$out.err")"
		return 1
	}
	# A rate of products without cuBLASLt says nothing about the card.
	! grep '^warning: .*without cuBLASLt' "$out.err"
}

# Figures at each micro-batch are lines "MICRO_BATCH VALUE".
if part train; then
	for micro in $MICRO_BATCHES; do
		at=$folder/micro$micro
		train "$at" --strategy single --batch "$micro" --micro-batch "$micro" || continue
		rate=$(figure "$at" units_per_s)
		grep -o '"device": {[^}]*' "$at" | tail -n 1 >"$folder/device"
		arena=$(figure "$folder/device" arena_bytes) live=$(figure "$folder/device" peak_bytes)
		weights=$(sed -n 's/.*"parameters": \([0-9]*\), "units".*/\1/p' "$at" | tail -n 1)
		# 6 FLOPs a weight, and causal attention's 6·L·T·C, a token
		share=$(awk "BEGIN { printf \"%.2f\", 100 * $rate * 6 * ($weights + $LAYERS * $CONTEXT * $WIDTH) / ($PEAK * 1e12) }")
		echo "$micro $rate" >>"$FIGURES/rates"
		echo "$micro $share" >>"$FIGURES/shares"
		echo "$micro $((arena + workspace))" >>"$FIGURES/bytes"
		echo "$micro $(awk "BEGIN { printf \"%.3f\", 100 * ($arena / $live - 1) }")" >>"$FIGURES/gaps"
		printf 'micro-batch %s: %.0f tokens/s, %s %% of %s TFLOP/s, step %s s, arena %s, live %s, besides %s\n' "$micro" \
			"$rate" "$share" "$PEAK" "$(figure "$at" step_s)" "$arena" "$live" "$(figure "$folder/device" overhead_bytes)"
	done
	if [ -s "$FIGURES/shares" ]; then
		read -r micro share < <(sort -k 2 -g "$FIGURES/shares" | tail -n 1)
		rate=$(awk -v m="$micro" '$1 == m { printf "%.0f", $2 }' "$FIGURES/rates")
		gap=$(sort -k 2 -g "$FIGURES/gaps" | awk 'END { print $2 }')
		row peak "$share % at micro-batch $micro, $rate tokens/s: $(verdict "$share" '>=' 50)"
		row arena "$gap % at most: $(verdict "$gap" '<=' 3)"
	else
		row peak 'FAILED: no micro-batch ran'
		failed=1
	fi
fi

if part strategies; then
	# One micro-batch, which fits all of them.
	micro=$(echo "$MICRO_BATCHES" | awk '{ print $int((NF + 1) / 2) }') text='' worst=0
	train "$folder/single" --strategy single --batch "$micro" --micro-batch "$micro" &&
		one=$(figure "$folder/single" step_s) && for strategy in zero1 zero2 zero3 fsdp; do
		train "$folder/$strategy" --strategy "$strategy" --batch "$micro" --micro-batch "$micro" || { worst=99 && continue; }
		ratio=$(awk "BEGIN { printf \"%.4f\", $(figure "$folder/$strategy" step_s) / $one }")
		text="$text$strategy $ratio, "
		worst=$(printf '%s\n' "$worst" "$ratio" | sort -g | tail -n 1)
	done
	if [ -n "$text" ] && [ "$worst" != 99 ]; then
		row strategies "${text%, } at micro-batch $micro: $(verdict "$worst" '<=' 1.02)"
	else
		row strategies 'FAILED: a strategy did not run'
		failed=1
	fi
fi

# Both name each kernel's share of a limit of the same run.
if part memory; then
	if "$build/tests/bench/bench_cuda_memory" --repeats "$REPEATS" 2>&1 | tee "$folder/memory" &&
		grep -q 'of the copy' "$folder/memory"; then
		# share NAME, a line each
		sed -n '/^copy /d; s/\(.*[^ ]\)  *[0-9.][0-9.]* us .* \([0-9.]*\)% of the copy/\2 \1/p' "$folder/memory" | sort -g >"$folder/of-copy"
		all=$(sed -n 's/ those of a step together$//p' "$folder/of-copy") low=$(grep -v ' those of a step' "$folder/of-copy" | head -n 1)
		row memory "$all % of a step's together, ${low%% *} % at least (${low#* }): $(verdict "${all:-0}" '>=' 80)"
	else
		row memory 'FAILED: bench_cuda_memory' && failed=1
	fi
fi
if part matrix; then
	if "$build/tests/bench/bench_cuda_matrix" --peak "$PEAK" --repeats "$REPEATS" 2>&1 | tee "$FIGURES/matrix" &&
		grep -q '^attention' "$FIGURES/matrix"; then
		share=$(sed -n 's/^attention, head 128, T 4096 forward .* \([0-9.]*\)% of products.*/\1/p' "$FIGURES/matrix")
		row attention "$share %: $(verdict "$share" '>=' 50)"
	else
		row attention 'FAILED: bench_cuda_matrix' && failed=1
	fi
fi
if part ladder; then
	"$build/tests/bench/bench_cuda_ladder" --repeats "$REPEATS" || failed=1
fi

# PyTorch's JSON has a figure a line: "MICRO_BATCH VALUE BACKEND" of one name, BACKEND: whose attention.
pytorch_figures() {
	awk -v name="\"$1\":" '{ gsub(/,$/, "") } $1 == "\"micro_batch\":" { m = $2 + 0 } $1 == "\"backend\":" { b = $2; gsub(/"/, "", b) }
		$1 == name { print m, $2 + 0, b }' "$folder/pytorch"
}

# ratios FILE NAME: ours ÷ the least of PyTorch's, at micro-batches that both have.
ratios() {
	awk 'NR == FNR { if (!($1 in theirs) || $2 < theirs[$1]) theirs[$1] = $2; next }
		$1 in theirs { printf "%s %.4f\n", $1, $2 / theirs[$1] }' <(pytorch_figures "$2") "$FIGURES/$1"
}

# attention_ratios 0|1: ours ÷ the better of PyTorch's, for each attention that both have; 1: with its deterministic algorithms.
attention_ratios() {
	awk -v wanted="$1" '
		NR == FNR { gsub(/,$/, "") }
		NR == FNR && $1 == "\"backend\":" { backend = $2; gsub(/"/, "", backend); fixed = 0 }
		NR == FNR && $1 == "\"deterministic\":" { fixed = $2 == "true" }
		NR == FNR && $1 == "\"head_size\":" { head = $2 + 0 }
		NR == FNR && $1 == "\"tokens\":" { tokens = $2 + 0 }
		NR == FNR && fixed == wanted && $1 ~ /^"(for|back)ward_tflops":/ { gsub(/[":]|_tflops/, "", $1)
			if ($2 + 0 > theirs[head, tokens, $1]) { theirs[head, tokens, $1] = $2 + 0; whose[head, tokens, $1] = backend } }
		NR == FNR { next }
		/^attention/ { h = $3 + 0; t = $5 + 0; for (i = 6; i <= NF; i++) if ($i == "TFLOP/s" && theirs[h, t, $6])
			printf "%.3f head %d, T %d, %s, beside %s\n", $(i - 1) / theirs[h, t, $6], h, t, $6, whose[h, t, $6] }' "$folder/pytorch" "$FIGURES/matrix"
}

# attention_row NAME 0|1
attention_row() {
	local low
	attention_ratios "$2"
	low=$(attention_ratios "$2" | sort -g | head -n 1)
	[ -z "$low" ] || row "$1" "${low%% *} at least (${low#* }): $(verdict "${low%% *}" '>=' 0.95)"
}

if part pytorch; then
	if [ "$PYTORCH" = none ] || ! "$PYTORCH" -c 'import torch; assert torch.cuda.is_available()' 2>"$folder/err"; then
		echo "not run: PyTorch: $(tail -n 1 "$folder/err" 2>/dev/null)"
	elif limited 500 "$PYTORCH" tests/oracle/gpu_training.py speed --model "$SPEED_MODEL" --context "$CONTEXT" --peak "$PEAK" \
		--vocabulary "$VOCABULARY" --repeats "$REPEATS" --micro-batches "${MICRO_BATCHES// /,}" >"$folder/pytorch" 2>"$folder/err"; then
		cat "$folder/pytorch"
		read -r their_micro theirs backend < <(pytorch_figures tokens_per_second | sort -k 2 -g | tail -n 1)
		ours=$(sort -k 2 -g "$FIGURES/rates" 2>/dev/null | tail -n 1)
		if [ -n "$ours" ]; then
			ratio=$(awk "BEGIN { printf \"%.3f\", ${ours#* } / $theirs }")
			row pytorch-speed "$ratio, each at its best micro-batch (${ours%% *}, $their_micro), PyTorch with its $backend attention: $(verdict "$ratio" '>=' 1.05)"
			worst=$(ratios bytes max_memory_allocated | sort -k 2 -g | tail -n 1)
			[ -z "$worst" ] || row pytorch-memory "${worst#* } at most (micro-batch ${worst%% *}): $(verdict "${worst#* }" '<=' 1)"
		fi
		if [ -s "$FIGURES/matrix" ]; then
			attention_row pytorch-attention 0
			attention_row pytorch-deterministic 1
		fi
	else
		tail -n 5 "$folder/err"
		row pytorch-speed 'FAILED: gpu_training.py' && failed=1
	fi
fi

# It prints "steps 1-30: loss …, PyTorch …, +0.12 %" for each span, and fails with 1 where one is more than 1 % off.
if part losses; then
	status=0
	"$LOSSES" >"$folder/losses" 2>&1 || status=$?
	cat "$folder/losses"
	off=$(sed -n 's/^steps .* [-+]\([0-9.]*\) %$/\1/p' "$folder/losses" | sort -g | tail -n 1)
	if [ "$status" -gt 1 ] || [ -z "$off" ]; then
		row losses 'FAILED: it did not run'
		failed=1
	else
		row losses "$off % at most, of spans of 30 steps: $([ "$status" = 0 ] && echo reached || echo missed)"
	fi
fi
[ -z "$failed" ]
