#!/bin/bash
# shardlab view without a window: every kind of picture, the same bytes from run to run, and what it says when something
# is wrong: no display, no font, a damaged trace, an option that does not fit.
set -euo pipefail
. "$(dirname "$0")/../support/commands.sh"

tmp=${TMPDIR:-/tmp}
errors=0
complain() {
	echo "$*"
	errors=1
}
export SHARDLAB_CONFIG=$tmp/none.yaml
view() { "$SHARDLAB" view --cluster laptop "$@"; }

# ---- pictures ----

for format in png svg pdf gif html; do
	for run in a b; do
		view --model mlp:sizes=12-8-4 --size 480x270 --at 9 --export "$tmp/$run.$format" || complain "no $format"
	done
	cmp -s "$tmp/a.$format" "$tmp/b.$format" || complain "$format differs from run to run"
	[ -s "$tmp/a.$format" ] || complain "$format is empty"
done
view --model mlp:sizes=12-8-4 --size 480x270 --pages all --export "$tmp/all.pdf"
pages=$(grep -ac '/Type /Page %' "$tmp/all.pdf" || true)
frames=$(grep -c '^\["\|^,\["' "$tmp/a.html" || true)
[ "$pages" = "$frames" ] || complain "the .pdf has $pages pages, the .html $frames steps"

# Every scene and theme opens; scale makes pixels.
for scene in overview collective memory timeline plan; do
	for theme in light dark projector paper; do
		view --model mlp:sizes=12-8-4 --scene $scene --theme $theme --at 3 --size 320x180 --export "$tmp/x.png" ||
			complain "$scene in $theme"
	done
done
view --size 320x180 --scale 2 --export "$tmp/x.png"
[ "$(od -An -tu1 -j18 -N2 "$tmp/x.png" | tr -d ' \n')" = 2128 ] || complain '--scale 2 of 320 is not 640 pixels wide'

# ---- traces ----

"$SHARDLAB" sim --model mlp:sizes=12-8-4 --strategy zero2 --ranks 3 --cluster laptop --grain message --trace "$tmp/t.json" >"$tmp/out"
view --trace "$tmp/t.json" --at 5 --size 480x270 --export "$tmp/x.png" || complain 'a trace of sim does not open'
printf '[{"ph":"X","name":"a","pid":1,"tid":1,"ts":5,"dur":1}]' >"$tmp/f.json"
view --trace "$tmp/f.json" --size 480x270 --export "$tmp/x.png" || complain 'a trace of another program does not open'

# Names that are too long end with a whole character, at whatever byte they are cut.
long=$(printf 'ä%.0s' {1..100})
for before in '' x; do
	printf '[{"ph":"M","name":"process_name","pid":1,"args":{"name":"%s"}},{"ph":"X","name":"%s","pid":1,"tid":1,"ts":5,"dur":1}]' \
		"$before$long" "$before$long" >"$tmp/$before$long.json"
	for format in png svg pdf gif html; do
		view --trace "$tmp/$before$long.json" --size 480x270 --export "$tmp/x.$format" || fail "a long name in .$format"
	done
	iconv -f UTF-8 -t UTF-8 "$tmp/x.html" >"$tmp/out" || fail 'the page is not UTF-8'
done

# Of the last of four stages alone: its number is not its place among those shown.
view --trace tests/fuzz/corpus/trace/part.json --scene timeline --size 480x270 --export "$tmp/x.png" || fail 'a trace of one stage does not open'

# What ranks may use is what the trace's cluster has, and of a cluster that is unknown here, nothing is said.
memory() { "$SHARDLAB" view --scene memory --size 480x270 --export "$tmp/$1.png" "${@:2}" || fail "no memory of $*"; }
memory own --trace "$tmp/t.json"
memory laptop --trace "$tmp/t.json" --cluster laptop
memory a100 --trace "$tmp/t.json" --cluster a100-80gb
cmp -s "$tmp/own.png" "$tmp/laptop.png" || fail "a trace's capacity is not that of its cluster"
! cmp -s "$tmp/own.png" "$tmp/a100.png" || fail 'the capacity is not in the picture'
sed 's/"laptop"/"lapdog"/' "$tmp/t.json" >"$tmp/u.json"
memory unknown --trace "$tmp/u.json"
for nodes in 2GB 4GB; do
	cat >"$tmp/$nodes.yaml" <<-END
		name: local
		kind: cpu
		node: {cores: 2, memory: $nodes, memory_bandwidth: 20e9}
		device: {threads: 1, overhead: 64MiB, memory_bandwidth: 12e9, launch: 1e-6, collective_launch: 5e-6, collective_cores: 0.5}
		compute: {default: {fp32: 5e9}}
		link: {latency: 2e-6, bandwidth: 5e9}
	END
	SHARDLAB_CONFIG=$tmp/$nodes.yaml memory $nodes --trace "$tmp/u.json"
	SHARDLAB_CONFIG=$tmp/$nodes.yaml memory here --trace "$tmp/u.json" --cluster local
	! cmp -s "$tmp/here.png" "$tmp/$nodes.png" || fail '--cluster local does not show the capacity of this machine'
	cmp -s "$tmp/unknown.png" "$tmp/$nodes.png" || fail "a trace of an unknown cluster shows the capacity of this machine"
done

# Beside each other all strategies take the same global batch: four times two samples.
for batch in micro-batch=2 batch=8; do
	view --model gpt:layers=2,width=16,heads=4,context=8,vocabulary=24 --compare tensor,zero2 --$batch --scene memory --at 3 --size 480x270 \
		--export "$tmp/$batch.png" || fail "--compare with --$batch"
done
cmp -s "$tmp/micro-batch=2.png" "$tmp/batch=8.png" || fail '--compare: tensor has another batch than zero2'

# ---- predicted and measured ----

# What train measured stands below its simulation, with dashed frames where the simulation has the same operations: in
# the timeline's lower half, which the picture without --predict does not have. A simulated trace that says it was
# measured has frames as large as its spans, however busy this machine is.
"$SHARDLAB" train --model mlp:sizes=784-12-10 --strategy zero2 --ranks 2 --steps 3 --evaluate no --trace "$tmp/real.json" >"$tmp/out" ||
	fail 'train records no trace'
view --trace "$tmp/real.json" --predict --scene timeline --at 4 --export "$tmp/real.svg" || fail 'a measured run does not open'
"$SHARDLAB" sim --model mlp:sizes=784-12-10 --strategy zero2 --ranks 2 --cluster laptop --trace "$tmp/run.json" >"$tmp/out"
sed -i 's/"measured":false/"measured":true/' "$tmp/run.json"
for predict in '' --predict; do
	view --trace "$tmp/run.json" $predict --scene timeline --at 4 --export "$tmp/run$predict.svg" || fail "a measured run $predict"
done
# frames FILE: where the dashed frames begin, from the top
frames() { sed -n 's/.*stroke-dasharray.* d="M [0-9.]* \([0-9]*\).*/\1/p' "$1"; }
[ "$(frames "$tmp/run.svg" | wc -l)" = 0 ] || fail 'without --predict there are differences'
[ "$(frames "$tmp/run--predict.svg" | wc -l)" -gt 10 ] || fail '--predict marks no differences'
[ "$(frames "$tmp/run--predict.svg" | sort -n | head -n 1)" -gt 330 ] || fail '--predict marks differences in the simulation'

# ---- charts ----

for chart in memory memory-by-ranks time-by-ranks; do
	for format in svg png pdf; do
		"$SHARDLAB" compare --model mlp:sizes=12-8-4 --ranks 4 --cluster laptop --chart $chart --export "$tmp/c.$format" >"$tmp/out" ||
			complain "no $chart as $format"
		[ -s "$tmp/c.$format" ] || complain "$chart as $format is empty"
	done
done

# ---- what is wrong ----

# wrong PATTERN COMMAND…
wrong() {
	refused "$@" || errors=1
}
unset DISPLAY WAYLAND_DISPLAY SDL_VIDEODRIVER
wrong '--export' "$SHARDLAB" view --cluster laptop
printf '<?xml version="1.0"?><fontconfig/>' >"$tmp/fonts.conf"
FONTCONFIG_FILE=$tmp/fonts.conf wrong 'fonts-dejavu-core' "$SHARDLAB" view --export "$tmp/x.png"
wrong 'ends in' "$SHARDLAB" view --export "$tmp/x.bmp"
wrong 'the last round of this step' "$SHARDLAB" view --cluster laptop --at 100000 --export "$tmp/x.png"
wrong 'WIDTHxHEIGHT' "$SHARDLAB" view --size 100 --export "$tmp/x.png"
wrong 'below 64' "$SHARDLAB" view --size 10x10 --export "$tmp/x.png"
wrong 'for pictures' "$SHARDLAB" view --scale 2
wrong '.pdf files' "$SHARDLAB" view --pages all --export "$tmp/x.png"
wrong 'says --ranks already' "$SHARDLAB" view --trace "$tmp/t.json" --ranks 3 --export "$tmp/x.png"
wrong 'does not show it' "$SHARDLAB" view --cluster laptop --focus 9 --export "$tmp/x.png"
wrong 'is not RANK:OP' "$SHARDLAB" view --cluster laptop --select 3 --export "$tmp/x.png"
wrong 'does not show rank 9' "$SHARDLAB" view --cluster laptop --select 9:20 --export "$tmp/x.png"
wrong 'is above' "$SHARDLAB" view --cluster laptop --select 0:9999 --export "$tmp/x.png"
wrong 'the step ends before that' "$SHARDLAB" view --cluster laptop --past 99999 --export "$tmp/x.png"
wrong 'more than 16 strategies' "$SHARDLAB" view --cluster laptop --compare all,all,all --export "$tmp/x.png"
wrong 'leave out --scene plan' "$SHARDLAB" view --cluster laptop --compare all --scene plan --export "$tmp/x.png"
wrong 'measured run' "$SHARDLAB" view --cluster laptop --predict --export "$tmp/x.png"
wrong 'only a timeline' "$SHARDLAB" view --cluster laptop --trace "$tmp/f.json" --scene collective --export "$tmp/x.png"
wrong 'before it begins' "$SHARDLAB" view --cluster laptop --range 5:3 --export "$tmp/x.png"
"$SHARDLAB" plan --model mlp:sizes=12-8-4 --ranks 2 >"$tmp/p.txt"
wrong 'leave out --plan' "$SHARDLAB" view --cluster laptop --plan "$tmp/p.txt" --compare all --export "$tmp/x.png"
wrong 'leave out --trace' "$SHARDLAB" view --cluster laptop --trace "$tmp/t.json" --compare all --export "$tmp/x.png"
for given in activation-checkpointing=full offload=optimizer comm=mpi loss-scaler=pytorch loss-scale=2 loss-scale-window=5 plan="$tmp/p.txt"; do
	wrong "says --${given%%=*} already" "$SHARDLAB" view --trace "$tmp/t.json" --$given --export "$tmp/x.png"
done
wrong '--step is for plans' "$SHARDLAB" view --trace "$tmp/f.json" --step phase --export "$tmp/x.png"
wrong '--focus is for plans' "$SHARDLAB" view --trace "$tmp/f.json" --focus 0 --export "$tmp/x.png"
wrong 'behind the end, at 1000 ns' "$SHARDLAB" view --trace "$tmp/f.json" --range 1000:2000 --export "$tmp/x.png"
wrong 'behind the end' "$SHARDLAB" view --trace "$tmp/t.json" --range 1000000000000:1000000000001 --export "$tmp/x.png"
wrong 'unknown strategy' "$SHARDLAB" view --cluster laptop --compare ddp,nothing --export "$tmp/x.png"
wrong 'cannot open' "$SHARDLAB" view --trace "$tmp/none.json" --export "$tmp/x.png"
wrong 'cannot read' "$SHARDLAB" view --trace "$tmp" --export "$tmp/x.png"
wrong 'cannot write' "$SHARDLAB" view --cluster laptop --export "$tmp/none/x.png"
wrong '--chart is for pictures' "$SHARDLAB" compare --chart memory
for broken in truncated version million negative; do
	wrong "$broken.json" "$SHARDLAB" view --trace tests/fuzz/corpus/trace/$broken.json --export "$tmp/x.png"
done
exit $errors
