#!/bin/bash
# `validate`: every byte count of every strategy is as predicted, with both communicators. With two threads on one core no time is
# judged.
set -uo pipefail

export SHARDLAB_CONFIG=$TMPDIR/none.yaml
errors=0

# check COMM ARGUMENT...
check() {
	local comm=$1 status=0
	shift
	taskset -c "$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')" "$SHARDLAB" validate --cluster laptop --steps 3 --threads 2 \
		--comm "$comm" --json "$@" >"$TMPDIR/out" 2>"$TMPDIR/err" || status=$?
	if [ "$status" != 0 ] || [ -s "$TMPDIR/err" ] || ! grep -q '^  "pass": true' "$TMPDIR/out"; then
		echo "validate --comm $comm $*: exit status $status"
		cat "$TMPDIR/err"
		grep -B 8 '"pass": false' "$TMPDIR/out" | head -n 60
		errors=$((errors + 1))
	fi
	for name in device.at_peak.gradients_bytes device.steady.optimizer_bytes device.peak_bytes \
		communication.all_reduce.calls communication.all_gather.payload_bytes time.step_s; do
		grep -q "\"quantity\": \"$name\"" "$TMPDIR/out" || { echo "no check of $name" && errors=$((errors + 1)); }
	done
}

command -v taskset >/dev/null || { echo 'taskset, which keeps times from being judged here, is missing' && exit 77; }
check ring --model mlp:sizes=784-40-10 --ranks 3 --strategy all --accumulate 2
grep -q '"quantity": "communication.all_reduce.sent_bytes"' "$TMPDIR/out" || { echo 'no sent bytes' && errors=1; }
check mpi --model mlp:sizes=784-40-10 --ranks 3 --strategy ddp,zero2,zero3
# Of ddp alone, which has no reduce-scatter: those inside the library cannot be counted.
[ "$(grep -c 'reduce_scatter.sent_bytes' "$TMPDIR/out")" = 1 ] || { echo 'sent bytes inside a library' && errors=1; }
# A sanitizer makes all this several times as slow, and sees the rest of the code in the MPI suites.
[ -z "${SAN:-}" ] || exit $((errors > 0))
check ring --model gpt:layers=2,width=32,heads=2,context=16 --ranks 2 --strategy dp,zero2,fsdp:reshard=no
check ring --model gpt:layers=2,width=32,heads=2,context=16 --ranks 2 --strategy ddp,zero3 --activation-checkpointing full:profile=yes
check ring --model gpt:layers=4,width=32,heads=2,context=16 --ranks 2 --strategy model,pipeline,hybrid:shard=2 --accumulate 2
check ring --model gpt:layers=4,width=32,heads=2,context=16 --ranks 4 --strategy model,pipeline:schedule=gpipe,hybrid:shard=2
check mpi --model mlp:sizes=784-40-40-40-10 --ranks 4 --strategy model,pipeline,hybrid:shard=2 --accumulate 4
check ring --precision bf16 --model mlp:sizes=784-40-10 --ranks 3 --strategy all --accumulate 2
check mpi --precision fp16 --model gpt:layers=1,width=32,heads=2,context=16 --ranks 2 --strategy ddp,zero2,zero3 --clip 1
check ring --precision fp16 --model gpt:layers=1,width=32,heads=2,context=16 --ranks 3 --strategy dp,zero1,fsdp

# The run that is reported can be looked at; a file holds one.
check ring --model mlp:sizes=784-40-10 --ranks 2 --strategy zero2 --trace "$TMPDIR/run.json"
grep -q '"measured":true' "$TMPDIR/run.json" || { echo 'validate --trace recorded no measured run' && errors=1; }
[ ! -e "$TMPDIR/run.json.again" ] || { echo 'a run that does not count has left its trace' && errors=1; }
status=0
"$SHARDLAB" validate --cluster laptop --trace "$TMPDIR/all.json" >"$TMPDIR/out" 2>"$TMPDIR/err" || status=$?
if [ $status != 2 ] || [ -e "$TMPDIR/all.json" ] || ! grep -q 'a file holds one run' "$TMPDIR/err"; then
	echo "validate --trace of seven strategies: exit status $status, $(cat "$TMPDIR/err")"
	errors=1
fi
exit $((errors > 0))
