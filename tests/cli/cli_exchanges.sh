#!/bin/bash
# A rank stops (SIGSTOP) at one of the calls in which ranks wait for each other outside of their steps: in calibrate, and once at
# each call of a run that resumes, saves a checkpoint and the weights, traces and reports, from MPI_Init to MPI_Finalize. mpirun is the
# user's, so nobody looks after the ranks: another one ends the run with a line, once its patience is over.
#
# cores: all
set -euo pipefail
. "$(dirname "$0")/../support/commands.sh"
. "$(dirname "$0")/../support/strike.sh"

[ -z "${SAN-}" ] || { echo 'skipped: a sanitizer wants to be loaded first' && exit 77; }

# STOP_AT: of these calls, counted from 1, or the first of that name. STOP_RANK: whose. Without it each call is said.
cat >"$TMPDIR/stops.c" <<-'END'
	#define _GNU_SOURCE
	#include <dlfcn.h>
	#include <signal.h>
	#include <stdio.h>
	#include <stdlib.h>
	#include <string.h>
	typedef long call(long, long, long, long, long, long, long, long, long, long);
	static void come_to(const char *name)
	{
		static int calls;
		const char *at = getenv("STOP_AT"), *whose = getenv("STOP_RANK"), *rank = getenv("OMPI_COMM_WORLD_RANK");
		calls++;
		if (!at && !strcmp(rank, "0"))
			fprintf(stderr, "call %d %s\n", calls, name);
		if (at && (calls == atoi(at) || !strcmp(at, name)) && !strcmp(rank, whose)) {
			fprintf(stderr, "stops\n");
			raise(SIGSTOP);
		}
	}
	#define STOPS(name) \
		long name(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j) \
		{ \
			come_to(#name); \
			return ((call *)dlsym(RTLD_NEXT, #name))(a, b, c, d, e, f, g, h, i, j); \
		}
	STOPS(MPI_Init_thread) STOPS(MPI_Comm_split_type) STOPS(MPI_Comm_dup) STOPS(MPI_Comm_split) STOPS(MPI_Finalize)
	STOPS(MPI_Iallgather) STOPS(MPI_Ibcast) STOPS(MPI_Igatherv)
	STOPS(MPI_Allreduce) STOPS(MPI_Bcast) STOPS(MPI_Barrier) STOPS(MPI_Allgather) STOPS(MPI_Gather) STOPS(MPI_Gatherv)
END
${CC:-cc} -shared -fPIC "$TMPDIR/stops.c" -o "$TMPDIR/stops.so" -ldl

# under_mpirun RANKS COMMAND…: in a folder of its own, or an mpirun that ends could remove the one that another has just made.
under_mpirun() {
	mkdir -p "$TMPDIR/own.$BASHPID"
	"${alone[@]}" env TMPDIR="$TMPDIR/own.$BASHPID" timeout -s KILL 60 mpirun --oversubscribe --bind-to none -x LD_PRELOAD="$TMPDIR/stops.so" -n "$1" "$program" "${@:2}"
}
small=(--model 'gpt:layers=1,width=16,heads=2,context=8' --data tests/golden/text.txt --batch 4 --json)
whole=(train "${small[@]}" --evaluate no --strategy zero3 --steps)
# resume NAME: each run has files of its own.
resume() {
	rm -rf "$TMPDIR/$1.run"
	cp -r "$TMPDIR/run" "$TMPDIR/$1.run"
	under_mpirun 2 "${whole[@]}" 2 --checkpoint "$TMPDIR/$1.run" --resume latest --save "$TMPDIR/$1.safetensors" --trace "$TMPDIR/$1.json"
}
part() { # groups of ranks
	under_mpirun 4 train "${small[@]}" --evaluate no --steps 1 --strategy hybrid:shard=2
}
look_at() { # whose ranks hear what to do
	under_mpirun 2 validate "${small[@]}" --steps 1 --strategy ddp --cluster laptop
}
measure() { # rank 0 alone at first, while the other hears that it does
	under_mpirun 2 calibrate --quick --threads 1 --output "$TMPDIR/$1.yaml"
}

# stopped NAME KIND CALL FUNCTION: on which rank. A broadcast waits for its root.
stopped() {
	local rank=1 status=0 begun=$SECONDS
	case $4 in *cast) rank=0 ;; esac
	STOP_AT=$3 STOP_RANK=$rank "$2" "$1" >/dev/null 2>"$TMPDIR/$1.said" </dev/null || status=$?
	echo "status $status after $((SECONDS - begun)) s" >>"$TMPDIR/$1.said"
}

# Nobody stops yet.
export SHARDLAB_COMM_TIMEOUT_S=60
under_mpirun 2 "${whole[@]}" 1 --checkpoint "$TMPDIR/run" >/dev/null 2>"$TMPDIR/err" || fail 'no checkpoint'
for kind in resume part look_at; do
	$kind counted >/dev/null 2>"$TMPDIR/err" || [ $kind = look_at ] || fail "$kind: nobody stops, and it fails" # its times may be off
	awk -v kind=$kind '/^call / { print kind, $2, $3 }' "$TMPDIR/err"
done >"$TMPDIR/calls"
# Of the others those calls that they have for themselves.
awk '$1 == "resume" || !seen[$1, $3]++ && ($1 == "part" && $3 == "MPI_Comm_split" || $1 == "look_at" && $3 ~ /dup|bcast/)' \
	"$TMPDIR/calls" >"$TMPDIR/strikes"
echo measure MPI_Ibcast MPI_Ibcast >>"$TMPDIR/strikes"

export SHARDLAB_COMM_TIMEOUT_S=2
running=() names=()
while read -r kind call function; do
	name=$kind.$call.$function
	names+=("$name")
	stopped "$name" "$kind" "$call" "$function" &
	running+=($!)
	sleep 0.15 # or all start at once, and MPI_Init alone takes as long as their patience
done <"$TMPDIR/strikes"
wait "${running[@]}"
# Where there is too much to do, patience may be over before the rank stops. That says nothing of the call: again, alone.
for _ in 1 2 3; do
	for name in "${names[@]}"; do
		if grep -q '^stops' "$TMPDIR/$name.said"; then continue; fi
		IFS=. read -r kind call function <<<"$name"
		stopped "$name" "$kind" "$call" "$function"
	done
done

# What others do between may be the awaited's write to a disk: three times as long.
for name in "${names[@]}"; do
	said=$TMPDIR/$name.said
	grep -q '^stops' "$said" && grep -q '^status [1-9][0-9]\{0,1\} ' "$said" &&
		grep -qE '^fatal: .*: waited (2|6) s for the other ranks' "$said" || complain "$name: $(head -n 5 "$said"; tail -n 1 "$said")"
done
sed -n 's/^fatal: \(rank [0-9]: \)\{0,1\}\(.*\): waited.*/\2/p' "$TMPDIR"/*.said | sort -u >"$TMPDIR/whats"
printf '%s\n' MPI_Finalize MPI_Init calibrating 'hearing what to do' meeting 'opening the communicator' 'parting the ranks' saving \
	'the checkpoint' 'the checksum' 'the report' 'the trace' | cmp -s - "$TMPDIR/whats" ||
	complain "what ranks waited at: $(cat "$TMPDIR/whats")"
wait_until none_left || complain "left behind: $(processes)"
exit $((errors > 0))
