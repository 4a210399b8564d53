#!/bin/bash
# Room and the shared folder are tried before the first step: a full disk, one that is read-only, and a folder that the
# ranks do not share are told in one line, with status 2; nothing is trained and nothing is left. A disk that fills up
# later costs a checkpoint and not the run.
#
# cores: all
set -euo pipefail
. "$(dirname "$0")/../support/commands.sh"

mlp=(train --model mlp:sizes=784-400-10 --steps 4 --json)

# early NAME STATUS: what a run left behind that should have ended with one line before its first step.
early() {
	if [ "$2" != 2 ] || grep -q '"step"' "$TMPDIR/out" || [ "$(grep -c '^fatal: ' "$TMPDIR/err")" != 1 ]; then
		complain "$1: exit status $2, '$(head -n 3 "$TMPDIR/err")', and steps before it: $(grep -c '"step"' "$TMPDIR/out")"
	fi
}

# The same path is another folder to the second rank. (mpirun says more than one line itself.)
mkdir "$TMPDIR/here" "$TMPDIR/there"
mlp+=(--checkpoint run)
status=0
mpirun --oversubscribe --bind-to none -n 1 -wdir "$TMPDIR/here" "$SHARDLAB" "${mlp[@]}" : \
	-n 1 -wdir "$TMPDIR/there" "$SHARDLAB" "${mlp[@]}" >"$TMPDIR/out" 2>"$TMPDIR/all" || status=$?
grep '^fatal: ' "$TMPDIR/all" | sort -u >"$TMPDIR/err"
early 'a folder that is not shared' "$status"
grep -q 'give a folder that all ranks share' "$TMPDIR/err" || complain "not shared: no line says so: $(cat "$TMPDIR/err")"
[ -z "$(find "$TMPDIR/here" "$TMPDIR/there" -name '*.partial' -o -type f ! -name .lock)" ] ||
	complain "not shared: left: $(find "$TMPDIR/here" "$TMPDIR/there")"

# A disk of two megabytes, which is full, or read-only, or fills up while a run goes on. The file system is this process's own.
if [ "$(id -u)" != 0 ] || ! unshare -m true 2>/dev/null; then
	echo 'left out: disks that are full or read-only: that takes root, and a name space'
	exit 0
fi
mkdir "$TMPDIR/disk"
export -f early complain
export TMPDIR SHARDLAB
# shellcheck disable=SC2016
unshare -m bash -c '
	errors=0
	mount -t tmpfs -o size=2m none "$TMPDIR/disk"
	mlp=(train --model mlp:sizes=784-400-10 --steps 4 --json)
	head -c 1000000 /dev/zero >"$TMPDIR/disk/filler"
	for way in "--ranks 2 --checkpoint $TMPDIR/disk/run" "--checkpoint $TMPDIR/disk/run --checkpoint-async" "--save $TMPDIR/disk/weights.safetensors"; do
		status=0
		"$SHARDLAB" "${mlp[@]}" $way >"$TMPDIR/out" 2>"$TMPDIR/err" || status=$?
		early "a full disk, $way" $status
		grep -q "no room for its" "$TMPDIR/err" || complain "a full disk, $way: $(cat "$TMPDIR/err")"
		[ -z "$(find "$TMPDIR/disk" -name "*.partial" -o -name "*.safetensors")" ] || complain "a full disk, $way: left: $(ls -R "$TMPDIR/disk")"
	done
	rm -r "$TMPDIR/disk/run"
	# It fills up after the first step: a line a checkpoint, and the run goes on. Without the last one it ends with status 1.
	rm "$TMPDIR/disk/filler"
	small="--model mlp:sizes=784-60-10"
	for way in "" "--checkpoint-async --strategy ddp --ranks 2"; do
		mkfifo "$TMPDIR/steps"
		"$SHARDLAB" train $small --steps 3000 --evaluate no --json --checkpoint "$TMPDIR/disk/run" --checkpoint-every 1500 $way \
			>"$TMPDIR/steps" 2>"$TMPDIR/err" &
		exec 3<"$TMPDIR/steps"
		read -r line <&3
		head -c 3000000 /dev/zero >"$TMPDIR/disk/filler" 2>/dev/null
		cat <&3 >"$TMPDIR/out"
		status=0
		wait $! || status=$?
		exec 3<&-
		rm "$TMPDIR/steps"
		if [ $status != 1 ] || ! grep -q "^warning: no checkpoint of step 1500: .*no room.*; the run goes on" "$TMPDIR/err" ||
			! grep -q "^fatal: no checkpoint of step 3000: .*no room" "$TMPDIR/err" || [ "$(wc -l <"$TMPDIR/err")" != 2 ] || [ -n "$(ls "$TMPDIR/disk/run")" ] || ! grep -q "\"summary\"" "$TMPDIR/out"; then
			complain "a disk that fills up, $way: exit status $status, $(cat "$TMPDIR/err"); left: $(ls "$TMPDIR/disk/run")"
		fi
		rm "$TMPDIR/disk/filler"
	done
	mount -o remount,ro "$TMPDIR/disk"
	for way in "--checkpoint $TMPDIR/disk/run" "--checkpoint $TMPDIR/disk/other" "--save $TMPDIR/disk/weights.safetensors"; do
		status=0
		"$SHARDLAB" "${mlp[@]}" $way >"$TMPDIR/out" 2>"$TMPDIR/err" || status=$?
		early "a read-only disk, $way" $status
	done
	exit $((errors > 0))
' || errors=$((errors + 1))
exit $((errors > 0))
