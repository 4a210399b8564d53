#!/bin/bash
# Build it yourself without a window: the strategies' own order comes to the figures of sim, what breaks a rule is
# refused in plain words, and input that makes no sense gets one line.
set -euo pipefail
. "$(dirname "$0")/../support/commands.sh"

tmp=$TMPDIR
model="gpt:layers=2,width=64,heads=2,context=16,vocabulary=64"

# json NAME: a number of what sim printed.
json() { sed -n "s/.*\"$1\": \([0-9.e-]*\),*$/\1/p" "$tmp/sim.out" | head -n 1; }

# ---- figures ----

for strategy in single ddp zero1 zero2 zero3 fsdp; do
	ranks=4
	[ $strategy != single ] || ranks=1
	options=(--model "$model" --strategy $strategy --ranks $ranks --bucket 200448 --cluster v100-16gb)
	run sim sim "${options[@]}" --json
	run own view --build "${options[@]}" --describe --moves ...
	grep -q '^Accepted' "$tmp/own.out" || complain "$strategy: its own order is not accepted"
	grep -q "^peak memory: yours .*($(json peak_bytes) B), .*($(json peak_bytes) B)" "$tmp/own.out" ||
		complain "$strategy: the peak is not sim's $(json peak_bytes)"
	grep -q "^sent by a rank: yours .*($(json sent_bytes) B), .*($(json sent_bytes) B)" "$tmp/own.out" ||
		complain "$strategy: the bytes are not sim's $(json sent_bytes)"
	for figure in 'a step:step_s' 'exposed communication:exposed_s'; do
		ns=$(awk "BEGIN { printf \"%.0f\", 1e9 * $(json "${figure#*:}") }")
		grep -q "^${figure%:*}: yours .*($ns ns), .*($ns ns)" "$tmp/own.out" ||
			complain "$strategy: ${figure%:*} is not sim's $ns ns"
	done
done

# `view` simulates each rank's slice of a sliced model, too.
tensor=(--strategy tensor --ranks 2 --model "$model" --cluster v100-16gb)
run sim sim "${tensor[@]}" --json
run view view "${tensor[@]}" --describe
run own view --build "${tensor[@]}" --describe --moves ...
grep -q "^a step: yours .*($(awk "BEGIN { printf \"%.0f\", 1e9 * $(json step_s) }") ns)" "$tmp/own.out" ||
	complain "tensor: the step is not sim's"
grep -q "The step is done in $(sed -n 's/^a step: yours \(.*\) (.*, .*/\1/p' "$tmp/own.out")" "$tmp/view.out" ||
	complain "tensor: view simulates another step than sim"

# ---- lists ----

zero3=(view --build --model "$model" --strategy zero3 --ranks 4 --cluster v100-16gb)
run drawer "${zero3[@]}" --describe
[ "$(grep -c '^  ' "$tmp/drawer.out")" = 31 ] || complain 'the drawer has not 31 moves'
printf 'load samples # first\n\ngather root\nforward embedding, forward block.0\n' >"$tmp/moves.txt"
status=0
"$SHARDLAB" "${zero3[@]}" --describe --moves "$tmp/moves.txt" >"$tmp/refused.out" 2>"$tmp/said" || status=$?
[ $status = 2 ] && [ "$(wc -l <"$tmp/said")" = 1 ] && [ ! -s "$tmp/refused.out" ] ||
	complain "a refused list: status $status, $(cat "$tmp/said")"
grep -qF -- "--moves: 'forward block.0' is refused. Rule 3 (lifetime): forward block.0 needs the whole parameters of block.0, which nothing has made yet. First: gather block.0." "$tmp/said" ||
	complain "a refused list: $(cat "$tmp/said")"
run undone "${zero3[@]}" --describe --moves "load samples, gather root"
grep -q '^Refused: the step is not complete$' "$tmp/undone.out" || complain 'half a step is complete'

for format in png svg pdf; do
	run picture "${zero3[@]}" --moves "load samples, gather root, ..." --size 640x360 --export "$tmp/x.$format"
	[ -s "$tmp/x.$format" ] || complain "no $format"
done

# ---- what makes no sense ----

# refuse WORDS OPTION...: one line with these words.
refuse() {
	local words=$1 status=0
	shift
	"$SHARDLAB" view "$@" >"$tmp/out" 2>"$tmp/said" || status=$?
	[ $status = 2 ] || complain "view $*: exit status $status"
	[ "$(wc -l <"$tmp/said")" = 1 ] || complain "view $*: not one line"
	grep -qF -- "$words" "$tmp/said" || complain "view $*: $(cat "$tmp/said")"
	[ ! -s "$tmp/out" ] || complain "view $*: something on stdout"
}
refuse 'give --build too' --moves ... --describe
refuse 'under dp ranks have programs of their own' --build --strategy dp --ranks 4 --describe
refuse 'under pipeline ranks have programs of their own' --build --strategy pipeline --ranks 2 --describe
refuse 'more than 40 moves' --build --model gpt --strategy zero3 --ranks 4 --describe
refuse "there is no move 'gather rot' under ddp" --build --describe --moves 'load samples, gather rot'
refuse 'cannot open' --build --describe --moves "$tmp/none"
refuse '--scene is for a step that is there' --build --scene memory --describe
refuse 'leave it out, or --build' --build --trace "$tmp/none" --describe
refuse 'written as .png, .svg or .pdf' --build --export "$tmp/x.html"
refuse 'cannot write' --build --export "$tmp/none/x.png"
