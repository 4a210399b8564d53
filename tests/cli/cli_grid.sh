#!/bin/bash
# Every byte of every strategy is as predicted under every technique: precision × checkpointing × offload, and the
# contrasts, at 2 and 4 ranks. `shardlab validate --model gpt` does the same at the model's real size, in ten minutes.
set -uo pipefail
. "$(dirname "$0")/../support/commands.sh"

model=gpt:layers=4,width=32,heads=4,context=16

check() {
	validated "$@" --steps 2 --model $model
}

# A sanitizer makes all this several times as slow.
[ -z "${SAN:-}" ] || { echo 'under a sanitizer the same code runs in mpi_offload, mpi_precision and cli_validate.sh' && exit 77; }

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
			# Four ranks on few cores take their time: they meet each precision and each way of checkpointing once.
			case "$ranks $precision $checkpointing" in '4 bf16 full' | '4 fp16 none') continue ;; esac
			set -- --ranks "$ranks" --strategy all --precision "$precision" --activation-checkpointing $checkpointing
			check 7 "$@" --offload none
			check 7 "$@" --offload optimizer
			check 2 "$@" --offload optimizer,parameters # zero3, fsdp
		done
	done
done
