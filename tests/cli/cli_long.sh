#!/bin/bash
# A long run needs no more memory than a short one: losses, times, spans, the log, the picture and checkpoints are kept in
# room that does not grow with the steps. A figure of eight bytes a step would show.
#
# cores: all
set -euo pipefail
. "$(dirname "$0")/../support/commands.sh"

limit=128 # kB between two looks
tiny=(train --model mlp:sizes=784-4-10 --evaluate no --json --log "$TMPDIR/log.csv" --plot "$TMPDIR/plot.svg" --checkpoint "$TMPDIR/run")

# descendants PID: it, and what it started.
descendants() {
	local child
	echo "$1"
	for child in $(pgrep -P "$1"); do descendants "$child"; done
}

# peaks PID...: the most memory that each has had, in kB. A sanitizer keeps what was freed.
peaks() {
	local pid
	for pid; do
		echo "$pid $(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$pid/status" 2>/dev/null || true)"
	done
}

# constant NAME FIRST SECOND STEPS OPTION...: no process has more at step SECOND than at step FIRST.
constant() {
	local name=$1 first=$2 second=$3 steps=$4 process before now pid at_first=() processes line status=0
	shift 4
	rm -rf "$TMPDIR/run" "$TMPDIR/steps"
	mkfifo "$TMPDIR/steps"
	"$SHARDLAB" "${tiny[@]}" --steps "$steps" "$@" >"$TMPDIR/steps" 2>"$TMPDIR/err" &
	pid=$!
	while read -r line; do
		case $line in
		"{\"step\": $first,"*)
			mapfile -t processes < <(descendants $pid)
			mapfile -t at_first < <(peaks "${processes[@]}")
			;;
		"{\"step\": $second,"*)
			for line in "${at_first[@]}"; do
				read -r process before <<<"$line"
				read -r _ now < <(peaks "$process")
				[ -z "$now" ] || [ $((now - before)) -le $limit ] ||
					complain "$name: $before kB at step $first, $now kB at step $second: $(tr '\0' ' ' <"/proc/$process/cmdline" | cut -c 1-60)"
			done
			;;
		esac
	done <"$TMPDIR/steps"
	wait $pid || status=$?
	if [ $status != 0 ] || [ ${#at_first[@]} = 0 ]; then complain "$name: exit status $status: $(head -n 3 "$TMPDIR/err")"; fi
}

if [ -n "${SAN-}" ]; then
	echo 'left out: a sanitizer keeps what was freed'
	exit 0
fi
constant 'one rank' 20000 59000 60000 --checkpoint-every 10000 --checkpoint-async
constant 'two ranks' 1000 2900 3000 --ranks 2 --batch 2 --checkpoint-every 500 --restarts 1
exit $((errors > 0))
