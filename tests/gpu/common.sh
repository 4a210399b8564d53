# shellcheck shell=bash
# Shared by the scripts of this folder. Sourced, not run:
#
#     . "$(dirname "$0")/common.sh"
#     begin kernels                        ends the script where there is no GPU, with a line that says why
#     row kernels 'passed: 4 programs'     the result of this row of kernels/RESULTS.md
#
# A script prints what it finds out, and in it lines that record.sh reads, fields between tabs:
#
#     @run  CARD  DRIVER  DATE  COMMAND    once, before
#     @row  ROW  RESULT
#
# Settings, all of them: SHARDLAB, the program (build/shardlab); the others lie beside it. ASK_GPU, what says which GPU
# is here. MODEL, DATA: a small model and its text, for what is about bytes and bits and not about speed. JOBS: how
# many runs at a time.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1

: "${SHARDLAB:=build/shardlab}"
build=$(dirname "$SHARDLAB")
: "${ASK_GPU:=$build/tests/gpu/ask_gpu}"
: "${MODEL:=gpt:layers=3,width=64,heads=8,context=32}"
: "${DATA:=tests/golden/text.txt}"
: "${JOBS:=$((($(nproc) + 3) / 4))}"
: "${SHARDLAB_CUDA_LIBRARY:=$(realpath -m "$build/libshardlab-cuda.so")}"
[ ! -e "$SHARDLAB_CUDA_LIBRARY" ] || export SHARDLAB_CUDA_LIBRARY
export LC_ALL=C # numbers have points
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

folder=$(mktemp -d "${TMPDIR:-/tmp}/shardlab-gpu.XXXXXX") || exit 1
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT TERM

# limited SECONDS COMMAND...: in a stage (stages.sh) it ends with the stage, which has a limit of its own.
limited() {
	timeout ${IN_STAGE:+--foreground} -k 20 "$@"
}

# The driver's own version, or what CUDA it knows.
driver_version() {
	nvidia-smi --query-gpu=driver_version --format=csv,noheader -i 0 2>/dev/null || cat /sys/module/nvidia/version 2>/dev/null ||
		echo "of CUDA $(gpu_fact driver_cuda)"
}

# gpu_fact NAME: of what ask_gpu printed.
gpu_fact() {
	sed -n "s/^$1=//p" "$folder/gpu"
}

begin() {
	local status=0
	"$ASK_GPU" >"$folder/gpu" 2>&1 || status=$?
	if [ "$status" = 77 ]; then
		echo "skipped: $1: $(cat "$folder/gpu")"
		exit 0
	elif [ "$status" != 0 ]; then
		cat "$folder/gpu" >&2
		exit 1
	fi
	printf '@run\t%s\t%s\t%s\t%s\n' "$(gpu_fact name)" "$(driver_version)" "$(date +%F)" "${COMMAND:-tests/gpu/$(basename "$0")}"
}

row() {
	printf '@row\t%s\t%s\n' "$1" "$2"
}

# verdict VALUE RELATION LIMIT: "reached" or "missed".
verdict() {
	awk "BEGIN { print ($1 $2 $3) ? \"reached\" : \"missed\" }"
}

# figure FILE NAME: the last number of this name in a file of JSON.
figure() {
	grep -o "\"$2\": [-0-9.e+]*" "$1" | tail -n 1 | sed 's/.*: //'
}

# losses FILE, checksum FILE: of a run's JSON.
losses() {
	sed -n 's/.*"losses": \[\([^]]*\)\].*/\1/p' "$1"
}
checksum() {
	sed -n 's/.*"weights_checksum": "\([0-9a-f]*\)".*/\1/p' "$1"
}

# How far apart losses may be: sums are made in another order, which in fp32 costs a few units of 2^-24. In 16 bits
# weights and activations are rounded, to 2^-9 and 2^-12 at most, each way as often: of their mean, a loss, little of it
# is left.
limit() {
	case $1 in
	fp32) echo 1e-6 ;;
	bf16) echo 5e-4 ;;
	fp16) echo 6e-5 ;;
	esac
}

# apart LOSSES LOSSES: the largest relative difference; 1 where they are not as many.
apart() {
	printf '%s\n%s\n' "$1" "$2" | awk -F ', ' '
		NR == 1 { n = split($0, a); next }
		{ worst = NF == n && n > 0 ? 0 : 1
		  for (i = 1; i <= n; i++) { d = (a[i] - $i) / a[i]; if (d < 0) d = -d; if (!(d <= worst)) worst = d } }
		END { printf "%.2g", worst }'
}
