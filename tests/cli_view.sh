#!/bin/bash
# shardlab view without a window: every kind of picture, the same bytes from run to run, and what it says when something
# is wrong: no display, no font, a damaged trace, an option that does not fit.
set -euo pipefail
. "$(dirname "$0")/support/commands.sh"

tmp=${TMPDIR:-/tmp}
errors=0
complain() {
	echo "$*"
	errors=1
}
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
for scene in overview ring memory timeline plan; do
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
wrong 'more than 16 strategies' "$SHARDLAB" view --cluster laptop --beside all,all,all --export "$tmp/x.png"
wrong 'measured run' "$SHARDLAB" view --cluster laptop --predict --export "$tmp/x.png"
wrong 'only a timeline' "$SHARDLAB" view --cluster laptop --trace "$tmp/f.json" --scene ring --export "$tmp/x.png"
wrong 'before it begins' "$SHARDLAB" view --cluster laptop --range 5:3 --export "$tmp/x.png"
wrong 'unknown strategy' "$SHARDLAB" view --cluster laptop --beside ddp,nothing --export "$tmp/x.png"
wrong 'cannot open' "$SHARDLAB" view --trace "$tmp/none.json" --export "$tmp/x.png"
wrong 'cannot read' "$SHARDLAB" view --trace "$tmp" --export "$tmp/x.png"
wrong 'cannot write' "$SHARDLAB" view --cluster laptop --export "$tmp/none/x.png"
wrong '--chart is for pictures' "$SHARDLAB" compare --chart memory
for broken in truncated version million negative; do
	wrong "$broken.json" "$SHARDLAB" view --trace tests/fuzz/corpus/trace/$broken.json --export "$tmp/x.png"
done
exit $errors
