#!/bin/bash
# Random strikes at runs over hosts made of namespaces (tests/hosts/lab): cables are pulled, hosts powered off, ranks, daemons,
# mpirun and shardlab killed and stopped, while a run starts, resumes, trains and saves. Each time it ends or goes on in time,
# nothing is lost beyond the last checkpoint, and nothing is left behind on a host that there still is.
#
#     STRIKES=80 STRIKES_SEED=7 STRIKES_LIMIT=10 tests/hosts/hosts_strikes.sh     more of them, others, in so many seconds
#     STRIKES_CASE='power off' STRIKES_MOMENT=start …                             only these
#
# cores: all
set -euo pipefail
. "$(dirname "$0")/../support/commands.sh"
. "$(dirname "$0")/../support/chance.sh"
. "$(dirname "$0")/lab"

[ -z "${SAN-}" ] || { echo 'skipped: mpirun'\''s agent starts programs without the environment that a sanitizer needs'; exit 77; }
why=$(lab_missing)
[ -z "$why" ] || { echo "skipped: $why"; exit 77; }
trap 'status=$?; lab_down; [ $status != 0 ] || [ "$errors" = 0 ] || exit 1' EXIT

strikes=${STRIKES:-2} limit=${STRIKES_LIMIT:-60}
RANDOM=${STRIKES_SEED:-3}
export SHARDLAB_COMM_TIMEOUT_S=${SHARDLAB_COMM_TIMEOUT_S:-36} # silence of three seconds is noticed
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
folder=$TMPDIR/run
tiny=(--model 'gpt:layers=1,width=16,heads=2,context=8' --data tests/golden/text.txt --batch 12 --evaluate no --json)

is_over() { ! kill -0 "$parent" 2>/dev/null; }
has_gone_on() { [ "$(steps_said)" -gt "$1" ]; }
has_begun() { [ "$(steps_said)" -ge 3 ] || is_over; }
makes_steps() { is_over || has_gone_on "$said"; }
goes_on_or_is_over() { is_over || { grep -q '^starting again' "$TMPDIR/err" && has_gone_on "$((said + 1))"; }; }

# processes HOST [NAME]: of that host, but for the one that keeps it.
processes() {
	local net
	net=$(readlink "/proc/$(lab_pid "$1")/ns/net")
	for p in /proc/[0-9]*; do
		[ "$(readlink "$p/ns/net" 2>/dev/null)" = "$net" ] || continue
		{ read -r comm <"$p/comm"; } 2>/dev/null || continue
		if [[ $comm != sleep && $comm == "${2-*}" ]]; then echo "${p#/proc/}"; fi
	done
}
# launcher: the shardlab that lab_on started.
launcher() {
	local pid
	for pid in $(processes 1 shardlab); do
		if [ "$(cat "/proc/$(awk '{ print $4 }' "/proc/$pid/stat")/comm")" = nsenter ]; then echo "$pid"; fi
	done 2>/dev/null
}
none_left() { [ -z "$(processes 1)$(processes 2)" ]; }

# The victim and the signal. Ranks are shardlab on either host; node1 also has the launcher.
cases=('cable out' 'cable out' 'cable shakes' 'power off' 'power off' 'rank KILL' 'rank STOP' 'daemon KILL' 'mpirun KILL' 'mpirun STOP'
	'launcher KILL' 'launcher TERM')

[ -z "${STRIKES_CASE-}" ] || cases=("$STRIKES_CASE")

find_victim() {
	local all
	case $1 in
	rank) mapfile -t all < <(processes 2 shardlab) ;;
	daemon) mapfile -t all < <(processes 2 orted) ;;
	mpirun) mapfile -t all < <(processes 1 mpirun) ;;
	launcher) mapfile -t all < <(launcher) ;;
	esac
	victim=${all[0]-}
}

# hit: when is in `at`.
hit() {
	at=$(milliseconds)
	case $* in
	'cable out') lab_unplug 2 ;;
	'cable shakes') lab_unplug 2 && sleep 1 && lab_plug 2 ;;
	'power off') lab_power_off 2 ;;
	*)
		find_victim "$1" # which takes a second on a busy machine
		at=$(milliseconds)
		[ -z "$victim" ] || kill "-$2" "$victim" 2>/dev/null || victim=
		;;
	esac
}

# mend: the hosts are there again, and nothing of the run is on them. Whom nobody can reach ends by its own patience.
mend() {
	if [ "$struck" = 'power off' ]; then
		lab_down
		lab_up 2
		export OMPI_MCA_plm_rsh_agent=$lab/agent
	fi
	lab_plug 2
	within $((SHARDLAB_COMM_TIMEOUT_S + limit)) none_left || complain "$name: left behind: $(ps -o pid,args -p "$(processes 1) $(processes 2)")"
}

# note_times: when each line of the run's stderr came, as "MILLISECONDS LINE".
note_times() {
	local line
	tail -n +1 -s 0.1 -f --pid="$parent" "$TMPDIR/err" | while IFS= read -r line; do echo "$(milliseconds) $line"; done >"$TMPDIR/times"
}
# time_line: what was said after the strike, and how many milliseconds after it.
time_line() {
	awk -v at="$at" '$1 >= at { t = $1 - at; $1 = ""; printf "\t%6d ms:%s\n", t, $0 }' "$TMPDIR/times"
}

begin() {
	local resume=()
	if [ -e "$folder/latest" ]; then resume=(--resume latest); fi
	: >"$TMPDIR/out"
	: >"$TMPDIR/err"
	lab_on 1 "$SHARDLAB" train "${tiny[@]}" --hosts "$lab/hosts" --steps 100000000 --checkpoint "$folder" --checkpoint-every "$every" \
		--restarts "$restarts" "${resume[@]}" >"$TMPDIR/out" 2>"$TMPDIR/err" &
	parent=$!
	note_times &
	noting=$!
	if [ "$moment" = start ]; then
		sleep "$(printf '0.%03d' $((RANDOM % 900)))"
	else
		within 120 has_begun || complain "$name: no steps: $(cat "$TMPDIR/err")"
		sleep "$(printf '0.%03d' $((RANDOM % 300)))"
	fi
}

look() {
	local said_last
	if [ -e "$folder/latest" ]; then
		"$SHARDLAB" checkpoint verify "$folder" >"$TMPDIR/verify" 2>&1 || complain "$name: $(cat "$TMPDIR/verify")"
	fi
	said_last=$(sed -n 's/^{"step": \([0-9]*\),.*/\1/p' "$TMPDIR/out" | tail -n 1 | grep . || echo 0)
	[ "$(latest)" -ge $(((said_last - 1) / every * every)) ] || complain "$name: step $said_last was said, and the checkpoint is of $(latest)"
	[ "$(latest)" -ge "$before" ] || complain "$name: the checkpoint was of $before, and is of $(latest)"
}

lab_up 2
export OMPI_MCA_plm_rsh_agent=$lab/agent
slowest=0
for ((i = 1; i <= strikes; i++)); do
	choose "${cases[@]}"
	struck=$chosen
	choose start steps steps
	moment=${STRIKES_MOMENT:-$chosen}
	choose 1 1 5
	every=$chosen
	choose 0 1
	restarts=$chosen
	name="strike $i: $struck, $moment, --restarts $restarts --checkpoint-every $every"
	before=$(latest)
	begin
	said=$(steps_said) outcome=ended
	# A host that is gone is tried again, and takes as long again to be found missing.
	victim=none patience=$([ "$struck" = 'power off' ] && echo $((limit * (1 + restarts))) || echo "$limit")
	# shellcheck disable=SC2086
	hit $struck
	if [ -z "$victim" ] || [ "$struck" = 'cable shakes' ]; then # nobody was there yet, or nobody was silent for too long
		name+=' (nothing lost)' said=$(steps_said)
		within "$limit" makes_steps || complain "$name: neither ends nor makes steps: $(cat "$TMPDIR/err")"
	else
		within "$patience" goes_on_or_is_over || complain "$name: neither ends nor goes on: $(cat "$TMPDIR/err")"
	fi
	took=$(($(milliseconds) - at)) status=0
	if ! is_over; then
		outcome='went on'
		[ "$struck" = 'power off' ] || lab_plug 2
		kill -INT "$(launcher)" 2>/dev/null || true
		within "$limit" is_over || complain "$name: goes on, and does not end"
	fi
	wait "$parent" 2>/dev/null || status=$?
	wait "$noting"
	mend
	look
	slowest=$((took > slowest ? took : slowest))
	[ "$strikes" -lt 20 ] || printf '%s ms %s, status %d: %s\n' "$took" "$outcome" "$status" "$name"
	[ "$strikes" -lt 20 ] || time_line
done
echo "$strikes strikes, the slowest end after $slowest ms, $errors wrong"
exit $((errors > 0))
