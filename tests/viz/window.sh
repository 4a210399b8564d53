#!/bin/bash
# The window under real keys and mouse: Xvfb is the display, xdotool the hands. Its title says where it stands, so each
# key is followed by what the title must become; screenshots are compared with reference pictures (a few levels a
# channel may differ), and the command that Ctrl+C copies must draw the very picture that S saved.
#
#     UPDATE=1 tests/viz/window.sh      writes the reference pictures anew
#
# cores: all
set -euo pipefail
: "${TMPDIR:=/tmp}"
. "$(dirname "$0")/../support/display.sh"

case ${SAN-} in *address* | *thread*)
	echo "under a sanitizer the window draws too slowly for keys in real time; test_view and cli_view.sh draw the same"
	exit 77
	;;
esac

for tool in Xvfb xdotool xclip import compare; do
	command -v $tool >/dev/null || { echo "$tool is missing: tools/install-dependencies.sh --ci brings it"; exit 77; }
done

tmp=$TMPDIR
golden=$PWD/tests/golden/view
errors=0
fail() {
	echo "$*"
	errors=1
}

window=
finish() {
	[ -z "$window" ] || kill "$window" 2>/dev/null || true
	close_display
}
trap finish EXIT
open_display 1280x720

# open_window ARGUMENTS…: starts it and finds it. MOTION= (empty): messages travel. SIZE=WIDTHxHEIGHT: another size;
# SIZE= (empty): its own.
open_window() {
	local size=${SIZE-1280x720}
	(cd "$tmp" && exec "$SHARDLAB" view ${MOTION---no-motion} ${size:+--size "$size"} "$@") >"$tmp/log" 2>&1 &
	window=$!
	id=
	for _ in $(seq 200); do
		id=$(xdotool search --name '^shardlab' 2>/dev/null | head -n 1 || true)
		[ -z "$id" ] || break
		kill -0 "$window" 2>/dev/null || { cat "$tmp/log"; exit 1; }
		sleep 0.1
	done
	[ -n "$id" ] || { echo 'no window came up'; exit 1; }
	xdotool windowfocus "$id" 2>/dev/null || true
	xdotool mousemove 640 719
}

# expect WORDS: the title comes to end so, within ten seconds (PATIENCE tenths)
expect() {
	local title=
	for _ in $(seq "${PATIENCE:-100}"); do
		title=$(xdotool getwindowname "$id" 2>/dev/null || true)
		case $title in *"$1") return ;; esac
		sleep 0.1
	done
	fail "the title is '$title', wanted '…$1'"
}

key() { xdotool key --delay 20 "$@"; }

# to WORDS KEY...: what the title comes to end so after
to() {
	key "${@:2}"
	expect "$1"
}

# screenshot NAME: equal to its reference but for a few levels in a few pixels
screenshot() {
	local off
	sleep 0.3
	import -window root "$tmp/$1.png"
	if [ -n "${UPDATE-}" ]; then
		cp "$tmp/$1.png" "$golden/$1.png"
		return
	fi
	off=$(compare -metric AE -fuzz 4% "$tmp/$1.png" "$golden/$1.png" null: 2>&1 || true)
	[ "${off%%[ .]*}" -le 400 ] 2>/dev/null || fail "$1 differs from its reference in '$off' pixels"
}

# copied: what Ctrl+C copies, in $tmp/command
copied() {
	echo none | xclip -selection clipboard
	for _ in $(seq 50); do # it may take the clipboard only after it has returned
		[ "$(xclip -o -selection clipboard 2>/dev/null)" != none ] || break
		sleep 0.1
	done
	key ctrl+c
	for _ in $(seq 50); do
		xclip -o -selection clipboard >"$tmp/command" 2>/dev/null || true
		! grep -q '^shardlab view ' "$tmp/command" || return 0
		sleep 0.1
	done
	fail "Ctrl+C copied '$(cat "$tmp/command")'"
}

# says PATTERN / lacks PATTERN: the command that restores the view
says() {
	copied
	grep -q -- "$1" "$tmp/command" || fail "no '$1' in: $(cat "$tmp/command")"
}
lacks() {
	copied
	! grep -q -- "$1" "$tmp/command" || fail "'$1' in: $(cat "$tmp/command")"
}

# round_trip FILE: what S saves as FILE, the copied command draws too
round_trip() {
	local restored
	rm -f "$tmp/$1"
	key s
	for _ in $(seq 50); do
		[ ! -s "$tmp/$1" ] || break
		sleep 0.1
	done
	[ -s "$tmp/$1" ] || { fail "S did not save $1"; return; }
	copied
	restored="\"\$SHARDLAB\" $(sed 's/^shardlab //; s/ --no-motion//' "$tmp/command") --export \"\$tmp/restored.png\""
	eval "$restored" || fail "the copied command fails: $restored"
	cmp -s "$tmp/restored.png" "$tmp/$1" || fail "the copied command draws another picture: $restored"
}

# leave: Ctrl+Q, and the exit status
leave() {
	local status=0
	key ctrl+q
	wait "$window" || status=$?
	window=
	[ $status = 0 ] || fail "it ended with status $status: $(cat "$tmp/log")"
}

# ---- stepping ----

open_window --cluster laptop --scene collective --model mlp:sizes=784-256-10
expect 'ddp · collective · step 0 of 22'
steps=22
for ((i = 1; i <= steps; i++)); do
	key Right
	expect "step $i of $steps"
	[ $i != 11 ] || screenshot collective
done
key Right # stays at the end
expect "step $steps of $steps"
for ((i = steps - 1; i >= 0; i--)); do
	key Left
	expect "step $i of $steps"
	[ $i != 11 ] || screenshot collective # the same picture on the way back
done
to 'step 1 of 22' Next Next Prior
to 'step 22 of 22' End
to 'step 0 of 22' Home
to 'step 12 of 22' g 1 2 Return
key period
expect 'step 12 of 22' # between two steps: the last that was reached
key comma
to 'phase 3 of 5' d # the reduction of gradients is of the backward pass
to 'step 5 of 22' d d
to 'step 16 of 22' shift+Right
to 'step 5 of 22' Home n

# ---- strategies, scenes, the mouse ----

to 'zero3 · collective · step 26 of 44' 6
to 'ddp · collective · step 5 of 22' 3
xdotool mousemove 640 547 click 1 # the bar of phases, in the middle
expect 'step 10 of 22'
xdotool mousemove 640 547 mousedown 1 mousemove 900 547 mousemove 1258 547 mouseup 1 mousemove 640 719
expect 'step 22 of 22'
to 'step 11 of 22' g 1 1 Return
xdotool mousemove 363 21 click 1 mousemove 640 719 # the tab of the timeline
expect 'timeline · step 11 of 22'
screenshot timeline
xdotool mousemove 400 200 keydown ctrl click 4 click 4 click 4 keyup ctrl mousemove 640 719
says '--range='
key z v # fit, and the plan
expect 'plan · step 11 of 22'
screenshot plan
to 'memory · step 11 of 22' v v v
screenshot memory

# ---- saving and restoring ----

key t # dark
round_trip shardlab-ddp-memory-11.png
key t t t # light again

# ---- help, presenter, comparison, playing ----

to 'help' question
screenshot help
to 'step 11 of 22' Escape
to 'presenter' F5
to 'presenter · blank' b
to 'step 11 of 22 · presenter' Right # shows the picture again, and takes no step unseen
to 'presenter · blank' b
to 'step 11 of 22 · presenter' Escape # from the black screen to the presenter
key Escape
expect 'memory · step 11 of 22'
to 'compare · step 11 of 22' c
screenshot compare
to 'memory · step 11 of 22' c c # two of them beside each other, and one again
to 'step 22 of 22 · speed 16' bracketright bracketright bracketright bracketright space
to 'step 22 of 22 · speed 8' bracketleft
to 'memory · step 22 of 22' Escape BackSpace
key Tab Tab Return # the second tab
expect 'collective · step 22 of 22'
key ctrl+plus
says '--text=1\.1'
key ctrl+plus ctrl+minus
says '--text=1\.1'
key ctrl+0
lacks '--text'

# ---- the selection, the rank, the range; by keys and by the mouse ----

key g 9 Return period # a message further than the step
expect 'collective · step 9 of 22'
says '--past=1'
round_trip shardlab-ddp-collective-9.png
key g 1 1 Return v v # the timeline
expect 'timeline · step 11 of 22'
key r Down
says '--focus=1'
says '--select=1:[0-9]'
round_trip shardlab-ddp-timeline-11.png
key plus plus
copied
sed 's/.*--range=\([0-9:]*\).*/\1/' "$tmp/command" >"$tmp/zoomed"
key ctrl+Right
says '--range='
! grep -qF -- "--range=$(cat "$tmp/zoomed") " "$tmp/command" || fail 'Ctrl+Right did not move the range'
key ctrl+Left
says "--range=$(cat "$tmp/zoomed")"
xdotool mousemove 700 200 keydown shift click 5 keyup shift
copied
! grep -qF -- "--range=$(cat "$tmp/zoomed") " "$tmp/command" || fail 'Shift and the wheel did not move the range'
xdotool click 3 # the right button: the whole
lacks '--range'
xdotool mousemove 400 200 mousedown 1 mousemove 500 200 mousemove 600 210 mouseup 1
says '--measure=[1-9]' # a card below the lanes, and no zoom
lacks '--range'
key z # the range
says '--range=[1-9]'
key Escape
lacks '--measure'
key minus minus minus minus minus minus
lacks '--range'
key Escape # nothing is selected
sleep 4.5 # until the notes are gone
import -window root "$tmp/before.png"
xdotool mousemove 330 140 # a span explains itself
sleep 0.5
import -window root "$tmp/hover.png"
off=$(compare -metric AE "$tmp/before.png" "$tmp/hover.png" null: 2>&1 || true)
[ "${off%%[ .]*}" -ge 1000 ] 2>/dev/null || fail "hovering over a span changed '$off' pixels"
key Escape # a key takes the explanation away, since what lies there may change
sleep 0.5
import -window root "$tmp/away.png"
off=$(compare -metric AE "$tmp/before.png" "$tmp/away.png" null: 2>&1 || true)
[ "${off%%[ .]*}" -le 400 ] 2>/dev/null || fail "after a key the explanation is still there: '$off' pixels"
xdotool click --repeat 2 --delay 60 1 # twice: to its beginning
expect 'timeline · step 6 of 22'
says '--select=0:'
xdotool mousemove 640 719
key v Down Down Down Return
says '--select=0:'
round_trip "shardlab-ddp-plan-$(xdotool getwindowname "$id" | sed 's/.*step \([0-9]*\) of.*/\1/').png"
xdotool mousemove 640 300 click 5 click 5
says '--scroll=[1-9]'
key shift+Up
copied
key v Escape # the overview
round_trip "shardlab-ddp-overview-$(xdotool getwindowname "$id" | sed 's/.*step \([0-9]*\) of.*/\1/').png"
key 9 # a strategy that this model is too small for: a line says so, and it stays
expect "ddp · overview · step $(xdotool getwindowname "$id" | sed 's/.*step \([0-9]*\) of.*/\1/') of 22"
to 'of 38' 8
case $(xdotool getwindowname "$id") in *' hybrid '*) ;; *) fail 'key 8 did not open hybrid' ;; esac
to 'of 22' 3 f
sleep 0.5
lacks '--size' # it is the screen's
key F11
sleep 0.5
says '--size='
to 'collective · step 22 of 22' v End

# ---- sizes; nothing is drawn while nothing changes ----

for size in '1000 600' '120 90' '1280 720'; do
	# shellcheck disable=SC2086
	xdotool windowsize --sync "$id" $size
	key Home End
	expect 'step 22 of 22'
done
sleep 5 # until the notes are gone
ticks() { awk '{ print $14 + $15 }' "/proc/$window/stat"; }
before=$(ticks)
sleep 2
[ $(($(ticks) - before)) -le 2 ] || fail "idle, it used $(($(ticks) - before)) ticks of processor time in two seconds"

leave

# ---- moving messages: the next step finishes what moves ----

MOTION='' open_window --cluster laptop --scene collective --model mlp:sizes=784-256-10 --at 10
expect 'step 10 of 22'
key Right Right
sleep 0.7
expect 'step 11 of 22'
to 'step 12 of 22' Right
leave

# ---- groups of ranks: hybrid sharding ----

open_window --cluster laptop --strategy hybrid:shard=2 --scene timeline --model mlp:sizes=784-256-10
to 'hybrid:shard=2 · timeline · step 20 of 38' g 2 0 Return
screenshot hybrid
leave

# ---- full screen, where no window manager sizes windows ----

# wide PIXELS: so wide does the window come to be
wide() {
	local now=
	for _ in $(seq 50); do
		now=$(xdotool getwindowgeometry --shell "$id" | sed -n 's/^WIDTH=//p')
		[ "$now" != "$1" ] || return 0
		sleep 0.1
	done
	fail "the window is $now pixels wide, wanted $1"
}
SIZE=800x450 open_window --cluster laptop --model mlp:sizes=784-256-10
wide 800
key F5
expect 'presenter'
wide 1280
key Escape
wide 800
leave

# ---- on a display that its own size is too large for, with a title bar: nothing of it is outside ----

SIZE='' open_window --cluster laptop --model mlp:sizes=784-256-10
eval "$(xdotool getwindowgeometry --shell "$id" | grep -E '^(X|Y|WIDTH|HEIGHT)=[0-9-]+$')"
[ "$X" -ge 0 ] && [ "$Y" -ge 0 ] && [ $((X + WIDTH)) -le 1280 ] && [ $((Y + HEIGHT)) -le 720 ] && [ "$HEIGHT" -lt 720 ] ||
	fail "the window is $WIDTH x $HEIGHT at $X, $Y on a display of 1280 x 720"
leave

# ---- a measured run, with its simulation above it ----

(cd "$tmp" && "$SHARDLAB" train --ranks 2 --steps 2 --model mlp:sizes=784-256-10 --trace run.json >/dev/null)
open_window --trace "$tmp/run.json" --scene collective
key p
case $(sleep 0.5; xdotool getwindowname "$id") in *' timeline '*) ;; *) fail 'P did not open the timeline' ;; esac
for y in 180 400; do # both of them zoom and pan
	xdotool mousemove 640 $y keydown ctrl click 4 click 4 keyup ctrl
	says '--range='
	xdotool click 3
	lacks '--range'
done
says '--predict'
round_trip shardlab-ddp-timeline-0.png
leave
exit $errors
