#!/bin/bash
# README.md and docs/ say what is so. Their commands are carried out; those that train, measure or open a window need only be
# known. The output that README.md shows is what is printed. README.md stays short, and every link leads to a file.
set -euo pipefail
. "$(dirname "$0")/../support/commands.sh"

root=$(cd "$(dirname "$0")/../.." && pwd)
readme=$root/README.md
[ "$(wc -l <"$readme")" -le 150 ] || fail "README.md has more than 150 lines"
for page in "$readme" "$root"/docs/*.md; do
	sed 's/](/\n](/g' "$page" | sed -n 's/^](\([^)#]*\).*/\1/p' | sed '/^[a-z]*:/d' | sort -u | while read -r target; do
		[ -e "$(dirname "$page")/$target" ] || fail "${page#"$root"/}: there is no $target"
	done
done
[ -z "${SAN-}" ] || { echo 'left out: under a sanitizer the other scripts run these commands' && exit; }
cd "$TMPDIR"
mkdir Qwen2.5-7B # as downloaded
cp "$root/tests/golden/configs/qwen2.5-7b.json" Qwen2.5-7B/config.json
for rank in 0 1; do
	gzip -dc "$root/lessons/16/rank$rank.json.gz" >"rank$rank.json" # as PyTorch's profiler wrote it
done

# Lines that end in a backslash go on; what follows # is a remark, so that a whole line can be pasted.
sed -e ':more' -e '/\\$/{N;s/ *\\\n */ /;b more' -e '}' "$readme" "$root"/docs/*.md |
	sed -n 's/^    build\/shardlab \([a-z].*\)/\1/p' | sed 's/ *#.*//' | sort -u >commands
[ "$(wc -l <commands)" -ge 20 ] || fail "only $(wc -l <commands) commands in README.md and docs/"

ran=0
while IFS= read -r line; do
	eval "words=($line)" # as a shell reads it
	case ${words[*]} in
	'view --trace'*) continue ;; # of a run that is not there
	help* | plan* | sim* | compare* | trace\ rank* | view*--export*)
		status=0
		"$SHARDLAB" "${words[@]}" >/dev/null 2>err </dev/null || status=$?
		[ "$status" = 0 ] || fail "documents: shardlab ${words[*]}: exit status $status, $(cat err)"
		ran=$((ran + 1))
		;;
	*) # the option that is not known comes last, so that all before it have been read
		message=$("$SHARDLAB" "${words[@]}" --zork 2>&1) && fail "shardlab ${words[*]} --zork was taken"
		[[ $message = *'unknown option --zork'* ]] || fail "documents: shardlab ${words[*]}: $message"
		;;
	esac
done <commands
[ "$ran" -ge 10 ] || fail "only $ran commands of the documents were carried out"

sed -n '/^`shardlab sim .*` prints$/,/^- \*\*/p' "$readme" >shown
command=$(sed -n '1s/^`shardlab \(.*\)` prints$/\1/p' shown)
[ -n "$command" ] || fail 'README.md shows no output'
read -r -a words <<<"$command"
"$SHARDLAB" "${words[@]}" >printed
sed -n 's/^    //p; /^$/p' shown | sed '1{/^$/d}' >block
diff -u <(cat -s printed) <(cat -s block | sed '${/^$/d}') || fail "README.md shows something else than shardlab $command"
