#!/bin/bash
# Runs that start again: a rank that is lost, in what ways, on how many ranks they go on, from where; and what is no reason to.
#
# cores: all
set -euo pipefail
. "$(dirname "$0")/../support/commands.sh"
. "$(dirname "$0")/../support/strike.sh"

tiny=(--model mlp:sizes=784-32-10 --evaluate no --json)
folder=$TMPDIR/run

# lost NAME 'COMMAND' STEPS [OPTION...]: COMMAND strikes a run of two ranks that has a checkpoint, which then goes on to its
# end. `said` is what it said of that. On a fast machine more steps are needed.
lost() {
	local name=$1 command=$2 steps=$3 status=0 parent
	shift 3
	rm -rf "$folder" "$TMPDIR/out" "$TMPDIR/hangs"
	"${alone[@]}" "$program" train "${tiny[@]}" --ranks 2 --steps "$steps" --checkpoint "$folder" --checkpoint-every 10 --restarts 2 "$@" \
		>"$TMPDIR/out" 2>"$TMPDIR/err" &
	parent=$!
	wait_until test -e "$folder/latest" || complain "$name: no checkpoint"
	mapfile -t rank < <(ranks)
	# shellcheck disable=SC2034 # for COMMAND
	mpirun=$([ ${#rank[@]} = 0 ] || parent_of "${rank[0]}" || true)
	# One that has ended since then cannot be struck: the run is tried with more steps.
	if [ ${#rank[@]} = 2 ]; then eval "$command" 2>/dev/null || true; fi
	wait "$parent" || status=$?
	said=$(cat "$TMPDIR/err")
	if { [ "$status" = 0 ] && [ -z "$said" ]; } || [[ $said == *'; all steps were done, and '*step-* ]]; then
		[ "$steps" -lt 100000 ] || complain "$name: it ends before it is struck"
		lost "$name" "$command" $((steps * 4)) "$@"
		return
	fi
	[ "$status" = 0 ] || complain "$name: exit status $status: $said"
	[ "$(wc -l <"$TMPDIR/err")" = 2 ] || complain "$name: not two lines: $said"
	grep -q '^starting again on 2 ranks from step [1-9][0-9]*: restart 1 of 2$' "$TMPDIR/err" || complain "$name: $said"
	grep -q "^{\"summary\".*\"steps\": $steps[,}]" "$TMPDIR/out" || complain "$name: not $steps steps"
	wait_until none_left || complain "$name: left behind: $(processes)"
	[ -z "$(find "$folder" -name '*.partial')" ] || complain "$name: left behind: $(ls "$folder")"
	cp "$TMPDIR/out" "$TMPDIR/lost.out"
	total=$steps
}

lost 'a rank that is killed' 'kill -KILL "${rank[1]}"' 1000 --log "$TMPDIR/log.csv"
[ "${said%%;*}" = 'rank 1 died (Killed)' ] || complain "a rank that is killed: $said"
run whole train "${tiny[@]}" --ranks 2 --steps "$total" --log "$TMPDIR/whole.csv"
[ "$(checksum whole)" = "$(checksum lost)" ] || complain 'a run that started again ends with other weights'
# The log has every step once.
[ "$(cut -d, -f 1,2 "$TMPDIR/whole.csv")" = "$(cut -d, -f 1,2 "$TMPDIR/log.csv")" ] || complain 'a run that started again has another log'

lost 'mpirun that is killed' 'kill -KILL "$mpirun"' 1000
[ "${said%%;*}" = 'mpirun died (Killed)' ] || complain "mpirun that is killed: $said"
# From here on silence of three seconds is noticed, and a step of as many.
export SHARDLAB_COMM_TIMEOUT_S=36
lost 'a rank that is stopped' 'kill -STOP "${rank[0]}"' 1000
[[ $said == 'rank '[01]' was stopped for '* ]] || complain "a rank that is stopped: $said"

# A run that is suspended as a whole, as by a batch system, goes on where it was: the time is nobody's. One rank wakes first.
has_stepped_on() {
	[ "$(grep -c '^{"step"' "$TMPDIR/out")" -gt "$((stepped + 2))" ] || ! kill -0 "$parent" 2>/dev/null
}
status=0
rm -rf "$folder" "$TMPDIR/out"
SHARDLAB_COMM_TIMEOUT_S=9 "$program" train "${tiny[@]}" --ranks 2 --steps 100000000 --restarts 1 --checkpoint "$folder" --checkpoint-every 10 \
	>"$TMPDIR/out" 2>"$TMPDIR/err" &
parent=$!
wait_until test -e "$folder/latest" || complain "no checkpoint: $(cat "$TMPDIR/err")"
mapfile -t rank < <(ranks)
mpirun=$(parent_of "${rank[0]}")
kill -STOP "$parent" "$mpirun" "${rank[1]}"
sleep 0.5
kill -STOP "${rank[0]}"
sleep 10
stepped=$(grep -c '^{"step"' "$TMPDIR/out")
kill -CONT "${rank[0]}"
sleep 0.5
kill -CONT "${rank[1]}" "$mpirun" "$parent"
wait_until has_stepped_on || complain 'a run that is suspended makes no more steps'
kill -INT "$parent" 2>/dev/null || true
wait "$parent" || status=$?
[ "$status" = 75 ] && [ "$(grep -c . "$TMPDIR/err")" = 1 ] && grep -q '^stopped by the user' "$TMPDIR/err" ||
	complain "a run that is suspended: exit status $status: $(cat "$TMPDIR/err")"
wait_until none_left || complain "left behind: $(processes)"

# A rank that lives and does not come to the end of its step: rank 1 finds a file, and hangs in a matrix product.
if [ -z "${SAN-}" ]; then # a sanitizer wants to be loaded first
	cat >"$TMPDIR/hang.c" <<-'END'
		#define _GNU_SOURCE
		#include <dlfcn.h>
		#include <stdlib.h>
		#include <unistd.h>
		void cblas_sgemm(int order, int a, int b, int m, int n, int k, float alpha, const float *x, int xs, const float *y, int ys,
		                 float beta, float *z, int zs)
		{
			const char *rank = getenv("OMPI_COMM_WORLD_RANK");
			void (*real)() = (void (*)())dlsym(RTLD_NEXT, "cblas_sgemm");
			while (rank && *rank == '1' && !unlink(getenv("HANGS")))
				for (;;)
					sleep(1);
			((void (*)(int, int, int, int, int, int, float, const float *, int, const float *, int, float, float *, int))real)(
			        order, a, b, m, n, k, alpha, x, xs, y, ys, beta, z, zs);
		}
	END
	${CC:-cc} -w -shared -fPIC "$TMPDIR/hang.c" -o "$TMPDIR/hang.so" -ldl
	export HANGS=$TMPDIR/hangs
	alone+=(env LD_PRELOAD="$TMPDIR/hang.so")
	lost 'a rank that hangs' ': >"$HANGS"' 100
	[[ $said == 'rank 1 has been at step '*' for '[3-9]' s; the run was ended'* ]] || complain "a rank that hangs: $said"
	unset 'alone[-1]' 'alone[-1]'
fi

# How many: the largest number of the range that divides the batch.
run three train "${tiny[@]}" --ranks 2..4 --batch 6 --steps 2
grep -q '"ranks": 3,' "$TMPDIR/three.out" || complain '--ranks 2..4 --batch 6 is not on 3 ranks'
run four train "${tiny[@]}" --ranks 2..4 --micro-batch 2 --accumulate 2 --steps 2
grep -q '"ranks": 4, .*"batch": 16, "micro_batch": 2, "accumulate": 2' "$TMPDIR/four.out" || complain '--ranks 2..4 is not on 4 ranks'

# A start that comes to no step had too many: here mpirun has room for two.
mkdir "$TMPDIR/path"
cat >"$TMPDIR/path/mpirun" <<-END
	#!/bin/sh
	[ "\$2" -le 2 ] || exit 1
	exec $(command -v mpirun) "\$@"
END
chmod +x "$TMPDIR/path/mpirun"
rm -r "$folder"
PATH=$TMPDIR/path:$PATH "$program" train "${tiny[@]}" --ranks 1..4 --micro-batch 2 --accumulate 1 --steps 3 --restarts 3 --checkpoint "$folder" \
	>"$TMPDIR/out" 2>"$TMPDIR/err" || complain "no room for four: $(cat "$TMPDIR/err")"
wanted='mpirun failed with exit status 1
starting again on 2 ranks, fewer since 4 came to no step, maybe for lack of memory, from the beginning: restart 1 of 3'
[ "$(cat "$TMPDIR/err")" = "$wanted" ] || complain "no room for four: $(cat "$TMPDIR/err")"
grep -q '"ranks": 2, .*"batch": 8, "micro_batch": 2, "accumulate": 2' "$TMPDIR/out" || complain 'no room for four: not the same batch'
[ "$(cat "$folder/latest")" = step-00000003 ] || complain 'no room for four: no checkpoint'
# Another run's checkpoint, which was there before, is none to go on from.
refuse 'it has checkpoints of another run, up to step-00000003' train "${tiny[@]}" --ranks 2 --steps 9 --restarts 1 --checkpoint "$folder"
# It does not start more often than it may.
rm -r "$folder"
status=0
PATH=$TMPDIR/path:$PATH "$program" train "${tiny[@]}" --ranks 3 --steps 9 --restarts 1 --checkpoint "$folder" \
	>"$TMPDIR/out" 2>"$TMPDIR/err" || status=$?
wanted='mpirun failed with exit status 1
starting again on 3 ranks from the beginning: restart 1 of 1
fatal: mpirun failed with exit status 1'
[ "$status" = 1 ] && [ "$(cat "$TMPDIR/err")" = "$wanted" ] || complain "restarts: exit status $status, $(cat "$TMPDIR/err")"

# An error that would happen again is no reason to start again.
status=0
"$program" train "${tiny[@]}" --ranks 2 --steps 50 --optimizer sgd --learning-rate 1e6 --restarts 3 --checkpoint "$TMPDIR/diverged" \
	>"$TMPDIR/out" 2>"$TMPDIR/err" || status=$?
[ "$status" = 1 ] && [ "$(wc -l <"$TMPDIR/err")" = 1 ] && grep -q 'the run diverged' "$TMPDIR/err" ||
	complain "a run that diverges: exit status $status, $(cat "$TMPDIR/err")"

refuse 'give --checkpoint DIR too' train "${tiny[@]}" --ranks 2 --restarts 1
refuse '--ranks 4..2: the first number is the smaller one' train --ranks 4..2
refuse "--ranks: 'x' is not" train --ranks 2..x
refuse '--ranks 3..4: none of them will do' train --ranks 3..4 --batch 10
refuse "--ranks: '2..4' is not a whole number" sim --ranks 2..4
for options in '--ranks 3..4' '--ranks 1..2 --restarts 1'; do
	status=0
	# shellcheck disable=SC2086
	mpirun --oversubscribe --bind-to none -n 2 "$program" train --steps 2 $options >"$TMPDIR/out" 2>"$TMPDIR/err" || status=$?
	[ "$status" = 2 ] && grep -q '^fatal: .*leave ' "$TMPDIR/err" || complain "mpirun, $options: exit status $status, $(cat "$TMPDIR/err")"
done
exit $((errors > 0))
