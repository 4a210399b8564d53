#!/bin/bash
# The layers below the command name a setting in braces, "{micro_batch}: …", and the command alone knows that it is an
# option. Every name in braces must be one of its options or commands, and no string of the layers may spell an option.
set -euo pipefail

cd "$(dirname "$0")/../.."
commands=(plan sim compare train validate calibrate view collective generate demo lesson help)
options=$(for command in "${commands[@]}"; do "$SHARDLAB" help "$command"; done |
	sed -n 's/^  --\([a-z0-9-]*\).*/\1/p' | sort -u)
read -ra known_names <<<"$(tr '\n-' ' _' <<<"$options") ${commands[*]}"

# Prints what is wrong in the string literals of the C files on the command line.
wrong() {
	awk -v known="${known_names[*]}" '
	BEGIN {
		count = split(known, list, " ")
		for (i = 1; i <= count; i++)
			is[list[i]] = 1
	}
	{
		rest = $0
		while (match(rest, /"([^"\\]|\\.)*"/)) {
			text = substr(rest, RSTART, RLENGTH)
			rest = substr(rest, RSTART + RLENGTH)
			# The sentences of a page stand in two braces, a character by its number in \x{85}.
			gsub(/\{\{[^}]*\}\}|\\\\x\{[0-9a-f]+\}/, "", text)
			for (inner = text; match(inner, /\{[a-z_0-9]+\}/); inner = substr(inner, RSTART + RLENGTH))
				if (!is[substr(inner, RSTART + 1, RLENGTH - 2)])
					print FILENAME ":" FNR ": no option or command has this name: " substr(inner, RSTART, RLENGTH)
			for (inner = text; match(inner, /--[a-z][a-z0-9-]*/); inner = substr(inner, RSTART + RLENGTH)) {
				name = substr(inner, RSTART + 2, RLENGTH - 2)
				gsub(/-/, "_", name)
				if (is[name])
					print FILENAME ":" FNR ": say {" name "}"
			}
		}
	}' "$@"
}

# First the checker itself: what is planted must be found, and nothing else.
place=$(mktemp -d)
trap 'rm -r "$place"' EXIT
planted() {
	local found
	printf '%s\n' "$2" >"$place/a.c"
	found=$(wrong "$place/a.c")
	case $1:$found in
	good: | bad:?*) return ;;
	esac
	echo "the checker is wrong: $2 is $1, and it said: '$found'"
	exit 1
}
planted good 'say("{micro_batch} %d: see {help} models, --no-install-recommends {}", n);'
planted good 'page("<p>{{sentence}}</p>", "\\x{85}");'
planted bad 'say("{micro_batches} %d", n);'
planted bad 'say("--micro-batch %d", n);'

# A page's style has names with two dashes, none of which may be taken for an option.
mapfile -t files < <(find strategy sim real viz -name '*.[ch]' | sort)
if [ ${#files[@]} -lt 100 ] || [ "$(wc -w <<<"$options")" -lt 50 ]; then
	echo "there are only ${#files[@]} files, and these options: $options"
	exit 1
fi
found=$(wrong "${files[@]}")
if [ -n "$found" ]; then
	echo "$found"
	exit 1
fi
