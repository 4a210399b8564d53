#!/bin/bash
# The first ten minutes on a card, in one call: what decides most comes first, each stage has a limit, and one log has every
# line as soon as it is printed, so that a kill leaves all that there was until then.
#
#     tests/gpu/first.sh [LOG]               first.log
#     tests/gpu/record.sh first.log          … into the table of kernels/RESULTS.md, also if it is cut off
#
# second.sh follows (plans, validation, losses), then third.sh (compute-sanitizer, calibration). What to look at first: if
# `products` fails, all else stands on it. If `eager` differs from `cpu`: --precision fp32, then compute-sanitizer on it. If
# `graph` alone fails, go on with --no-graph.
#
# Settings: those of stages.sh; PYTORCH (python3; none: without), SPEED_MODEL (gpt2-124m), PEAK (989: dense bf16 TFLOP/s of
# the card), SMALL (the model whose losses are compared), SMALL_SECONDS (40: each), MICRO_BATCHES (16 64).
: "${COMMAND:=tests/gpu/first.sh}"
log=$(realpath -m "${1:-first.log}")
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/stages.sh"
: "${SMALL:=gpt:layers=2,width=128,heads=2,context=128}" "${SPEED_MODEL:=gpt2-124m}" "${MICRO_BATCHES:=16 64}" "${PEAK:=989}"
stages_need 'the first minutes on a card'
export COMMAND SPEED_MODEL PEAK FIGURES=$folder/figures
mkdir -p "$FIGURES"
largest=${MICRO_BATCHES##* }

versions() {
	nvidia-smi
	nvcc --version || /usr/local/cuda/bin/nvcc --version
	cat "$folder/gpu"
	[ ! -e "${SHARDLAB_CUDA_LIBRARY-}" ] || ldd "$SHARDLAB_CUDA_LIBRARY"
	uname -sr
} 2>&1

# small NAME PRECISION OPTION...: the same small training.
small() {
	local name=$1 precision=$2
	shift 2
	stage "$name" "${SMALL_SECONDS:-40}" "$SHARDLAB" train --model "$SMALL" --data "$DATA" --batch 4 --steps 8 --evaluate no --json \
		--precision "$precision" "$@"
}

# compare NAME REFERENCE PRECISION: a line, and a stage that failed if losses are too far apart. One that did not end has none.
compare() {
	local off
	[ -n "$(losses "$folder/$1.out" 2>/dev/null)" ] && [ -n "$(losses "$folder/$2.out" 2>/dev/null)" ] || return 0
	off=$(apart "$(losses "$folder/$2.out")" "$(losses "$folder/$1.out")")
	say "losses of $1 are $off apart from those of $2, $3; limit $(limit "$3")"
	[ "$(verdict "$off" '<=' "$(limit "$3")")" = reached ] || stage_ended "$1=$2" "$off apart" 0
}

# Time by kernel of one eager step, from the events around each operation.
profile() {
	local at=$folder/profile.json
	"$SHARDLAB" train --device cuda --model "$SPEED_MODEL" --data "$DATA" --precision bf16 --strategy single --batch "${MICRO_BATCHES%% *}" \
		--micro-batch "${MICRO_BATCHES%% *}" --steps 3 --evaluate no --trace "$at" >"$folder/profile.run" 2>&1 || {
		tail -n 3 "$folder/profile.run"
		return 1
	}
	sed -n 's/.*"ph":"X".*"dur":\([0-9.]*\),.*"cat":"\([^"]*\)".*/\2 \1/p' "$at" | awk '
		{ time[$1] += $2; count[$1]++; all += $2 }
		END { for (k in time) printf "%-28s %5d times %12.1f us %5.1f %%\n", k, count[k], time[k], 100 * time[k] / (all ? all : 1)
		      exit !all }' | sort -k 4 -rg
}
export -f versions profile
export folder SHARDLAB DATA MICRO_BATCHES

stages_begin "$log" 580
stage versions 20 bash -c versions
stage doctor 15 "$SHARDLAB" doctor --device cuda
PROGRAMS=test_cuda_linear stage products 60 tests/gpu/kernels.sh
small cpu bf16
CUDA_LAUNCH_BLOCKING=1 CUBLASLT_LOG_LEVEL=2 CUBLASLT_LOG_FILE=$log.cublaslt small eager bf16 --device cuda --no-graph
compare eager cpu bf16
small graph bf16 --device cuda
compare graph cpu bf16
small cpu32 fp32
small graph32 fp32 --device cuda
compare graph32 cpu32 fp32
KERNELS_SECONDS=90 stage kernels 100 tests/gpu/kernels.sh
for micro in $MICRO_BATCHES; do
	PARTS=train MICRO_BATCHES=$micro STEPS=${STEPS:-20} stage "train-$micro" 60 tests/gpu/bench.sh
done
# The rungs of attention, cuDNN's among them where it is installed, are timed and the fastest kept; then all of them side by side.
PARTS=train MICRO_BATCHES=$largest STEPS=${STEPS:-20} TRAIN_OPTIONS='--attention auto' stage "train-$largest-auto" 60 tests/gpu/bench.sh
PARTS=matrix REPEATS=5 stage matrix 90 tests/gpu/bench.sh
PARTS=memory REPEATS=5 stage memory 45 tests/gpu/bench.sh
stage profile 40 bash -o pipefail -c profile
[ "${PYTORCH:=python3}" = none ] ||
	PARTS=pytorch MICRO_BATCHES=$largest REPEATS=10 stage pytorch 150 tests/gpu/bench.sh
PARTS=ladder REPEATS=3 stage ladder 60 tests/gpu/bench.sh
stages_end first
