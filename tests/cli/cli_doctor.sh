#!/bin/bash
# shardlab doctor: a line a check, with every piece that it looks for, and without each of them. The pieces of a GPU are
# small libraries of this script's own.
set -uo pipefail
. "$(dirname "$0")/../support/commands.sh"
. "$(dirname "$0")/../support/core.sh"
unset OPENBLAS_CORETYPE SHARDLAB_CUDA_LIBRARY CUDA_VISIBLE_DEVICES

# Alone in a folder, the program is one that was built without CUDA.
mkdir -p "$TMPDIR/alone/bin" "$TMPDIR/lib" "$TMPDIR/empty" "$TMPDIR/tools"
cp "$SHARDLAB" "$TMPDIR/alone/bin/shardlab"

# doctor STATUS ARGUMENT...: what it says, in out and err.
doctor() {
	local want=$1 status=0
	shift
	timeout 20 "$TMPDIR/alone/bin/shardlab" doctor "$@" >"$TMPDIR/out" 2>"$TMPDIR/err" || status=$?
	[ "$status" = "$want" ] || complain "doctor $*: exit status $status, not $want: $(cat "$TMPDIR/err")"
}
# says PATTERN: one line of the last.
says() {
	[ "$(grep -c -- "$1" "$TMPDIR/out")" = 1 ] || complain "no line '$1': $(cat "$TMPDIR/out")"
}

# ---- processors ----

doctor 0
[ "$(wc -l <"$TMPDIR/out")" = 5 ] || complain "not five lines: $(cat "$TMPDIR/out")"
says '^\(ok\|note\) *cores *[0-9]'
says '^\(ok\|note\) *memory *[0-9.]* of [0-9.]* GB are left'
says '^\(ok\|note\) *OpenBLAS *core [A-Za-z]'
says '^ok *MPI *Open MPI v.*/mpirun$'
says '^note *calibration *none, so predictions have assumed rates; run: shardlab calibrate$'
doctor 0 --device cpu

OPENBLAS_CORETYPE=Nehalem doctor 0
[ "$(uname -m)" != x86_64 ] || says '^note *OpenBLAS *core Nehalem, forced by OPENBLAS_CORETYPE; unset it$'

# A processor that OpenBLAS does not know: the program starts once more with the core that fits, and if OpenBLAS has not
# even that one, it goes on with what there is.
if has_vectors; then
	make_core 'asked ? asked : "Prescott"'
	with_core doctor 0
	says '^ok *OpenBLAS *core \(SkylakeX\|Haswell\); vectors: AVX'
	grep -q ' shardlab \(SkylakeX\|Haswell\)$' "$TMPDIR/loaded" || complain "begun anew: $(cat "$TMPDIR/loaded")"
	make_core '"Prescott"'
	with_core doctor 0
	says '^note *OpenBLAS *core Prescott, and the processor has AVX.*several times slower.*OPENBLAS_CORETYPE=\(SkylakeX\|Haswell\)$'
fi
status=0
env PATH="$TMPDIR/empty" "$TMPDIR/alone/bin/shardlab" doctor >"$TMPDIR/out" 2>"$TMPDIR/err" || status=$?
[ "$status" = 0 ] || complain "without mpirun: exit status $status"
says '^note *MPI *Open MPI v.*no mpirun on the PATH, so one rank alone; apt-get install openmpi-bin$'

# A calibration of today, of another year, and one that is none.
export SHARDLAB_CONFIG=$TMPDIR/rates.yaml
cat >"$SHARDLAB_CONFIG" <<'YAML'
name: local
kind: cpu
node: {cores: 2, memory: 8GB, memory_bandwidth: 20e9}
device: {threads: 1, overhead: 64MiB, memory_bandwidth: 12e9, launch: 1e-6, collective_launch: 5e-6, collective_cores: 0.5}
compute: {default: {fp32: 5e9}}
link: {latency: 2e-6, bandwidth: 5e9}
YAML
doctor 0
says "^ok *calibration *within the last hour, $SHARDLAB_CONFIG\$"
touch -d '3 days ago' "$SHARDLAB_CONFIG"
doctor 0
says '^ok *calibration *3 days ago, '
touch -d '400 days ago' "$SHARDLAB_CONFIG"
doctor 0
says '^note *calibration *400 days ago: .*; run: shardlab calibrate$'
echo 'name: [' >"$SHARDLAB_CONFIG"
doctor 1
says '^missing *calibration *.*rates.yaml:.*; or run: shardlab calibrate$'
grep -qx 'missing: calibration' "$TMPDIR/err" || complain "$(cat "$TMPDIR/err")"
export SHARDLAB_CONFIG=$TMPDIR/none.yaml

# ---- GPUs ----

# fake FILE TEXT: a library of this text.
fake() {
	# shellcheck disable=SC2086
	printf '%s\n' "$2" | ${CC:-cc} -shared -fPIC -x c - -o "$TMPDIR/lib/$1" || fail "no library of one's own: $1"
}
fake libcuda.so.1 '
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
static int number(const char *name) { const char *v = getenv(name); return v ? atoi(v) : 0; }
int cuInit(unsigned flags) { return (int)flags + number("FAKE_ERROR"); }
int cuDriverGetVersion(int *v) { *v = 13010; return 0; }
int cuDeviceGetCount(int *n) { *n = number("FAKE_GPUS"); return 0; }
int cuDeviceGet(int *d, int i) { *d = i + 7; return 0; }
int cuDeviceGetName(char *s, int n, int d) { snprintf(s, (size_t)n, "Fake %d", d == 7 ? 0 : number("FAKE_OTHER")); return 0; }
int cuDeviceTotalMem_v2(size_t *b, int d) { *b = d == 7 ? 80000000000 : 40000000000; return 0; }
int cuDeviceCanAccessPeer(int *can, int d, int p) { *can = d + p - 14 <= number("FAKE_REACH"); return 0; }'
fake libcublasLt.so.13 'unsigned long cublasLtGetVersion(void) { return 130102; }'
fake libcudnn.so.9 'unsigned long cudnnGetVersion(void) { return 91900; }'
printf '#!/bin/sh\n' >"$TMPDIR/tools/nvcc"
chmod +x "$TMPDIR/tools/nvcc"
export LD_LIBRARY_PATH=$TMPDIR/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} PATH=$TMPDIR/tools:$PATH

FAKE_GPUS=2 FAKE_REACH=1 doctor 1 --device cuda
[ "$(wc -l <"$TMPDIR/out")" = 14 ] || complain "not 14 lines: $(cat "$TMPDIR/out")"
says '^ok *driver *up to CUDA 13.1$'
says '^ok *GPUs *2 × Fake 0, 40.0 GB$'
says "^ok *peer access *each of 2 GPUs reaches the others' memory\$"
says "^missing *shardlab's library *.*built without CUDA"
says "^ok *CUDA toolkit *$TMPDIR/tools/nvcc\$"
says '^ok *cuBLASLt *13.1.2$'
says '^ok *cuDNN *9.19.0$'
says '^\(ok *NCCL *[0-9]*\.[0-9]*\.[0-9]*$\|note *NCCL *--comm nccl: .*; .*use --comm ring or mpi$\)'
says "^note *GPUs' calibration *none, so predictions have an H100's rates; run: shardlab calibrate --device cuda\$"
grep -qx "missing: shardlab's library" "$TMPDIR/err" || complain "$(cat "$TMPDIR/err")"

FAKE_GPUS=3 FAKE_REACH=2 FAKE_OTHER=5 doctor 1 --device cuda
says '^note *GPUs *3 × Fake 0, 40.0 GB at least, and not all the same: '
says '^note *peer access *4 of 6 pairs of GPUs: '
FAKE_GPUS=1 doctor 1 --device cuda
says '^ok *GPUs *1 × Fake 0, 80.0 GB$'
says '^ok *peer access *one GPU: '
doctor 1 --device cuda
says '^ok *driver '
says '^missing *GPUs *none; is CUDA_VISIBLE_DEVICES empty'
FAKE_ERROR=100 doctor 1 --device cuda
says '^ok *driver '
FAKE_ERROR=803 doctor 1 --device cuda
says '^missing *driver *error 803: it does not answer; look at nvidia-smi'
says '^missing *GPUs *not known without a driver$'

# An old driver's library; and files that are no libraries.
fake libcuda.so.1 'int cuInit(unsigned flags) { return (int)flags; }'
doctor 1 --device cuda
says '^missing *driver *libcuda.so.1 has no cuDriverGetVersion; install a newer driver$'
for file in libcuda.so.1 libcublasLt.so.13 libcublasLt.so.12 libcudnn.so.9 libnccl.so.2; do echo 'no library' >"$TMPDIR/lib/$file"; done
doctor 1 --device cuda
if ! grep -q libcuda.so.1 <<<"$(ldconfig -p 2>/dev/null)"; then says '^missing *driver *there is none (no libcuda.so.1)'; fi
