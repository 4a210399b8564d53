#!/bin/bash
# Hosts that go during a run over them (tests/hosts/lab): a cable that is pulled, a host that is powered off, one that never
# answered. The run ends in time and says which, or goes on without it.
#
# cores: all
set -euo pipefail
. "$(dirname "$0")/../support/commands.sh"
. "$(dirname "$0")/lab"
. "$(dirname "$0")/over"

# struck NAME PATTERN SECONDS COMMAND…: strikes a run that would not end, which does within SECONDS, with one line.
struck() {
	local name=$1 pattern=$2 seconds=$3 status=0 begun
	shift 3
	lab_on 1 timeout 60 "$SHARDLAB" train "${tiny[@]}" --steps 100000000 --hosts "$TMPDIR/hosts2" \
		>"$TMPDIR/out" 2>"$TMPDIR/err" &
	local run=$!
	until [ "$pattern" = "$unstarted" ] || grep -qs '"step": 3,' "$TMPDIR/out" || ! kill -0 $run 2>/dev/null; do sleep 0.05; done
	begun=$SECONDS
	"$@"
	wait $run || status=$?
	[ $((SECONDS - begun)) -le "$seconds" ] || complain "$name: took $((SECONDS - begun)) s, wanted at most $seconds"
	[ $status = 1 ] && [ "$(grep -c '^fatal: ' "$TMPDIR/err")" = 1 ] && grep -q "^fatal: $pattern" "$TMPDIR/err" ||
		complain "$name: exit status $status, wanted 1 and '$pattern': $(cat "$TMPDIR/err")"
}

# A host that does not answer ends the run within six seconds, though a rank may be silent for ten. One that has never answered, and
# that the network does not know to be gone, is missed after those ten, which are three here.
unstarted='node2 has not answered for [34] s; the run was ended (SHARDLAB_COMM_TIMEOUT_S sets the limit)$'
struck 'a cable that is pulled' 'node2 has not answered for [34] s' 6 lab_unplug 2
lab_plug 2
struck 'packets that are dropped from here on' 'node2 has not answered for [34] s' 6 lab_on 2 ip route add blackhole 10.77.0.1
lab_on 2 ip route delete blackhole 10.77.0.1
struck 'a host that is powered off' 'node2 has not answered for [34] s' 6 lab_power_off 2
lab_on 1 ip neighbour replace 10.77.0.2 lladdr 02:00:00:00:00:02 dev cable nud permanent
SHARDLAB_COMM_TIMEOUT_S=36 struck 'a host that never answered' "$unstarted" 9 true

# With --restarts a run goes on on the hosts that are there.
printf 'node1\nnode3\n' >"$TMPDIR/hosts2"
SHARDLAB_COMM_TIMEOUT_S=36 over alone 2 "${tiny[@]}" --steps 6000 --checkpoint "$TMPDIR/alone" --restarts 1 &
run=$!
until grep -qs '"step": 3,' "$TMPDIR/alone.out" || ! kill -0 $run 2>/dev/null; do sleep 0.05; done
lab_unplug 3
wait $run
grep -q '^starting again on 1 rank without node3 from \(the beginning\|step [0-9]*\): restart 1 of 1$' "$TMPDIR/alone.err" &&
	grep -q '^{"summary".*"ranks": 1,.*"steps": 6000' "$TMPDIR/alone.out" ||
	complain "without a host: $(cat "$TMPDIR/alone.err"; tail -n 1 "$TMPDIR/alone.out" | cut -c 1-300)"
