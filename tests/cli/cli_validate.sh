#!/bin/bash
# `validate`: every byte count of every strategy is as predicted, with both communicators. With two threads on one core no time is
# judged.
set -uo pipefail
. "$(dirname "$0")/../support/commands.sh"
# With OpenMP's threads alive, LeakSanitizer at times dies at a rank's end ("Tracer caught signal 11") and finds nothing.
# Ranks of one thread, in the MPI suites, are looked at for leaks.
[ -z "${SAN-}" ] || export ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0

# check WANT COMM ARGUMENT...
check() {
	validated "$1" --steps 3 --comm "${@:2}"
	for name in device.at_peak.gradients_bytes device.steady.optimizer_bytes device.peak_bytes \
		communication.all_reduce.calls communication.all_gather.payload_bytes time.step_s; do
		grep -q "\"quantity\": \"$name\"" "$TMPDIR/out" || complain "no check of $name"
	done
}

check 7 ring --model mlp:sizes=784-40-10 --ranks 3 --strategy all --accumulate 2
grep -q '"quantity": "communication.all_reduce.sent_bytes"' "$TMPDIR/out" || complain 'no sent bytes'
check 3 mpi --model mlp:sizes=784-40-10 --ranks 3 --strategy ddp,zero2,zero3
# Only ddp is checked, which has no reduce-scatter: those inside the library cannot be counted.
[ "$(grep -c 'reduce_scatter.sent_bytes' "$TMPDIR/out")" = 1 ] || complain 'sent bytes inside a library'
# Every strategy's bytes in every precision, contrasts and other models are the MPI suites' (mpi_grid, mpi_precision, mpi_llama);
# a sanitizer, under which all this takes several times as long, sees the rest of the code there too.
[ -z "${SAN:-}" ] || exit 0
check 3 ring --model gpt:layers=2,width=32,heads=2,context=16 --ranks 2 --strategy dp,zero2,fsdp:reshard=no
check 2 ring --model gpt:layers=2,width=32,heads=2,context=16 --ranks 2 --strategy ddp,zero3 --activation-checkpointing full:profile=yes
check 3 mpi --model mlp:sizes=784-40-40-40-10 --ranks 4 --strategy model,pipeline,hybrid:shard=2 --accumulate 4
check 3 mpi --precision fp16 --model gpt:layers=1,width=32,heads=2,context=16 --ranks 2 --strategy ddp,zero2,zero3 --clip 1
check 2 ring --precision bf16 --model mlp:sizes=784-40-10 --ranks 3 --strategy zero3:save=16bit,fsdp:units=model:save=full
for name in gathering.sent_bytes gathering.device_peak_bytes gathering.host_peak_bytes; do
	grep -q "\"quantity\": \"$name\"" "$TMPDIR/out" || complain "no check of $name"
done
check 2 ring --precision fp16 --model gpt:layers=2,width=32,heads=2,context=16 --ranks 2 --strategy zero2,fsdp --activation-checkpointing full \
	--offload optimizer:to=disk,activations --offload-folder "$TMPDIR"
check 1 ring --precision bf16 --model llama:layers=2,width=32,heads=4,kv_heads=2,hidden=44,context=16 --ranks 2 --strategy tensor

# In the ranks of a user's mpirun: the first predicts and compares, and all train. What runs on other ranks is skipped.
OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun -n 2 --oversubscribe --bind-to none "$SHARDLAB" validate --cluster laptop \
	--threads 2 --model mlp:sizes=784-40-10 --strategy ddp,single,zero2 --steps 3 --json >"$TMPDIR/out" 2>"$TMPDIR/err" ||
	complain "under mpirun: $(cat "$TMPDIR/err")"
sed -i '/^\[hwloc\//d' "$TMPDIR/err" # said where there is no /sys
[ "$(grep -c '^      "pass": true' "$TMPDIR/out")" = 2 ] && [ "$(grep -c '^  "pass": true' "$TMPDIR/out")" = 1 ] && [ ! -s "$TMPDIR/err" ] &&
	grep -q '"skipped": "mpirun started 2 ranks, and this is for 1"' "$TMPDIR/out" ||
	complain "under mpirun: $(cat "$TMPDIR/err") $(grep -B 4 '"pass": false' "$TMPDIR/out")"

# Rank 0 gathers and saves the same weights as the ranks save by themselves.
for save in shards full; do
	"$SHARDLAB" train --model mlp:sizes=784-40-10 --ranks 3 --strategy "fsdp:save=$save" --steps 2 --precision bf16 \
		--save "$TMPDIR/$save.safetensors" >"$TMPDIR/train.out" 2>&1 || complain "save=$save: $(cat "$TMPDIR/train.out")"
done
cmp "$TMPDIR/shards.safetensors" "$TMPDIR/full.safetensors" || complain 'gathered weights are others'

# The run that is reported can be looked at; a file holds one.
check 1 ring --model mlp:sizes=784-40-10 --ranks 2 --strategy zero2 --trace "$TMPDIR/run.json"
grep -q '"measured":true' "$TMPDIR/run.json" || complain 'validate --trace recorded no measured run'
[ ! -e "$TMPDIR/run.json.again" ] || complain 'a run that does not count has left its trace'
refuse 'a file holds one run' validate --cluster laptop --trace "$TMPDIR/all.json"
[ ! -e "$TMPDIR/all.json" ] || complain 'a refused run has left a trace'
