#!/bin/bash
# The tests of the GPU's kernels on this GPU: shipped and plain ones beside the CPU's, in fp32, bf16 and fp16, at awkward
# sizes; the same bits when they are repeated.
. "$(dirname "$0")/common.sh"
begin 'the kernels beside the CPU'

failed='' checks=0
for source in $(grep -l target_run tests/test_cuda_*.c*); do
	name=$(basename "${source%.*}") status=0
	"$build/tests/gpu/$name" >"$folder/out" 2>&1 || status=$?
	if [ "$status" = 0 ]; then
		checks=$((checks + $(sed -n 's/.*Checks: \([0-9]*\),.*/\1/p' "$folder/out")))
		echo "ok       $name"
	else
		failed="$failed $name"
		echo "FAILED   $name (exit status $status)"
		tail -n 40 "$folder/out"
	fi
done
if [ -n "$failed" ]; then
	row kernels "FAILED:$failed"
	exit 1
fi
row kernels "$checks tests pass"
