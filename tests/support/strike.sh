# shellcheck shell=bash
# Shared by the tests that strike runs. Sourced after commands.sh, not run. $program is the command under test, and nothing
# that it starts outlives the test.

# A copy with a path of its own, so that its processes can be told from all others.
program=$TMPDIR/shardlab-to-strike
cp "$SHARDLAB" "$program"

processes() {
	local exe
	for exe in /proc/[0-9]*/exe; do
		if [ "$exe" -ef "$program" ]; then
			exe=${exe%/exe}
			echo "${exe#/proc/}"
		fi
	done
}
parent_of() {
	awk '{ print $4 }' "/proc/$1/stat" 2>/dev/null
}
is_mpirun() {
	[ "$(cat "/proc/$1/comm" 2>/dev/null)" = mpirun ]
}
# ranks: those of any mpirun.
ranks() {
	local pid
	for pid in $(processes); do
		if is_mpirun "$(parent_of "$pid")"; then echo "$pid"; fi
	done
}

# Nothing outlives this script: what it starts dies with it, and what a failure has left is ended.
alone=(setpriv --pdeathsig TERM)
command -v setpriv >/dev/null || { echo 'setpriv, which ends what is left, is missing' && exit 77; }
end_all() {
	local status=$? pid parent
	for pid in $(processes); do
		parent=$(parent_of "$pid")
		if is_mpirun "$parent"; then kill -KILL "$parent"; fi
		kill -KILL "$pid"
	done 2>/dev/null
	[ "$status" != 0 ] || [ "$errors" = 0 ] || exit 1
}
trap end_all EXIT
trap 'exit 1' TERM INT HUP
wait_until() {
	local i
	for ((i = 0; i < 600; i++)); do
		"$@" && return
		sleep 0.1
	done
	return 1
}
# has_stepped [FILE]: its run has said three steps. Remove the file before the run: an old one has them too.
has_stepped() {
	grep -qs '"step": 3[,0-9]' "${1-$TMPDIR/out}"
}
none_left() {
	[ -z "$(processes)" ]
}
