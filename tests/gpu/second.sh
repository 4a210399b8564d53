#!/bin/bash
# The second ten minutes on a card, after first.sh: every plan beside the CPU's, ZeRO and FSDP beside one device's step, bytes as
# predicted, the loss curve beside PyTorch's. One rank comes first; a kill leaves what there was in the log.
#
#     tests/gpu/second.sh [LOG]              second.log
#
# Settings: those of stages.sh; those of plans.sh and validate.sh but ROW and CLUSTER; LOSSES (losses.sh).
: "${COMMAND:=tests/gpu/second.sh}"
log=$(realpath -m "${1:-second.log}")
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/stages.sh"
stages_need 'plans, validation and losses'
export COMMAND

stages_begin "$log" 580
RANKS=1 stage plans-1 90 tests/gpu/plans.sh
stage plans 240 tests/gpu/plans.sh
PARTS=strategies MICRO_BATCHES=16 STEPS=${STEPS:-20} stage strategies 60 tests/gpu/bench.sh
CLUSTER=none stage validate 150 tests/gpu/validate.sh
PARTS=losses stage losses 200 tests/gpu/bench.sh
stages_end
