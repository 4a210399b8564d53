#!/bin/bash
# Tables as people see them, on a cluster whose rates are the same everywhere. To accept a change on purpose:
#
#     make && SHARDLAB=build/shardlab UPDATE_GOLDEN=1 TMPDIR=/tmp bash tests/cli/cli_golden.sh
set -euo pipefail
. "$(dirname "$0")/../support/commands.sh"

cd "$(dirname "$0")/../.."

# same NAME ARGUMENT...: what the command prints is tests/golden/NAME.
same() {
	local golden=tests/golden/$1
	shift
	"$SHARDLAB" "$@" >"$TMPDIR/out"
	if [ -n "${UPDATE_GOLDEN-}" ]; then
		cp "$TMPDIR/out" "$golden"
	elif ! diff -u "$golden" "$TMPDIR/out"; then
		complain "shardlab $* prints something else than $golden"
	fi
}

same cli_sim.txt sim --model gpt --strategy zero2 --ranks 4 --accumulate 2 --cluster laptop
same cli_sim_dp.txt sim --model mlp --strategy dp --ranks 4 --cluster laptop
same cli_sim_pipeline.txt sim --model gpt --strategy pipeline --ranks 4 --accumulate 4 --cluster laptop
same cli_sim_no_fit.txt sim --model params=7e9:units=32 --strategy zero2 --ranks 4 --cluster v100-32gb --precision fp16
same cli_compare.txt compare --model gpt2-124m --ranks 8 --precision bf16 --cluster a100-80gb
same cli_advise.txt advise --model gpt2-774m --ranks 4 --batch 64 --cluster v100-16gb --strategy ddp,zero2,zero3
same cli_compare_grid.txt compare --model gpt2-1558m --ranks 16 --batch 32 --cluster v100-32gb --precision fp16 \
	--strategy ddp,zero2,zero3 --activation-checkpointing none/full --offload none/optimizer/optimizer,parameters
# Clusters by a count of their devices: ranks are as many, and nodes have as many as a node has.
same cli_sim_counted.txt sim --model gpt2-124m --strategy zero3 --precision bf16 --cluster 2x8xh100
same cli_sim_counted.txt sim --model gpt2-124m --strategy zero3 --precision bf16 --cluster h100:node=8 --ranks 16
same cli_advise_counted.txt advise --model gpt2-774m --batch 64 --cluster 8xH100 --strategy ddp,zero2,zero3
counted() {
	local said=$1
	shift
	"$SHARDLAB" "$@" >/dev/null 2>"$TMPDIR/said" || complain "shardlab $*: $(cat "$TMPDIR/said")"
	grep -qxF "$said" "$TMPDIR/said" || complain "shardlab $* does not say: $said"
}
counted 'ranks by --cluster 2x8xh100: 16' sim --cluster 2x8xh100
counted 'ranks by --cluster 4×l4: 4' compare --cluster 4×l4 --strategy ddp
counted 'ranks by --cluster 2xp4d.24xlarge: 16' sim --cluster 2xp4d.24xlarge
# Nothing else stands beside an error.
for wrong in 'collective WRONG' 'collective' 'sim --model gtp' 'sim --model gpt --strategy zero4'; do
	status=0
	# shellcheck disable=SC2086
	"$SHARDLAB" $wrong --cluster 8xh100 >/dev/null 2>"$TMPDIR/said" || status=$?
	[ "$status" = 2 ] && [ "$(wc -l <"$TMPDIR/said")" = 1 ] || complain "shardlab $wrong: status $status, $(cat "$TMPDIR/said")"
done
same cli_collective.txt collective ring-all-reduce --ranks 5 --bytes 40
same cli_collective_many.txt collective ring-all-reduce --ranks 1024 --bytes 1GB --cluster a100-80gb
same cli_plan.txt plan --model mlp:sizes=6-4-3 --strategy zero1 --ranks 2 --bucket 64B

# The fastest does not count where it does not fit.
"$SHARDLAB" compare --model gpt2-1558m --ranks 16 --batch 256 --cluster v100-32gb --precision fp16 --strategy zero3 \
	--activation-checkpointing none/full >"$TMPDIR/out"
if ! grep -q '^zero3 *none .* no ' "$TMPDIR/out" || ! grep -q '^fastest that fits, .*: zero3 (.*checkpointing full,' "$TMPDIR/out"; then
	complain "the fastest that fits: $(cat "$TMPDIR/out")"
fi

# On a terminal of 80 columns the heading is broken between its items, and the table of all seven fits.
if command -v script >/dev/null; then
	command="stty cols 80; NO_COLOR=1 '$SHARDLAB' compare --model gpt2-124m --ranks 8 --precision bf16 --cluster a100-80gb"
	script -qec "$command" /dev/null </dev/null | tr -d '\r' >"$TMPDIR/terminal"
	if LC_ALL=C.UTF-8 grep -E '^.{81,}' "$TMPDIR/terminal" || ! grep -q '^batch 32 = 8 ranks × 4 · ' "$TMPDIR/terminal"; then
		complain "on a terminal of 80 columns: $(cat "$TMPDIR/terminal")"
	fi
else
	echo 'left out: what a terminal is shown: script is not installed'
fi
exit $errors
