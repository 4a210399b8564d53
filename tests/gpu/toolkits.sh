#!/bin/bash
# Builds the GPU's part with other toolkits than the one that `make` finds. It needs no GPU. Where a toolkit's nvcc is at hand,
# it builds the library, and ptxas's report is held to the limits of tests/cuda/cuda_ptxas.sh:
#
#     NVCC='/usr/bin/nvcc /opt/cuda-12.6/bin/nvcc' tests/gpu/toolkits.sh
#
# Python's packages have no nvcc. They do have NVRTC, which is the same front end and optimizer for device code, ptxas, and
# headers. So for each of these toolkits
#   - NVRTC compiles the kernels of each file for sm_80 and sm_90a, every instance that is launched (nvrtc.py), and ptxas
#     assembles them;
#   - clang reads each whole file with the toolkit's headers, host's code and device's: every call and constant exists there.
# What this does not show is that the toolkit's nvcc passes host code on to the compiler as it should.
#
#     for v in 12.0 12.4 12.8; do python3 -m venv /tmp/cuda-$v && /tmp/cuda-$v/bin/pip install --no-deps \
#         nvidia-{cublas,cuda-nvcc,cuda-nvrtc,cuda-runtime}-cu12==$v.*; done
#     TOOLKITS='/tmp/cuda-12.0 /tmp/cuda-12.4 /tmp/cuda-12.8' tests/gpu/toolkits.sh [FILE.cu...]
#
# A line for each file that fails, with the first errors, and one for each toolkit. Status: 0, 1 (something does not build, or its
# kernels spill), 77 (skipped). Settings: NVCC, compilers; TOOLKITS, virtual environments; CLANG (clang-19: the oldest that has
# sm_90a and CUDA 12); JOBS (2).
# shellcheck disable=SC2317 # functions that xargs calls
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
: "${NVCC:=}" "${TOOLKITS:=}" "${CLANG:=clang-19}" "${JOBS:=2}"

skipped() {
	echo "skipped: older toolkits: $1"
	exit 77
}
[ -n "$NVCC$TOOLKITS" ] || skipped 'NVCC names no compiler, and TOOLKITS no virtual environment that has one'
[ -z "$TOOLKITS" ] || command -v "$CLANG" >/dev/null || skipped "no $CLANG"
[ $# -gt 0 ] || set -- kernels/cuda/*.cu

folder=$(mktemp -d "${TMPDIR:-/tmp}/shardlab-toolkits.XXXXXX") || exit 1
trap 'rm -rf "$folder"' EXIT

# ---- a toolkit that has nvcc ----

# built NVCC FOLDER: a line; the errors where there are any.
built() {
	local nvcc=$1 at=$2 name kernels
	name="nvcc $("$nvcc" --version 2>/dev/null | sed -n 's/.*release \([0-9.]*\),.*/\1/p') ($nvcc)"
	if ! env -u MAKEFLAGS -u MAKELEVEL make -k -j "$JOBS" BUILD="$at" NVCC="$nvcc" cuda >"$at.said" 2>&1; then
		echo "$name:"
		grep -E 'error|fatal|too old|No such file' "$at.said" | head -n 8
		return 1
	fi
	kernels=$(SHARDLAB=$at/shardlab TMPDIR=$folder tests/cuda/cuda_ptxas.sh 2>&1) || {
		echo "$name: builds the library; its kernels:"
		echo "$kernels"
		return 1
	}
	echo "$name: builds the library, $kernels: no spills, no serialized products, registers within their limits"
}

# ---- a toolkit of Python's packages ----

# toolkit VENV FOLDER: what the packages have spread out, as a toolkit has it.
toolkit() {
	local part
	part=$(find "$1"/lib*/python3*/site-packages/nvidia -maxdepth 0 2>/dev/null | head -n 1)
	[ -x "$part/cuda_nvcc/bin/ptxas" ] || skipped "$1 has no nvidia-cuda-nvcc-cu12"
	mkdir -p "$2"/{include,bin,nvvm,lib64}
	cp -rs "$part"/{cuda_runtime,cuda_nvcc,cublas}/include/. "$2/include/" 2>/dev/null
	cat "$2"/include/{cublasLt,cuda_runtime}.h >"$2/headers" 2>&1 || skipped "$1 has no nvidia-cublas-cu12 or nvidia-cuda-runtime-cu12"
	[ -d "$part/cuda_nvrtc" ] || skipped "$1 has no nvidia-cuda-nvrtc-cu12"
	ln -s "$part/cuda_nvcc/bin/ptxas" "$2/bin/"
	ln -s "$part/cuda_nvcc/nvvm/libdevice" "$2/nvvm/"
	printf '#!/bin/sh\nexec "%s" "$@"\n' "$1/bin/python" >"$2/python"
	chmod +x "$2/python"
	sed -n 's/^#define CUDART_VERSION *//p' "$2/include/cuda_runtime_api.h" | awk '{ print int($1 / 1000) "." $1 % 1000 / 10 }' >"$2/version"
	echo "CUDA Version $(cat "$2/version").0" >"$2/version.txt" # clang reads it
}

# failed TOOLKIT FILE HOW SAID: a line, and the first errors.
failed() {
	echo "toolkit $(cat "$1/version"): $2 ($3):"
	grep -E 'error|fatal' "$4" | head -n 3
	touch "$1/failed"
}
# read_whole TOOLKIT FILE CLANG'S OPTIONS...
read_whole() {
	local at=$1 file=$2 said
	said=$1/$(basename "$2").said
	shift 2
	"$CLANG" -x cuda --cuda-path="$at" "$@" -std=c++17 -I. -Wno-unknown-cuda-version -DSHARDLAB_CUDA_ARCHITECTURES='"80:90"' \
		-fsyntax-only "$file" >"$said" 2>&1 || failed "$at" "$file" "clang $*" "$said"
}
# kernels TOOLKIT FILE ARCHITECTURE [OPTION]
kernels() {
	local ptx
	ptx=$1/$(basename "$2").ptx
	{ "$1/python" tests/gpu/nvrtc.py "$2" "$ptx" "${@:3}" && "$1/bin/ptxas" -arch="$3" "$ptx" -o "$ptx.cubin"; } >"$ptx.said" 2>&1 ||
		failed "$1" "$2" "NVRTC and ptxas ${*:3}" "$ptx.said"
}
build() {
	read_whole "$1" "$2" --cuda-host-only
	read_whole "$1" "$2" --cuda-device-only --cuda-gpu-arch=sm_80
	read_whole "$1" "$2" --cuda-device-only --cuda-gpu-arch=sm_90a -DSHARDLAB_HOPPER
	grep -q __global__ "$2" || return 0
	kernels "$1" "$2" sm_80
	kernels "$1" "$2" sm_90a -DSHARDLAB_HOPPER
}
export -f failed read_whole kernels build
export CLANG

status=0 count=0
for nvcc in $NVCC; do built "$nvcc" "$folder/nvcc-$((++count))" || status=1; done
for venv in $TOOLKITS; do
	at=$folder/$(basename "$venv")
	toolkit "$venv" "$at"
	# shellcheck disable=SC2016 # the inner shell's
	printf '%s\n' "$@" | xargs -P "$JOBS" -I FILE bash -c 'build "$1" "$2"' build "$at" FILE
	if [ -e "$at/failed" ]; then
		status=1
	else
		echo "toolkit $(cat "$at/version"): $# files by clang, $(grep -l __global__ "$@" | wc -l) with kernels by NVRTC and ptxas, for sm_80 and sm_90a"
	fi
done
exit "$status"
