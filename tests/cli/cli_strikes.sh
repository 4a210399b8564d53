#!/bin/bash
# Random strikes: ranks, mpirun and shardlab are killed, stopped and asked to end, while they start, resume, train and save. Each
# time the run ends or goes on, nothing is lost beyond the last checkpoint, and nothing is left behind.
#
#     STRIKES=200 STRIKES_SEED=7 STRIKES_LIMIT=10 tests/cli/cli_strikes.sh     more of them, others, in so many seconds
#
# cores: all
set -euo pipefail
[ -z "${SAN-}" ] || { echo 'under a sanitizer cli_signals.sh and cli_elastic.sh strike runs' && exit 77; }
. "$(dirname "$0")/../support/commands.sh"
. "$(dirname "$0")/../support/strike.sh"
. "$(dirname "$0")/../support/chance.sh"

strikes=${STRIKES:-18} limit=${STRIKES_LIMIT:-60}
RANDOM=${STRIKES_SEED:-1}
export SHARDLAB_COMM_TIMEOUT_S=${SHARDLAB_COMM_TIMEOUT_S:-60} # silence of five seconds is noticed
folder=$TMPDIR/run
gpt=(--model 'gpt:layers=1,width=16,heads=2,context=8' --data tests/golden/text.txt --batch 12 --evaluate no --json)

# pause MOST: up to so many milliseconds.
pause() {
	sleep "$(printf '0.%03d' $((RANDOM % $1)))"
}
# last_step: that was said; 0: none.
last_step() {
	sed -n 's/^{"step": \([0-9]*\),.*/\1/p' "$TMPDIR/out" | tail -n 1 | grep . || echo 0
}
segments() {
	local pid
	for pid in $(ranks); do
		sed -n 's,.* \(/dev/shm/[^ ]*\)$,\1,p' "/proc/$pid/maps" 2>/dev/null || true
	done | sort -u
}
is_over() {
	! kill -0 "$parent" 2>/dev/null
}
# has_gone_on: steps after a restart, or after the strike where it was none to start again for.
has_gone_on() {
	local after=$said
	if [ "$signal" != PAUSE ]; then
		grep -q '^starting again' "$TMPDIR/err" || return 1
		after=$(cat "$TMPDIR/again" 2>/dev/null || steps_said | tee "$TMPDIR/again")
	fi
	[ "$(steps_said)" -gt "$after" ]
}
is_over_or_on() {
	is_over || { [ "$expected" != ends ] && has_gone_on; }
}

# Victim, signal and outcome: the run ends, goes on, starts again, or (where it depends on the moment) either.
cases=('shardlab KILL ends' 'shardlab TERM ends' 'shardlab INT ends' 'shardlab HUP ends' 'shardlab PAUSE on'
	'mpirun KILL again' 'mpirun STOP again' 'mpirun TERM either' 'mpirun PAUSE on'
	'rank KILL again' 'rank KILL again' 'rank STOP again' 'rank SEGV again' 'rank TERM either' 'rank INT either' 'rank PAUSE on')

struck() {
	choose "${cases[@]}"
	read -r whom signal expected <<<"$chosen"
	choose start steps steps
	moment=$chosen
	choose 1 1 5
	every=$chosen
	choose 0 1 1
	restarts=$chosen
	choose 2 2..3
	n=$chosen
	async=() lag=0
	if [ $((i % 2)) = 0 ]; then async=(--checkpoint-async) lag=$every; fi # one may be under way, and the next waits for it
	if [ "$expected" = again ]; then expected=$([ "$restarts" = 0 ] && echo ends || echo on); fi
	name="strike $i: $signal to $whom, $moment, --restarts $restarts --ranks $n --checkpoint-every $every ${async[*]}"
}

begin() {
	local resume=()
	if [ -e "$folder/latest" ]; then resume=(--resume latest); fi
	rm -f "$TMPDIR"/out "$TMPDIR"/err "$TMPDIR"/again
	: >"$TMPDIR/out"
	: >"$TMPDIR/err"
	"${alone[@]}" "$program" train "${gpt[@]}" --ranks "$n" --steps 100000000 --checkpoint "$folder" --checkpoint-every "$every" \
		--restarts "$restarts" "${async[@]}" "${resume[@]}" >"$TMPDIR/out" 2>"$TMPDIR/err" &
	parent=$!
	if [ "$moment" = start ]; then
		pause 1500
	else
		within 120 has_stepped_now || complain "$name: no steps"
		pause 300
	fi
}
has_stepped_now() {
	[ "$(steps_said)" -ge 3 ] || is_over
}

# find_victim: shardlab itself where there is none yet.
find_victim() {
	local all
	victim=$parent
	mapfile -t all < <(ranks)
	[ ${#all[@]} != 0 ] || return 0
	case $whom in
	rank) victim=${all[RANDOM % ${#all[@]}]} ;;
	mpirun) victim=$(parent_of "${all[0]}") ;;
	esac
}
hit() {
	find_victim
	if [ "$victim" = "$parent" ] && [ "$whom" != shardlab ]; then
		expected=either
		if [ "$signal" = STOP ]; then signal=PAUSE; fi
	fi
	said=$(steps_said)
	if [ "$signal" != PAUSE ]; then
		kill "-$signal" "$victim" 2>/dev/null || true
		return
	fi
	kill -STOP "$victim" 2>/dev/null || true
	sleep 1
	kill -CONT "$victim" 2>/dev/null || true
}

# stop: what goes on is asked to end.
stop() {
	kill -INT "$parent" 2>/dev/null || true
	within "$limit" is_over || complain "$name: goes on, and does not end"
}

# look STATUS: at what it said, and at what is there.
look() {
	local stopped said_last
	case $1 in
	# Two lines for each restart and one for the end; a crash is told with all that was said.
	1 | 75) [ "$signal" = SEGV ] || [ "$(wc -l <"$TMPDIR/err")" -le $((1 + 2 * $(grep -c '^starting again' "$TMPDIR/err"))) ] ||
		complain "$name: $(cat "$TMPDIR/err")" ;;
	137) [ "$whom $signal" = 'shardlab KILL' ] || [ "$victim" = "$parent" ] || complain "$name: exit status 137" ;;
	139) [ "$victim" = "$parent" ] || complain "$name: exit status 139" ;;
	*) complain "$name: exit status $1: $(head -n 5 "$TMPDIR/err")" ;;
	esac
	[ ! -e "$folder/latest" ] || "$SHARDLAB" checkpoint verify "$folder" >"$TMPDIR/verify" 2>&1 || complain "$name: $(cat "$TMPDIR/verify")"
	said_last=$(last_step)
	# A step is said before its checkpoint: that of the last one may not have come to be.
	[ "$(latest)" -ge $(((said_last - 1) / every * every - lag)) ] || complain "$name: step $said_last was said, and the checkpoint is of $(latest)"
	[ "$(latest)" -ge "$before" ] || complain "$name: the checkpoint was of $before, and is of $(latest)"
	stopped=$(sed -n 's/^stopped by the user after step \([0-9]*\)$/\1/p' "$TMPDIR/err")
	if [ -n "$stopped" ] && [ "$1" = 75 ]; then
		[ "$(latest)" = "$stopped" ] || complain "$name: stopped after $stopped, and the checkpoint is of $(latest)"
	fi
	if [ "$victim" = "$parent" ] && [ "$signal" = KILL ]; then return; fi
	[ -z "$(find "$folder" -name '*.partial')" ] || complain "$name: left behind: $(ls "$folder")"
}

slowest=0
for ((i = 1; i <= strikes; i++)); do
	struck
	before=$(latest)
	begin
	# A rank that was too slow to be heard on a machine with too much to do: it has started again before it is struck.
	if grep -q '^starting again' "$TMPDIR/err"; then
		stop
		wait "$parent" 2>/dev/null || true
		echo "$name: left out, since a rank was silent before"
		continue
	fi
	shared=$(segments)
	hit
	shared+=" $(segments)"
	at=$(milliseconds) status=0
	within "$limit" is_over_or_on || complain "$name: neither ends nor goes on: $(cat "$TMPDIR/err")"
	if is_over; then
		[ "$expected" != on ] || complain "$name: ends: $(cat "$TMPDIR/err")"
		within "$limit" none_left || complain "$name: left behind: $(processes)"
		took=$(($(milliseconds) - at)) outcome=ended
	else
		took=$(($(milliseconds) - at)) outcome='went on'
		shared+=" $(segments)"
		stop
	fi
	wait "$parent" 2>/dev/null || status=$?
	within "$limit" none_left || complain "$name: left behind: $(processes)"
	for segment in $shared; do
		[ ! -e "$segment" ] || complain "$name: left behind: $segment"
	done
	[ -z "$(find "$TMPDIR" -name 'pid.*')" ] || complain "$name: left behind: $(find "$TMPDIR" -name 'pid.*')"
	look $status
	slowest=$((took > slowest ? took : slowest))
	[ -z "${STRIKES-}" ] || printf '%s ms %s, status %d: %s\n' "$took" "$outcome" "$status" "$name"
done
echo "$strikes strikes, the slowest end after $slowest ms, $errors wrong"
exit $((errors > 0))
