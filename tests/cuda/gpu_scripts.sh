#!/bin/bash
# The scripts of tests/gpu, where there is no GPU: that they skip, that they find faults, on the program with a stand-in for
# a GPU; and that the table of results gets what was found out, and nothing else.
set -uo pipefail
[ -z "${SAN-}" ] || { echo 'under a sanitizer the programs that these scripts start run in the other tests of tests/cuda' && exit 77; }
. "$(dirname "$0")/../support/commands.sh"
build=$(dirname "$SHARDLAB")
export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 JOBS=1
unset SHARDLAB_CUDA_LIBRARY COMM RANKS STRATEGIES ROW CLUSTER CALIBRATE COMMAND RESULTS FAKE_GPU_MIB FAKE_GPUS FAKE_GPU_PLAIN

# gpu_script STATUS PATTERN SCRIPT ARGUMENT...: what it printed is in script.out.
gpu_script() {
	local want=$1 pattern=$2 status=0
	shift 2
	"tests/gpu/$1" "${@:2}" >"$TMPDIR/script.out" 2>&1 || status=$?
	[ "$status" = "$want" ] || fail "$1: exit status $status, not $want"
	grep -q -- "$pattern" "$TMPDIR/script.out" || fail "$1: no '$pattern'"
}

# A folder like build/ with a program of our choice in it.
mkdir -p "$TMPDIR/fake/tests/bench"
ln -s "$(realpath "$build/tests")/gpu" "$TMPDIR/fake/tests/gpu"
ln -s "$(realpath "$build/tests/gpu/shardlab")" "$TMPDIR/fake/shardlab"
ask() {
	printf '#!/bin/sh\necho "%s"\nexit %d\n' "$2" "$1" >"$TMPDIR/ask"
	chmod +x "$TMPDIR/ask"
	export ASK_GPU=$TMPDIR/ask
}

# ---- no GPU, a driver that does not answer ----

scripts='kernels.sh plans.sh validate.sh families.sh sanitizer.sh bench.sh'
if [ ! -e /dev/nvidiactl ] && [ ! -e /dev/dxg ]; then
	for script in $scripts; do
		gpu_script 0 '^skipped: .*: no GPU: ' "$script"
		[ "$(wc -l <"$TMPDIR/script.out")" = 1 ] || fail "$script: more than one line"
	done
	gpu_script 0 '^skipped: .*: no GPU: ' check.sh
	for program in "$build"/tests/gpu/test_cuda_{kernels,update,linear,attention}; do
		status=0
		"$program" >"$TMPDIR/program.out" 2>&1 || status=$?
		[ "$status" = 77 ] || fail "$program: exit status $status"
		grep -q '^no GPU: ' "$TMPDIR/program.out" || fail "$program: no reason"
	done
fi
ask 1 'error: the driver does not answer'
for script in $scripts; do gpu_script 1 '^error: the driver does not answer$' "$script"; done

# ---- on the stand-in ----

export SHARDLAB=$TMPDIR/fake/shardlab
small='gpt:layers=2,width=32,heads=2,context=16'
ask 0 $'name=Stand-in\ndevices=2\nmemory_bytes=8589934592\ndriver_cuda=13.0'
export MODEL=$small SPEED_MODEL=$small
"$SHARDLAB" doctor --device cuda >"$TMPDIR/doctor" 2>"$TMPDIR/doctor.err"
grep -q "^ok *shardlab's library *CUDA 13.0, with code for compute capability 9.0$" "$TMPDIR/doctor" || fail "doctor: $(cat "$TMPDIR/doctor")"
grep -q "^ok *cuBLASLt *13.2.0; shardlab's library was built with 13.1.0$" "$TMPDIR/doctor" || fail "doctor: $(cat "$TMPDIR/doctor")"
STRATEGIES=zero3 RANKS=1 gpu_script 0 $'^@row\tplans\t3 plans on 1 rank: losses at most 0 apart, ' plans.sh
STRATEGIES=fsdp,tensor RANKS=2 CLUSTER=none gpu_script 0 $'^@row\tvalidate\t4 plans on 2 ranks: bytes exact$' validate.sh
cp "$TMPDIR/script.out" "$TMPDIR/validate.log"
STRATEGIES=hybrid:shard=5 RANKS=2 CLUSTER=none gpu_script 1 $'^@row\tvalidate\tFAILED' validate.sh

# The other families: a model of each, whatever MODEL says.
STRATEGIES=zero3 RANKS=2 gpu_script 0 $'^@row\tplans-llama\t3 plans on 2 ranks: losses at most 0 apart, ' families.sh
cp "$TMPDIR/script.out" "$TMPDIR/families.log"
for family in llama mpt opt; do
	grep -q "^== $family:" "$TMPDIR/families.log" || fail "families.sh: not $family's model"
	grep -q $'^@row\t'"plans-$family"$'\t3 plans on 2 ranks: ' "$TMPDIR/families.log" || fail "families.sh: no plans of $family"
	grep -q $'^@row\t'"validate-$family"$'\t2 plans on 2 ranks: bytes exact$' "$TMPDIR/families.log" ||
		fail "families.sh: $family is not validated"
done
FAMILIES=gpt gpu_script 2 "^fatal: family 'gpt': llama, mpt or opt$" families.sh
FAMILIES=mpt STRATEGIES=hybrid:shard=5 RANKS=2 gpu_script 1 $'^@row\tvalidate-mpt\tFAILED' families.sh

# Rates that were measured a moment ago predict the step.
FAKE_GPU_MIB=140 CALIBRATE=--quick STRATEGIES=fsdp RANKS=2 \
	gpu_script 0 $'^@row\tvalidate-time\tgpt:.*: single [-+][0-9.]* %, zero2 [-+][0-9.]* %, fsdp [-+][0-9.]* %: [a-z]*$' validate.sh
cp "$TMPDIR/script.out" "$TMPDIR/time.log"
FAKE_GPU_MIB=70 CALIBRATE=--quick STRATEGIES=fsdp RANKS=2 gpu_script 1 $'^@row\tvalidate-time\tFAILED: calibrate$' validate.sh

# Every rung of products and of attention, beside the others.
"$build/tests/gpu/bench_cuda_ladder" --small >"$TMPDIR/ladder" 2>&1 || fail "the ladder: $(cat "$TMPDIR/ladder")"
[ "$(grep -c '^\(attn\|mlp\|logits\).*\( *ran\)\{5\}$' "$TMPDIR/ladder")" = 10 ] || fail "products' ladder: $(cat "$TMPDIR/ladder")"
[ "$(grep -c '^heads.*\( *ran\)\{4\} *–$' "$TMPDIR/ladder")" = 8 ] || fail "attention's ladder: $(cat "$TMPDIR/ladder")"

# Tests that pass, that fail, and what compute-sanitizer says where it has no way to the device.
mkdir -p "$TMPDIR/checked/tests/gpu"
ln -s "$(realpath "$build/tests/gpu/shardlab")" "$TMPDIR/checked/shardlab"
for source in $(grep -lE 'target_run|CUDA_SUITE' tests/cuda/test_cuda_*.c*); do
	name=$(basename "${source%.*}")
	printf '#!/bin/sh\necho "100%%: Checks: 7, Failures: 0, Errors: 0"\n' >"$TMPDIR/checked/tests/gpu/$name"
	chmod +x "$TMPDIR/checked/tests/gpu/$name"
done
SHARDLAB=$TMPDIR/checked/shardlab gpu_script 0 $'^@row\tkernels\t56 tests pass$' kernels.sh
cp "$TMPDIR/script.out" "$TMPDIR/kernels.log"
printf '#!/bin/sh\nexit 3\n' >"$TMPDIR/checked/tests/gpu/test_cuda_update"
SHARDLAB=$TMPDIR/checked/shardlab gpu_script 1 $'^@row\tkernels\tFAILED: test_cuda_update$' kernels.sh
grep -q '^FAILED   test_cuda_update (exit status 3)$' "$TMPDIR/script.out" || fail 'kernels.sh: which status?'
printf '#!/bin/sh\necho "Error: Device not supported"\nexit 1\n' >"$TMPDIR/sanitizer"
chmod +x "$TMPDIR/sanitizer"
SANITIZER=$TMPDIR/sanitizer gpu_script 0 '^skipped: compute-sanitizer: .*Device not supported$' sanitizer.sh
! grep -q '^@row' "$TMPDIR/script.out" || fail 'sanitizer.sh: a row of nothing'
printf '#!/bin/sh\necho "ERROR SUMMARY: 0 errors"\n' >"$TMPDIR/sanitizer"
SANITIZER=$TMPDIR/sanitizer gpu_script 0 $'^@row\tsanitizer\t18 programs and tools: clean$' sanitizer.sh

printf '%s\n' '#!/bin/sh' "printf '%-24s %9.1f us %8.1f GB/s %5.1f%% of the copy\n' copy 120 4150 100 'bias, GELU' 30.1 3300 79.5 'those of a step together' 30.1 3300 91.2" \
	>"$TMPDIR/fake/tests/bench/bench_cuda_memory"
chmod +x "$TMPDIR/fake/tests/bench/bench_cuda_memory"
export LAYERS=2 WIDTH=32 CONTEXT=16 MICRO_BATCHES='1 2' STEPS=3
PARTS='train strategies memory' gpu_script 0 $'^@row\tmemory\t91.2 % of a step\'s together, 79.5 % at least (bias, GELU): reached$' bench.sh
grep -q $'^@row\tpeak\t0.00 % at micro-batch [12], [0-9]* tokens/s: missed$' "$TMPDIR/script.out" || fail 'bench.sh: no peak'
grep -q $'^@row\tarena\t[0-9.]* % at most: ' "$TMPDIR/script.out" || fail 'bench.sh: no arena'
grep -q $'^@row\tstrategies\tzero1 [0-9.]*, zero2 [0-9.]*, zero3 [0-9.]*, fsdp ' "$TMPDIR/script.out" || fail 'bench.sh: no strategies'
cp "$TMPDIR/script.out" "$TMPDIR/bench.log"
FAKE_GPU_PLAIN=3 PARTS=train MICRO_BATCHES=1 gpu_script 1 $'^@row\tpeak\tFAILED: no micro-batch ran$' bench.sh
grep -q '^warning: 3 products of a step were computed without cuBLASLt' "$TMPDIR/script.out" || fail 'bench.sh: why no rate?'

# PyTorch's figures, as tests/oracle/gpu_training.py prints them.
cat >"$TMPDIR/python" <<'END'
#!/bin/sh
[ "$1" != -c ] || exit 0
printf '{\n "micro_batches": [\n'
printf '  {\n   "micro_batch": 1,\n   "backend": "%s",\n   "tokens_per_second": %s,\n   "max_memory_allocated": %s\n  },\n' \
	flash 1e-3 1000 cudnn 2e-3 2000
printf '  {\n   "micro_batch": 2,\n   "backend": "flash",\n   "out_of_memory": true\n  }\n ],\n "attention": [\n'
printf '  {\n   "backend": "%s",\n   "deterministic": %s,\n   "head_size": 128,\n   "tokens": 4096,\n   "forward_tflops": %s\n  },\n' \
	cudnn false 600.0 flash true 250.0 efficient true 260.0 flash false 500.0
printf ' ]\n}\n'
END
chmod +x "$TMPDIR/python"
printf '#!/bin/sh\necho "attention, head 128, T 4096 forward  bf16     900.0 us   300.0 TFLOP/s  55.5%% of products"\n' \
	>"$TMPDIR/fake/tests/bench/bench_cuda_matrix"
chmod +x "$TMPDIR/fake/tests/bench/bench_cuda_matrix"
PARTS='train matrix pytorch' PYTORCH=$TMPDIR/python gpu_script 0 $'^@row\tpytorch-memory\t[0-9.]* at most (micro-batch 1): missed$' bench.sh
grep -q $'^@row\tpytorch-speed\t.*, each at its best micro-batch ([12], 1), PyTorch with its cudnn attention: reached$' "$TMPDIR/script.out" ||
	fail 'bench.sh: no pytorch-speed'
grep -q $'^@row\tpytorch-attention\t0.500 at least (head 128, T 4096, forward, beside cudnn): missed$' "$TMPDIR/script.out" ||
	fail 'bench.sh: no pytorch-attention'
grep -q $'^@row\tpytorch-deterministic\t1.154 at least (head 128, T 4096, forward, beside efficient): reached$' "$TMPDIR/script.out" ||
	fail 'bench.sh: no pytorch-deterministic'

printf '#!/bin/sh\nprintf "steps 1-30: loss 9.1, PyTorch 9.1, %%s %%%%\\n" +0.12 -1.34\nexit 1\n' >"$TMPDIR/losses"
chmod +x "$TMPDIR/losses"
PARTS=losses LOSSES=$TMPDIR/losses gpu_script 0 $'^@row\tlosses\t1.34 % at most, of spans of 30 steps: missed$' bench.sh
PARTS=losses LOSSES=$TMPDIR/none gpu_script 1 $'^@row\tlosses\tFAILED' bench.sh

# Two ranks on the stand-in for a GPU.
SEVERAL_MODEL=$small STRATEGIES=fsdp COMM=ring MAKE=none MICRO_BATCH=1 RESULTS=none gpu_script 0 'not run: 4 GPUs: there are 2' \
	several.sh "$TMPDIR/several.log"
grep -q $'^@row\tnccl-2\t1 plans on 2 ranks: .*; 2 plans on 2 ranks: bytes exact; tokens/s .*: ddp [.0-9]*, .*, fsdp [.0-9]*$' \
	"$TMPDIR/several.log" || fail 'several.sh: no row'

# The same with NCCL, where the build has it.
"$SHARDLAB" train --device cuda --comm nccl --model "$small" --data tests/golden/text.txt --steps 1 >"$TMPDIR/nccl" 2>&1 || true
if grep -q 'without NCCL' "$TMPDIR/nccl"; then
	echo 'left out: NCCL: the build is without it (no nccl.h)'
else
	FAKE_GPUS=2 SEVERAL_MODEL=$small STRATEGIES=fsdp MAKE=none MICRO_BATCH=1 RESULTS=none gpu_script 0 'not run: 4 GPUs' \
		several.sh "$TMPDIR/several.log"
	grep -q $'^@row\tnccl-2\t1 plans on 2 ranks: .*; 2 plans on 2 ranks: calls and payload exact; tokens/s .*: ddp [.0-9]*, ' "$TMPDIR/several.log" ||
		fail 'several.sh: no row of NCCL'
fi

# A GPU that computes something else, one that does it in another way each time, and one that does not end well.
rm "$TMPDIR/fake/shardlab"
cat >"$TMPDIR/fake/shardlab" <<'END'
#!/bin/bash
case "$* " in
*'--device cuda '*) "$PROGRAM" "$@" | sed "$FAULT" && exit "${FAULT_STATUS:-0}" ;;
*) "$PROGRAM" "$@" ;;
esac
END
chmod +x "$TMPDIR/fake/shardlab"
export PROGRAM=$build/tests/gpu/shardlab STRATEGIES=single RANKS=1
FAULT='s/"losses": \[\([0-9]\)\.\([0-9]\{4\}\)/"losses": [\1.9999/' gpu_script 1 $'^@row\tplans\tFAILED: 3 of 3 plans$' plans.sh
grep -q 'losses are [0-9.]* apart' "$TMPDIR/script.out" || fail 'plans.sh: which losses?'
cat >"$TMPDIR/fake/shardlab" <<'END'
#!/bin/bash
"$PROGRAM" "$@" | sed "s/\(weights_checksum\": \"\).\{8\}/\1$(printf '%08d' $$)/"
END
gpu_script 1 'in another run (repeat)' plans.sh
printf '#!/bin/sh\nexit 1\n' >"$TMPDIR/fake/shardlab"
gpu_script 1 'exit status 1' plans.sh

# ---- the table ----

cp kernels/RESULTS.md "$TMPDIR/table.md"
export RESULTS=$TMPDIR/table.md
tests/gpu/record.sh "$TMPDIR/validate.log" "$TMPDIR/bench.log" || fail 'record.sh'
grep -q '^| `validate` | .* | 4 plans on 2 ranks: bytes exact (Stand-in, driver .*, [-0-9]*, `tests/gpu/validate.sh`) |$' "$RESULTS" ||
	fail 'no result of validate'
grep -q '^| `memory` | .* | 91.2 % of a step.s together, 79.5 % at least (bias, GELU): reached (Stand-in, ' "$RESULTS" || fail 'no result of memory'
diff kernels/RESULTS.md "$RESULTS" >"$TMPDIR/difference"
[ "$(grep -c '^>' "$TMPDIR/difference")" = 5 ] || fail "not five rows: $(cat "$TMPDIR/difference")"

# of two results the last; what is no row, or has no card, leaves the table as it is
printf '@run\tA|B\t1.2\t2026-01-02\tmake\n@row\tplans\tone | two\n@row\tplans\tFAILED: 1 of 3 plans\n' >"$TMPDIR/log"
tests/gpu/record.sh "$TMPDIR/log" || fail 'record.sh'
grep -qF '| FAILED: 1 of 3 plans (A\|B, driver 1.2, 2026-01-02, `make`) |' "$RESULTS" || fail 'no result of plans'
tests/gpu/record.sh "$TMPDIR/time.log" "$TMPDIR/kernels.log" || fail 'record.sh'
mkdir "$TMPDIR/other"
printf '@run\tA\t1.2\t2026-01-02\tmake\n@row\tnccl-2\tsome\n' >"$TMPDIR/other/families.log"
tests/gpu/record.sh "$TMPDIR/families.log" "$TMPDIR/other/families.log" || fail 'record.sh'
grep -q '^| `plans-opt` | .* | 3 plans on 2 ranks: .* (Stand-in, .*`tests/gpu/families.sh`) |$' "$RESULTS" || fail 'no result of OPT'
grep -q '^| `validate-calibrate` | .* | [0-9]* s: [a-z]* (Stand-in' "$RESULTS" || fail 'no result of validate-calibrate'
grep -q '^| `validate-time` | .*: single .* %: [a-z]* (Stand-in' "$RESULTS" || fail 'no result of validate-time'

# every row there is
sed -n 's/^| `\([^`]*\)` |.*/@row\t\1\tsome/p' kernels/RESULTS.md | sed $'1i @run\tA\t1.2\t2026-01-02\tmake' >"$TMPDIR/all"
cp "$RESULTS" "$TMPDIR/all.md"
RESULTS=$TMPDIR/all.md tests/gpu/record.sh "$TMPDIR/all" || fail 'record.sh: all rows'
! grep -q '| not run' "$TMPDIR/all.md" || fail 'record.sh left a row'
cp "$RESULTS" "$TMPDIR/before.md"
printf '@row\tplans\tall\n' >"$TMPDIR/no_run"
printf '@run\tA\t1.2\t2026-01-02\tmake\n@row\tnothing\tall\n' >"$TMPDIR/no_row"
printf '@run\tA\t1.2\t2026-01-02\tmake\n@row\tplans\n' >"$TMPDIR/no_field"
echo 'nothing' >"$TMPDIR/empty"
for log in no_run no_row no_field empty missing; do
	refused '' tests/gpu/record.sh "$TMPDIR/$log" || fail "record.sh $log"
	cmp "$TMPDIR/before.md" "$RESULTS" || fail "record.sh changed the table for $log"
done
