#!/bin/bash
# first.sh, second.sh and third.sh of tests/gpu on the program with a stand-in for a GPU: every stage runs, one that hangs is
# stopped and the others follow, and a log that was cut off is read as far as it goes.
set -uo pipefail
[ -z "${SAN-}" ] || { echo 'under a sanitizer the programs that these scripts start run in the other tests of tests/cuda' && exit 77; }
. "$(dirname "$0")/../support/commands.sh"
build=$(dirname "$SHARDLAB")
export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 JOBS=1 SHARDLAB_CONFIG=$TMPDIR/rates.yaml
unset SHARDLAB_CUDA_LIBRARY COMM RANKS STRATEGIES ROW CLUSTER CALIBRATE COMMAND RESULTS FAKE_GPU_MIB FAKE_GPUS FAKE_GPU_PLAIN PARTS STAGES

# stages_script STATUS SCRIPT: its log is script.log.
stages_script() {
	local status=0
	"tests/gpu/$2" "$TMPDIR/script.log" >"$TMPDIR/script.out" 2>&1 || status=$?
	[ "$status" = "$1" ] || { cat "$TMPDIR/script.out" && fail "$2: exit status $status, not $1"; }
}
has() {
	grep -q -- "$1" "$TMPDIR/script.log" || { cat "$TMPDIR/script.log" && fail "no '$1'"; }
}

if [ ! -e /dev/nvidiactl ] && [ ! -e /dev/dxg ]; then
	for script in first.sh second.sh third.sh; do
		stages_script 0 "$script"
		grep -q '^skipped: .*: no GPU: ' "$TMPDIR/script.out" || fail "$script: no reason"
		[ "$(wc -l <"$TMPDIR/script.out")" = 1 ] || fail "$script: more than one line"
		[ ! -e "$TMPDIR/script.log" ] || fail "$script: a log of nothing"
	done
fi

# ---- a folder like build/, on the stand-in ----

program() {
	mkdir -p "$(dirname "$TMPDIR/fake/$1")"
	cat >"$TMPDIR/fake/$1"
	chmod +x "$TMPDIR/fake/$1"
}
for source in $(grep -lE 'target_run|CUDA_SUITE' tests/cuda/test_cuda_*.c*); do
	program "tests/gpu/$(basename "${source%.*}")" <<<$'#!/bin/sh\necho "100%: Checks: 7, Failures: 0, Errors: 0"'
done
program tests/bench/bench_cuda_memory <<'END'
#!/bin/sh
printf '%-24s %9.1f us %8.1f GB/s %5.1f%% of the copy\n' copy 120 4150 100 'bias, GELU' 30.1 3300 79.5 'those of a step together' 30 3300 79.5
END
program tests/bench/bench_cuda_matrix <<'END'
#!/bin/sh
echo "attention, head 128, T 4096 forward  bf16     900.0 us   300.0 TFLOP/s  55.5% of products'"
END
program tests/bench/bench_cuda_ladder <<'END'
#!/bin/sh
echo 'attn.c_attn forward'
END
program ask <<'END'
#!/bin/sh
printf 'name=Stand-in\ndevices=1\nmemory_bytes=8589934592\ndriver_cuda=13.0\n'
END
program python <<'END'
#!/bin/sh
[ "$1" != -c ] || exit 0
printf '{\n "micro_batches": [\n  {\n   "micro_batch": 2,\n   "backend": "flash",\n   "tokens_per_second": 1e-3,\n   "max_memory_allocated": 1000\n  }\n ]\n}\n'
END
program losses <<'END'
#!/bin/sh
echo 'steps 1-30: loss 9.1, PyTorch 9.1, +0.12 %'
END
program sanitizer <<<$'#!/bin/sh\necho "ERROR SUMMARY: 0 errors"'
ln -s "$(realpath "$build/tests/gpu/shardlab")" "$TMPDIR/fake/shardlab"
small='gpt:layers=2,width=32,heads=2,context=16'
export SHARDLAB=$TMPDIR/fake/shardlab ASK_GPU=$TMPDIR/fake/ask PYTORCH=$TMPDIR/fake/python SMALL=$small SPEED_MODEL=$small MODEL=$small
export LAYERS=2 WIDTH=32 CONTEXT=16 MICRO_BATCHES='1 2' STEPS=3 LOSSES=$TMPDIR/fake/losses SANITIZER=$TMPDIR/fake/sanitizer

# ---- the first minutes ----

# The driver's library is not here, so doctor says what is missing.
stages_script 1 first.sh
has $'^@stage\tdoctor\tstatus 1\t'
for stage in versions products cpu eager graph cpu32 graph32 kernels train-1 train-2 train-2-auto matrix memory profile pytorch ladder; do
	has $'^@stage\t'"$stage"$'\tok\t'
done
has '^losses of eager are 0 apart from those of cpu, bf16; limit 5e-4$'
has '^losses of graph are 0 apart from those of cpu, bf16'
has '^losses of graph32 are 0 apart from those of cpu32, fp32'
has '^linear.forward  *[0-9]* times  *[0-9.]* us  *[0-9.]* %$'
has $'^@row\tpytorch-speed\t.*, each at its best micro-batch ([12], 2), PyTorch with its flash attention: reached$'
has $'^@row\tfirst\t16 of 17 stages ended well$'
cp "$TMPDIR/script.log" "$TMPDIR/first.log"

# The table has what a log says, and what one says that ends in the middle of a line.
cp kernels/RESULTS.md "$TMPDIR/table.md"
export RESULTS=$TMPDIR/table.md
tests/gpu/record.sh "$TMPDIR/first.log" || fail 'record.sh: first.log'
grep -q '^| `first` | .* | 16 of 17 stages ended well (Stand-in, driver .*`tests/gpu/first.sh`) |$' "$RESULTS" || fail 'no row first'
grep -q '^| `attention` | .* | 55.5 %: reached (Stand-in, ' "$RESULTS" || fail 'no row attention'
cp kernels/RESULTS.md "$TMPDIR/table.md"
sed '/^@row\tpeak/q' "$TMPDIR/first.log" | head -c -9 >"$TMPDIR/cut.log"
tests/gpu/record.sh "$TMPDIR/cut.log" || fail 'record.sh: a log that was cut off'
grep -q '^| `kernels` | .* tests pass (Stand-in, ' "$RESULTS" || fail 'no row of a log that was cut off'
[ "$(grep '^| `peak`' "$RESULTS")" = "$(grep '^| `peak`' kernels/RESULTS.md)" ] || fail 'a row of half a line'

# ---- a stage that hangs within a line, and leaves a child; one that computes something else; no time for the last ----

rm "$TMPDIR/fake/shardlab"
PROGRAM=$(realpath "$build/tests/gpu/shardlab")
export PROGRAM LEFT=$TMPDIR/left
program shardlab <<'END'
#!/bin/bash
case "$* " in
*--no-graph*)
	echo began
	printf 'half a'
	setsid sleep 100 &
	echo $! >"$LEFT"
	sleep 100
	;;
*'--device cuda '*) "$PROGRAM" "$@" | sed 's/"losses": \[\([0-9]\)\.\([0-9]\{4\}\)/"losses": [\1.9999/' ;;
*) "$PROGRAM" "$@" ;;
esac
END
STAGES='cpu eager graph' SMALL_SECONDS=6 stages_script 1 first.sh
has '^began$'
has '^half a$'
kill "$(cat "$LEFT")" || fail 'the script waited for what a stage left'
has $'^@stage\teager\tstopped after 6 s\t'
has $'^@stage\tgraph\tok\t'
has $'^@stage\tgraph=cpu\t0.[0-9]* apart\t'
STAGES='versions cpu' TOTAL_SECONDS=4 stages_script 1 first.sh
has $'^@stage\tcpu\tleft out: no time\t0$'

# ---- the others ----

rm "$TMPDIR/fake/shardlab"
ln -s "$PROGRAM" "$TMPDIR/fake/shardlab"
RANKS=2 STRATEGIES=zero3 stages_script 0 second.sh
for stage in plans-1 plans strategies validate losses; do has $'^@stage\t'"$stage"$'\tok\t'; done
has $'^@row\tplans\t3 plans on 2 ranks: losses at most 0 apart, '
has $'^@row\tlosses\t0.12 % at most, of spans of 30 steps: reached$'
STAGES='train-hopper train matrix pytorch' MICRO_BATCHES=2 stages_script 0 beside.sh
for stage in train-hopper train matrix pytorch; do has $'^@stage\t'"$stage"$'\tok\t'; done
has $'^@row\tpytorch-speed\t'
STAGES=sanitizer stages_script 0 third.sh
has $'^@row\tsanitizer\t18 programs and tools: clean$'
FAKE_GPU_MIB=70 CALIBRATE=--quick STAGES=time stages_script 1 third.sh
has $'^@row\tvalidate-time\tFAILED: calibrate$'
