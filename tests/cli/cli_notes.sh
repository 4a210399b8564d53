#!/bin/bash
# The teachers' notes: each lesson has one, and every command in them works. What opens a window is described as text, and
# without --at at its beginning. In another language the commands are the same.
set -euo pipefail
. "$(dirname "$0")/../support/commands.sh"

# commands FILE: those in indented blocks, a line each.
commands() {
	sed -n 's/^ \{4,\}\(shardlab \|for \)/\1/p' "$1"
}

for lesson in lessons/[0-9]*.md; do
	name=$(basename "$lesson")
	[ -e "lessons/notes/$name" ] || complain "lessons/notes/$name is missing"
done
for note in lessons/notes/*.md; do
	name=$(basename "$note")
	commands "$note" >>"$TMPDIR/commands"
	# shellcheck disable=SC2043 # one language, so far
	for folder in lessons/zh; do
		if [ ! -e "$folder/notes/$name" ]; then
			complain "$folder/notes/$name is missing"
		elif ! diff <(commands "$note") <(commands "$folder/notes/$name"); then
			complain "$folder/notes/$name has other commands than $note"
		fi
	done
done
[ "$(wc -l <"$TMPDIR/commands")" -ge 40 ] || complain 'there are hardly any commands in the notes'
# Under sanitizers they find nothing that tests of these commands do not.
[ -z "${SAN-}" ] || exit $((errors > 0))

# Links lead somewhere.
for note in lessons/notes/*.md lessons/zh/notes/*.md; do
	while IFS= read -r target; do
		[ -e "$(dirname "$note")/$target" ] || complain "$note: there is no $target"
	done < <(grep -o '](\([^)]*\))' "$note" | sed 's/^](//; s/)$//')
done

mkdir -p "$TMPDIR/bin" "$TMPDIR/class"
ln -s "$(realpath "$SHARDLAB")" "$TMPDIR/bin/shardlab"
ln -s "$PWD/lessons" "$TMPDIR/class/lessons"
export PATH=$TMPDIR/bin:$PATH
unset DISPLAY WAYLAND_DISPLAY
cd "$TMPDIR/class"
[ -d /usr/share/datasets/fashion-mnist ] || echo 'left out: what trains in the notes: dataset-fashion-mnist is not installed'
while IFS= read -r command; do
	case $command in # a text has all scenes
	'shardlab view '*--export*) ;;
	'shardlab view '*' --scene '*) command=$(sed 's/ --scene [a-z]*//' <<<"$command") ;;
	esac
	case $command in
	'shardlab train '*) [ -d /usr/share/datasets/fashion-mnist ] || continue ;;
	'shardlab view '*--export* | 'shardlab view '*--describe*) ;;
	'shardlab view '*--build* | 'shardlab view '*--race* | 'shardlab view '*--at*) command="$command --describe" ;;
	'shardlab view '*) command="$command --describe --at 0" ;;
	esac
	if ! bash -o pipefail -c "$command" </dev/null >"$TMPDIR/out" 2>"$TMPDIR/err"; then
		complain "$command: $(tail -n 1 "$TMPDIR/err")"
	elif [ ! -s "$TMPDIR/out" ] && [[ $command != *--export* ]]; then
		complain "$command prints nothing"
	fi
done < <(sort -u "$TMPDIR/commands")

exit $((errors > 0))
