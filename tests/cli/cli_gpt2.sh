#!/bin/bash
# GPT-2 124M in bf16 beside PyTorch's losses, two of the 300 steps; and losses that are not PyTorch's are found out.
set -euo pipefail
. "$(dirname "$0")/../support/commands.sh"
root=$(dirname "$0")/../..

if [ -n "${SAN-}" ]; then
	echo "skipped: 124 million parameters under a sanitizer take minutes; smaller models run the same code"
	exit 77
fi

status=0
"$root/tests/gpu/losses.sh" 2 --device cpu >"$TMPDIR/same.out" 2>&1 || status=$?
if [ "$status" = 2 ] && grep -q 'is not the text' "$TMPDIR/same.out"; then
	tail -n 1 "$TMPDIR/same.out"
	exit 77
fi
[ "$status" = 0 ] || fail 'not the losses of PyTorch'

# The first loss, 10.88…, as if it were 11.5.
sed 's/^  10\.88[0-9]*,/  11.5,/' "$root/tests/golden/gpt2_losses.json" >"$TMPDIR/other.json"
cmp -s "$root/tests/golden/gpt2_losses.json" "$TMPDIR/other.json" && fail 'the golden file begins with another loss'
status=0
GOLDEN=$TMPDIR/other.json "$root/tests/gpu/losses.sh" 1 --device cpu >"$TMPDIR/other.out" 2>&1 || status=$?
[ "$status" = 1 ] || fail "with a wrong loss: exit status $status, not 1"
