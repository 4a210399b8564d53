#!/bin/bash
# Runs fuzz targets, as many at once as there are cores, for SECONDS each. Starts from the corpus in the tree and leaves it alone: what
# is found lies in build/fuzz/corpus, a crashing input in build/fuzz/crash-*. Add that one to the corpus in the tree.
#
#     tools/run-fuzzers.sh SECONDS TARGET...
#
# Exit status: 0 when no input crashed, leaked or hung a target.
set -euo pipefail

cd "$(dirname "$0")/.."
seconds=$1
shift
if [ $# = 0 ]; then
	echo "run-fuzzers.sh: no fuzz targets" >&2
	exit 1
fi

export LSAN_OPTIONS=${LSAN_OPTIONS:-suppressions=$PWD/tests/lsan.supp:print_suppressions=0}

fuzz() {
	local name found log options dictionary
	name=$(basename "$1")
	found=build/fuzz/corpus/${name#fuzz_}
	log=build/fuzz/$name.log
	mkdir -p "$found"
	# The dictionary is optional; without it the fuzzer has to guess a format's words.
	dictionary=tests/fuzz/${name#fuzz_}.dict
	options=(-max_total_time="$seconds" -timeout=10 -rss_limit_mb=4096 -artifact_prefix="build/fuzz/crash-${name#fuzz_}-")
	if [ -e "$dictionary" ]; then options+=(-dict="$dictionary"); fi
	if "$1" "${options[@]}" "$found" "tests/fuzz/corpus/${name#fuzz_}" >"$log" 2>&1; then
		echo "ok       $name ($(grep -E '^#[0-9]' "$log" | tail -n 1 | tr '\t' ' '))"
	else
		printf 'FAILED   %s\n%s\n' "$name" "$(tail -n 60 "$log" | sed 's/^/    /')"
		return 1
	fi
}
export -f fuzz
export seconds
printf '%s\0' "$@" | xargs -0 -n 1 -P "$(nproc)" bash -euc 'fuzz "$1"' fuzz
