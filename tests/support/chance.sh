# shellcheck shell=bash
# Shared by the tests that strike runs at random. Sourced after commands.sh, not run. $folder holds the run's checkpoints,
# $TMPDIR/out what it prints.

# choose WORD...: sets `chosen` to one of them. No subshell, which would draw the same again and again.
choose() {
	shift $((RANDOM % $#))
	chosen=$1
}
milliseconds() {
	local now=$EPOCHREALTIME
	echo $((${now/./} / 1000))
}
# within PATIENCE COMMAND: until it is so.
within() {
	local end=$(($(milliseconds) + $1 * 1000))
	until "${@:2}"; do
		[ "$(milliseconds)" -lt $end ] || return 1
		sleep 0.1
	done
}
# latest: the step of the last checkpoint; 0: there is none.
latest() {
	sed 's/step-0*//' "$folder/latest" 2>/dev/null || echo 0
}
# steps_said: how many steps the run has said that it did.
steps_said() {
	grep -c '^{"step"' "$TMPDIR/out" || true
}
