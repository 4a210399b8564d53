#!/bin/bash
# Runs tests one after another, one line for each, and shows the output of those that fail.
#
#     tools/run-tests.sh TEST...
#
# What a test is, goes by its name: `mpi_*` runs under mpirun at each number of ranks in MPI_RANKS, `fuzz_*` reads its
# corpus, `*.sh` is a script, anything else is a program. Exit status 0 is passed, 77 is skipped (the last line of the
# output is the reason), all else is failed. Tests run in the root of the tree with
#
#     SHARDLAB   the program under test          TMPDIR   a folder of their own, removed afterwards
#     SAN        the sanitizers it has, or empty
#
# Settings: TEST_TIMEOUT (seconds for a test), ONLY (run the tests whose name contains it).
# Exit status: 0 when none failed, 1 when one did or when there was nothing to run.
set -euo pipefail

cd "$(dirname "$0")/.."
timeout_s=${TEST_TIMEOUT:-300}
mpi_ranks=${MPI_RANKS:-1 2 3 4 8} # three finds what powers of two hide

# mpirun refuses root without these two; containers and CI machines often have no other user.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# A forced BLAS kernel changes rates and rounding.
unset OPENBLAS_CORETYPE
# Check's own limit is four seconds for a test case, which a loaded machine or a sanitizer exceeds.
export CK_DEFAULT_TIMEOUT=$timeout_s

export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_stack_use_after_return=1:strict_string_checks=1}
# Open MPI leaks what it loads, and unloads the code that did it: only the frames further up, which the slow unwinder
# finds, tell whose memory it was.
mpi_asan_options=$ASAN_OPTIONS:fast_unwind_on_malloc=0
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
export LSAN_OPTIONS=${LSAN_OPTIONS:-suppressions=$PWD/tests/lsan.supp:print_suppressions=0}

scratch=$(mktemp -d "${TMPDIR:-/tmp}/shardlab-tests.XXXXXX")
child=
# timeout puts a test in a process group of its own, so Ctrl-C at the terminal reaches only this script.
stop() {
	if [ -n "$child" ]; then kill "$child" 2>/dev/null || true; fi
	exit 130
}
trap stop INT TERM
trap 'rm -rf "$scratch"' EXIT

passed=0 failed=0 skipped=0 failures=()

# The beginning tells what broke first, the end how it ended; eight ranks say much in between.
show_output() {
	awk -v lines="$(wc -l <"$scratch/output")" '
		lines <= 200 || NR <= 120 || NR > lines - 60 { print "    " $0 }
		lines > 200 && NR == 121 { print "    [... " lines - 180 " lines ...]" }' "$scratch/output"
}

# run_test NAME COMMAND...
run_test() {
	local name=$1 status=0 start seconds
	shift
	mkdir "$scratch/tmp"
	start=$(date +%s%N)
	TMPDIR=$scratch/tmp timeout --kill-after=10 "$timeout_s" "$@" </dev/null >"$scratch/output" 2>&1 &
	child=$!
	wait "$child" 2>/dev/null || status=$?
	child=
	seconds=$(awk -v ns=$(($(date +%s%N) - start)) 'BEGIN { printf "%.1f s", ns / 1e9 }')
	rm -rf "$scratch/tmp"
	case $status in
	0)
		printf 'ok       %s (%s)\n' "$name" "$seconds"
		passed=$((passed + 1))
		return
		;;
	77)
		printf 'skipped  %s: %s\n' "$name" "$(tail -n 1 "$scratch/output")"
		skipped=$((skipped + 1))
		return
		;;
	124 | 137) printf 'FAILED   %s (stopped after %s)\n' "$name" "$seconds" ;;
	129 | 13[0-9] | 14[0-9]) printf 'FAILED   %s (killed by SIG%s, %s)\n' "$name" "$(kill -l "$status")" "$seconds" ;;
	*) printf 'FAILED   %s (exit status %s, %s)\n' "$name" "$status" "$seconds" ;;
	esac
	show_output
	failed=$((failed + 1))
	failures+=("$name")
}

for test in "$@"; do
	name=$(basename "$test")
	case $name in *"${ONLY-}"*) ;; *) continue ;; esac
	case $name in
	mpi_*)
		for ranks in $mpi_ranks; do
			# More ranks than cores: ranks give way to each other, and one thread each is enough. Under
			# MPI a test case runs in the rank's own process, since a fork has no part in the world.
			run_test "$name at $ranks ranks" env OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 CK_FORK=no \
				ASAN_OPTIONS="$mpi_asan_options" mpirun --oversubscribe --bind-to none -n "$ranks" "$test"
		done
		;;
	fuzz_*) run_test "$name on its corpus" "$test" "tests/fuzz/corpus/${name#fuzz_}" ;;
	*.sh) run_test "$name" env ASAN_OPTIONS="$mpi_asan_options" bash "$test" ;;
	*) run_test "$name" "$test" ;;
	esac
done

for name in ${failures[@]+"${failures[@]}"}; do
	echo "failed: $name"
done
echo "$passed passed, $failed failed, $skipped skipped"
if [ $((passed + failed + skipped)) = 0 ]; then
	echo "run-tests.sh: no test to run${ONLY:+ with '$ONLY' in its name}" >&2
	exit 1
fi
[ "$failed" = 0 ]
