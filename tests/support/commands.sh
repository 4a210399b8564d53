# shellcheck shell=bash
# What tests of the command share. Sourced, not run:
#
#     . "$(dirname "$0")/../support/commands.sh"
#     run json train --model mlp --json
#     [ -n "$(checksum json)" ] || fail 'no checksum'
: "${TMPDIR:=/tmp}"

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

# refused PATTERN COMMAND...: exit status 2, nothing on stdout, and on stderr one line, "fatal: … PATTERN …". If not, says
# what came instead, and fails.
refused() {
	local pattern=$1 status=0 lines
	shift
	"$@" >"$TMPDIR/out" 2>"$TMPDIR/err" || status=$?
	lines=$(wc -l <"$TMPDIR/err")
	if [ "$status" = 2 ] && [ ! -s "$TMPDIR/out" ] && [ "$lines" = 1 ] && grep -q '^fatal: ' "$TMPDIR/err" &&
		grep -qF -- "$pattern" "$TMPDIR/err"; then
		return
	fi
	echo "$*: exit status $status, $lines lines, wanted 'fatal: … $pattern …':"
	head -n 5 "$TMPDIR/err" "$TMPDIR/out"
	return 1
}
