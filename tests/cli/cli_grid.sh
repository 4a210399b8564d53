#!/bin/bash
# Every byte of every strategy is as predicted under every technique: precision × checkpointing × offload, and the
# contrasts, at 2 and 4 ranks. `shardlab validate --model gpt` does the same at the model's real size, in ten minutes.
set -uo pipefail

export SHARDLAB_CONFIG=$TMPDIR/none.yaml
model=gpt:layers=4,width=32,heads=4,context=16
errors=0

# check WANT ARGUMENT...: WANT strategies pass and the others are skipped. On one core no time is judged.
check() {
	local want=$1 status=0
	shift
	taskset -c "$core" "$SHARDLAB" validate --cluster laptop --steps 2 --threads 2 --model $model --json "$@" \
		>"$TMPDIR/out" 2>"$TMPDIR/err" || status=$?
	if [ "$status" != 0 ] || [ -s "$TMPDIR/err" ] || ! grep -q '^  "pass": true' "$TMPDIR/out" ||
		[ "$(grep -c '^      "pass": true' "$TMPDIR/out")" != "$want" ]; then
		echo "validate $*: exit status $status, not $want that pass"
		cat "$TMPDIR/err"
		grep -B 8 '"pass": false' "$TMPDIR/out" | head -n 60
		errors=$((errors + 1))
	fi
}

# A sanitizer makes all this several times as slow.
[ -z "${SAN:-}" ] || { echo 'under a sanitizer the same code runs in mpi_offload, mpi_precision and cli_validate.sh' && exit 77; }
command -v taskset >/dev/null || { echo 'taskset, which keeps times from being judged here, is missing' && exit 77; }
core=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')

for ranks in 2 4; do
	check 4 --ranks "$ranks" --strategy model,pipeline,tensor,hybrid:shard=2
	for offload in optimizer optimizer,parameters,activations; do
		check 1 --ranks "$ranks" --strategy hybrid:shard=2 --precision fp16 --offload $offload
	done
	set -- --ranks "$ranks" --strategy model,pipeline,pipeline:schedule=gpipe --accumulate 3 --precision fp16
	check 3 "$@" --offload optimizer,activations
	check 3 "$@" --offload optimizer:to=disk --offload-folder "$TMPDIR"
	check 7 --ranks "$ranks" --strategy all --offload activations
	check 2 --ranks "$ranks" --strategy pipeline,pipeline:schedule=gpipe --accumulate 3 \
		--activation-checkpointing full:cpu_checkpointing=yes
	for precision in bf16 fp16; do
		for checkpointing in none full; do
			set -- --ranks "$ranks" --strategy all --precision "$precision" --activation-checkpointing $checkpointing
			check 7 "$@" --offload none
			check 7 "$@" --offload optimizer
			check 2 "$@" --offload optimizer,parameters # zero3, fsdp
		done
	done
done
exit $((errors > 0))
