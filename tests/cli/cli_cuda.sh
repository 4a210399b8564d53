#!/bin/bash
# The command's message where there is no GPU, no driver, no CUDA in the build, no NCCL: one line, exit status 2.
set -uo pipefail
. "$(dirname "$0")/../support/commands.sh"

unset SHARDLAB_CUDA_LIBRARY

# Alone in a folder, the program is one that was built without CUDA.
mkdir -p "$TMPDIR/alone/bin"
cp "$SHARDLAB" "$TMPDIR/alone/bin/shardlab"
program=$TMPDIR/alone/bin/shardlab
refuse 'built without CUDA' train --device cuda
refuse 'built without CUDA' train --device cuda --ranks 2 --strategy ddp
refuse 'built without CUDA' validate --device cuda --strategy ddp,zero2
refuse 'built without CUDA' train --device cuda --comm nccl
refuse 'built without CUDA' calibrate --device cuda
refuse 'built without CUDA' calibrate --device cuda --ranks 2 --comm nccl --json --output "$TMPDIR/gpu.yaml"
refuse 'only a GPU captures steps' calibrate --no-graph
refuse 'between processors calibrate measures ring' calibrate --comm mpi
refuse "'gpu' is not one of" calibrate --device gpu
[ ! -e "$TMPDIR/gpu.yaml" ] || complain 'a refused calibration wrote a file'
refuse 'moves a GPU' train --comm nccl
refuse 'only a GPU captures steps' train --no-graph
refuse "'tpu' is not one of" train --device tpu

# A file that is no library, beside it or in the lib of its PREFIX; and one that is another library.
echo 'no library' >"$TMPDIR/alone/bin/libshardlab-cuda.so"
refuse 'alone/bin/libshardlab-cuda.so: ' train --device cuda
rm "$TMPDIR/alone/bin/libshardlab-cuda.so"
mkdir "$TMPDIR/alone/lib"
echo 'no library' >"$TMPDIR/alone/lib/libshardlab-cuda.so"
refuse 'lib/libshardlab-cuda.so: ' train --device cuda
export SHARDLAB_CUDA_LIBRARY=$TMPDIR/none.so
refuse 'none.so cannot be read' train --device cuda
libm=$(ldd "$SHARDLAB" | sed -n 's/.*libm\.so[^ ]* => \([^ ]*\).*/\1/p')
if [ -n "$libm" ]; then
	export SHARDLAB_CUDA_LIBRARY=$libm
	refuse 'of another version' train --device cuda
fi
unset SHARDLAB_CUDA_LIBRARY

# The GPUs' rates stand beside the processors', and sim needs no GPU for them.
export SHARDLAB_CONFIG=$TMPDIR/rates.yaml
"$SHARDLAB" sim --strategy single --cluster local-cuda >"$TMPDIR/sim"
grep -q 'class fused on hopper, .*; shardlab calibrate --device cuda measures' "$TMPDIR/sim" || complain "$(cat "$TMPDIR/sim")"
cat >"$TMPDIR/rates-cuda.yaml" <<'YAML'
name: local-cuda
kind: gpu
node: {devices: 1, cores: 8, memory: 64GB, memory_bandwidth: 1e11, core_compute: 1e10}
device: {memory: 80GB, overhead: {measured: 1GB, min: 1GB, max: 1GB}, memory_bandwidth: {measured: 1e12, min: 1e12, max: 1e12},
  launch: {measured: 1e-3, min: 1e-3, max: 1e-3}, collective_launch: 1e-6, collective_share: 0}
compute: {default: {fp32: {measured: 1e12, min: 1e12, max: 1e12}}}
link: {latency: 1e-6, bandwidth: 1e10}
host_link: {latency: 1e-6, bandwidth: 1e10}
YAML
"$SHARDLAB" sim --strategy single --cluster local-cuda >"$TMPDIR/sim"
! grep -q 'assumed\|class' "$TMPDIR/sim" || complain "$(cat "$TMPDIR/sim")"
"$SHARDLAB" sim --strategy ddp --ranks 4 --cluster local-cuda >"$TMPDIR/sim" || complain 'ranks cannot share a GPU'
grep -q 'cluster local-cuda' "$TMPDIR/sim" || complain "$(cat "$TMPDIR/sim")"
export SHARDLAB_CONFIG=$TMPDIR/none.yaml

# The library that was built, where there is no GPU to run on.
program=$SHARDLAB
if [ ! -e "$(dirname "$SHARDLAB")/libshardlab-cuda.so" ]; then
	echo 'left out: the library for GPUs: it is not built (no nvcc, or under a sanitizer)'
elif [ ! -e /dev/nvidiactl ]; then
	refuse 'use --device cpu' train --device cuda
	refuse 'use --device cpu' validate --device cuda --strategy single
	refuse '--guard' train --device cuda --guard
	refuse 'use --device cpu' calibrate --device cuda
fi
