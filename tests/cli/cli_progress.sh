#!/bin/bash
# The output of `train` during a run: --eval-every, --log, --plot, the curve, the progress bar, and the end of a run that
# diverges.
#
# cores: all
set -euo pipefail
. "$(dirname "$0")/../support/commands.sh"

model=mlp:sizes=784-32-10
command -v python3 >/dev/null || { echo 'python3, which reads JSON, CSV and SVG here, is not installed' && exit 77; }

losses() { sed -n 's/.*"losses": \(\[[^]]*\]\).*/\1/p' "$TMPDIR/$1.out"; }

# Validating in between changes no loss and no weight, under strategies that hold different things between steps; and what it
# says of a step is what the run says that ends there.
# Under a sanitizer mpi_train validates under each.
for strategy in $([ -n "${SAN-}" ] || echo ddp zero3 tensor pipeline) zero2; do
	run plain train --model $model --strategy $strategy --ranks 2 --steps 5 --batch 16 --json
	run between train --model $model --strategy $strategy --ranks 2 --steps 5 --batch 16 --json --eval-every 2
	[ -n "$(losses plain)" ] && [ "$(losses plain)" = "$(losses between)" ] || fail "$strategy: --eval-every changes losses"
	[ "$(checksum plain)" = "$(checksum between)" ] || fail "$strategy: --eval-every changes weights"
	[ "$(grep -c '"step": [245],.*"validation_loss": [0-9.]*, "validation_accuracy": [0-9.]*' "$TMPDIR/between.out")" = 3 ] ||
		fail "$strategy: validated after other steps than 2, 4 and the last"
	[ $strategy = zero2 ] || continue
	run ends train --model $model --strategy $strategy --ranks 2 --steps 4 --batch 16 --json
	of_four=$(sed -n '4s/.*"validation_loss": \([0-9.]*\).*/\1/p' "$TMPDIR/between.out")
	grep -q "\"summary\".*\"validation_loss\": $of_four," "$TMPDIR/ends.out" || fail "$strategy: step 4 validates as $of_four on the way, \
and otherwise at the end"
done
for more in "$model --precision fp16 --loss-scale 1e30" "$model --offload optimizer:delayed=yes --strategy zero2" \
	"$model,norm=batch" "gpt:layers=1,width=16,heads=2,context=8 --data tests/golden/text.txt"; do
	# shellcheck disable=SC2086
	run plain train --ranks 2 --steps 5 --batch 16 --json --model $more
	# shellcheck disable=SC2086
	run between train --ranks 2 --steps 5 --batch 16 --json --eval-every 1 --model $more
	[ "$(losses plain)" = "$(losses between)" ] && [ "$(checksum plain)" = "$(checksum between)" ] ||
		fail "$more: --eval-every changes the run"
done

# A line a step, in both forms, with the same figures; a file that was there is replaced.
echo old >"$TMPDIR/run.csv"
run csv train --model $model --ranks 2 --steps 6 --batch 16 --eval-every 3 --warmup 4 --log "$TMPDIR/run.csv" --plot "$TMPDIR/run.svg"
run jsonl train --model $model --ranks 2 --steps 6 --batch 16 --eval-every 3 --warmup 4 --log "$TMPDIR/run.jsonl" --json
run half train --model $model --strategy single --steps 2 --batch 16 --precision fp16 --log "$TMPDIR/half.csv"
grep -q '^step  *3   validation loss [0-9.]*   accuracy [0-9.]* %$' "$TMPDIR/csv.out" || fail 'no line says how step 3 validates'
grep -q '^step  *1   loss 2[0-9.]*   [0-9]* samples/s   [0-9.]* [kMG]FLOP/s$' "$TMPDIR/csv.out" || fail 'no line has the speed'
grep -qF "wrote $TMPDIR/run.svg, $TMPDIR/run.csv" "$TMPDIR/csv.out" || fail 'it is not said what was written'
if grep -q 'wrote' "$TMPDIR/jsonl.out"; then fail 'more than JSON on stdout'; fi
run kept train --model gpt:layers=1,width=16,heads=2,context=8 --data tests/golden/text.txt --steps 2 --batch 8 \
	--save "$TMPDIR/kept" --trace "$TMPDIR/kept.json"
grep -qxF "wrote $TMPDIR/kept (config.json, model.safetensors), $TMPDIR/kept.json" "$TMPDIR/kept.out" ||
	fail 'the files of a folder are not named'
if grep -q 'loss of training' "$TMPDIR/csv.out"; then fail 'a curve where there is no terminal'; fi
python3 - "$TMPDIR" <<'PYTHON' || fail 'the files of a run'
import csv, json, re, sys, xml.etree.ElementTree as xml

def read(name):
    with open(f"{sys.argv[1]}/{name}") as f:
        return f.read()

rows = list(csv.DictReader(read("run.csv").splitlines()))
lines = [json.loads(line) for line in read("run.jsonl").splitlines()]
printed = [json.loads(line) for line in read("jsonl.out").splitlines()]
assert lines == printed[:-1], "the lines of --log are those of --json"
losses = printed[-1]["summary"]["losses"]
flops = printed[-1]["summary"]["time"]["model_flops"]
assert flops == 6 * (784 * 32 + 32 * 10) * 16, flops
assert [int(r["step"]) for r in rows] == [l["step"] for l in lines] == [1, 2, 3, 4, 5, 6]
for row, line, loss in zip(rows, lines, losses):
    assert float(row["loss"]) == line["loss"] == loss
    assert float(row["learning_rate"]) == line["learning_rate"] == 1e-3 * min(1, line["step"] / 4)
    for o in row, line:
        rate = float(o["tflops_per_device"]) * 1e12 / (flops / 16 / 2)
        assert abs(rate / float(o["samples_per_s"]) - 1) < 1e-9
    assert line["mfu"] is None and row["mfu"] == row["loss_scale"] == "" and row["skipped"] == "0"
    validated = line["step"] % 3 == 0
    assert ("validation_loss" in line) == (row["validation_loss"] != "") == validated
    if validated:
        assert float(row["validation_loss"]) == line["validation_loss"]
        assert float(row["validation_accuracy"]) == line["validation_accuracy"]
half = list(csv.DictReader(read("half.csv").splitlines()))
assert [(r["loss_scale"], r["skipped"]) for r in half] == [("65536", "0")] * 2, half

# The curves: a path of six points and one of two, each at its place.
root = xml.fromstring(read("run.svg"))
assert root.tag.endswith("svg")
paths = [re.findall(r"[ML] ([-0-9.]+) ([-0-9.]+)", p.get("d", "")) for p in root.iter() if p.tag.endswith("path")
         if (p.get("fill") == "none" or "fill:none" in p.get("style", "")) and "C" not in p.get("d")]
def at(points):
    return [(float(x), float(y)) for x, y in points]
training, = [at(p) for p in paths if len(p) == 6]
step = (training[5][0] - training[0][0]) / 5
for i, (x, y) in enumerate(training):
    assert abs(x - training[0][0] - i * step) < 0.01
    share = (losses[0] - losses[i]) / (losses[0] - losses[5])
    assert abs((y - training[0][1]) / (training[5][1] - training[0][1]) - share) < 0.01
validations = [line["validation_loss"] for line in lines if "validation_loss" in line]
ends = [at(p) for p in paths if len(p) == 2]
assert any(abs(a[0] - training[2][0]) < 0.01 and abs(b[0] - training[5][0]) < 0.01 and
           abs((a[1] - b[1]) / (training[5][1] - training[0][1]) -
               (validations[1] - validations[0]) / (losses[0] - losses[5])) < 0.01 for a, b in ends), "no validation"
PYTHON

# The log of a killed run has every step that was done. Its picture was not yet begun.
SHARDLAB_CONFIG=$TMPDIR/none.yaml "$SHARDLAB" train --model $model --strategy single --steps 100000000 --batch 4 --log "$TMPDIR/killed.csv" \
	--plot "$TMPDIR/killed.svg" >"$TMPDIR/killed.out" 2>&1 &
pid=$!
for _ in $(seq 600); do
	[ ! -s "$TMPDIR/killed.csv" ] || [ "$(wc -l <"$TMPDIR/killed.csv")" -lt 20 ] || break
	sleep 0.1
done
kill -9 $pid
wait $pid 2>/dev/null || true
[ "$(wc -l <"$TMPDIR/killed.csv")" -ge 20 ] || fail 'a log is not written as the run goes'
# A kill may cut the line that is being written.
sed '$d' "$TMPDIR/killed.csv" | awk -F, 'NR > 1 && ($1 != NR - 1 || NF != 10) { exit 1 }' || fail 'a log of a killed run has holes'
[ ! -e "$TMPDIR/killed.svg" ] || fail 'a picture of a killed run'

# A run that diverges ends in every precision, and leaves the file that is there as it is.
echo good >"$TMPDIR/good.safetensors"
for precision in fp32 bf16; do
	status=0
	"$SHARDLAB" train --model $model --ranks 2 --steps 50 --batch 16 --precision $precision --optimizer sgd --learning-rate 1e6 \
		--save "$TMPDIR/good.safetensors" >"$TMPDIR/diverges.out" 2>"$TMPDIR/err" || status=$?
	[ $status = 1 ] && [ "$(wc -l <"$TMPDIR/err")" = 1 ] || fail "a run in $precision that diverges: exit status $status"
	grep -q "^fatal: .*step [0-9]*: the loss is not finite in $precision (\(nan\|inf\)): .*lower --learning-rate" "$TMPDIR/err" ||
		fail "a run in $precision that diverges: $(cat "$TMPDIR/err")"
	[ "$(cat "$TMPDIR/good.safetensors")" = good ] || fail 'a run that diverged replaced a file'
done
# The line names the checkpoint that remains, of this run or the one that it goes on from.
diverge=(train --model mlp:sizes=784-32-10 --evaluate no --optimizer sgd --learning-rate 1e6 --checkpoint "$TMPDIR/remains")
run remains "${diverge[@]}" --steps 1
for way in '--checkpoint-every 100' '--checkpoint-every 1 --ranks 2 --batch 4'; do
	status=0
	# shellcheck disable=SC2086
	"$SHARDLAB" "${diverge[@]}" --resume latest --steps 50 $way >"$TMPDIR/remains.out" 2>"$TMPDIR/err" || status=$?
	remains=$(sed 's/step-0*//' "$TMPDIR/remains/latest")
	[ $status = 1 ] && grep -q "the run diverged and saved nothing after the checkpoint of step $remains; lower" "$TMPDIR/err" ||
		fail "$way: a run that diverges after step $remains: exit status $status: $(cat "$TMPDIR/err")"
done

# An update that ruins the weights at a finite loss: what was saved before stays, and nothing else is saved. Weights that fp16
# cannot hold are ruined there.
ruins=(train --model mlp:sizes=784-10 --batch 16 --evaluate no --optimizer adamw --learning-rate 1e6 --weight-decay 1e6)
# ruin PRECISION LAST OPTION...: the last checkpoint that is kept is that of step LAST; 0: none is.
ruin() {
	local precision=$1 last=$2 said status=0 kept=
	shift 2
	[ "$last" = 0 ] || kept=" after the checkpoint of step $last"
	said="step $((last + 1)): its update left parameters that are not finite in $precision: the run diverged and saved nothing$kept; "
	rm -rf "$TMPDIR/ruined"
	"$SHARDLAB" "${ruins[@]}" "$@" --steps 20 --precision "$precision" --checkpoint "$TMPDIR/ruined" --checkpoint-every 1 \
		>"$TMPDIR/ruined.out" 2>"$TMPDIR/err" || status=$?
	[ $status = 1 ] && [ "$(wc -l <"$TMPDIR/err")" = 1 ] &&
		grep -q "$said" "$TMPDIR/err" || fail "$precision, $*: ruined weights: exit status $status"
	[ "$last" = 0 ] && [ -z "$(ls -A "$TMPDIR/ruined")" ] || [ "$(cat "$TMPDIR/ruined/latest")" = "step-0000000$last" ] ||
		fail "$precision, $*: ruined weights: $(ls -A "$TMPDIR/ruined")"
	[ -z "$(find "$TMPDIR/ruined" -name '*.partial')" ] || fail "$precision, $*: left behind"
}
# Each precision, strategy and way of writing with each of the others.
ruin fp32 3 --strategy single
ruin fp32 3 --strategy zero2 --ranks 2 --checkpoint-async
ruin bf16 3 --strategy single --checkpoint-async
ruin bf16 3 --strategy zero2 --ranks 2
ruin fp16 0 --strategy single
ruin fp16 0 --strategy zero2 --ranks 2 --checkpoint-async
for way in '--strategy single' '--strategy zero2 --ranks 2'; do
	status=0
	# shellcheck disable=SC2086
	"$SHARDLAB" "${ruins[@]}" $way --steps 4 --save "$TMPDIR/good.safetensors" >"$TMPDIR/ruined.out" 2>"$TMPDIR/err" || status=$?
	[ $status = 1 ] && [ "$(wc -l <"$TMPDIR/err")" = 1 ] && grep -q 'are not finite in the end' "$TMPDIR/err" &&
		[ "$(cat "$TMPDIR/good.safetensors")" = good ] || fail "$way: ruined weights in the end: exit status $status"
done
if ls "$TMPDIR"/*.tmp >/dev/null 2>&1; then fail 'temporary files are left'; fi

refuse '--log run.txt: the name must end in .jsonl or .csv' train --model $model --log run.txt
refuse "--log: cannot write '/nowhere/run.csv'" train --model $model --log /nowhere/run.csv
refuse '--plot run.gif: the name must end in .svg, .pdf or .png' train --model $model --plot run.gif
refuse '--eval-every' train --model $model --eval-every 0

# On a terminal: a bar that fits in it, and the curve. Work of less than two seconds has no bar; how many steps that are,
# the machine decides.
steps=100
last_bar() {
	local command="stty cols $1; NO_COLOR=1 LC_ALL=C.UTF-8 '$SHARDLAB' train --model mlp --strategy single --steps $steps --batch 64"
	script -qec "$command" /dev/null </dev/null | tr '\r' '\n' | sed 's/\x1b\[K//g' >"$TMPDIR/terminal"
	grep '^[#.]* *[0-9]* %' "$TMPDIR/terminal" | tail -n 1
}
if command -v script >/dev/null; then
	for columns in 40 $([ -n "${SAN-}" ] || echo 80 120); do
		until bar=$(last_bar $columns) || [ $steps -gt 20000 ]; do
			steps=$((steps * 4))
		done
		if ! grep -q "^[#.]\{8,30\} *[0-9]* %  step [0-9]*/$steps" <<<"$bar" || LC_ALL=C.UTF-8 grep -qE "^.{$columns,}" <<<"$bar"; then
			complain "the bar at $columns columns: '$bar'"
		fi
		[ $columns = 40 ] || grep -q ' · loss [0-9.]* · [0-9]* samples/s.* left$' <<<"$bar" || complain "the bar at $columns columns: '$bar'"
		grep -q '⡇\|⢸\|⠑\|⠤' "$TMPDIR/terminal" || complain "no curve at $columns columns"
		if LC_ALL=C.UTF-8 grep -E "^.{$((columns + 1)),}" <(sed -n '/^loss of training/,$p' "$TMPDIR/terminal"); then
			complain "the curve is wider than $columns columns"
		fi
	done
else
	echo 'left out: what a terminal is shown: script is not installed'
fi
LC_ALL=C run curve train --model $model --strategy single --steps 20 --batch 16 --curve --eval-every 10
grep -q '^loss of training, o validation$' "$TMPDIR/curve.out" && grep -q '^ *|.*\*' "$TMPDIR/curve.out" &&
	grep -q '^ *1 .* step 20$' "$TMPDIR/curve.out" || complain 'no curve in ASCII'
exit $errors
