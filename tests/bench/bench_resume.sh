#!/bin/bash
# A resume of gpt2-124m, from the command to its end with one step of 32 tokens, on one rank and thread; the checkpoint of 1.49 GB is
# in the page cache. RUNS: 3.
set -euo pipefail
folder=$(mktemp -d "${TMPDIR:-/tmp}/bench_resume.XXXXXX")
trap 'rm -rf "$folder"' EXIT
room=$(df --output=avail -k "$folder" | tail -n 1)
[ "$room" -gt 4000000 ] || { echo "less than 4 GB of room in $folder: not measured"; exit 0; }
gpt2=(--model gpt2-124m:context=32 --data tests/golden/text.txt --batch 1 --threads 1 --evaluate no --json)

"$SHARDLAB" train "${gpt2[@]}" --steps 1 --checkpoint "$folder/run" >/dev/null
TIMEFORMAT='%R %U %S'
for ((i = 0; i < ${RUNS:-3}; i++)); do
	{ time "$SHARDLAB" train "${gpt2[@]}" --steps 2 --resume "$folder/run" >/dev/null; } 2>&1
done | sort -n | awk -v bytes="$(du -sb "$folder/run" | cut -f 1)" '{ wall[NR] = $1; own[NR] = $2 + $3 }
	END { printf "resume of gpt2-124m, %.2f GB: %.1f s (%.1f of processor time), the slowest of %d %.1f s   target ≤ 5 s   %s\n",
		bytes / 1e9, wall[int((NR + 1) / 2)], own[int((NR + 1) / 2)], NR, wall[NR], wall[NR] <= 5 ? "reached" : "missed" }'
