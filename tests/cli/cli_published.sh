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

# Files whose rows cannot be read: one line, with the line.
head -1 $runs >"$TMPDIR/head"
{ cat "$TMPDIR/head" && sed 2q $runs | tail -1 | cut -d, -f1-9; } >"$TMPDIR/short.csv"
{ cat "$TMPDIR/head" && sed 2q $runs | tail -1 | sed 's/$/,more/'; } >"$TMPDIR/long.csv"
sed '1s/$/,model/' $runs >"$TMPDIR/both.csv"
{ cat "$TMPDIR/head" && printf '"MPT\n'; } >"$TMPDIR/open.csv"
{ cat "$TMPDIR/head" && printf 'MPT\351\n'; } >"$TMPDIR/latin.csv"
program=tools/predict_published
refuse "short.csv:2: 9 fields, where the first line names 35" "$TMPDIR/short.csv"
refuse "long.csv:2: 36 fields, where the first line names 35" "$TMPDIR/long.csv"
refuse "both.csv:1: two columns 'model'" "$TMPDIR/both.csv"
refuse "open.csv:2: no row of published runs: unexpected end" "$TMPDIR/open.csv"
refuse "latin.csv:2: no row of published runs: 'utf-8'" "$TMPDIR/latin.csv"
SHARDLAB=$TMPDIR/nowhere refuse "nowhere: no such program" $runs

# Other spellings of columns, figures and words say the same; what is no figure is said of its row alone.
python3 - "$TMPDIR" $runs 2>"$TMPDIR/talk" <<'PYTHON'
import csv, sys
sys.path.insert(0, "tools")
import published
rows = list(csv.DictReader(open(sys.argv[2], newline="")))
def read(rows, name=lambda c: c, bom=""):
    path = sys.argv[1] + "/spelt.csv"
    with open(path, "w", newline="", encoding="utf-8") as f:
        f.write(bom)
        w = csv.writer(f)
        w.writerow([name(c) for c in rows[0]])
        w.writerows(r.values() for r in rows)
    return published.read(path)
def requests(runs):
    return [(r.said, r.arguments, r.cluster, r.step and round(r.step, 6), r.peak, r.out) for r in runs]
plain = requests(read(rows))
assert requests(read(rows, lambda c: " " + c.upper().replace("_", " "), "\ufeff")) == plain
spelt = {"ZeRO-1 (-z 1)": "DeepSpeed ZeRO stage 1 (llm.c)", "FSDP1 FULL_SHARD mp=DEFAULT": "Fully Sharded Data Parallel",
         "amp_bf16": "bfloat16", "full": "Yes", "4,641": "4641", "2048": "2,048", "a100_80gb": "NVIDIA A100-SXM4-80GB"}
assert requests(read([{k: spelt.get(v, v) if k != "source_key" else v for k, v in r.items()} for r in rows])) == plain
assert requests(read([dict(r, tokens_per_s="1") for r in rows])) == plain
assert read([dict(rows[0], d_model="wide")])[0].why == "what stands for d_model is no figure"
assert read([dict(rows[0], tokens_s_gpu="fast")])[0].out == "what stands for tokens_s_gpu is no figure"
def one(**columns):
    return read([dict(rows[0], **columns)])[0]
for text, strategy in {"DistributedDataParallel": "ddp", "FSDP NO_SHARD": "ddp", "nn.DataParallel": "dp", "ZeRO 3": "zero3",
                       "deepspeed stage-2": "zero2", "HYBRID_SHARD": "hybrid:shard=8", "ZeRO-Offload": "zero2"}.items():
    assert one(strategy=text).arguments[3] == strategy, text
for text, policy in {"True": "full", "off": "none", "every 2nd block": "full:one_in=2", "1/3": "full:one_in=3",
                     "selective 2": "full:one_in=2", "selective op": "operations"}.items():
    assert one(act_ckpt=text).recomputed == policy, text
for text, rate in {"NVLink 900 GB/s; 8x400 Gb/s NDR": 3200, "3.2 Tbps EFA": 3200, "NVLink 600 GB/s, 200Gbit/s IB": 200,
                   "50 GB/s": 400, "10 GbE": 10, "1600 Gbps node-node RoCE": 1600}.items():
    assert one(interconnect=text).cluster == "a100-80gb:nic=%d" % rate, (text, one(interconnect=text).cluster)
assert one(interconnect="NVLink 600 GB/s").cluster == "a100-80gb"
assert one(tp="8", dp="1", global_batch_seqs="12").arguments[3] == "tensor"
assert one(tp="2", dp="4").why and one(model="Mixtral 8x7B").why and one(model="T5-3B").why
near = one(model="BERT-large", n_layers="", d_model="", n_heads="", vocab="")
assert (near.said, near.counts) == ("near", False) and "layers=24,width=1024" in near.model, near.model
sized = one(model="GPT 13B", n_params="", n_layers="", d_model="", n_heads="", vocab="")
assert (sized.said, sized.counts) == ("near", False) and "layers=40,width=5120,heads=40" in sized.model, sized.model
PYTHON
grep -q "spelt.csv:1: column 'tokens_per_s' is not read; is it tokens_s_gpu" "$TMPDIR/talk" || fail "no word on a column that is not read: $(cat "$TMPDIR/talk")"
