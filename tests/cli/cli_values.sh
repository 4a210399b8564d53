#!/bin/bash
# `train --values`: of every collective the trace has what ranks brought and what they had then; and `view` shows it.
#
# cores: all
set -euo pipefail
. "$(dirname "$0")/../support/commands.sh"

model=mlp:sizes=784-32-10
small=(--model "$model" --ranks 2 --steps 1 --batch 16 --evaluate no --values)

run ddp train "${small[@]}" --strategy ddp --trace "$TMPDIR/ddp.json"
run mpi train "${small[@]}" --strategy ddp --comm mpi --trace "$TMPDIR/mpi.json"
run half train "${small[@]}" --strategy ddp --precision bf16 --trace "$TMPDIR/half.json"
run zero3 train "${small[@]}" --strategy zero3 --trace "$TMPDIR/zero3.json"
run tokens train --model gpt:layers=1,width=16,heads=2,context=8,vocabulary=256 --strategy dp --ranks 3 --steps 1 --batch 3 \
	--evaluate no --values --trace "$TMPDIR/tokens.json" # which are whole numbers, from the root
run stages train --model gpt:layers=2,width=16,heads=2,context=8,vocabulary=256 --strategy pipeline --ranks 2 --steps 1 --batch 4 \
	--evaluate no --values --trace "$TMPDIR/stages.json"
run plain train --model "$model" --ranks 2 --steps 1 --batch 16 --evaluate no --strategy ddp --trace "$TMPDIR/plain.json"

# An all-reduce leaves the sum of what its ranks brought, the same on all, within one rounding of the type; a
# reduce-scatter leaves it on one; of an all-gather one rank brought what all have.
python3 - "$TMPDIR" <<'END' || fail 'the values in a trace are not those of its collectives'
import json, sys
folder = sys.argv[1]

def check(name, rounding):
    trace = json.load(open(f"{folder}/{name}.json"))
    kind = {(e["pid"], e["args"]["op"]): e["cat"] for e in trace["traceEvents"] if e["ph"] == "X"}
    values = trace["shardlab"]["values"]
    assert values["version"] == 1
    chunks, seen = {}, {}
    for rank, op, chunk, before, after in values["chunks"]:
        chunks.setdefault((op, chunk), []).append((rank, before, after))
    for (op, chunk), of in chunks.items():
        what = kind[0, op]
        assert [rank for rank, _, _ in of] == [0, 1], (name, op, of)
        before = [b for _, b, _ in of if b is not None]
        after = [a for _, _, a in of if a is not None]
        seen[what] = seen.get(what, 0) + 1
        if what == "all_gather":
            assert len(before) == 1 and after == before * 2, (name, what, of)
            continue
        assert len(before) == 2 and len(after) == (1 if what == "reduce_scatter" else 2), (name, what, of)
        assert len(set(after)) == 1, (name, what, "ranks differ", of)
        assert abs(sum(before) - after[0]) <= rounding * max(map(abs, before)), (name, what, of)
    return seen

for name, rounding in ("ddp", 2**-22), ("mpi", 2**-22), ("half", 2**-7), ("zero3", 2**-22):
    seen = check(name, rounding)
    wanted = {"all_gather", "reduce_scatter"} if name == "zero3" else {"all_reduce"}
    assert wanted <= set(seen), (name, seen)
assert check("ddp", 2**-22)["all_reduce"] >= 2 # two chunks of a bucket at least
assert "values" not in json.load(open(f"{folder}/plain.json"))["shardlab"]
END

# shown NAME ARGUMENT...: what view says of a trace, in NAME.txt.
shown() {
	"$SHARDLAB" view --trace "$TMPDIR/$1.json" --describe "${@:2}" >"$TMPDIR/$1.txt" || complain "view does not open $1"
}
shown ddp
grep -q '^values   of the run.*rank 1 receives .*, has ' "$TMPDIR/ddp.txt" || complain 'view does not show the values of a run'
shown plain
grep -q '^values   chunk .*rank 1 receives [0-9], has [0-9]: ' "$TMPDIR/plain.txt" ||
	complain 'view shows no examples where a run has no values'
shown ddp --no-values
grep '^values' "$TMPDIR/ddp.txt" && complain '--no-values shows values'
for name in tokens stages; do
	shown $name
	grep -q '^values   of the run.*: rank 1 receives [-0-9]' "$TMPDIR/$name.txt" || complain "view does not show the values of $name"
done

# Impossible requests: one line, and status 2.
refuse 'give --trace FILE too' train "${small[@]}" --strategy ddp
refuse 'use --device cpu' train "${small[@]}" --strategy ddp --device cuda --trace "$TMPDIR/none.json"
refuse 'no collective of 2 to 8 ranks' train --model "$model" --ranks 1 --steps 1 --values --trace "$TMPDIR/none.json"
sed 's/"values":{"version":1/"values":{"version":7/' "$TMPDIR/ddp.json" >"$TMPDIR/bad.json"
refuse 'values of version 7' view --trace "$TMPDIR/bad.json" --describe
