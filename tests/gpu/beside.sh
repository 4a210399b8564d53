#!/bin/bash
# shardlab and PyTorch in one call on one card, so that their ratio is of the same minutes: GPT-2 124M by shardlab with the rung of
# attention that is the fastest here and with each of the upper ones, then PyTorch with flash and with cuDNN's attention, then
# attention alone, both. It prints rows pytorch-speed, pytorch-memory and pytorch-attention.
#
#     tests/gpu/beside.sh [LOG]              beside.log
#
# Settings: those of stages.sh and bench.sh; MICRO_BATCHES (64).
: "${COMMAND:=tests/gpu/beside.sh}"
log=$(realpath -m "${1:-beside.log}")
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/stages.sh"
: "${MICRO_BATCHES:=64}" "${STEPS:=20}" "${REPEATS:=10}"
stages_need 'shardlab beside PyTorch'
export COMMAND MICRO_BATCHES STEPS REPEATS
figures=$folder/figures
mkdir -p "$figures" "$folder/of-rungs"

stages_begin "$log" 580
for rung in tensor hopper cudnn; do
	FIGURES=$folder/of-rungs PARTS=train TRAIN_OPTIONS="--attention $rung" stage "train-$rung" 60 tests/gpu/bench.sh
done
export FIGURES=$figures
PARTS=train TRAIN_OPTIONS='--attention auto' stage train 60 tests/gpu/bench.sh
PARTS=matrix stage matrix 120 tests/gpu/bench.sh
PARTS=pytorch stage pytorch 240 tests/gpu/bench.sh
stages_end
