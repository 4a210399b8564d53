#!/bin/bash
# Every step that a lesson shows opens in a window, in both languages; and a lesson in a terminal opens it at the right
# moment, waits until it is closed, and goes on.
#
# cores: all
set -euo pipefail
. "$(dirname "$0")/../support/commands.sh"
. "$(dirname "$0")/../support/display.sh"

case ${SAN-} in *address* | *thread*)
	echo "under a sanitizer the window draws too slowly; view_page.sh and cli_view.sh draw the same"
	exit 77
	;;
esac
for tool in Xvfb xdotool script; do
	command -v $tool >/dev/null || { echo "$tool is missing: tools/install-dependencies.sh --ci brings it"; exit 77; }
done

teacher=
finish() {
	[ -z "$teacher" ] || kill "$teacher" 2>/dev/null || true
	close_display
}
trap finish EXIT
open_display 1280x800
export XDG_STATE_HOME=$TMPDIR/state XDG_CONFIG_HOME=$TMPDIR XDG_CACHE_HOME=$TMPDIR

# await WORDS: the window whose title ends so, in $id; empty after half a minute.
await() {
	id=
	for _ in $(seq 300); do
		id=$(xdotool search --name "^shardlab.*$1\$" 2>/dev/null | head -n 1 || true)
		[ -z "$id" ] || return 0
		sleep 0.1
	done
}

# The options as they stand in the file: each word of the comment is one. A program that the lesson builds opens where that is
# tested.
directives() {
	sed -n 's/^<!-- view: \(.*\) -->$/\1/p' lessons/[0-9]*.md lessons/zh/[0-9]*.md 2>/dev/null | grep -v '^program=' | sort -u
}

count=0
while read -r line; do
	options=() at=0 also=
	for word in $line; do
		case $word in
		at=*) at=${word#at=} ;;&
		race=*) also='.*race.*' ;;&
		what-if=*) also='.*what if' ;;&
		*=*) options+=("--${word%%=*}" "${word#*=}") ;;
		*) options+=("--$word") ;;
		esac
	done
	count=$((count + 1))
	"$SHARDLAB" view --no-motion "${options[@]}" >"$TMPDIR/log" 2>&1 &
	window=$!
	await "step $at of [0-9]*$also"
	if [ -z "$id" ]; then
		complain "view $line: no window at step $at: $(xdotool search --name '^shardlab' getwindowname 2>/dev/null) $(cat "$TMPDIR/log")"
		kill "$window" 2>/dev/null || true
	else
		xdotool windowfocus "$id" key ctrl+q
	fi
	status=0
	wait "$window" || status=$?
	[ "$status" = 0 ] || [ -z "$id" ] || complain "view $line: exit status $status"
	[ ! -s "$TMPDIR/log" ] || complain "view $line says: $(cat "$TMPDIR/log")"
done < <(directives)
[ "$count" -ge "$(cat lessons/[0-9]*.md | grep '^<!-- view: ' | grep -cv program=)" ] || complain "only $count steps were opened"

# The lesson waits at its picture until the window is closed.
mkfifo "$TMPDIR/typed"
script -qec "$SHARDLAB lesson 3" /dev/null <"$TMPDIR/typed" >"$TMPDIR/told" 2>&1 &
teacher=$!
exec 4>"$TMPDIR/typed"
told() {
	for _ in $(seq 600); do
		! grep -qF "$1" "$TMPDIR/told" || return 0
		sleep 0.1
	done
	complain "the lesson does not say '$1'"
	return 1
}
for _ in $(seq 30); do
	if grep -qF 'The window is open' "$TMPDIR/told"; then break; fi
	printf '\n' >&4
	sleep 0.3
done
if told 'The window is open'; then
	await 'step 4 of [0-9]*'
	[ -n "$id" ] || complain 'the lesson opens no window'
	! grep -q 'Second half' "$TMPDIR/told" || complain 'the lesson does not wait for the window'
	[ -z "$id" ] || xdotool windowfocus "$id" key ctrl+q
	for _ in 1 2 3; do
		printf '\n' >&4
		sleep 0.3
	done
	told 'Second half' || true
fi
exec 4>&-

exit $((errors > 0))
