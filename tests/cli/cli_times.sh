#!/bin/bash
# One request has one time, whoever tells it: sim as text and as JSON, compare, and the caption at the end of view, from
# the options or from a trace of sim. All name the grain.
set -euo pipefail

command -v python3 >/dev/null || { echo 'python3, which reads JSON here, is not installed' && exit 77; }
export SHARDLAB_CONFIG=$TMPDIR/none.yaml OPENBLAS_NUM_THREADS=1

try() { # NAME GRAIN OPTION...
	local name=$1 grain=(--grain "$2") where=$TMPDIR/$1.$2
	[ "$2" != default ] || grain=()
	shift 2
	"$SHARDLAB" sim "$@" "${grain[@]}" >"$where.sim"
	"$SHARDLAB" sim "$@" "${grain[@]}" --json --trace "$where.trace" >"$where.json"
	"$SHARDLAB" compare "$@" "${grain[@]}" --json >"$where.compare"
	"$SHARDLAB" view "$@" "${grain[@]}" --scene plan --step phase --size 320x240 --export "$where.html"
	"$SHARDLAB" view --trace "$where.trace" --scene plan --step phase --size 320x240 --export "$where.traced.html"
	python3 - "$where" <<'PYTHON'
import json, re, sys

def read(ending):
    with open(sys.argv[1] + ending) as f:
        return f.read()

sim, text = json.loads(read(".json")), read(".sim")
time = sim["time"]
compared = json.loads(read(".compare"))["results"][0]
assert (compared["time"], compared["grain"]) == (time, sim["grain"]), compared["time"]
assert "grain " + sim["grain"] in text, text
share = lambda key: f"{100 * time[key] / time['step_s']:.1f} %"
KEYS = "compute_s", "exposed_s", "bubble_s"
for row, key in zip(("computing", "waiting for communication", "waiting for anything else"), KEYS):
    assert re.search(rf"{row} +[0-9.]+( [mµn]?s)? +{share(key)}", text), (row, share(key), text)
step = re.search(r"^  step +([0-9.]+ [mµn]?s)(?:  \(.*\))?$", text, re.M).group(1)
says = (f"The step is done in {step}. WHO spends {share('compute_s')} of it computing, {share('exposed_s')} waiting for "
        f"communication and {share('bubble_s')} for anything else.")
who = f"Rank {time['rank']}, the slowest,"
for page in read(".html"), read(".traced.html"):
    assert any(says.replace("WHO", w) in page for w in (who, "Every rank", "The rank")), (says, re.findall("The step is done[^\"]*", page))
    if len(sim["roles"]) > 1:
        assert says.replace("WHO", who) in page
    assert "grain " + sim["grain"] in page
if "pipeline" in sim:
    p, m = sim["pipeline"]["stages"], sim["pipeline"]["micro_batches"]
    closed = f"bubble (p−1)/(m+p−1) = {p - 1}/{m + p - 1} = {100 * (p - 1) / (m + p - 1):.1f} %"
    assert f"{closed}; here {share('bubble_s')}" in text, text
    assert abs(sim["pipeline"]["bubble_closed_form"] - (p - 1) / (m + p - 1)) < 1e-12
PYTHON
}

for grain in default operation message; do
	try dp $grain --model mlp --strategy dp --ranks 4 --cluster laptop
	try zero3 $grain --model mlp:sizes=64-64-10 --strategy zero3 --ranks 3 --cluster laptop
	try pipeline $grain --model gpt:layers=3,width=32,heads=2,context=16 --strategy pipeline --ranks 4 --accumulate 3 --cluster a100-80gb
done
cmp "$TMPDIR/dp.default.json" "$TMPDIR/dp.operation.json"

# For a few ms of traffic a pipeline waits for communication a little, and for other stages a lot.
"$SHARDLAB" sim --model gpt2-124m --strategy pipeline --ranks 4 --cluster a100-80gb --json >"$TMPDIR/gpt2.json"
python3 - "$TMPDIR/gpt2.json" <<'PYTHON'
import json, sys
t = json.load(open(sys.argv[1]))["time"]
assert t["exposed_s"] < 0.01 * t["step_s"] < 0.5 * t["step_s"] < t["bubble_s"], t
PYTHON

# A trace of sim has its grain already.
if "$SHARDLAB" view --trace "$TMPDIR/dp.default.trace" --grain message --export "$TMPDIR/no.png" 2>"$TMPDIR/err"; then
	echo 'a simulated trace was given another grain'
	exit 1
elif [ $? != 2 ] || [ "$(wc -l <"$TMPDIR/err")" != 1 ] || ! grep -q -- '--grain' "$TMPDIR/err"; then
	cat "$TMPDIR/err"
	exit 1
fi
