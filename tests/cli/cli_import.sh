#!/bin/bash
# tools/import_checkpoint.py: weights that PyTorch and DeepSpeed have checkpointed become a folder that --init takes, with no
# bit changed. Needs a python with torch, which $PYTHON names: skipped without.
#
# cores: all
set -euo pipefail
. "$(dirname "$0")/../support/commands.sh"

python=${PYTHON:-python3}
"$python" -c 'import torch.distributed.checkpoint' 2>/dev/null || { echo "$python, or another that PYTHON names, has no torch" && exit 77; }
model=gpt:layers=2,width=16,heads=2,context=16
still=(--data tests/golden/text.txt --steps 1 --batch 1 --learning-rate 0 --weight-decay 0 --evaluate no)

run first train --model $model "${still[@]}" --json --seed 3 --save "$TMPDIR/first"
"$python" tests/support/python_checkpoints.py "$TMPDIR/first/model.safetensors" "$TMPDIR" 2>"$TMPDIR/err" || fail 'no checkpoints to read'

import() {
	rm -rf "$TMPDIR/imported"
	"$python" tools/import_checkpoint.py "$@" --output "$TMPDIR/imported" >"$TMPDIR/said" 2>"$TMPDIR/err"
}
for from in file.pt dcp universal universal/global_step3_universal; do
	import "$TMPDIR/$from" --config "$TMPDIR/first" || fail "import_checkpoint.py $from: exit status $?"
	run again train --init "$TMPDIR/imported" "${still[@]}" --json
	[ "$(checksum again)" = "$(checksum first)" ] || complain "$from: the weights are others"
done
grep -q 'imported: 28 tensors, ' "$TMPDIR/said" || complain "is said: $(cat "$TMPDIR/said")"

wrong() {
	local status=0 pattern=$1
	shift
	import "$@" || status=$?
	[ $status = 2 ] && [ "$(grep -vc Warning "$TMPDIR/err")" = 1 ] && grep -qF -- "$pattern" "$TMPDIR/err" && [ ! -e "$TMPDIR/imported" ] ||
		complain "import_checkpoint.py $*: exit status $status: $(cat "$TMPDIR/err"), wanted: $pattern"
}
printf 'import os' >"$TMPDIR/bad.pt"
wrong 'is in it' "$TMPDIR/first" --config "$TMPDIR/first"
wrong 'no such file or folder' "$TMPDIR/nothing" --config "$TMPDIR/first"
wrong 'bad.pt: ' "$TMPDIR/bad.pt" --config "$TMPDIR/first"
rm "$TMPDIR/universal/global_step3_universal/zero/h.0.ln_1.weight/fp32.pt"
wrong 'h.0.ln_1.weight/fp32.pt: ' "$TMPDIR/universal" --config "$TMPDIR/first"
wrong 'config.json' "$TMPDIR/dcp" --config "$TMPDIR/dcp"
