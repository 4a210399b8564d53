#!/bin/bash
# shardlab view without a window: every kind of picture, the same bytes from run to run, and what it says when something
# is wrong: no display, no font, a damaged trace, an option that does not fit.
set -euo pipefail
. "$(dirname "$0")/../support/commands.sh"

tmp=${TMPDIR:-/tmp}
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

# ---- what if ----

# The figures after a change are those of `sim` with the same settings; the command line may say them in any order.
small="--model gpt:layers=2,width=64,heads=2,context=32,vocabulary=512"
"$SHARDLAB" view $small --cluster a100-40gb --what-if bucket=64kB,ranks=8,link-bandwidth=5GB --at 3 --describe >"$tmp/out"
"$SHARDLAB" sim $small --cluster a100-40gb:link=5GB --ranks 8 --bucket 64kB --json >"$tmp/sim"
for pair in 'step time:"step_s":1e9' 'exposed:"exposed_s":1e9' 'peak memory:"peak_bytes":1' 'a rank sends:"sent_bytes":1'; do
	IFS=: read -r name key factor <<<"$pair"
	now=$(sed -n "s/^figure   $name: .* → \\([0-9,]*\\) \\(ns\\|B\\)\$/\\1/p" "$tmp/out" | tr -d ,)
	wanted=$(awk -v key="$key:" -v by="$factor" '$1 == key { printf "%.0f", $2 * by; exit }' "$tmp/sim")
	[ -n "$now" ] && [ "$now" = "$wanted" ] || complain "what if: $name is '$now', sim says '$wanted'"
done
grep -q '^what if  ranks: 4 → 8$' "$tmp/out" || complain 'what if does not say what was changed'
view $small --what-if ranks=2 --pair before --at 3 --size 640x360 --export "$tmp/x.png" || complain 'no picture of before and after'
while IFS='|' read -r change says; do
	status=0
	"$SHARDLAB" view $small --what-if "$change" --describe >"$tmp/out" 2>"$tmp/err" || status=$?
	[ $status = 2 ] && grep -q "$says" "$tmp/err" && [ "$(wc -l <"$tmp/err")" = 1 ] && [ ! -s "$tmp/out" ] ||
		complain "--what-if $change: status $status, $(cat "$tmp/err")"
done <<'END'
ranks=0|fatal: --what-if: ranks: '0' is below 1
sequence=99|fatal: --what-if: --sequence
ranks=8,ranks=4|comes twice
ranks|'ranks' is not NAME=VALUE
speed=3|unknown setting 'speed'; known: ranks, model
bucket=1MB,rank=3|unknown setting 'rank' (did you mean ranks?)
=3|'=3' is not NAME=VALUE
bucket=|no characters
link-bandwidth=fast|is not a number of bytes
cluster=laptop,network-bandwidth=1GB|has no 'network'
batch=7|not divisible
END

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

# The last of four stages alone: its number is not its place among those shown.
view --trace tests/fuzz/corpus/trace/part.json --scene timeline --size 480x270 --export "$tmp/x.png" || fail 'a trace of one stage does not open'

# Ranks may use what the trace's cluster has; nothing is said of a cluster that is unknown here.
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

# Measured spans of train stand below its simulation, with dashed frames where the simulation has the same operations: in
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

# ---- text ----

# says FILE WORDS: it has them in a line
says() { grep -qF -- "$2" "$1" || complain "no '$2' in $(basename "$1")"; }
unset DISPLAY WAYLAND_DISPLAY SDL_VIDEODRIVER
view --describe --model mlp:sizes=12-8-4 --strategy zero2 >"$tmp/zero2.txt" || fail '--describe needs a display'
says "$tmp/zero2.txt" 'caption  zero2: gradients are sharded too'
says "$tmp/zero2.txt" 'whole gradients'
says "$tmp/zero2.txt" 'caption  The step is done in'
steps=$(grep -c '^step ' "$tmp/zero2.txt")
view --describe --model mlp:sizes=12-8-4 --strategy zero2 --at $((steps - 1)) >"$tmp/last.txt"
[ "$(tail -n 5 "$tmp/zero2.txt")" = "$(tail -n 5 "$tmp/last.txt")" ] || complain '--describe --at: not the step of --describe'

# Halving-doubling beyond a power of two: who folds into whom, and who gets the result back.
view --describe --collective halving-doubling-all-reduce --ranks 6 >"$tmp/halving.txt"
says "$tmp/halving.txt" '6 ranks are no power of two, so ranks 4 and 5 first hand all they have (48 B) to ranks 0 and 1.'
says "$tmp/halving.txt" 'in pairs, ranks give away half of what they work on (24 B) and add the half that they get.'
says "$tmp/halving.txt" 'ranks 4 and 5 get the finished buffer (48 B) from ranks 0 and 1.'

# Peak, and what a rank sends: as sim says them.
"$SHARDLAB" sim --model mlp:sizes=12-8-4 --strategy zero2 --ranks 4 --cluster laptop >"$tmp/sim.txt"
says "$tmp/last.txt" "at most so far $(sed -n 's/^ *total  *\([0-9.]* [kMG]*B\) .*[0-9.]* [kMG]*B$/\1/p' "$tmp/sim.txt" | head -n 1)"
"$SHARDLAB" sim --model mlp:sizes=12-8-4 --strategy ddp --ranks 4 --cluster laptop --json >"$tmp/sim.json"
sent=$(sed -n 's/.*"sent_bytes": *\([0-9]*\).*/\1/p' "$tmp/sim.json" | head -n 1) # 840: no commas
view --describe --model mlp:sizes=12-8-4 >"$tmp/ddp.txt"
says "$tmp/ddp.txt" "each rank, so far $sent B; closed form"
says "$tmp/ddp.txt" "= $sent B; the step"

# The time of the slowest rank: as sim --json says it.
# us WORD FILE: the time behind a word of the line `spent`
us() { sed -n "s/^spent .* $1 \([0-9.]* [^ ]*\) .*/\1/p" "$2" | awk '{ print $1 * ($2 == "µs" ? 1 : $2 == "ms" ? 1e3 : 1e6) }' | head -n 1; }
for word in compute communication exposed bubble; do
	wanted=$(sed -n "s/.*\"${word}_s\": *\([-0-9.e]*\).*/\1/p" "$tmp/sim.json" | head -n 1)
	awk -v got="$(us "$word" "$tmp/ddp.txt")" -v wanted="$wanted" 'BEGIN { off = got / 1e6 - wanted; exit !(got != "" && off * off <= 1e-6 * wanted * wanted) }' ||
		complain "--describe: $word is $(us "$word" "$tmp/ddp.txt") us, sim says $wanted s"
done

# Recorded traces, other programs' traces, ranks that are not shown, and several strategies.
view --describe --trace "$tmp/real.json" >"$tmp/real.txt"
says "$tmp/real.txt" ', measured at '
view --describe --trace "$tmp/f.json" >"$tmp/foreign.txt"
says "$tmp/foreign.txt" '1 spans, busy for 1.000 µs'
says "$tmp/foreign.txt" 'no span runs on one'
torch=tests/golden/torch_profiler.json
view --describe --trace "$torch" >"$tmp/torch.txt"
says "$tmp/torch.txt" 'gpu      python (GPU 0): compute 250.0 µs (45.5 %), communication 300.0 µs (54.5 %), exposed 200.0 µs (36.4 %), idle 100.0 µs (18.2 %) of 550.0 µs'
says "$tmp/torch.txt" 'exposed  1: 180.0 µs (32.7 % of the time) on python (GPU 1), stream 20: allreduce (ncclDevKernel_AllReduce_Sum_f32_RING_LL), at 320.0 µs, 4.194 MB'
# With nothing computed, all of a collective is exposed.
view --describe --collective ring-all-reduce --ranks 4 --at 0 >"$tmp/alone.txt"
says "$tmp/alone.txt" '(100.0 % of the step) on rank 0: the all-reduce of the buffer'
says "$tmp/torch.txt" '4.194 MB in 200.0 µs: 21.0 GB/s, on the bus 21.0 GB/s'
view --describe --trace "$torch" --measure 200000:400000 >"$tmp/range.txt"
says "$tmp/range.txt" 'range    200.0 µs, from 200.0 µs to 400.0 µs'
says "$tmp/range.txt" 'in it    python (GPU 0): compute 100.0 µs (50.0 %), communication 150.0 µs (75.0 %), exposed 100.0 µs (50.0 %), idle 0.000 µs (0.0 %), carries 2.517 MB, 2 operations'
view --describe --trace "$torch" --range 200000:400000 >"$tmp/same.txt" # without another, what is in sight
cmp -s "$tmp/range.txt" "$tmp/same.txt" || complain '--describe --range: not the range of --measure'
refuse 'ends before it begins' view --trace "$torch" --measure 6:5 --describe
refuse 'is empty' view --trace "$torch" --measure 5:5 --describe
refuse 'is behind the end' view --trace "$torch" --measure 900000:950000 --describe
refuse 'is not FROM:TO' view --trace "$torch" --measure here --describe
says "$tmp/torch.txt" 'counter  python (GPU 0), GPU memory (MiB): allocated: 4 values, 100 to 160'
says "$tmp/torch.txt" 'flows    5'
refuse 'has no spans' view --trace "$torch" --select 0:0 --export "$tmp/x.png"
refuse "'9' is above 1" view --trace "$torch" --select 5:9 --export "$tmp/x.png"
view --describe --model params=1e9 --strategy zero3 --ranks 1024 --at 3 >"$tmp/many.txt"
says "$tmp/many.txt" 'Each of ranks 0–1023 '
says "$tmp/many.txt" 'memory   ranks 0–1023; device '
view --describe --model mlp:sizes=12-8-4 --compare ddp,zero3 --at 4 >"$tmp/beside.txt"
says "$tmp/beside.txt" 'beside   zero3: rank 0 holds '
view --race all-reduce --ranks 8 --bytes 1MB --describe >"$tmp/race.txt"
says "$tmp/race.txt" 'race     all-reduce of 1.000 MB on 8 ranks of laptop, by message'
says "$tmp/race.txt" 'launch + 2 (n − 1) · hop(S/n); all ranks send 2 (n − 1) · S; the busiest rank: 1.750 MB out, 1.750 MB in'
says "$tmp/race.txt" 'halving-doubling'
view --race all-reduce --ranks 8 --bytes 1MB --over ranks --describe >"$tmp/race.txt"
says "$tmp/race.txt" 'ranks    Fastest with 1.000 MB: '
says "$tmp/race.txt" 'at       1024 ranks: star '
for format in png svg pdf; do
	view --race broadcast --ranks 5 --export "$tmp/race.$format" || complain "no race as $format"
	[ -s "$tmp/race.$format" ] || complain "the race as $format is empty"
done
view --describe --model mlp:sizes=12-8-4 --pair zero3 --at 4 >"$tmp/pair.txt"
says "$tmp/pair.txt" 'ddp on 4 ranks beside zero3 on 4 ranks · mlp'
says "$tmp/pair.txt" 'pair     zero3 on 4 ranks: memory now '
says "$tmp/pair.txt" 'pair     difference: memory now '
says "$tmp/pair.txt" 'beside   zero3: '
# Two recorded runs, told apart by their files.
"$SHARDLAB" sim --model mlp:sizes=12-8-4 --ranks 2 --cluster laptop --trace "$tmp/one.json" >/dev/null
"$SHARDLAB" sim --model mlp:sizes=12-8-4 --ranks 4 --cluster laptop --trace "$tmp/two.json" >/dev/null
view --describe --trace "$tmp/one.json" --pair "$tmp/two.json" --at 4 >"$tmp/pair.txt"
says "$tmp/pair.txt" 'one.json beside ddp on 4 ranks'
says "$tmp/pair.txt" 'one.json: memory now '
says "$tmp/pair.txt" 'two.json: memory now '
refuse 'has no steps in which two could go together' view --trace "$tmp/one.json" --pair tests/golden/torch_profiler.json --export "$tmp/x.png"
refuse 'has no steps in which two could go together' view --trace tests/golden/torch_profiler.json --pair "$tmp/one.json" --export "$tmp/x.png"
refuse 'none.json' view --trace "$tmp/one.json" --pair "$tmp/none.json" --export "$tmp/x.png"
refuse 'leave out --export' view --describe --export "$tmp/x.png"

# ---- charts ----

for chart in memory memory-by-ranks traffic-by-ranks time-by-ranks time-by-link; do
	for format in svg png pdf; do
		"$SHARDLAB" compare --model mlp:sizes=12-8-4 --ranks 4 --cluster laptop --chart $chart --export "$tmp/c.$format" >"$tmp/out" ||
			complain "no $chart as $format"
		[ -s "$tmp/c.$format" ] || complain "$chart as $format is empty"
	done
done

for format in svg png pdf; do
	"$SHARDLAB" advise --model mlp:sizes=12-8-4 --ranks 2 --cluster laptop --export "$tmp/a.$format" >"$tmp/out" || complain "no advice as $format"
	[ -s "$tmp/a.$format" ] || complain "advice as $format is empty"
done

# ---- what is wrong ----

refuse 'must end in .svg, .pdf or .png' advise --export "$tmp/a.csv"

refuse '--export' view --cluster laptop
printf '<?xml version="1.0"?><fontconfig/>' >"$tmp/fonts.conf"
FONTCONFIG_FILE=$tmp/fonts.conf refuse 'fonts-dejavu-core' view --export "$tmp/x.png"
refuse 'must end in' view --export "$tmp/x.bmp"
refuse 'there is no display' view
for format in png svg pdf gif html; do # a disk that is full, and nothing half written is left
	(
		trap '' XFSZ
		ulimit -f 4
		"$SHARDLAB" view --cluster laptop --model mlp:sizes=12-8-4 --export "$tmp/full.$format" 2>"$tmp/err"
	) && complain "$format: a full disk is no failure"
	[ "$(wc -l <"$tmp/err")" = 1 ] && grep -q 'cannot write' "$tmp/err" || complain "$format, full disk: $(cat "$tmp/err")"
done
[ -z "$(find "$tmp" -name 'full.*')" ] || complain 'half a picture is left where the disk is full'
! "$SHARDLAB" view --cluster laptop --model mlp:sizes=12-8-4 --describe >/dev/full 2>"$tmp/err" || complain '--describe to a full disk is no failure'
grep -q 'cannot write to standard output' "$tmp/err" || complain "--describe, full disk: $(cat "$tmp/err")"
printf '{"traceEvents":[]}' >"$tmp/empty.json" # a trace that has nothing for any scene
refuse 'nothing to show' view --trace "$tmp/empty.json" --export "$tmp/x.png"
refuse 'the last round of this step' view --cluster laptop --at 100000 --export "$tmp/x.png"
refuse 'WIDTHxHEIGHT' view --size 100 --export "$tmp/x.png"
refuse 'below 64' view --size 10x10 --export "$tmp/x.png"
refuse 'for pictures' view --scale 2
refuse '.pdf files' view --pages all --export "$tmp/x.png"
refuse 'says --ranks already' view --trace "$tmp/t.json" --ranks 3 --export "$tmp/x.png"
refuse 'does not show it' view --cluster laptop --focus 9 --export "$tmp/x.png"
refuse 'is not RANK:OP' view --cluster laptop --select 3 --export "$tmp/x.png"
refuse 'does not show rank 9' view --cluster laptop --select 9:20 --export "$tmp/x.png"
refuse 'is above' view --cluster laptop --select 0:9999 --export "$tmp/x.png"
refuse 'the step ends before that' view --cluster laptop --past 99999 --export "$tmp/x.png"
refuse 'more than 16 strategies' view --cluster laptop --compare all,all,all --export "$tmp/x.png"
refuse 'leave out --scene plan' view --cluster laptop --compare all --scene plan --export "$tmp/x.png"
refuse "unknown strategy 'nothing'" view --cluster laptop --pair nothing --export "$tmp/x.png"
refuse 'a race is written as .png, .svg or .pdf' view --race reduce --export "$tmp/x.gif"
refuse 'at least 2 ranks' view --race all-reduce --ranks 1 --export "$tmp/x.png"
refuse 'not empty' view --race all-reduce --bytes 0 --export "$tmp/x.png"
refuse 'a multiple of 4' view --race all-reduce --bytes 6 --describe
refuse 'at most 1024' view --race all-reduce --ranks 1025 --describe
refuse 'leave out --model' view --race all-reduce --model mlp --describe
refuse 'leave out --scene' view --race all-reduce --scene plan --export "$tmp/x.png"
refuse 'a race is over sizes or ranks' view --race all-reduce --over steps --describe
refuse 'give --race too' view --over ranks --describe
refuse "all-reduce" view --race all-gather --export "$tmp/x.png"
refuse 'it is shown already' view --cluster laptop --strategy zero2 --pair zero2 --export "$tmp/x.png"
refuse 'leave out one of them' view --cluster laptop --pair zero2 --compare all --export "$tmp/x.png"
refuse 'measured run' view --cluster laptop --predict --export "$tmp/x.png"
refuse 'only a timeline' view --cluster laptop --trace "$tmp/f.json" --scene collective --export "$tmp/x.png"
refuse 'before it begins' view --cluster laptop --range 5:3 --export "$tmp/x.png"
"$SHARDLAB" plan --model mlp:sizes=12-8-4 --ranks 2 >"$tmp/p.txt"
refuse 'leave out --plan' view --cluster laptop --plan "$tmp/p.txt" --compare all --export "$tmp/x.png"
refuse 'leave out --plan' view --cluster laptop --plan "$tmp/p.txt" --pair zero2 --export "$tmp/x.png"
refuse 'leave out --trace' view --cluster laptop --trace "$tmp/t.json" --compare all --export "$tmp/x.png"
for given in activation-checkpointing=full offload=optimizer comm=mpi loss-scaler=pytorch loss-scale=2 loss-scale-window=5 plan="$tmp/p.txt"; do
	refuse "says --${given%%=*} already" view --trace "$tmp/t.json" --$given --export "$tmp/x.png"
done
refuse '--step is for plans' view --trace "$tmp/f.json" --step phase --export "$tmp/x.png"
refuse '--focus is for plans' view --trace "$tmp/f.json" --focus 0 --export "$tmp/x.png"
refuse 'behind the end, at 1000 ns' view --trace "$tmp/f.json" --range 1000:2000 --export "$tmp/x.png"
refuse 'behind the end' view --trace "$tmp/t.json" --range 1000000000000:1000000000001 --export "$tmp/x.png"
refuse 'unknown strategy' view --cluster laptop --compare ddp,nothing --export "$tmp/x.png"
refuse 'cannot open' view --trace "$tmp/none.json" --export "$tmp/x.png"
refuse 'cannot read' view --trace "$tmp" --export "$tmp/x.png"
refuse 'cannot write' view --cluster laptop --export "$tmp/none/x.png"
refuse '--chart is for pictures' compare --chart memory
for broken in truncated version million negative; do
	refuse "$broken.json" view --trace tests/fuzz/corpus/trace/$broken.json --export "$tmp/x.png"
done
exit $((errors > 0))
