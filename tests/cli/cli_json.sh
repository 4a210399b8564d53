#!/bin/bash
# The names and types in what `sim --json`, `compare --json` and `plan --json` print. Programs rely on them.
set -euo pipefail
. "$(dirname "$0")/../support/commands.sh"

command -v python3 >/dev/null || { echo 'python3, which reads JSON here, is not installed' && exit 77; }
"$SHARDLAB" sim --model gpt --strategy zero2 --ranks 4 --precision bf16 --cluster a100-80gb --json >"$TMPDIR/sim.json"
"$SHARDLAB" sim --model gpt --strategy dp --ranks 4 --cluster laptop --json >"$TMPDIR/dp.json"
"$SHARDLAB" compare --model mlp:sizes=4-8-2 --ranks 20 --strategy all --cluster laptop --json >"$TMPDIR/compare.json"
"$SHARDLAB" compare --model mlp:sizes=2-1-1 --ranks 6 --strategy single,ddp --cluster laptop --json >"$TMPDIR/skip.json"
"$SHARDLAB" compare --model mlp:sizes=4-8-2 --ranks 2 --strategy zero2,zero3 --precision fp32/bf16 --offload none/optimizer,parameters \
	--cluster laptop --json >"$TMPDIR/grid.json"
"$SHARDLAB" plan --strategy zero1 --ranks 2 --json >"$TMPDIR/plan.json"
"$SHARDLAB" sim --ranks 2 --cluster laptop --trace "$TMPDIR/trace.json" >/dev/null
"$SHARDLAB" trace tests/golden/torch_profiler.json --json >"$TMPDIR/torch.json"
"$SHARDLAB" compare --trace lessons/16/rank0.json.gz,lessons/16/rank1.json.gz --model gpt:layers=2,width=256,heads=4,vocabulary=1024 \
	--micro-batch 4 --strategy ddp,fsdp --cluster laptop --json >"$TMPDIR/beside.json"

# Beside a trace a configuration is the one that ran, and not one of many.
echo '{"output_dir": "out", "per_device_train_batch_size": 4}' >"$TMPDIR/trainer.json"
"$SHARDLAB" compare --trace lessons/16/rank0.json.gz,lessons/16/rank1.json.gz --model gpt:layers=2,width=256,heads=4,vocabulary=1024 \
	--config "$TMPDIR/trainer.json" --ranks 2 --cluster laptop >"$TMPDIR/trainer.out" 2>/dev/null &&
	grep -q 'recorded  *ddp .*ratio' "$TMPDIR/trainer.out" || fail 'no ratio beside a trace and a file'

"$SHARDLAB" calibrate --ranks 1 --quick --output "$TMPDIR/here.yaml" --json >"$TMPDIR/rates.json"
"$SHARDLAB" sim --cluster "$TMPDIR/here.yaml" --strategy single --json >"$TMPDIR/here.json"

# The names and types are tests/golden/json_shape.txt, a line each; UPDATE_GOLDEN=1 writes it anew.
python3 - "$TMPDIR" >"$TMPDIR/shape" <<'PYTHON'
import json, sys

def read(name):
    with open(f"{sys.argv[1]}/{name}.json") as f:
        return json.load(f)

def shape(path, value, lines):
    if isinstance(value, dict):
        for key in value:
            shape(f"{path}.{key}", value[key], lines)
    elif isinstance(value, list):
        for item in value:
            shape(f"{path}[]", item, lines)
    else:
        lines.add(f"{path} {type(value).__name__}")

def check_report(r, roles):
    assert r["batch"] == r["ranks"] * r["micro_batch"] * r["accumulate"]
    assert [role["role"] for role in r["roles"]] == roles
    assert sum(role["ranks"] for role in r["roles"]) == r["ranks"]
    for role in r["roles"]:
        for m in role["memory"].values():
            assert sum(m["at_peak"].values()) == m["peak_bytes"] <= m["arena_bytes"]
        c = role["communication"]
        assert sum(k["sent_bytes"] for name, k in c["by_kind"].items() if name != "control") == c["sent_bytes"]
    t = r["time"]
    assert abs(t["compute_s"] + t["exposed_s"] + t["bubble_s"] - t["step_s"]) < 1e-9
    tightest = r["tightest"]
    assert tightest["space"] in ("device", "host", "disk")
    assert r["fits"] == (tightest["needed_bytes"] <= tightest["capacity_bytes"])

for name in "sim", "plan", "rates", "skip", "torch":
    lines = set()
    shape(name, read(name), lines)
    print("\n".join(sorted(lines)))

r = read("sim")
check_report(r, ["rank"])
assert (r["model"]["name"], r["model"]["parameters"], r["model"]["units"]) == ("gpt", 4837376, 7)
assert (r["strategy"], r["ranks"], r["precision"], r["batch"], r["sequence"]) == ("zero2", 4, "bf16", 16, 128)
check_report(read("dp"), ["root", "worker"])

results = read("compare")["results"]
assert [r["strategy"] for r in results] == ["single", "dp", "ddp", "zero1", "zero2", "zero3", "fsdp"]
for r in results:
    check_report(r, ["root", "worker"] if r["strategy"] == "dp" else ["rank"])
assert results[0]["ranks"] == 1 and results[0]["batch"] == results[1]["batch"]
single, ddp = read("skip")["results"]
check_report(single, ["rank"])
assert set(ddp) == {"strategy", "skipped"} and ddp["strategy"] == "ddp" and "--ranks" in ddp["skipped"]

grid = read("grid")["results"]
offload = ["none", "optimizer,parameters"]
assert [(r["strategy"], r["precision"], r.get("offload")) for r in grid] == [
    (s, p, o) for p in ("fp32", "bf16") for o in offload for s in ("zero2", "zero3")], grid
assert [i for i, r in enumerate(grid) if "skipped" in r] == [2, 6]
assert set(grid[2]) == {"strategy", "precision", "activation_checkpointing", "offload", "skipped"}
for r in grid[0], grid[3], read("here"):
    check_report(r, ["rank"])

rates = read("rates")
assert rates["cluster"] == "local" and rates["file"].endswith("here.yaml")
assert {"memory, one rank", "start of a kernel"} <= {r["name"] for r in rates["rates"]}
for r in rates["rates"]:
    assert r["unit"] in ("FLOP/s", "B/s", "s", "1") and 0 <= r["lowest"] <= r["median"] <= r["highest"], r
assert {"traceEvents", "shardlab"} <= set(read("trace"))

def check_step(s):
    assert abs(s["compute_s"] + s["exposed_s"] + s["copies_s"] + s["idle_s"] - s["step_s"]) < 2e-9, s

beside = read("beside")
assert (beside["recorded"]["source"], beside["recorded"]["world"]) == ("operators", 2)
assert [r["rank"] for r in beside["recorded"]["ranks"]] == [0, 1]
for r in beside["recorded"]["ranks"]:
    assert len(r["steps"]) == 3
    for s in r["steps"]:
        check_step(s)
ddp, fsdp = beside["results"]
for r in ddp, fsdp:
    check_report(r, ["rank"])
    check_step(r["profile"])
    assert r["ranks"] == 2  # of the trace
seen, planned = beside["recorded"]["mean"]["by_kind"]["all_reduce"], ddp["profile"]["by_kind"]["all_reduce"]
assert (seen["calls"], seen["bytes"]) == (planned["calls"], planned["bytes"]) == (2, 7499776)
assert {"all_gather", "reduce_scatter"} <= set(fsdp["profile"]["by_kind"])
PYTHON
golden=tests/golden/json_shape.txt
[ -z "${UPDATE_GOLDEN-}" ] || cp "$TMPDIR/shape" $golden
diff -u $golden "$TMPDIR/shape" || fail "names and types are others than in $golden"
