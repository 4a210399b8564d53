#!/bin/bash
# System calls that fail: strace lets the first, second, third … of a kind fail in commands that read and write files. Each
# run then either does what it does otherwise, or ends with one line and status 1 or 2. Whichever it is, a file under its name
# is the old one or the new one, whole, and no temporary is left.
#
#     FAULTS_SEED=7 FAULTS_MOST=1000 tests/cli/cli_faults.sh       others of the calls, or all of them
set -euo pipefail
. "$(dirname "$0")/../support/commands.sh"

command -v strace >/dev/null || { echo 'strace, which lets system calls fail here, is not installed' && exit 77; }
[ -z "${SAN-}" ] || { echo 'left out: a sanitizer cannot be traced' && exit 77; }
SHARDLAB=$(realpath "$SHARDLAB")
text=$(realpath tests/golden/text.txt)
export OPENBLAS_CORETYPE=${OPENBLAS_CORETYPE:-Prescott} # or the command may begin anew, and the loader's calls are made twice
cd "$TMPDIR"
strace -o probe -e inject=write:error=ENOSPC:when=1 true 2>err || { echo "strace cannot trace here: $(head -n 1 err)" && exit 77; }
RANDOM=${FAULTS_SEED:-1}
most=${FAULTS_MOST:-3} # of a kind of call of a command
"$SHARDLAB" plan --model mlp --ranks 2 >plan.txt

# A kind of call and the error it ends with. Those before main, of the loader, are not the program's: `help` has them too.
faults=(write:ENOSPC pwrite64:ENOSPC openat:EACCES openat:EMFILE read:EIO fsync:EIO rename:EIO renameat:ENOSPC close:EIO
	mmap:ENOMEM mkdir:ENOSPC fallocate:ENOSPC flock:ENOLCK newfstatat:EIO fchmod:EPERM)

# counts FILE COMMAND...: how often each kind of call is made, a line each.
counts() {
	strace -f -c -o "$1" -U name,calls "${@:2}" >/dev/null 2>&1 || fail "${*:2}: exit status $?"
}
count() {
	awk -v name="$2" '$1 == name { n = $2 } END { print n + 0 }' "$1"
}

# run_in FOLDER COMMAND...: in a folder of its own, where the old files are.
run_in() {
	rm -rf "$1"
	mkdir "$1"
	for file in "${files[@]}"; do cp before "$1/$file"; done
	(cd "$1" && exec "${@:2}" >stdout 2>stderr)
}

# is_whole FILE: the old file, the one of the run that nothing struck, or one that differs in its times alone. A log grows
# line by line.
is_whole() {
	! cmp -s before "here/$1" || return 0
	cmp -s "good/$1" "here/$1" && return
	case $1 in
	*.json | *.svg) [ "$(tail -c 3 "good/$1")" = "$(tail -c 3 "here/$1")" ] ;;
	*.csv) [ "$(head -n 1 "good/$1")" = "$(head -n 1 "here/$1")" ] || [ ! -s "here/$1" ] ;;
	*) false ;;
	esac
}

# judge NAME STATUS: what a run that was struck has said and left.
judge() {
	local file lines
	# A picture has other letters then. fontconfig's line shows memory that it never set, of any bytes and lines, before "(errno 5)".
	LC_ALL=C sed -i -e '/^Fontconfig .*failed reading/{:more' -e '/(errno [0-9]*)$/!{N;b more' -e '}' -e '}' -e '/^Fontconfig /d' here/stderr
	lines=$(wc -l <here/stderr)
	case $2:$lines in
	0:0) [ "$(tail -c 3 good/stdout)" = "$(tail -c 3 here/stdout)" ] || complain "$1: status 0, and its output lacks its end" ;;
	1:1 | 2:1) grep -q '^fatal: ' here/stderr || complain "$1: says '$(cat here/stderr)'" ;;
	*) complain "$1: exit status $2, $lines lines: $(head -n 3 here/stderr)" ;;
	esac
	[ -z "$(find here -name '*.partial')" ] || complain "$1: left $(find here -name '*.partial')"
	for file in "${files[@]}"; do
		is_whole "$file" || complain "$1: $file is half-written"
	done
	[ ! -e here/saved ] || diff -r good/saved here/saved >/dev/null || complain "$1: the folder is not whole"
	if [ "$2" = 0 ]; then
		for file in good/*; do [ -e "here/${file#good/}" ] || complain "$1: status 0 without ${file#good/}"; done
	fi
}

# strike NAME ARGUMENT...
strike() {
	local name=$1 fault kind first last n step status
	shift
	run_in good "$SHARDLAB" "$@" || fail "$name: $(cat good/stderr)"
	rm -rf counted && mkdir counted
	(cd counted && counts ../all "$SHARDLAB" "$@")
	for fault in "${faults[@]}"; do
		kind=${fault%:*}
		first=$(($(count base "$kind") + 1)) last=$(count all "$kind")
		step=$(((last - first) / most + 1))
		for ((n = first + RANDOM % step; n <= last; n += step)); do
			status=0
			run_in here timeout -s KILL 20 strace -f -qq -o /dev/null -e "trace=$kind" -e "inject=$kind:error=${fault#*:}:when=$n" \
				"$SHARDLAB" "$@" 2>/dev/null || status=$?
			struck[status]=$((${struck[status]-0} + 1))
			judge "$name, $kind $n of $last ends with ${fault#*:}" "$status"
		done
	done
}

files=(run.json run.csv run.svg weights.safetensors)
struck=()
echo old >before
counts base "$SHARDLAB" help
strike plan plan --plan ../plan.txt
strike sim sim --model gpt --json --trace run.json
strike compare compare --model mlp --json
small=(train --model 'gpt:layers=1,width=16,heads=2,context=8' --data "$text" --strategy single --steps 1 --batch 2 --evaluate no)
strike train "${small[@]}" --save saved --trace run.json
strike 'train to files' "${small[@]}" --save weights.safetensors --log run.csv --plot run.svg
echo "faults $((${struck[0]-0} + ${struck[1]-0} + ${struck[2]-0})): ended as otherwise ${struck[0]-0}, with status 1 ${struck[1]-0}, with status 2 ${struck[2]-0}"
# Else nothing was struck.
[ "${struck[0]-0}" -gt 4 ] && [ "${struck[1]-0}" -gt 4 ] && [ "${struck[2]-0}" -gt 4 ] ||
	complain "runs by exit status: 0 ${struck[0]-0}, 1 ${struck[1]-0}, 2 ${struck[2]-0}"
exit $((errors > 0))
