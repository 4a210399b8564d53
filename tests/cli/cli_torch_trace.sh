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

# How many ranks a recorded run had need not be said again beside a file that does not say it; a file that does goes first.
compared() {
	"$SHARDLAB" compare --model gpt2-124m --cluster a100-80gb --trace $trace "$@" >"$TMPDIR/compared.out" 2>"$TMPDIR/err" ||
		fail "compare $*: exit status $?"
}
printf '{"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 1}}' >"$TMPDIR/ds.json"
compared --config "$TMPDIR/ds.json"
grep -q "^ranks by --trace $trace: 1$" "$TMPDIR/err" || fail "ranks of a trace: $(cat "$TMPDIR/err")"
printf 'distributed_type: FSDP\nnum_processes: 4\nmixed_precision: bf16\nfsdp_config: {fsdp_version: 2}\n' >"$TMPDIR/a.yaml"
compared --config "$TMPDIR/a.yaml"
grep -q '^ranks by num_processes: 4$' "$TMPDIR/err" || fail "ranks of a file: $(cat "$TMPDIR/err")"
grep -q '^recorded on 1 ranks, predicted for 4$' "$TMPDIR/compared.out" || fail 'the difference of ranks is not said'
