#!/bin/bash
# Hosts of namespaces (tests/hosts/lab), whose cables are slow: how near the ring comes to what they can do, with and without
# what shardlab sets, and how far predictions are off that rest on rates measured there. HOSTS_RATE: 200mbit.
set -euo pipefail
. "$(dirname "$0")/../hosts/lab"

why=$(lab_missing)
[ -z "$why" ] || { echo "$why: not measured"; exit 0; }
trap lab_down EXIT
unset OPENBLAS_CORETYPE
export OPENBLAS_NUM_THREADS=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
rate=${HOSTS_RATE:-200mbit}
mib=64

# ring HOSTS REPEATS [OPTION…]: the milliseconds of an all-reduce, the median.
ring() {
	local hosts=$1 repeats=$2
	shift 2
	lab_on 1 mpirun -n "$hosts" --hostfile "$lab/hosts" --bind-to none "$@" \
		"$(dirname "$SHARDLAB")/tests/bench/bench_all_reduce" $mib "$repeats" huge 'ring, spinning' 2>/dev/null | awk '/^ring/ { print $3 }'
}

# with HOSTS RATE LIMIT REPEATS
with() {
	lab_up "$1" "$2"
	export OMPI_MCA_plm_rsh_agent=$lab/agent
	local open closed
	open=$(ring "$1" "$4")
	closed=$(ring "$1" "$4" --mca btl_tcp_eager_limit 65536)
	awk -v hosts="$1" -v rate="${2:-none}" -v limit="$3" -v open="$open" -v closed="$closed" -v mib=$mib 'BEGIN {
		least = limit ? 2 * (hosts - 1) / hosts * mib * 1048576 * 8 / limit * 1e3 : 0
		printf "ring all-reduce of %d MiB, %d hosts, limit %s: %.0f ms; as Open MPI has it %.0f ms", mib, hosts, rate, open, closed
		if (least) printf "; the cable %.0f ms: %.2f of it", least, open / least
		print ""
	}'
}

bits=$(sed 's/mbit$/e6/; s/gbit$/e9/' <<<"$rate")
for hosts in 2 4; do
	with $hosts "$rate" "$bits" 3
	export SHARDLAB_CONFIG=$lab/own.yaml
	lab_on 1 "$SHARDLAB" calibrate --quick --hosts "$lab/hosts" >/dev/null 2>&1
	for model in mlp gpt; do
		lab_on 1 "$SHARDLAB" validate --model $model --strategy ddp,zero3,pipeline --steps 8 --hosts "$lab/hosts" --cluster "$SHARDLAB_CONFIG" 2>/dev/null |
			sed -n "/predicted.*measured.*error/s/^strategy/$model    /p; /^\(ddp\|zero3\|pipeline\)  *[0-9]/p"
	done
	lab_down
	with $hosts '' 0 15
	lab_down
done
