#!/bin/bash
# Faults put in: allocations and system calls that fail, and saves that are killed at each system call. How many, how long they
# took, and how the runs ended. The tests that put them in judge each end; here they are counted.
#
#     FAULTS_MOST=1000 tests/bench/bench_faults.sh       all calls of a kind that a command makes, and not 12 of them
set -euo pipefail
cd "$(dirname "$0")/../.."
TMPDIR=$(mktemp -d "${TMPDIR:-/tmp}/bench_faults.XXXXXX")
export TMPDIR FAULTS_SAY=1 FAULTS_MOST=${FAULTS_MOST:-12} CK_DEFAULT_TIMEOUT=3000
trap 'rm -rf "$TMPDIR"' EXIT
tests=$(dirname "$SHARDLAB")/tests/cli

# row WHAT COMMAND…: its seconds, its counts in out.
row() {
	local status=0 begun=${EPOCHREALTIME/./}
	"${@:2}" >"$TMPDIR/out" 2>&1 || status=$?
	took=$(((${EPOCHREALTIME/./} - begun + 500000) / 1000000))
	case $status in
	0) judged='none wrong' ;;
	77) echo "$1: not measured: $(tail -n 1 "$TMPDIR/out")" && return 1 ;;
	*) judged=WRONG && sed "/^faults/d; s/^/$1: /" "$TMPDIR/out" ;; # each complaint, of as many lines as it has
	esac
}

if row 'allocations' "$tests/test_memory"; then
	awk -v took="$took" -v judged="$judged" '/^faults/ { n += $2; without += $4; commands++ }
		END { printf "allocations that fail: %d in %d commands, %d s; %d runs did without, %d ended in a line about memory; %s\n",
			n, commands / 2, took, without, n - without, judged }' "$TMPDIR/out"
fi
if row 'system calls' bash tests/cli/cli_faults.sh; then
	awk -v took="$took" -v judged="$judged" '/^faults/ { sub(/^faults /, ""); printf "system calls that fail: %s; %d s; %s\n", $0, took, judged }' \
		"$TMPDIR/out"
fi
if row 'kills' "$tests/test_killed"; then
	awk -v took="$took" -v judged="$judged" '/^faults/ { n += $2 }
		END { printf "SIGKILL at each system call of two saves, in the step and beside it: %d, %d s; %s\n", n, took, judged }' "$TMPDIR/out"
fi
