#!/bin/bash
# The third ten minutes on a card: this GPU's rates and the step that they predict, then compute-sanitizer over the tests of
# the kernels and a short training. A kill leaves what there was in the log.
#
#     tests/gpu/third.sh [LOG]               third.log
#
# Settings: those of stages.sh, of validate.sh but ROW, PARTS and CLUSTER, and of sanitizer.sh.
: "${COMMAND:=tests/gpu/third.sh}"
log=$(realpath -m "${1:-third.log}")
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/stages.sh"
stages_need 'calibration and compute-sanitizer'
export COMMAND

stages_begin "$log" 580
PARTS='time' stage time 280 tests/gpu/validate.sh
SANITIZER_SECONDS=${SANITIZER_SECONDS:-180} stage sanitizer 200 tests/gpu/sanitizer.sh
stage families 300 tests/gpu/families.sh
stages_end
