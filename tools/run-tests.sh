#!/bin/bash
# Runs tests, as many at once as there are cores, one line for each, and shows the output of those that fail.
#
#     tools/run-tests.sh TEST...
#
# A test's name says its kind: `mpi_*` runs under mpirun at each number of ranks in MPI_RANKS, `fuzz_*` reads its
# corpus, `*.sh` is a script, anything else is a program. Exit status 0 is passed, 77 is skipped, all else is failed. A
# skipped test says why in a line "skipped: …", or in its last line; a part that is left out has a line "left out: …".
# Tests run in the root of the tree with
#
#     SHARDLAB   the program under test          TMPDIR   a folder of their own, removed afterwards
#     SAN        the sanitizers it has, or empty
#
# A test has the machine for itself when it runs on several ranks, or when its source has a line `cores: all`, since it
# starts ranks or looks at a clock. Any other script is kept on one core, so that those which judge no time there
# (cli_validate.sh) do not meet on the first.
#
# Settings: TEST_TIMEOUT (seconds for a test), TEST_JOBS (tests at once), ONLY (words: run the tests whose name contains
# one of them), TEST_AGAIN (so many that fail may pass when they are run once more, alone, at the end; the last lines name
# them: 0), TEST_UNSTEADY (a file to which those lines are added).
# Exit status: 0 when none failed, 1 when one did or when there was nothing to run.
set -euo pipefail

cd "$(dirname "$0")/.."
timeout_s=${TEST_TIMEOUT:-300}
mpi_ranks=${MPI_RANKS:-1 2 3 4 8} # three finds what powers of two hide
may_fail_once=${TEST_AGAIN:-0}

# mpirun refuses root without these two; containers and CI machines often have no other user.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# A forced BLAS kernel changes rates and rounding. Where OpenBLAS does not know the processor, the tests that multiply by
# themselves take the core that the command begins again with: its own choice is several times slower.
unset OPENBLAS_CORETYPE
core=$("${SHARDLAB-build/shardlab}" doctor 2>/dev/null | sed -n 's/^ok *OpenBLAS *core \(SkylakeX\|Haswell\);.*/\1/p') || true
[ -z "$core" ] || export OPENBLAS_CORETYPE=$core
# Check's own limit is four seconds for a test case, which a loaded machine or a sanitizer exceeds.
export CK_DEFAULT_TIMEOUT=$timeout_s

export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_stack_use_after_return=1:strict_string_checks=1}
# AddressSanitizer may take its own header for glibc's of 2.19 when a module that Open MPI loads has thread-local variables:
# LeakSanitizer then reads from a size as if it were an address, and crashes. It happens now and then, when that memory is
# at the beginning of a page.
mpi_asan_options=$ASAN_OPTIONS:intercept_tls_get_addr=0
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
export LSAN_OPTIONS=${LSAN_OPTIONS:-suppressions=$PWD/tests/lsan.supp:print_suppressions=0}

scratch=$(mktemp -d "${TMPDIR:-/tmp}/shardlab-tests.XXXXXX")
chmod 711 "$scratch" # a test that gives up the rights of root still finds its folder
# Those that this process may use, one a slot.
mapfile -t cores < <(taskset -cp $$ 2>/dev/null | sed 's/.*: //' | tr ',' '\n' |
	awk -F- '{ for (i = $1; i <= $NF; i++) print i }')
jobs=${TEST_JOBS:-$(nproc)}

# One that runs has a slot, 0 to jobs - 1: its process (0: none), what it is called, when it began, its command for a shell.
pids=() names=() starts=() commands=() again=
# timeout puts a test in a process group of its own, so Ctrl-C at the terminal reaches only this script.
stop() {
	local pid
	for pid in "${pids[@]}"; do
		if [ "$pid" != 0 ]; then kill "$pid" 2>/dev/null || true; fi
	done
	exit 130
}
trap stop INT TERM
trap 'rm -rf "$scratch"' EXIT

passed=0 failed=0 skipped=0 failures=() retries=() unsteady=()

# The beginning tells what broke first, the end how it ended; eight ranks say much in between.
show_output() {
	awk -v lines="$(wc -l <"$1")" '
		lines <= 200 || NR <= 120 || NR > lines - 60 { print "    " $0 }
		lines > 200 && NR == 121 { print "    [... " lines - 180 " lines ...]" }' "$1"
}

# run_once_more SLOT WHY: at the end.
run_once_more() {
	printf 'again    %s: %s\n' "${names[$1]}" "$2"
	retries+=("${names[$1]}" "${commands[$1]}")
}

# report SLOT STATUS
report() {
	local output=$scratch/$1/output name=${names[$1]} status=$2 seconds
	seconds=$(awk -v ns=$(($(date +%s%N) - starts[$1])) 'BEGIN { printf "%.1f s", ns / 1e9 }')
	pids[$1]=0
	if [ "$status" != 0 ] && [ "$status" != 77 ] && [ -z "$again" ]; then
		# This crash says nothing about the test.
		if grep -q '^Tracer caught signal' "$output"; then
			run_once_more "$1" 'LeakSanitizer itself crashed'
			return
		fi
		if [ ${#unsteady[@]} -lt "$may_fail_once" ]; then
			run_once_more "$1" "exit status $status after $seconds"
			show_output "$output"
			unsteady+=("$name")
			return
		fi
	fi
	case $status in
	0)
		printf 'ok       %s (%s)\n' "$name" "$seconds"
		sed -n 's/^left out: /         without /p' "$output"
		passed=$((passed + 1))
		return
		;;
	77)
		# mpirun has something to say of it too.
		printf 'skipped  %s: %s\n' "$name" "$({ sed -n 's/^skipped: //p' "$output" | grep . || cat "$output"; } | tail -n 1)"
		skipped=$((skipped + 1))
		return
		;;
	124 | 137) printf 'FAILED   %s (stopped after %s)\n' "$name" "$seconds" ;;
	129 | 13[0-9] | 14[0-9]) printf 'FAILED   %s (killed by SIG%s, %s)\n' "$name" "$(kill -l "$status")" "$seconds" ;;
	*) printf 'FAILED   %s (exit status %s, %s)\n' "$name" "$status" "$seconds" ;;
	esac
	show_output "$output"
	failed=$((failed + 1))
	failures+=("$name")
}

# Waits until one ends, and says how; false when none runs. `wait -n` does not tell of all: the shell forgets those that a
# signal has ended before.
await_one() {
	local slot status running found=false
	while ! $found; do
		running=()
		for slot in "${!pids[@]}"; do
			[ "${pids[slot]}" != 0 ] || continue
			if kill -0 "${pids[slot]}" 2>/dev/null; then
				running+=("${pids[slot]}")
				continue
			fi
			status=0
			wait "${pids[slot]}" 2>/dev/null || status=$?
			report "$slot" "$status"
			found=true
		done
		$found || [ ${#running[@]} != 0 ] || return
		$found || wait -n "${running[@]}" 2>/dev/null || true
	done
}
await_all() {
	while await_one; do :; done
}

# run_test NAME COMMAND...: begins it as soon as a slot is free.
run_test() {
	local slot=0 name=$1
	shift
	while [ "${pids[slot]:-0}" != 0 ]; do
		slot=$((slot + 1))
		if [ $slot = "$jobs" ]; then
			await_one
			slot=0
		fi
	done
	rm -rf "${scratch:?}/$slot"
	mkdir -p "$scratch/$slot/tmp"
	if [ "$1" = on-one-core ]; then
		shift
		if [ ${#cores[@]} -ge "$jobs" ]; then set -- taskset -c "${cores[slot]}" "$@"; fi
	fi
	names[slot]=$name
	commands[slot]=$(printf '%q ' "$@")
	starts[slot]=$(date +%s%N)
	TMPDIR=$scratch/$slot/tmp timeout --kill-after=10 "$timeout_s" "$@" </dev/null >"$scratch/$slot/output" 2>&1 &
	pids[slot]=$!
}

run_alone() {
	await_all
	run_test "$@"
	await_all
}

wants_all_cores() {
	grep -qsx '\(#\| \*\) cores: all' tests/*/"$1" tests/*/"$1".c tests/*/"$1".cpp
}

# The line `ranks: 1 2 4` of a test's source, if it has one, chooses among these numbers of ranks.
ranks_of() {
	local some ranks
	some=$(sed -n 's/^ \* ranks: //p' tests/*/"$1".c)
	for ranks in $mpi_ranks; do
		case " ${some:-$mpi_ranks} " in *" $ranks "*) echo "$ranks" ;; esac
	done
}

# run_on_ranks HOW TEST RANKS. More ranks than cores: ranks give way to each other, and one thread each is enough. Under MPI
# a test case runs in the rank's own process, since a fork has no part in the world.
run_on_ranks() {
	"$1" "$(basename "$2") at $3 ranks" env OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 CK_FORK=no \
		ASAN_OPTIONS="$mpi_asan_options" mpirun --oversubscribe --bind-to none -n "$3" "$2"
}

# One rank needs one core, several have the machine for themselves.
run_with_others() {
	case " $(ranks_of "$(basename "$1")" | tr '\n' ' ') " in *' 1 '*) run_on_ranks run_test "$1" 1 ;; esac
}
run_on_several() {
	local ranks
	for ranks in $(ranks_of "$(basename "$1")" | grep -vx 1); do
		run_on_ranks run_alone "$1" "$ranks"
	done
}

is_wanted() {
	local word
	[ -n "${ONLY-}" ] || return 0
	for word in $ONLY; do
		case $1 in *"$word"*) return 0 ;; esac
	done
	return 1
}

chosen=() alone=()
for test in "$@"; do
	if is_wanted "$(basename "$test")"; then chosen+=("$test"); fi
done

# Scripts are the longest, and go first.
for test in $(printf '%s\n' ${chosen[@]+"${chosen[@]}"} | grep '\.sh$') \
	$(printf '%s\n' ${chosen[@]+"${chosen[@]}"} | grep -v '\.sh$'); do
	name=$(basename "$test")
	case $name in
	mpi_*)
		run_with_others "$test"
		alone+=("$test")
		;;
	fuzz_*) run_test "$name on its corpus" "$test" "tests/fuzz/corpus/${name#fuzz_}" ;;
	*)
		if wants_all_cores "$name"; then
			alone+=("$test")
		elif [[ $name == *.sh ]]; then
			run_test "$name" on-one-core env ASAN_OPTIONS="$mpi_asan_options" bash "$test"
		else
			run_test "$name" "$test"
		fi
		;;
	esac
done
for test in ${alone[@]+"${alone[@]}"}; do
	name=$(basename "$test")
	case $name in
	mpi_*) run_on_several "$test" ;;
	*.sh) run_alone "$name" env ASAN_OPTIONS="$mpi_asan_options" bash "$test" ;;
	*) run_alone "$name" "$test" ;;
	esac
done
await_all
again=yes
for ((i = 0; i < ${#retries[@]}; i += 2)); do
	eval "run_alone ${retries[i]@Q} ${retries[i + 1]}"
done

for name in ${failures[@]+"${failures[@]}"}; do
	echo "failed: $name"
done
for name in ${unsteady[@]+"${unsteady[@]}"}; do
	case " ${failures[*]-} " in
	*" $name "*) ;;
	*) echo "unsteady: $name failed once, and passed when run again: mend it" | tee -a "${TEST_UNSTEADY:-/dev/null}" ;;
	esac
done
echo "$passed passed, $failed failed, $skipped skipped"
if [ $((passed + failed + skipped)) = 0 ]; then
	echo "run-tests.sh: no test to run${ONLY:+ with '$ONLY' in its name}" >&2
	exit 1
fi
[ "$failed" = 0 ]
