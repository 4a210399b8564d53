#!/bin/bash
# calibrate --step, --peak and --trace: the stack of one's own steps gives those steps again, and others of the program
# that took them; what contradicts itself or the ceilings is refused.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/support/commands.sh
command -v python3 >/dev/null || { echo 'python3, which reads the figures, is not installed' && exit 77; }

# A program of which the steps are given: a stack whose rates differ from its class's each in its own way.
cat >"$TMPDIR/hidden.yaml" <<'YAML'
name: hidden
class: pytorch-eager
card: ampere
product: {share: 0.7}
network: {inside: 0.6, between: 0.525}
memory: {bandwidth: 0.65}
attention: {forward: 0.5, backward: 0.4445}
activations: {factor: 2}
reserved: {share: 0.25}
as: {activations: 1.5, held: 1.1}
libraries: {workspace: 300000000}
YAML
run=(--model gpt2-124m --strategy fsdp --precision bf16 --cluster a100-80gb)
figure() { # STACK KEY OPTION…
	local stack=$1 key=$2
	shift 2
	"$SHARDLAB" sim --json "${run[@]}" --stack "$stack" "$@" |
		python3 -c 'import json, sys; r = json.load(sys.stdin); print(eval(sys.argv[1], {}, {"t": r["time"], "m": r["roles"][0]["memory"]["device"]}))' "$key"
}
near() { # WHAT A B: within half a percent
	python3 -c 'import sys; a, b = map(float, sys.argv[1:]); sys.exit(abs(a / b - 1) > 0.005)' "$2" "$3" || fail "$1: $2, not $3"
}
hidden=$TMPDIR/hidden.yaml mine=$TMPDIR/mine.yaml

# One step moves all rates by one factor; its own step comes out.
a=$(figure "$hidden" 't["step_s"]' --ranks 8 --micro-batch 8)
run one calibrate "${run[@]}" --stack pytorch-eager --step "${a}s" --ranks 8 --micro-batch 8 --output "$mine"
grep -q '^product.share  *0[.][0-9]* ' "$TMPDIR/one.out" || fail 'it does not say what it changed'
near 'one step' "$(figure "$mine" 't["step_s"]' --ranks 8 --micro-batch 8)" "$a"
run basis sim "${run[@]}" --ranks 8 --micro-batch 8 --stack "$mine"
grep -q 'stack mine, fitted on 1 run;' "$TMPDIR/basis.out" || fail 'the basis'

# Four steps free four constants: steps that were not given come out too.
b=$(figure "$hidden" 't["step_s"]' --ranks 64 --micro-batch 1)
c=$(figure "$hidden" 't["step_s"]' --ranks 8 --micro-batch 2 --sequence 256)
d=$(figure "$hidden" 't["step_s"]' --ranks 8 --micro-batch 64 --sequence 128)
"$SHARDLAB" calibrate --json "${run[@]}" --stack pytorch-eager --output "$mine" --step "${a}s" --ranks 8 --micro-batch 8 --sequence 1024 \
	--step "${b}s" --ranks 64 --micro-batch 1 --step "${c}s" --ranks 8 --micro-batch 2 --sequence 256 \
	--step "${d}s" --micro-batch 64 --sequence 128 >"$TMPDIR/four.json"
python3 - "$TMPDIR/four.json" <<'PYTHON'
import json, sys
r = json.load(open(sys.argv[1]))
assert [(s["ranks"], s["strategy"]) for s in r["steps"]] == [(8, "fsdp"), (64, "fsdp"), (8, "fsdp"), (8, "fsdp")], r["steps"]
assert all(abs(s["calibrated_s"] / s["given_s"] - 1) < 0.005 for s in r["steps"]), r["steps"]
found = {(c["section"], c["key"]): c["calibrated"] for c in r["constants"]}
for key, hidden in {("product", "share"): 0.7, ("network", "between"): 0.525, ("memory", "bandwidth"): 0.65}.items():
    assert abs(found[key] / hidden - 1) < 0.1, (key, found[key])
PYTHON
near 'a step that was not given' "$(figure "$mine" 't["step_s"]' --ranks 32 --micro-batch 4)" "$(figure "$hidden" 't["step_s"]' --ranks 32 --micro-batch 4)"

# Memory: bytes allocated and held.
allocated=$(figure "$hidden" 'm["allocated_bytes"]' --ranks 8 --micro-batch 8)
reserved=$(figure "$hidden" 'm["reserved_bytes"]' --ranks 8 --micro-batch 8)
run peak calibrate "${run[@]}" --ranks 8 --micro-batch 8 --stack pytorch-eager --peak "$allocated,$reserved" --output "$mine"
near 'allocated' "$(figure "$mine" 'm["allocated_bytes"]' --ranks 8 --micro-batch 8)" "$allocated"
near 'reserved' "$(figure "$mine" 'm["reserved_bytes"]' --ranks 8 --micro-batch 8)" "$reserved"

# As other software's its plan has the bytes, and its allocator what is held: what differs from them is free, and so is
# the rest of the device. Figures by hand: 1.5 times the activations, a tenth more held, 300 MB of workspace.
own=(--ranks 8 --micro-batch 8 --as pytorch)
plain=$(figure pytorch-eager 'm["peak_bytes"], m["at_peak"]["activations"], m["reserved_bytes"], m["overhead_bytes"] - m["workspace_bytes"]' "${own[@]}")
measured=$(python3 -c "peak, activations, held, overhead = $plain
allocated = peak + activations // 2
reserved = (allocated + held - peak) * 11 // 10
print('%d,%d,%d' % (allocated, reserved, reserved + overhead + 300000000))")
[ "$measured" = "$(figure "$hidden" '"%d,%d,%d" % (m["allocated_bytes"], m["reserved_bytes"], m["reserved_bytes"] + m["overhead_bytes"])' "${own[@]}")" ] ||
	fail "--as does not hold what the stack says: $measured"
run as calibrate "${run[@]}" "${own[@]}" --stack pytorch-eager --peak "$measured" --step "${a}s" --output "$mine"
for constant in 'as.activations  *1  *1.5' 'as.held  *1  *1.1' 'libraries.workspace  *8.52e+06  *3e+08'; do
	grep -q "^$constant" "$TMPDIR/as.out" || fail "not calibrated: $constant"
done
IFS=, read -r allocated reserved device <<<"$measured"
near 'allocated, --as' "$(figure "$mine" 'm["allocated_bytes"]' "${own[@]}")" "$allocated"
near 'reserved, --as' "$(figure "$mine" 'm["reserved_bytes"]' "${own[@]}")" "$reserved"
near 'the device, --as' "$(figure "$mine" 'm["reserved_bytes"] + m["overhead_bytes"]' "${own[@]}")" "$device"
near 'the step, --as' "$(figure "$mine" 't["step_s"]' "${own[@]}")" "$a"

# A recorded step has all four at once.
run trace sim "${run[@]}" --ranks 8 --micro-batch 8 --stack "$hidden" --trace "$TMPDIR/trace.json"
run traced calibrate "${run[@]}" --micro-batch 8 --stack pytorch-eager --trace "$TMPDIR/trace.json" --output "$mine"
near 'a trace' "$(figure "$mine" 't["step_s"]' --ranks 8 --micro-batch 8)" "$a"
near 'a trace, computing' "$(figure "$mine" 't["compute_s"]' --ranks 8 --micro-batch 8)" "$(figure "$hidden" 't["compute_s"]' --ranks 8 --micro-batch 8)"

# On stdout a stack, and nothing else.
"$SHARDLAB" calibrate "${run[@]}" --ranks 8 --micro-batch 8 --step "${a}s" >"$mine"
"$SHARDLAB" sim "${run[@]}" --ranks 8 --stack "$mine" >"$TMPDIR/sim"

# Input that contradicts the ceilings, the other steps, or itself.
refuse '--step 1.000 ms: with all rates at the ceilings of --cluster a100-80gb it would take' calibrate "${run[@]}" --ranks 8 --micro-batch 8 --step 1ms
refuse '--step 1.000 s (1 of 2): beside the others, no rates' calibrate "${run[@]}" --ranks 8 --micro-batch 8 --step 1s --step 2s
refuse 'no factor of activations gives it' calibrate "${run[@]}" --ranks 8 --micro-batch 8 --peak 500GB
refuse 'no factor of activations gives it' calibrate "${run[@]}" --ranks 8 --as pytorch --peak 500GB
refuse 'held, a stack can have' calibrate "${run[@]}" "${own[@]}" --peak "$allocated,60GB"
refuse 'on the device, a stack can have' calibrate "${run[@]}" "${own[@]}" --peak "$allocated,$reserved,$reserved"
refuse '--peak 2GB,1GB: 1GB is less than the figure before it' calibrate "${run[@]}" --ranks 8 --peak 2GB,1GB
refuse "--step: '3' is not a time" calibrate "${run[@]}" --step 3
refuse '--micro-batch is given twice' calibrate "${run[@]}" --step 1s --micro-batch 2 --micro-batch 3
refuse '--model says whose step it is' calibrate --model gpt
refuse '--quick is of measuring this machine' calibrate --step 1s --quick
refuse 'local is of CPUs' calibrate --model gpt --step 1s
refuse 'has no stack that could be calibrated' calibrate --model gpt2-124m --cluster a100-80gb:stack=ceiling --step 1s
refuse '--trace is of one step' calibrate "${run[@]}" --step 1s --step 2s --trace "$TMPDIR/trace.json"
refuse 'this plan'"'"'s would take' calibrate --model gpt2-1558m --strategy ddp --precision bf16 --cluster a100-80gb --micro-batch 8 --trace "$TMPDIR/trace.json"
