#!/bin/bash
# Runs that end before their time: Ctrl+C, a rank that is killed, a parent that is killed. One line says what happened,
# the exit status is 1 or, after a stop in order, 75, and no process is left.
#
# cores: all
set -uo pipefail
. "$(dirname "$0")/../support/commands.sh"
. "$(dirname "$0")/../support/strike.sh"

# SHORT is no signal: the file that the process has in the folder loses its end, again and again, as writes give it back.
strike() {
	local file i
	if [ "$1" != SHORT ]; then
		kill "-$1" "$2"
		return
	fi
	file=$(find "/proc/$2/fd" -lname '*/shardlab.*' | head -n 1)
	for ((i = 0; i < 1000; i++)); do
		truncate -s 0 "$file" 2>/dev/null || return
	done
}

# end NAME PATTERN RANKS WHOM SIGNAL [OPTION...]: starts a run, sends the signal after three steps, looks at how it ends.
end() {
	local name=$1 pattern=$2 n=$3 whom=$4 signal=$5 status=0 wanted=1 parent victim
	shift 5
	case $pattern in 'stopped by the user'*) wanted=75 ;; esac
	local model=mlp:sizes=784-32-10
	case " $* " in *' --model '*) model= ;; esac
	rm -f "$TMPDIR/out"
	"${alone[@]}" "$program" train ${model:+--model "$model"} --ranks "$n" --steps 100000000 --json "$@" \
		>"$TMPDIR/out" 2>"$TMPDIR/err" &
	parent=$!
	if ! wait_until has_stepped; then
		echo "$name: did not come to three steps"
		errors=$((errors + 1))
		kill -KILL "$parent"
		wait_until none_left
		return
	fi
	victim=$parent
	[ "$whom" = rank ] && victim=$(ranks | tail -n 1)
	[ -n "$victim" ] || { complain "$name: no rank to be found" && kill -KILL "$parent"; }
	[ -z "$victim" ] || strike "$signal" "$victim"
	wait "$parent" 2>/dev/null || status=$?
	if [ "$whom" = parent ] && [ "$signal" = KILL ]; then
		[ "$status" = 137 ] || echo "$name: exit status $status"
	elif [ "$status" != $wanted ] || [ "$(wc -l <"$TMPDIR/err")" != 1 ] || ! grep -q "$pattern" "$TMPDIR/err"; then
		echo "$name: exit status $status, wanted $wanted and one line with '$pattern':"
		head -n 5 "$TMPDIR/err"
		errors=$((errors + 1))
	fi
	if ! wait_until none_left; then
		echo "$name: left behind: $(processes)"
		errors=$((errors + 1))
	fi
}

end 'Ctrl+C, one rank' 'stopped by the user' 1 parent INT
end 'Ctrl+C' 'stopped by the user after step' 3 parent INT
tail -n 1 "$TMPDIR/out" | grep -q '^{"summary"' || { echo 'Ctrl+C: no summary' && errors=$((errors + 1)); }
end 'TERM' 'stopped by the user after step' 2 parent TERM
end 'USR2, one rank' 'stopped by the user after step' 1 parent USR2
end 'a rank that is killed' '^fatal: rank 2 died (Killed)' 3 rank KILL
end 'a stage that is killed' '^fatal: rank 2 died (Killed)' 3 rank KILL --strategy pipeline --accumulate 3 \
	--model mlp:sizes=784-32-32-10
end 'a replica that is killed' '^fatal: rank 3 died (Killed)' 4 rank KILL --strategy hybrid:shard=2
end 'a parent that is killed' '' 3 parent KILL

# The first fsync of each rank takes three seconds.
slow=
if [ -z "${SAN-}" ]; then # a sanitizer wants to be loaded first
	cat >"$TMPDIR/disk.c" <<-'END'
		#define _GNU_SOURCE
		#include <sys/syscall.h>
		#include <unistd.h>
		int fsync(int fd)
		{
			static int once;
			if (!once++)
				sleep(3);
			return (int)syscall(SYS_fsync, fd);
		}
	END
	${CC:-cc} -shared -fPIC "$TMPDIR/disk.c" -o "$TMPDIR/disk.so"
	slow=$TMPDIR/disk.so
fi

# A signal to mpirun alone, or to all: mpirun would give its ranks a second, and is deaf to it. No run that somebody asked to
# end starts again.
ask_mpirun() {
	local signal=$1 status=0 mpirun
	rm -f "$TMPDIR/out"
	LD_PRELOAD=${slow:-} "${alone[@]}" "$program" train --model mlp:sizes=784-32-10 --ranks 2 --steps 100000000 --json --restarts 2 \
		--checkpoint "$TMPDIR/asked.$signal.$2" --checkpoint-every 100000000 >"$TMPDIR/out" 2>"$TMPDIR/err" &
	parent=$!
	wait_until has_stepped || complain "$signal to $2: no steps"
	mpirun=$(parent_of "$(ranks | tail -n 1)")
	# shellcheck disable=SC2046
	case $2 in
	mpirun) kill -"$signal" "$mpirun" ;;
	all) kill -"$signal" "$parent" "$mpirun" $(ranks) ;;
	esac
	wait "$parent" 2>/dev/null || status=$?
	[ $status = 75 ] && grep -q '^stopped by the user after step' "$TMPDIR/err" && [ -e "$TMPDIR/asked.$signal.$2/latest" ] &&
		[ "$(wc -l <"$TMPDIR/err")" = 1 ] || complain "$signal to $2: exit status $status, $(cat "$TMPDIR/err")"
	wait_until none_left || complain "$signal to $2: left behind: $(processes)"
}
ask_mpirun TERM mpirun
ask_mpirun INT mpirun
ask_mpirun TERM all
ask_mpirun HUP mpirun

# Offload to disk leaves no file, however the run ends.
folder=$TMPDIR/offloaded
mkdir "$folder"
disk=(--strategy zero2 --offload optimizer:to=disk --offload-folder "$folder")
end 'Ctrl+C, with files' 'stopped by the user after step' 2 parent INT "${disk[@]}"
end 'a rank that is killed, with files' '^fatal: rank 1 died (Killed)' 2 rank KILL "${disk[@]}"
end 'a disk that fails' '^fatal: rank 1: step [0-9]*: --offload-folder: cannot read in .*: the file ends' 2 rank SHORT \
	"${disk[@]}"
if [ -n "$(ls -A "$folder")" ]; then
	echo "left in the folder: $(ls -A "$folder")"
	errors=$((errors + 1))
fi

# A reader that ends, such as head, ends no training: the weights are those of a run that was read to its end.
unread() {
	local name="a reader that ends: train $*" status
	"$program" train --model mlp:sizes=784-32-10 --steps 300 --evaluate no --save "$TMPDIR/read.safetensors" "$@" \
		>"$TMPDIR/out" 2>&1 || complain "$name: fails when it is read"
	rm -f "$TMPDIR/unread.safetensors"
	"$program" train --model mlp:sizes=784-32-10 --steps 300 --evaluate no --save "$TMPDIR/unread.safetensors" "$@" 2>"$TMPDIR/err" |
		head -n 1 >"$TMPDIR/out"
	status=${PIPESTATUS[0]}
	[ "$status" = 0 ] && [ ! -s "$TMPDIR/err" ] && [ "$(wc -l <"$TMPDIR/out")" = 1 ] ||
		complain "$name: exit status $status, $(head -n 1 "$TMPDIR/err")"
	cmp "$TMPDIR/read.safetensors" "$TMPDIR/unread.safetensors" || complain "$name: other weights"
}
unread --strategy single --ranks 1
unread --strategy single --ranks 1 --json
unread --ranks 2
unread --ranks 2 --json
# A disk that is full is a failure as before.
status=0
"$program" train --model mlp:sizes=784-32-10 --strategy single --steps 2 >/dev/full 2>"$TMPDIR/err" || status=$?
[ "$status" = 1 ] && grep -q '^fatal: cannot write to standard output$' "$TMPDIR/err" ||
	complain "a full disk: exit status $status, $(head -n 1 "$TMPDIR/err")"

# A calibration has nothing to finish: it ends where it is, long before what it measures (50 seconds at least), and
# leaves the file that was there as it was.
file=$TMPDIR/measured.yaml
measures() {
	[ "$(ranks | wc -l)" = 2 ]
}
for signal in INT TERM; do
	echo before >"$file"
	status=0
	"${alone[@]}" "$program" calibrate --ranks 2 --output "$file" >"$TMPDIR/out" 2>"$TMPDIR/err" &
	parent=$!
	wait_until measures || { echo 'calibrate: no ranks' && errors=$((errors + 1)); }
	begun=$SECONDS
	kill "-$signal" "$parent"
	wait "$parent" 2>/dev/null || status=$?
	if [ "$status" != 1 ] || [ "$(cat "$TMPDIR/err")" != 'stopped by the user' ] || [ -s "$TMPDIR/out" ] ||
		[ $((SECONDS - begun)) -gt 20 ]; then
		echo "calibrate, $signal: exit status $status after $((SECONDS - begun)) s, wanted 1 at once, and one line:"
		head -n 5 "$TMPDIR/err" "$TMPDIR/out"
		errors=$((errors + 1))
	fi
	if [ "$(cat "$file")" != before ] || [ "$(find "$TMPDIR" -name 'measured.yaml*' | wc -l)" != 1 ]; then
		echo "calibrate, $signal: $(find "$TMPDIR" -name 'measured.yaml*'): $(head -n 1 "$file")"
		errors=$((errors + 1))
	fi
	if ! wait_until none_left; then
		echo "calibrate, $signal: left behind: $(processes)"
		errors=$((errors + 1))
	fi
done
