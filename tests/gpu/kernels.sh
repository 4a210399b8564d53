#!/bin/bash
# The tests of the GPU's kernels on this GPU: beside the CPU's, in fp32, bf16 and fp16, at awkward
# sizes; the same bits when they are repeated. The programs run side by side: most of their time is the CPU's.
#
# Settings: KERNELS_SECONDS (300: for each).
. "$(dirname "$0")/common.sh"
: "${KERNELS_SECONDS:=300}"
begin 'the kernels beside the CPU'

programs=() failed='' checks=0
for source in $(grep -lE 'target_run|CUDA_SUITE' tests/cuda/test_cuda_*.c*); do programs+=("$(basename "${source%.*}")"); done
for name in "${programs[@]}"; do
	(
		status=0
		timeout -k 20 "$KERNELS_SECONDS" "$build/tests/gpu/$name" >"$folder/$name" 2>&1 || status=$?
		echo "$status" >"$folder/$name.status"
	) &
done
wait
for name in "${programs[@]}"; do
	status=$(cat "$folder/$name.status")
	if [ "$status" = 0 ]; then
		checks=$((checks + $(sed -n 's/.*Checks: \([0-9]*\),.*/\1/p' "$folder/$name")))
		echo "ok       $name"
	else
		failed="$failed $name"
		echo "FAILED   $name (exit status $status)"
		tail -n 40 "$folder/$name"
	fi
done
if [ -n "$failed" ]; then
	row kernels "FAILED:$failed"
	exit 1
fi
row kernels "$checks tests pass"
