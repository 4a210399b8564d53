#!/bin/bash
# What README.md says is so: its commands are carried out (of those that train, measure or open a window, only that they
# are known), the output that it shows is what is printed, and the keys of the window are those of its help.
set -euo pipefail
. "$(dirname "$0")/../support/commands.sh"

# OpenBLAS starts its threads with the program; one that is still starting when it ends looks like a leak.
export OPENBLAS_NUM_THREADS=1
readme=$(cd "$(dirname "$0")/../.." && pwd)/README.md
export SHARDLAB_CONFIG=$TMPDIR/none.yaml
cd "$TMPDIR"

# Lines that end in a backslash go on; what follows # is a remark, so that a whole line can be pasted.
sed -e ':more' -e '/\\$/{N;s/ *\\\n */ /;b more' -e '}' "$readme" |
	sed -n 's/^    build\/shardlab \([a-z].*\)/\1/p' | sed 's/ *#.*//' | sort -u >commands
[ "$(wc -l <commands)" -ge 20 ] || fail "only $(wc -l <commands) commands in README.md"

ran=0
while read -r -a words; do
	case ${words[*]} in
	'view --trace'*) continue ;; # of a run that is not there
	help* | plan* | sim* | compare* | view*--export*)
		status=0
		"$SHARDLAB" "${words[@]}" >/dev/null 2>err </dev/null || status=$?
		[ "$status" = 0 ] || fail "README.md: shardlab ${words[*]}: exit status $status, $(cat err)"
		ran=$((ran + 1))
		;;
	*) # the option that is not known comes last, so that all before it have been read
		message=$("$SHARDLAB" "${words[@]}" --zork 2>&1) && fail "shardlab ${words[*]} --zork was taken"
		[[ $message = *'unknown option --zork'* ]] || fail "README.md: shardlab ${words[*]}: $message"
		;;
	esac
done <commands
[ "$ran" -ge 10 ] || fail "only $ran commands of README.md were carried out"

sed -n '/^`shardlab sim .*` prints$/,/^- \*\*/p' "$readme" >shown
command=$(sed -n '1s/^`shardlab \(.*\)` prints$/\1/p' shown)
[ -n "$command" ] || fail 'README.md shows no output'
read -r -a words <<<"$command"
"$SHARDLAB" "${words[@]}" >printed
sed -n 's/^    //p; /^$/p' shown | sed '1{/^$/d}' >block
diff -u <(cat -s printed) <(cat -s block | sed '${/^$/d}') || fail "README.md shows something else than shardlab $command"
