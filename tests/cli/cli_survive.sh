#!/bin/bash
# Strikes at a run, and its end: stopped processes, signals to the ranks, a folder that goes away, a device as target.
# Every case says one line, leaves nothing behind, and takes seconds.
#
# cores: all
set -euo pipefail
[ -z "${SAN-}" ] || { echo 'under a sanitizer cli_signals.sh and cli_elastic.sh strike runs' && exit 77; }
. "$(dirname "$0")/../support/commands.sh"
. "$(dirname "$0")/../support/strike.sh"

# Silence of three seconds is noticed; the communicator waits for 36, and for a message three times as long.
export SHARDLAB_COMM_TIMEOUT_S=36

# segments_of PID...: files of shared memory that they have.
segments_of() {
	local pid
	for pid; do
		sed -n 's,.* \(/dev/shm/[^ ]*\)$,\1,p' "/proc/$pid/maps"
	done | sort -u
}

# strike NAME PATTERN SECONDS 'COMMAND' [OPTION...]: once the run has done some steps, COMMAND strikes it. Within SECONDS it
# ends with status 1, or 75 if it was stopped in order, and one line that has PATTERN.
strike() {
	local name=$1 pattern=$2 seconds=$3 command=$4 status=0 wanted=1 begun
	shift 4
	case $pattern in '^stopped by the user'*) wanted=75 ;; esac
	rm -f "$TMPDIR/out"
	"${alone[@]}" "$program" train --steps 100000000 --json "$@" >"$TMPDIR/out" 2>"$TMPDIR/err" &
	parent=$!
	if ! wait_until has_stepped; then
		complain "$name: did not come to some steps: $(head -n 3 "$TMPDIR/err")"
		kill -KILL "$parent"
		wait_until none_left
		return
	fi
	mapfile -t rank < <(ranks)
	mpirun=$([ ${#rank[@]} = 0 ] || parent_of "${rank[0]}")
	segments=$(segments_of "${rank[@]}")
	[ ${#rank[@]} = 0 ] || [ -n "$segments" ] || complain "$name: its ranks share no memory"
	begun=$SECONDS
	eval "$command"
	wait "$parent" 2>/dev/null || status=$?
	if [ "$status" != $wanted ] || [ "$(wc -l <"$TMPDIR/err")" != 1 ] || ! grep -q "$pattern" "$TMPDIR/err"; then
		complain "$name: exit status $status, wanted $wanted and one line with '$pattern':"
		head -n 5 "$TMPDIR/err"
	fi
	[ $((SECONDS - begun)) -le "$seconds" ] || complain "$name: took $((SECONDS - begun)) s, wanted at most $seconds"
	wait_until none_left || complain "$name: left behind: $(processes)"
	for segment in $segments; do
		[ ! -e "$segment" ] || complain "$name: left behind: $segment"
	done
	[ -z "$(find "$TMPDIR" -name 'pid.*' -o -name '*.partial')" ] ||
		complain "$name: left behind: $(find "$TMPDIR" -name 'pid.*' -o -name '*.partial')"
}

# A machine that is gone: the run has said its last line and mpirun waits, deaf to signals, as does what it started. It
# goes on while others are struck.
mkdir "$TMPDIR/path"
cat >"$TMPDIR/path/mpirun" <<-'END'
	#!/bin/sh
	trap '' TERM HUP
	echo 'fatal: rank 1: the link is down' >&2
	setsid sleep 20 &
	echo $! >"$TMPDIR/deaf"
	exec sleep 20
END
chmod +x "$TMPDIR/path/mpirun"
waits=$TMPDIR/shardlab-that-waits
cp "$program" "$waits"
{
	begun=$SECONDS status=0
	PATH=$TMPDIR/path:$PATH "${alone[@]}" "$waits" train --ranks 2 --steps 2 \
		>"$TMPDIR/gone.out" 2>"$TMPDIR/gone.err" || status=$?
	echo "$status $((SECONDS - begun))" >"$TMPDIR/gone.end"
} &
waiting=$!

pipeline=(--strategy pipeline --model mlp:sizes=784-32-32-10 --accumulate 2)
plain=(--model mlp:sizes=784-32-10 --ranks 3)
text=tests/golden/text.txt
mkdir "$TMPDIR/goes" "$TMPDIR/gone"
strike 'a stage that is stopped' '^fatal: rank [0-2] was stopped for [3-9] s' 12 'kill -STOP "${rank[2]}"' "${pipeline[@]}" --ranks 3
strike 'mpirun that is stopped' '^fatal: mpirun was stopped for' 12 'kill -STOP "$mpirun"' "${plain[@]}"
strike 'mpirun that is killed' '^fatal: mpirun died (Killed); the ranks were ended' 6 'kill -KILL "$mpirun"' --ranks 3 --data "$text" \
	--model gpt:layers=1,width=16,heads=2,context=8 --save "$TMPDIR/killed"
strike 'a rank that is asked to end' '^stopped by the user after step' 8 'kill -TERM "${rank[1]}"' "${plain[@]}"
strike 'a terminal that goes away' '^stopped by the user after step' 8 'kill -HUP "$parent"' "${plain[@]}"
strike 'a folder that goes away' "^fatal: .*cannot write '.*weights.safetensors': " 8 'rm -r "$TMPDIR/goes"; kill -INT "$parent"' \
	"${plain[@]}" --save "$TMPDIR/goes/weights.safetensors"
strike 'a folder that goes away, one rank' "^fatal: .*cannot write '.*trace.json': " 8 \
	'rm -r "$TMPDIR/gone"; kill -INT "$parent"' --model mlp:sizes=784-32-10 --ranks 1 \
	--trace "$TMPDIR/gone/trace.json"

wait "$waiting"
kill -KILL "$(cat "$TMPDIR/deaf")" 2>/dev/null || true
read -r status seconds <"$TMPDIR/gone.end"
if [ "$status" != 1 ] || [ "$(cat "$TMPDIR/gone.err")" != 'fatal: rank 1: the link is down' ] || [ "$seconds" -gt 15 ]; then
	complain "a machine that is gone: exit status $status after $seconds s: $(cat "$TMPDIR/gone.err")"
fi

# A rank that mpirun started for the user ends in order as well, saves, and leaves a checkpoint of that step. All four at once.
theirs=()
for signal in TERM USR1 HUP INT; do
	"${alone[@]}" mpirun --oversubscribe --bind-to none -n 2 "$program" train --model mlp:sizes=784-32-10 --threads 1 \
		--steps 100000000 --json --save "$TMPDIR/$signal.safetensors" --checkpoint "$TMPDIR/$signal.run" >"$TMPDIR/$signal.out" 2>"$TMPDIR/$signal.err" &
	theirs+=($!)
done
for signal in TERM USR1 HUP INT; do
	status=0 parent=${theirs[0]}
	theirs=("${theirs[@]:1}")
	wait_until has_stepped "$TMPDIR/$signal.out" || complain "$signal to a rank of the user's mpirun: no steps"
	for pid in $(ranks); do
		if [ "$(parent_of "$pid")" = "$parent" ]; then victim=$pid; fi
	done
	kill "-$signal" "$victim"
	wait "$parent" || status=$?
	stopped=$(sed -n 's/^stopped by the user after step //p' "$TMPDIR/$signal.err")
	if [ "$status" != 75 ] || [ -z "$stopped" ] || [ ! -s "$TMPDIR/$signal.safetensors" ] ||
		[ "$(cat "$TMPDIR/$signal.run/latest")" != "$(printf 'step-%08d' "$stopped")" ]; then
		complain "$signal to a rank of the user's mpirun: exit status $status, $(ls "$TMPDIR")"
		head -n 5 "$TMPDIR/$signal.err"
	fi
done
wait_until none_left || complain "the user's mpirun left behind: $(processes)"

# What all ranks of the user's mpirun find out one of them says: a wrong option, weights that are ruined, a checkpoint with a flipped bit.
# Each in a folder of its own, or an mpirun that ends could remove the one that another has just made.
said_once() {
	local pattern=$1 status=0
	mkdir "$TMPDIR/own.$BASHPID"
	"${alone[@]}" env TMPDIR="$TMPDIR/own.$BASHPID" mpirun --oversubscribe --bind-to none -n 2 "$program" train --model mlp:sizes=784-32-10 --threads 1 --steps 1000 \
		--json "${@:2}" >"$TMPDIR/$2.out" 2>"$TMPDIR/$2.err" || status=$?
	[ $status != 0 ] && [ "$(grep -c '^fatal: ' "$TMPDIR/$2.err")" = 1 ] && grep -q "^fatal: $pattern" "$TMPDIR/$2.err" ||
		{ echo "$*: exit status $status: $(cat "$TMPDIR/$2.err")" && return 1; }
}
once=()
printf x | dd of="$(echo "$TMPDIR"/TERM.run/"$(cat "$TMPDIR/TERM.run/latest")"/rank-00001.*)" seek=900 bs=1 conv=notrunc status=none
said_once '--clip: ' --clip=-1 & once+=($!)
said_once 'rank 0: step [0-9]*: .*the run diverged' --learning-rate=1000000 & once+=($!)
said_once 'rank [01]: .*rank-00001' --resume latest --checkpoint "$TMPDIR/TERM.run" & once+=($!)
for job in "${once[@]}"; do wait "$job" || errors=$((errors + 1)); done

# What an mpirun of the user's that was killed has left goes with the next start; what a living one has stays.
theirs=() segments=()
for name in killed living; do
	"${alone[@]}" mpirun --oversubscribe --bind-to none -n 2 "$program" train --model mlp:sizes=784-32-10 --threads 1 \
		--steps 100000000 --json >"$TMPDIR/$name.out" 2>"$TMPDIR/err" &
	theirs+=($!)
	wait_until has_stepped "$TMPDIR/$name.out" || complain "a $name mpirun: no steps"
	mapfile -t rank < <(for pid in $(ranks); do [ "$(parent_of "$pid")" != $! ] || echo "$pid"; done)
	segments+=("$(segments_of "${rank[@]}")")
done
kill -KILL "${theirs[0]}"
wait "${theirs[0]}" 2>/dev/null || true
is_gone() {
	[ "$(processes | wc -l)" = 2 ]
}
wait_until is_gone || complain 'a killed mpirun: its ranks stay'
"$program" train --model mlp:sizes=784-32-10 --threads 1 --ranks 2 --steps 1 --json >"$TMPDIR/out" 2>"$TMPDIR/err" || complain "after a killed mpirun: $(cat "$TMPDIR/err")"
for segment in ${segments[0]}; do
	[ ! -e "$segment" ] || complain "a killed mpirun: left behind: $segment"
done
for segment in ${segments[1]}; do
	[ -e "$segment" ] || complain "a living mpirun: its $segment was removed"
done
[ -n "${segments[0]}" ] && [ -n "${segments[1]}" ] || complain 'the ranks of mpirun share no memory'
[ "$(cd "$TMPDIR" && echo ompi.*/pid.*)" = "$(cd "$TMPDIR" && echo ompi.*/pid."${theirs[1]}")" ] ||
	complain "sessions, of which that of ${theirs[1]} lives: $(ls "$TMPDIR"/ompi.*)"
kill -TERM "${rank[0]}"
wait "${theirs[1]}" || true
wait_until none_left || complain "the user's mpirun left behind: $(processes)"

# A folder that the ranks do not share is told before the first step: the same path is another folder to the second rank.
mkdir "$TMPDIR/here" "$TMPDIR/there"
status=0
theirs=(train --model mlp:sizes=784-32-10 --steps 2 --json --save weights.safetensors)
mpirun --oversubscribe --bind-to none -n 1 -wdir "$TMPDIR/here" "$program" "${theirs[@]}" : \
	-n 1 -wdir "$TMPDIR/there" "$program" "${theirs[@]}" >"$TMPDIR/out" 2>"$TMPDIR/err" || status=$?
if [ "$status" != 2 ] || grep -q '"step"' "$TMPDIR/out" || ! grep -q '^fatal: .*weights.safetensors' "$TMPDIR/err" ||
	[ -n "$(ls "$TMPDIR/here" "$TMPDIR/there" | grep weights)" ]; then
	complain "a folder that is not shared: exit status $status, '$(head -n 3 "$TMPDIR/err")'"
fi

# Rank 1 cannot sync its part of the file, so nobody gives it its name.
echo '#include <errno.h>
int fsync(int fd) { (void)fd; errno = EIO; return -1; }' >"$TMPDIR/no_sync.c"
${CC:-cc} -shared -fPIC "$TMPDIR/no_sync.c" -o "$TMPDIR/no_sync.so"
status=0
theirs[-1]=$TMPDIR/synced.safetensors
mpirun --oversubscribe --bind-to none -n 1 "$program" "${theirs[@]}" : \
	-n 1 env LD_PRELOAD="$TMPDIR/no_sync.so" "$program" "${theirs[@]}" >"$TMPDIR/out" 2>"$TMPDIR/err" || status=$?
if [ "$status" = 0 ] || ! grep -q '^fatal: .*cannot be written: Input/output error' "$TMPDIR/err" ||
	[ -n "$(find "$TMPDIR" -name 'synced*')" ]; then
	complain "a part that cannot be synced: exit status $status, '$(head -n 3 "$TMPDIR/err")', $(ls "$TMPDIR")"
fi

# Room for the weights is tried before the first step.
(
	trap '' XFSZ
	ulimit -f 16000 # room for the shared memory of MPI
	status=0
	"$program" train --model mlp:sizes=784-8000-10 --ranks 2 --batch 4 --steps 2 --json --save "$TMPDIR/large.safetensors" \
		>"$TMPDIR/out" 2>"$TMPDIR/err" || status=$?
	if [ "$status" != 2 ] || [ "$(wc -l <"$TMPDIR/err")" != 1 ] || grep -q '"step"' "$TMPDIR/out"; then
		complain "no room: exit status $status, '$(head -n 3 "$TMPDIR/err")', and steps before it: $(wc -l <"$TMPDIR/out")"
	fi
	exit $errors
) || errors=$((errors + 1))
[ -z "$(find "$TMPDIR" -name '*large*')" ] || complain 'no room: a file is left'

# A device is written into: one of this test's own, since root's harm to /dev/null would be everyone's. Others cannot make
# one, nor harm it.
device=/dev/null
if [ "$(id -u)" = 0 ] && mknod "$TMPDIR/null" c 1 3 2>/dev/null && (: >>"$TMPDIR/null") 2>/dev/null; then device=$TMPDIR/null; fi
if [ "$device" != /dev/null ] || [ "$(id -u)" != 0 ]; then
	run device train --model mlp:sizes=784-32-10 --ranks 2 --steps 2 --trace "$device"
	[ -c "$device" ] || complain "$device is no device any more"
fi

exit $((errors > 0))
