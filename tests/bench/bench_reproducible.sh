#!/bin/bash
# The cost of --reproducible: the processor time of 20 steps of `gpt` with and without, in turn, in pairs, on one rank and
# thread, in fp32, with a batch of 16 in 8 micro-batches; and the simulation's prediction of it. PAIRS: 5.
set -euo pipefail
folder=$(mktemp -d "${TMPDIR:-/tmp}/bench_reproducible.XXXXXX")
trap 'rm -rf "$folder"' EXIT
gpt=(--model gpt --batch 16 --micro-batch 2)

# used OPTION…: seconds of the processor.
TIMEFORMAT='%U %S'
used() {
	{ time "$SHARDLAB" train "${gpt[@]}" --data tests/golden/text.txt --steps 20 --threads 1 --evaluate no --json "$@" >/dev/null; } 2>&1 |
		awk '{ print $1 + $2 }'
}
# predicted OPTION…: seconds of a step.
predicted() { "$SHARDLAB" sim "${gpt[@]}" --strategy single --cluster laptop --json "$@" | grep -o '"step_s": [0-9.e-]*' | head -n 1; }

for options in '' '--clip 1'; do
	# shellcheck disable=SC2086
	for ((i = 0; i < ${PAIRS:-5}; i++)); do
		echo "$(used $options) $(used $options --reproducible)"
	done | awk '{ print 100 * ($2 / $1 - 1) }' | sort -n >"$folder/more"
	# shellcheck disable=SC2086
	awk -v options="$options" -v with="$(predicted $options --reproducible)" -v without="$(predicted $options)" '{ more[NR] = $1 } END {
		sub(/.* /, "", with); sub(/.* /, "", without)
		printf "gpt, --reproducible %s: %+.1f %% of the processor time (%+.1f … %+.1f), predicted %+.1f %%\n", options,
			more[int((NR + 1) / 2)], more[1], more[NR], 100 * (with / without - 1) }' "$folder/more"
done
