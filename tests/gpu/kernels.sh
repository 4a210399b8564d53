#!/bin/bash
# The tests of the GPU's kernels on this GPU: beside the CPU's, in fp32, bf16 and fp16, at awkward
# sizes; the same bits when they are repeated. The programs run side by side: most of their time is the CPU's.
#
# Settings: KERNELS_SECONDS (300: for each), PROGRAMS (all that there are; of some alone there is no row).
. "$(dirname "$0")/common.sh"
: "${KERNELS_SECONDS:=300}"
begin 'the kernels beside the CPU'

programs=() failed='' checks=0
for source in $(grep -lE 'target_run|CUDA_SUITE' tests/cuda/test_cuda_*.c*); do programs+=("$(basename "${source%.*}")"); done
for name in ${PROGRAMS:-"${programs[@]}"}; do
	(
		status=0
		limited "$KERNELS_SECONDS" "$build/tests/gpu/$name" >"$folder/$name" 2>&1 || status=$?
		echo "$status" >"$folder/$name.status"
		if [ "$status" = 0 ]; then
			echo "ok       $name"
		else
			{ echo "FAILED   $name (exit status $status)" && tail -n 40 "$folder/$name"; } >"$folder/$name.said"
			cat "$folder/$name.said" # in one piece
		fi
	) &
done
wait
for name in ${PROGRAMS:-"${programs[@]}"}; do
	if [ "$(cat "$folder/$name.status")" = 0 ]; then
		checks=$((checks + $(sed -n 's/.*Checks: \([0-9]*\),.*/\1/p' "$folder/$name")))
	else
		failed="$failed $name"
	fi
done
if [ -n "$failed" ]; then
	[ -n "${PROGRAMS-}" ] || row kernels "FAILED:$failed"
	exit 1
fi
[ -n "${PROGRAMS-}" ] || row kernels "$checks tests pass"
