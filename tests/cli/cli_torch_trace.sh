#!/bin/bash
# A trace that PyTorch's own profiler has written (tests/oracle/torch_trace.py): steps, kinds and phases are found in it,
# and what calibrates rates asks for a GPU's.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/support/commands.sh

trace=tests/golden/torch_cpu_trace.json
run torch trace $trace
for row in 'matrix products  *0.0' 'forward  *0.3' 'backward  *0.2' 'update  *0.0' 'mean of 2 steps'; do
	grep -q -- "$row" "$TMPDIR/torch.out" || fail "no '$row' in what trace prints of it"
done
refuse 'has no kernels of a GPU: record with ProfilerActivity.CUDA' calibrate --model mlp --strategy single --cluster a100-80gb --trace $trace
