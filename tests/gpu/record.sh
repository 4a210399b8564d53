#!/bin/bash
# Writes what the scripts beside this found out into the table of kernels/RESULTS.md:
#
#     make check-gpu 2>&1 | tee check.log; tests/gpu/record.sh check.log
#
# A log that was cut off, as by a kill in the middle of a line, gives all its whole lines.
#
# A row that a log has a result for gets it, with the card, the driver, the date and the command; of several results the
# last. All other rows stay as they are. RESULTS: another file.
set -euo pipefail
results=${RESULTS:-$(dirname "$0")/../../kernels/RESULTS.md}

if [ $# = 0 ]; then
	echo "usage: $0 LOG..." >&2
	exit 2
fi
for log in "$@"; do
	[ -r "$log" ] || { echo "fatal: $log cannot be read" >&2 && exit 2; }
done
whole=$(mktemp -d)
trap 'rm -rf "$whole"' EXIT
logs=()
for log in "$@"; do
	mkdir "$whole/${#logs[@]}" # two may have one name
	logs+=("$whole/${#logs[@]}/$(basename "$log")")
	if [ -n "$(tail -c 1 "$log" | tr -d '\n')" ]; then sed '$d' "$log"; else cat "$log"; fi | tr -d '\r' >"${logs[-1]}" # of a terminal
done
awk -F '\t' -v table="$results" '
	function name_of(path) { sub(/.*\//, "", path); return path }
	function fatal(text) { print "fatal: " name_of(FILENAME) ":" FNR ": " text > "/dev/stderr"; exit stopped = 2 }
	function cell(text) { gsub(/\|/, "\\|", text); return text }
	$1 == "@run" && NF == 5 { run = $2 ", driver " $3 ", " $4 ", `" $5 "`"; next }
	$1 == "@row" && NF == 3 && run == "" { fatal("a result before its @run") }
	$1 == "@row" && NF == 3 { result[$2] = cell($3) " (" cell(run) ")"; where[$2] = name_of(FILENAME) ":" FNR; next }
	/^@(run|row)/ { fatal("not all of its fields") }
	END {
		if (stopped)
			exit stopped
		while ((got = (getline line < table)) > 0) {
			n = split(line, part, / \| /)
			name = part[1]
			gsub(/[|` ]/, "", name)
			if (line ~ /^\| `/ && n == 4 && name in result) {
				line = part[1] " | " part[2] " | " part[3] " | " result[name] " |"
				delete result[name]
				written++
			}
			print line
		}
		if (got < 0) { print "fatal: " table " cannot be read" > "/dev/stderr"; exit 2 }
		for (name in result) { print "fatal: " where[name] ": " table " has no row " name > "/dev/stderr"; stopped = 2 }
		if (!stopped && !written) { print "fatal: no result in the log" > "/dev/stderr"; stopped = 2 }
		exit stopped
	}' "${logs[@]}" >"$results.new" || {
	status=$?
	rm -f "$results.new"
	exit "$status"
}
mv "$results.new" "$results"
