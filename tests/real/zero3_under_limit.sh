#!/bin/bash
# A ZeRO-3 run lives under a memory limit that ends DDP, at the same sizes: what the strategy saves is really not there.
#
# The limit is looked for: the smallest, in steps of 64 MB, under which four ranks of ZeRO-3 train. Half of what DDP's
# arena is larger than ZeRO-3's is put on top: DDP must end there with one line that says why, within seconds, leaving
# no process behind; and with all of it and half as much again, it must train, and to the same losses.
#
# cores: all
set -euo pipefail

die() {
	echo "zero3_under_limit: $*" >&2
	exit 1
}

case ${SAN-} in *address* | *thread*)
	echo "the sanitizer's own memory is larger than any limit"
	exit 77
	;;
esac
if ! command -v prlimit >/dev/null; then
	echo "no prlimit; install util-linux"
	exit 77
fi

# Each thread has a stack of its own, so the machine's cores would decide.
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
data=$TMPDIR/text # a name that no other process has in its arguments
cp tests/golden/text.txt "$data"
model="--model gpt:layers=8,width=512 --sequence 32 --ranks 4 --batch 4"
mega=1000000

# run STRATEGY LIMIT_BYTES: trains, leaves out and err in TMPDIR, returns the status
run() {
	local status=0
	# shellcheck disable=SC2086
	timeout --kill-after=5 60 prlimit --as="$2" "$SHARDLAB" train $model --strategy "$1" --steps 2 --evaluate no \
		--data "$data" --json >"$TMPDIR/out" 2>"$TMPDIR/err" </dev/null || status=$?
	[ $status -le 1 ] || die "$1 under $2 bytes: exit status $status (124 and 137: did not end by itself)"
	return $status
}

arena() {
	# shellcheck disable=SC2086
	"$SHARDLAB" sim $model --strategy "$1" --json | tr ',' '\n' |
		awk -F: '/"arena_bytes"/ && !n++ { gsub(/[^0-9]/, "", $NF); print $NF }'
}

losses() {
	tail -n 1 "$TMPDIR/out" | sed -n 's/.*"losses": *\[\([^]]*\)\].*/\1/p'
}

# One line on stderr, and no rank left.
expect_refusal() {
	[ "$1" = 1 ] || die "$2: exit status $1 instead of 1: $(head -n 3 "$TMPDIR/err")"
	[ "$(wc -l <"$TMPDIR/err")" = 1 ] || die "$2: not one line: $(cat "$TMPDIR/err")"
	grep -q "^fatal: .*memory" "$TMPDIR/err" || die "$2: does not say why: $(cat "$TMPDIR/err")"
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		pgrep -f "$data" >/dev/null || return 0
		sleep 0.5
	done
	die "$2: processes are left: $(pgrep -af "$data")"
}

small=$(arena zero3) large=$(arena ddp)
[ "${large:-0}" -gt $((2 * ${small:-0})) ] || die "arenas are '$small' and '$large' bytes"
saved=$((large - small))

# Half of an interval at a time: it fails at low, it trains at high.
low=$((small / mega)) high=$((small / mega + 2048))
run zero3 $((high * mega)) || die "ZeRO-3 does not train under $high MB: $(cat "$TMPDIR/err")"
while [ $((high - low)) -gt 64 ]; do
	middle=$(((low + high) / 2))
	if run zero3 $((middle * mega)); then
		high=$middle
		zero3_losses=$(losses)
	else
		low=$middle
	fi
done
echo "ZeRO-3 trains under $high MB and not under $low MB; its arena is $small bytes, DDP's $large"

limit=$((high * mega + saved / 2)) status=0
run zero3 $limit || die "ZeRO-3 does not train under $limit bytes: $(cat "$TMPDIR/err")"
zero3_losses=$(losses)
run ddp $limit || status=$?
expect_refusal $status "DDP under $limit bytes"
echo "DDP under $limit bytes: $(cat "$TMPDIR/err")"
grep -q "$large" "$TMPDIR/err" || die "the line does not say how much was asked for"

limit=$((high * mega + 3 * saved / 2))
run ddp $limit || die "DDP does not train under $limit bytes either: $(cat "$TMPDIR/err")"
ddp_losses=$(losses)
echo "losses: $zero3_losses; $ddp_losses"
printf '%s\n%s\n' "$zero3_losses" "$ddp_losses" | awk -F', *' '
	{ for (i = 1; i <= NF; i++) loss[NR, i] = $i; fields[NR] = NF }
	END {
		if (fields[1] != 2 || fields[2] != 2) exit 1
		for (i = 1; i <= 2; i++) {
			d = loss[1, i] / loss[2, i] - 1
			if (d > 1e-4 || d < -1e-4) exit 1
		}
	}' || die "the losses are not the same"
