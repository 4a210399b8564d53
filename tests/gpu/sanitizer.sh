#!/bin/bash
# compute-sanitizer: memcheck and racecheck over the tests of the kernels; memcheck over the kernels that memory limits,
# and over a short training.
#
# Settings: SANITIZER (compute-sanitizer of PATH, or beside nvcc), SANITIZER_SECONDS (500: for each).
. "$(dirname "$0")/common.sh"
: "${SANITIZER:=$(command -v compute-sanitizer || command -v /usr/local/cuda/bin/compute-sanitizer)}" "${SANITIZER_SECONDS:=500}"
begin 'compute-sanitizer'

if [ -z "$SANITIZER" ]; then
	echo 'error: compute-sanitizer is not here: it comes with the CUDA toolkit' >&2
	exit 1
fi

# check TOOL NAME COMMAND...: a line in $folder/lines, and what was said if it was not clean.
check() {
	local tool=$1 name=$2 status=0 out=$folder/$1-$2
	shift 2
	limited "$SANITIZER_SECONDS" "$SANITIZER" --tool "$tool" --target-processes all --error-exitcode 99 "$@" \
		>"$out" 2>&1 || status=$?
	case $status in
	0) grep -q 'SUMMARY: 0 errors\|SUMMARY: 0 hazards' "$out" && echo "ok       $tool, $name" && return ;;
	99) echo "FAILED   $tool, $name: $(grep 'SUMMARY' "$out" | tail -n 1)" ;;
	124) echo "FAILED   $tool, $name: stopped after $SANITIZER_SECONDS s" ;;
	*) echo "FAILED   $tool, $name: exit status $status" ;;
	esac
	head -n 60 "$out" | sed 's/^/    /'
}

programs=()
for source in $(grep -lE 'target_run|CUDA_SUITE' tests/cuda/test_cuda_*.c*); do programs+=("$(basename "${source%.*}")"); done
for tool in memcheck racecheck; do
	for name in "${programs[@]}"; do check "$tool" "$name" "$build/tests/gpu/$name" | tee "$folder/$tool.$name.line" & done
done
check memcheck bench_cuda_memory "$build/tests/bench/bench_cuda_memory" --check | tee "$folder/memory.line" &
check memcheck train "$SHARDLAB" train --device cuda --model "$MODEL" --data "$DATA" --precision bf16 --batch 4 --steps 4 \
	--clip 1 --strategy zero3 --json | tee "$folder/train.line" &
wait
# Under some virtual machines it has no way to the device.
if grep -qs 'Device not supported' "$folder"/{mem,race}check-*; then
	echo "skipped: compute-sanitizer: $(grep -hs 'Device not supported' "$folder"/{mem,race}check-* | head -n 1)"
	exit 0
fi
good=$(cat "$folder"/*.line | grep -c '^ok ') count=$((2 * ${#programs[@]} + 2))
if [ "$good" != "$count" ]; then
	row sanitizer "FAILED: $((count - good)) of $count"
	exit 1
fi
row sanitizer "$count programs and tools: clean"
