# shellcheck shell=bash
# Shared by the tests of the command. Sourced, not run:
#
#     . "$(dirname "$0")/../support/commands.sh"
#     run json train --model mlp --json
#     [ -n "$(checksum json)" ] || fail 'no checksum'
: "${TMPDIR:=/tmp}"

# Only the rates that a test writes. OpenBLAS starts its threads with the program: one that is still starting when it ends
# looks like a leak.
export SHARDLAB_CONFIG=$TMPDIR/none.yaml OPENBLAS_NUM_THREADS=1

# Counts a failure and lets the test go on, to fail at its end.
errors=0
trap '[ $? != 0 ] || [ "$errors" = 0 ] || exit 1' EXIT
complain() {
	echo "$*"
	errors=$((errors + 1))
}

# fail WORDS...: says so, shows the end of what was printed, and ends the test.
fail() {
	local file
	echo "$*"
	for file in "$TMPDIR"/*.out "$TMPDIR"/err; do
		[ -e "$file" ] && echo "== $file" && tail -n 20 "$file" | cut -c 1-400
	done
	exit 1
}

# run NAME ARGUMENT...: stdout in NAME.out; stderr must stay empty.
run() {
	local name=$1
	shift
	"$SHARDLAB" "$@" >"$TMPDIR/$name.out" 2>"$TMPDIR/err" || fail "shardlab $*: exit status $?"
	[ ! -s "$TMPDIR/err" ] || fail "shardlab $*: something on stderr"
}

# checksum NAME: of the weights, in what NAME printed as JSON.
checksum() {
	sed -n 's/.*"weights_checksum": "\([0-9a-f]\{16\}\)".*/\1/p' "$TMPDIR/$1.out"
}

# refused PATTERN COMMAND...: exit status 2, nothing on stdout, and on stderr one line, "fatal: … PATTERN …", in which
# no {name} of an option is left but those of the command. If not, says what came instead, and fails.
refused() {
	local pattern=$1 status=0 lines
	shift
	"$@" >"$TMPDIR/out" 2>"$TMPDIR/err" || status=$?
	sed -i '/^\[hwloc\//d' "$TMPDIR/err" # MPI says it where there is no /sys
	lines=$(wc -l <"$TMPDIR/err")
	if [ "$status" = 2 ] && [ ! -s "$TMPDIR/out" ] && [ "$lines" = 1 ] && grep -q '^fatal: ' "$TMPDIR/err" &&
		grep -qF -- "$pattern" "$TMPDIR/err" &&
		{ [[ $* == *{*}* ]] || ! grep -q '{[a-z_]*}' "$TMPDIR/err"; }; then
		return
	fi
	echo "$*: exit status $status, $lines lines, wanted 'fatal: … $pattern …':"
	head -n 5 "$TMPDIR/err" "$TMPDIR/out"
	return 1
}

# refuse PATTERN ARGUMENT...: the command ($program, if it is another one) refuses them, or it is counted.
refuse() {
	refused "$1" "${program:-$SHARDLAB}" "${@:2}" || errors=$((errors + 1))
}

# validated WANT ARGUMENT...: WANT strategies pass and the others are skipped, or it is counted. The reports are in out. On
# one core no time is judged.
validated() {
	local want=$1 status=0
	shift
	command -v taskset >/dev/null || { echo 'taskset, which keeps times from being judged here, is missing' && exit 77; }
	taskset -c "$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')" "$SHARDLAB" validate --cluster laptop --threads 2 --json "$@" \
		>"$TMPDIR/out" 2>"$TMPDIR/err" || status=$?
	[ "$status" != 0 ] || [ -s "$TMPDIR/err" ] || ! grep -q '^  "pass": true' "$TMPDIR/out" ||
		[ "$(grep -c '^      "pass": true' "$TMPDIR/out")" != "$want" ] || return 0
	complain "validate $*: exit status $status, not $want that pass"
	cat "$TMPDIR/err"
	grep -B 8 '"pass": false' "$TMPDIR/out" | head -n 60
}
