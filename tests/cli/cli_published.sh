#!/bin/bash
# tools/predict_published and tools/fit_stacks on a few published runs: what is said and left out, and that stacks come
# nearer than ceilings.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/support/commands.sh
[ -z "${SAN-}" ] || { echo 'under a sanitizer test_sim_stack predicts with stacks' && exit 77; }
command -v python3 >/dev/null || { echo 'python3, which both tools need, is not installed' && exit 77; }

runs=tests/golden/published_runs.csv
for level in ceiling class stack step; do
	tools/predict_published --json --level $level $runs >"$TMPDIR/$level.json"
done
tools/fit_stacks --json --output "$TMPDIR" $runs >"$TMPDIR/fitted.json"

python3 - "$TMPDIR" <<'PYTHON'
import json, sys
fitted = json.load(open(sys.argv[1] + "/fitted.json"))    # what is fitted and what is left out are all rows
assert [(r["line"], r["rule"]) for r in fitted["left_out"]] == [
    (10, "what is recomputed is not stated"), (11, "read off a picture"), (12, "the sequence is not stated")], fitted["left_out"]
assert fitted["runs"] == sum(s["runs"] for s in fitted["stacks"]) == 8, fitted
b = {n: json.load(open("%s/%s.json" % (sys.argv[1], n))) for n in ("ceiling", "class", "stack")}
for name, v in b.items():
    assert v["said"] == {"exact": 8, "near": 3, "not": 0}, (name, v["said"])
    assert v["time"]["n"] == 8, (name, v["time"])
    assert sum(v["left_out"].values()) == 3, v["left_out"]
    assert not v["not_said"], v["not_said"]
    assert {k: s["time"]["n"] for k, s in v["by_source"].items()} == {"llm-foundry": 5, "llm.c": 1, "torchtitan": 2}
assert b["ceiling"]["time"]["bias"] < -20, b["ceiling"]["time"]   # bare ceilings are too fast
assert b["class"]["time"]["mean"] < b["ceiling"]["time"]["mean"] / 2
assert b["stack"]["time"]["mean"] < b["class"]["time"]["mean"]
assert 0 <= b["stack"]["time"]["inside_range"] <= 100
step = json.load(open("%s/step.json" % sys.argv[1]))["time"]    # a model's first run calibrates, and does not count
assert 0 < step["n"] < 7 and step["mean"] < b["ceiling"]["time"]["mean"] / 2 and "inside_range" in step, step
pairs = b["stack"]["pairs"]    # of what the runs of llm-foundry have in common, four of five are of one model and card
assert pairs["n"] > 0 and 0 < pairs["median"] <= pairs["p80"] <= pairs["p90"] < 30, pairs
PYTHON

# What is left out is listed before what is fitted, each line with its rule.
sed -n '1p;7p;11p' $runs >"$TMPDIR/few.csv"
sed -n 2p $runs | sed 's/,4096,32,50368,/,4096,31,50368,/' >>"$TMPDIR/few.csv"    # 31 heads, of which the model has no width
tools/fit_stacks "$TMPDIR/few.csv" >"$TMPDIR/few"
[ "$(cut -d: -f2- "$TMPDIR/few" | head -1)" = "3: left out: read off a picture (GPT-175B, 128 GPUs A100-80GB (Azure NDm A100 v4), deepspeed)" ] ||
	fail "the run that is left out is not listed first: $(cat "$TMPDIR/few")"
grep -q ':4: left out: --model mpt.*heads' "$TMPDIR/few" || fail "a run that sim refuses is not listed: $(cat "$TMPDIR/few")"
grep -q '^1 runs fitted, 2 left out' "$TMPDIR/few" || fail "what is fitted and left out is not counted: $(cat "$TMPDIR/few")"

# Known points: what is said of each, or why not.
tools/known_points --json >"$TMPDIR/points.json"
python3 - "$TMPDIR/points.json" <<'PYTHON'
import json, sys
points = json.load(open(sys.argv[1]))
assert len(points) == 13, len(points)
assert all(p.get("inside") or p["why"] for p in points), [p["point"] for p in points if not (p.get("inside") or p["why"])]
assert [p["point"] for p in points if not p.get("inside")] == [
    "GPT-3 175B, ZeRO-3, 1536 A100-80GB", "ZeRO-Offload, 10B, one V100-32GB"], points
PYTHON

# A fit gives a stack that the program takes, and that says how many runs it stands on.
"$SHARDLAB" sim --model mpt-7b --strategy fsdp --ranks 8 --cluster a100-80gb --precision bf16 --micro-batch 4 \
	--activation-checkpointing full --stack "$TMPDIR/composer-ampere.yaml" >"$TMPDIR/sim"
grep -q 'stack composer, fitted on 5 runs' "$TMPDIR/sim" || fail "the step does not rest on the fitted stack"
grep -Eq '^  step  .*\(.* … .* s\)' "$TMPDIR/sim" || fail "the step has no range"

# Other software's plan has its class's speed.
"$SHARDLAB" sim --model gpt2-124m --strategy ddp --ranks 2 --cluster a100-80gb --precision bf16 --as pytorch:compile=yes >"$TMPDIR/sim"
grep -q 'class pytorch-compiled on ampere, as no stack was named' "$TMPDIR/sim" || fail "--as has another class: $(tail -1 "$TMPDIR/sim")"

# A rate above its ceiling, no class, another card, fitted on nothing.
sed 's/share: [0-9.]*/share: 1.5/' "$TMPDIR/composer-ampere.yaml" >"$TMPDIR/above.yaml"
refuse 'product.share is 1.5, above the ceiling' sim --cluster a100-80gb --stack "$TMPDIR/above.yaml"
grep -v class "$TMPDIR/composer-ampere.yaml" >"$TMPDIR/classless.yaml"
refuse "classless.yaml:1:1: 'class' is missing" sim --cluster a100-80gb --stack "$TMPDIR/classless.yaml"
refuse "composer-ampere.yaml:4:7: the stack is for ampere, and the cluster's card is hopper" sim --cluster h100 --stack "$TMPDIR/composer-ampere.yaml"
sed 's/rows: [0-9]*/rows: 0/' "$TMPDIR/composer-ampere.yaml" >"$TMPDIR/nothing.yaml"
refuse 'fit.rows' sim --cluster a100-80gb --stack "$TMPDIR/nothing.yaml"
refuse 'is of CPUs' sim --cluster laptop --stack fused

# Files of runs that cannot be fitted: the line is named.
python3 - $runs "$TMPDIR" <<'PYTHON'
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1], newline="")))
def write(name, rows, columns):
    with open("%s/%s.csv" % (sys.argv[2], name), "w", newline="") as f:
        w = csv.DictWriter(f, columns, extrasaction="ignore")
        w.writeheader()
        w.writerows(rows)
columns = list(rows[0])
twice = dict(rows[0], **{k: str(2 * float(rows[0][k])) for k in ("tokens_s_gpu", "tokens_s_total", "samples_s") if rows[0][k]})
twice["step_ms"] = str(float(rows[0]["step_ms"]) / 2) if rows[0]["step_ms"] else ""
write("twice", rows[:2] + [twice], columns)
write("columns", rows, [c for c in columns if c != "n_gpus"])
write("none", [], columns)
PYTHON
program=tools/fit_stacks refuse "twice.csv:4: a step of" "$TMPDIR/twice.csv"
program=tools/fit_stacks refuse "columns.csv:1: no column 'n_gpus'" "$TMPDIR/columns.csv"
program=tools/fit_stacks refuse "none.csv:1: no run that can be said and was not left out" "$TMPDIR/none.csv"
program=tools/fit_stacks refuse "absent.csv:1: cannot be read: No such file" "$TMPDIR/absent.csv"
