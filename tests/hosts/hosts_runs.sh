#!/bin/bash
# Runs over hosts made of namespaces (tests/hosts/lab): the bits of one host, checkpoints in a folder that they share, the
# network's rates.
#
# cores: all
set -euo pipefail
. "$(dirname "$0")/../support/commands.sh"
. "$(dirname "$0")/lab"
. "$(dirname "$0")/over"

# figures NAME: what must not depend on where the ranks are.
figures() {
	checksum "$1"
	grep -o '"losses": \[[^]]*\]\|"sent_bytes": [0-9]*' "$TMPDIR/$1.out"
}

# same HOSTS ARGUMENT...: over hosts as on one.
same() {
	local hosts=$1
	shift
	over apart "$hosts" "${tiny[@]}" --steps 4 "$@"
	run one train "${tiny[@]}" --steps 4 --ranks "$hosts" "$@"
	[ -n "$(checksum one)" ] || fail 'no checksum'
	[ "$(figures apart)" = "$(figures one)" ] || complain "$* over $hosts hosts is not what it is on one"
}

same 2 --strategy ddp
same 4 --strategy zero2
same 2 --strategy pipeline

# The messages name the hosts, say how messages go, and that nothing is known of the network. A setting of the user's stays.
[ "$(grep -c . "$TMPDIR/apart.err")" = 2 ] && grep -q '^on 2 hosts; messages of up to 1114112 bytes need no answer' "$TMPDIR/apart.err" &&
	grep -q '^the network between the hosts was not measured, so 1 Gbit/s is assumed' "$TMPDIR/apart.err" ||
	complain "of two hosts is said: $(cat "$TMPDIR/apart.err")"
export OMPI_MCA_btl_tcp_eager_limit=70000
same 2 --strategy zero3 --comm mpi
unset OMPI_MCA_btl_tcp_eager_limit
[ "$(grep -c '^--comm mpi: between hosts' "$TMPDIR/apart.err")" = 1 ] || complain "of --comm mpi is said: $(cat "$TMPDIR/apart.err")"
grep -q 'up to 70000 bytes .*, as it was set' "$TMPDIR/apart.err" || complain "a setting of the user's: $(cat "$TMPDIR/apart.err")"

# A checkpoint of two hosts, and four that go on from it.
run whole train "${tiny[@]}" --ranks 2 --strategy zero2 --steps 8
over half 2 "${tiny[@]}" --strategy zero2 --steps 4 --checkpoint "$TMPDIR/run"
over rest 2 "${tiny[@]}" --strategy zero2 --steps 8 --checkpoint "$TMPDIR/run" --resume latest
[ "$(checksum whole)" = "$(checksum rest)" ] || complain 'resumed over hosts, a run ends with other weights'
over four 4 "${tiny[@]}" --strategy zero3 --steps 12 --checkpoint "$TMPDIR/run" --resume latest
[ -n "$(checksum four)" ] || complain 'four hosts do not go on from a checkpoint of two'

# A folder that is not shared is told before the first step.
status=0
lab_on 1 timeout 60 "$SHARDLAB" train "${tiny[@]}" --steps 4 --hosts "$TMPDIR/hosts2" --save "$lab/own/w.safetensors" >"$TMPDIR/out" 2>"$TMPDIR/err" || status=$?
if [ $status = 0 ] || grep -q '"step"' "$TMPDIR/out" || ! grep -q 'must be on a file system that all ranks share' "$TMPDIR/err"; then
	complain "a folder that is not shared: exit status $status: $(cat "$TMPDIR/err")"
fi

# A host that there is not.
printf 'node1\nnode9\n' >"$TMPDIR/hosts9"
status=0
lab_on 1 timeout 60 "$SHARDLAB" train "${tiny[@]}" --steps 4 --hosts "$TMPDIR/hosts9" >"$TMPDIR/out" 2>"$TMPDIR/err" || status=$?
[ $status = 1 ] && grep -q '^fatal: mpirun started no rank on the hosts: .*node9' "$TMPDIR/err" && [ "$(grep -c '^fatal' "$TMPDIR/err")" = 1 ] ||
	complain "a host that there is not: exit status $status: $(cat "$TMPDIR/err")"

# Rates of the network, measured by ranks that a user's mpirun started; predictions then have them.
lab_on 1 timeout 90 mpirun -n 2 --hostfile "$TMPDIR/hosts2" -x OPENBLAS_NUM_THREADS "$SHARDLAB" calibrate --quick --output "$TMPDIR/rates.yaml" \
	>"$TMPDIR/calibrate.out" 2>"$TMPDIR/err" || complain "calibrate over hosts: $(cat "$TMPDIR/err")"
[ "$(sed -n '/^network:/,/^[^ ]/p' "$TMPDIR/rates.yaml" | grep -c '{measured: ')" = 3 ] || complain "no network in $(cat "$TMPDIR/rates.yaml")"
grep -q '^between hosts, sums' "$TMPDIR/calibrate.out" || complain "calibrate over hosts shows $(cat "$TMPDIR/calibrate.out")"
grep -q '^  together: 2$' "$TMPDIR/rates.yaml" || complain "calibrate did not see that its hosts are one machine: $(head -20 "$TMPDIR/rates.yaml")"
over known 2 "${tiny[@]}" --steps 4 --cluster "$TMPDIR/rates.yaml"
[ "$(grep -c . "$TMPDIR/known.err")" = 1 ] || complain "with a network that was measured is said: $(cat "$TMPDIR/known.err")"

# Prediction and run beside each other, in the ranks of a user's mpirun.
lab_on 1 timeout 90 mpirun -n 2 --hostfile "$TMPDIR/hosts2" -x OPENBLAS_NUM_THREADS "$SHARDLAB" validate --cluster "$TMPDIR/rates.yaml" \
	--model mlp:sizes=784-64-64-10 --batch 8 --strategy zero2 --threads 4 --steps 3 --json >"$TMPDIR/validate.out" 2>"$TMPDIR/err" &&
	grep -q '^  "pass": true' "$TMPDIR/validate.out" || complain "validate over hosts: $(cat "$TMPDIR/err")"
