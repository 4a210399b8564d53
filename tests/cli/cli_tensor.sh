#!/bin/bash
# Tensor parallelism at the command: the same loss and weights as one rank, weights saved together and read by one (and
# the other way round), predicted bytes equal to measured ones. (What does not divide is refused in test_tensor.c.)
#
# cores: all
set -uo pipefail
. "$(dirname "$0")/../support/commands.sh"
[ -z "${SAN-}" ] || { echo 'under a sanitizer the same code runs in mpi_tensor' && exit 77; }

command -v python3 >/dev/null || { echo 'python3, which reads JSON here, is not installed' && exit 77; }

gpt=gpt:layers=2,width=24,heads=4,context=16,vocabulary=259

# train NAME ARGUMENT...: leaves the summary in NAME.out.
train() {
	local name=$1
	shift
	"$SHARDLAB" train --model $gpt --batch 4 --json "$@" >"$TMPDIR/out" 2>"$TMPDIR/err" ||
		{ complain "train $*:"; cat "$TMPDIR/err"; }
	grep '"summary"' "$TMPDIR/out" >"$TMPDIR/$name.out"
}

# losses NAME: in one line.
losses() {
	sed 's/.*"losses": \[\([^]]*\)\].*/\1/' "$TMPDIR/$1.out"
}

# same NAME NAME LIMIT
same() {
	awk -v a="$(losses "$1")" -v b="$(losses "$2")" -v limit="$3" 'BEGIN {
		n = split(a, x, /, */); m = split(b, y, /, */)
		bad = n != m || n < 1
		for (i = 1; i <= n; i++) { d = x[i] - y[i]; bad += d > limit || -d > limit || !(x[i] > 0) }
		exit bad > 0 }' || complain "$1 and $2 differ: $(losses "$1") | $(losses "$2")"
}

train single --strategy single --ranks 1 --steps 4 --save "$TMPDIR/single.safetensors"
train two --strategy tensor --ranks 2 --steps 4 --save "$TMPDIR/two.safetensors"
train again --strategy tensor --ranks 2 --steps 4
train four --strategy tensor --ranks 4 --steps 4 --accumulate 2
same single two 1e-4
same single four 1e-4
[ -n "$(checksum two)" ] && [ "$(checksum two)" = "$(checksum again)" ] ||
	complain "the same command gave $(checksum two) and $(checksum again)"
[ "$(stat -c %s "$TMPDIR/single.safetensors")" = "$(stat -c %s "$TMPDIR/two.safetensors")" ] ||
	complain "the files of one rank and of two have different sizes"

# One rank goes on with the weights that two saved, and so do four; and the other way round.
train from-two --strategy single --ranks 1 --steps 2 --init "$TMPDIR/two.safetensors"
train from-two-by-four --strategy tensor --ranks 4 --steps 2 --init "$TMPDIR/two.safetensors"
train from-single --strategy tensor --ranks 2 --steps 2 --init "$TMPDIR/single.safetensors"
same from-two from-two-by-four 1e-5
same from-two from-single 1e-4
[ "$(losses from-two | cut -d, -f1)" != "$(losses single | cut -d, -f1)" ] || complain "--init changed nothing"

# Without learning, what is read is what is shown: the same bits, however they are sliced.
train still-single --strategy single --ranks 1 --steps 1 --optimizer sgd --learning-rate 1e-30 --init "$TMPDIR/two.safetensors"
train still-four --strategy tensor --ranks 4 --steps 1 --optimizer sgd --learning-rate 1e-30 --init "$TMPDIR/two.safetensors"
[ -n "$(checksum still-four)" ] && [ "$(checksum still-single)" = "$(checksum still-four)" ] ||
	complain "the same weights, whole and in four slices: $(checksum still-single) and $(checksum still-four)"

# Every figure in bytes and calls, predicted and measured.
for model in $gpt mlp:sizes=784-32-17-8-10; do
	"$SHARDLAB" validate --model "$model" --strategy tensor --ranks 2 --batch 4 --steps 3 --cluster laptop --json \
		>"$TMPDIR/validate.json" 2>"$TMPDIR/err"
	python3 - "$TMPDIR/validate.json" <<'END' || complain "validate of $model: bytes are not as predicted"
import json, sys
checks = json.load(open(sys.argv[1]))["results"][0]["checks"]
exact = [c for c in checks if "bytes" in c["quantity"] or "calls" in c["quantity"]]
bad = [c for c in exact if c["error"] != 0 or not c["pass"]]
print(bad[:3])
sys.exit(bool(bad) or len(exact) < 20 or not any("all_reduce" in c["quantity"] for c in exact))
END
done

refuse "unknown key 'axis'" sim --strategy tensor:axis=2 --ranks 2
