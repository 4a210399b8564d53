#!/bin/bash
# Trains GPT-2 124M in bf16 as PyTorch did for tests/golden/gpt2_losses.json, and holds the loss curve to PyTorch's: the
# mean over each 30 steps. A step is two samples, and of an unusual one (a table, a drawing) two runs that round
# differently think differently, so that single steps are only shown.
#
#     tests/gpu/losses.sh [STEPS [OPTION...]]    300 steps; options of `shardlab train` replace `--device cuda`
#
# The program is $SHARDLAB, or build/shardlab. Exit status: 0 the curve is within 1 %; 1 it is not; 2 it did not run.
set -euo pipefail
cd "$(dirname "$0")/../.."

golden=${GOLDEN:-tests/golden/gpt2_losses.json}
shardlab=${SHARDLAB:-build/shardlab}
: "${TMPDIR:=/tmp}"
span=30

fail() {
	echo "losses.sh: $*" >&2
	exit 2
}

# is KEY: its value in the golden file.
is() {
	sed -n "s/^ \"$1\": \"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}\$/\1/p" "$golden"
}

[ -r "$golden" ] || fail "$golden cannot be read"
steps=${1:-$(is steps)}
if ! [[ $steps =~ ^[1-9][0-9]*$ ]] || ((steps > $(is steps))); then
	fail "'$steps' is not a number of steps from 1 to $(is steps)"
fi
options=("${@:2}")
((${#options[@]})) || options=(--device cuda)
text=$(is text)
[ -r "$text" ] || fail "$text is not there; install Debian's package dict-jargon"
[ "$(gzip -dc <"$text" | sha256sum | cut -d ' ' -f 1)" = "$(is text_sha256)" ] ||
	fail "$text is not the text that PyTorch was trained on; $golden has its sum"

losses=$(mktemp "$TMPDIR/losses.XXXXXX")
trap 'rm -f "$losses"' EXIT
"$shardlab" train --model "$(is model)" --strategy single --precision bf16 --seed "$(is seed)" --sequence "$(is sequence)" \
	--batch "$(is batch)" --micro-batch "$(is micro_batch)" --learning-rate "$(is lr)" --weight-decay "$(is weight_decay)" \
	--clip "$(is clip)" --steps "$steps" --evaluate no --json "${options[@]}" >"$losses" || fail 'the run failed'

# PyTorch's losses are the numbers that stand alone on a line; ours are in the lines of steps.
awk -v steps="$steps" -v span="$span" '
	function compare() {
		off = ours / theirs - 1
		printf "steps %d-%d: loss %.4f, PyTorch %.4f, %+.2f %%\n", step - n + 1, step, ours / n, theirs / n, 100 * off
		apart += !(off <= 0.01 && off >= -0.01)
		n = ours = theirs = 0
	}
	FNR == NR { if ($1 ~ /^[0-9.]+,?$/) { sub(",", "", $1); wanted[++golden] = $1 } next }
	match($0, /^\{"step": [0-9]+, "loss": [^,]*/) {
		split(substr($0, RSTART, RLENGTH), part, /[:,] */)
		step = part[2] + 0
		ours += part[4]
		theirs += wanted[step]
		n++
		seen++
		off = 100 * (part[4] / wanted[step] - 1)
		if (off < 0)
			off = -off
		if (off >= worst) { worst = off; at = step }
		if (n == span)
			compare()
	}
	END {
		if (n)
			compare()
		printf "%d steps, %d spans of them more than 1 %% apart; single steps at most %.2f %%, at step %d\n", seen,
			apart, worst, at
		exit seen != steps || apart
	}' "$golden" "$losses"
