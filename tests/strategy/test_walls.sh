#!/bin/bash
# Rooms have walls: what sources include, and what the objects that were linked say of each other, by `nm`.
#
#     includes   a source includes nothing but its layer and those that the layer stands on, by paths from the root
#     up         nor does it include a header of a room further down the list below
#     order      an object needs nothing of a room further down the list below, nor of a layer that is none of its layer's
#     rings      no more than 4 objects of a room need each other, directly or through others
#     alone      the linker, given all of a layer and the layers that it stands on, finds everything
#
# A symbol that is declared by hand, or called by way of a header further down, is found among the objects alone.
set -euo pipefail

cd "$(dirname "$0")/../.."
build=$(dirname "${SHARDLAB#"$PWD"/}")
: "${TMPDIR:=/tmp}"

# From the ground up. Rooms on one line are one room; behind | is another that knows nothing of it.
order='
strategy/base
strategy/collective
strategy/model
strategy/settings
strategy/recipe
strategy/plan
strategy/plan/verify
strategy/plan/text
strategy/trace
strategy/cluster
strategy/step
strategy/strategies
strategy/emit
kernels/cpu kernels/cpu/simd
sim
real/communicator
real/rank
real/cpu | real/cuda
real/device
real/data
real/checkpoint
real/tokenizer
real/generate
real/train
real/calibrate
viz/draw
viz/timeline
viz/question
viz/scene
viz/race
viz/export
viz/build
viz/window
cli/show
cli/options
cli/lesson
cli/lesson/export
cli/doctor
cli/command'

# The libraries that a layer is linked with: ours, and others' (names of pkg-config).
layers=(strategy kernels sim real viz cli)
declare -A below=([strategy]='' [kernels]='' [sim]='strategy' [real]='kernels strategy' [viz]='strategy'
	[cli]='viz real sim kernels strategy')
declare -A outside=([strategy]='jansson yaml-0.1 zlib' [kernels]='openblas' [sim]='' [real]='ompi-c glib-2.0 libpcre2-8'
	[viz]='cairo cairo-ft fontconfig freetype2 sdl2' [cli]='libcmark pangocairo')

# FILE:#include "PATH" lines on stdin: prints what is wrong with them. The tests may include what they like.
wrong_includes() {
	local file path layer
	while IFS=: read -r file path; do
		path=${path#*\"} path=${path%%\"*} layer=${file%%/*}
		case $path in
		..* | */../*) ;;
		*/*)
			case " $layer ${below[$layer]-${layers[*]} tests} " in *" ${path%%/*} "*) continue ;; esac
			echo "$file: \"$path\": $layer may include itself and: ${below[$layer]:-nothing}"
			continue
			;;
		esac
		echo "$file: \"$path\": write the path from the root of the tree"
	done
}

# The same lines: prints those that lead up, to a room further down the list. Rooms that are not in the list have no floor.
upward_includes() {
	awk -v order="$order" '
	function room_of(path) {
		sub(/\/[^\/]*$/, "", path)
		return path
	}
	BEGIN {
		lines = split(order, line, "\n")
		for (i = 1; i <= lines; i++) {
			rooms = split(line[i], room, " ")
			for (j = 1; j <= rooms; j++)
				floor[room[j]] = i
		}
	}
	{
		file = $0
		sub(/:.*/, "", file)
		split($0, part, "\"")
		from = room_of(file)
		to = room_of(part[2])
		if (from in floor && to in floor && floor[to] > floor[from])
			print file ": \"" part[2] "\" is further up"
	}'
}

# Prints what is wrong with the objects whose symbols (`nm -A -P`) are on stdin, nothing when all is well.
wrong() {
	awk -v order="$order" -v most=4 -v below="$(for layer in "${layers[@]}"; do echo "$layer ${below[$layer]}"; done)" '
	function room_of(object) {
		sub(/\/[^\/]*$/, "", object)
		return object
	}
	function apart(a, b) {
		return walls[room_of(a)] != walls[room_of(b)]
	}
	function is_wrong(from, to,   up) {
		up = floor[room_of(to)] - floor[room_of(from)]
		return up > 0 || (up == 0 && apart(from, to)) || !((layer_of(from), layer_of(to)) in may)
	}
	function layer_of(object) {
		sub(/\/.*/, "", object)
		return object
	}
	BEGIN {
		lines = split(order, line, "\n")
		for (i = 1; i <= lines; i++) {
			rooms = split(line[i], room, " ")
			for (j = 1; j <= rooms; j++) {
				if (room[j] == "|") {
					door++
				} else {
					floor[room[j]] = i
					walls[room[j]] = i "/" door
				}
			}
		}
		lines = split(below, line, "\n")
		for (i = 1; i <= lines; i++) {
			knows = split(line[i], room, " ")
			for (j = 1; j <= knows; j++)
				may[room[1], room[j]] = 1
		}
	}
	{
		object = $1
		sub(/\.o:$/, "", object)
		if (!(object in number)) {
			number[object] = ++objects
			name[objects] = object
			if (!(room_of(object) in floor))
				print object ": its room is not in the list"
		}
		if ($3 == "U") {
			wants[++needs] = object
			symbol[needs] = $2
		} else if ($3 ~ /^[A-Z]$/) {
			home[$2] = object
		}
	}
	# Tarjan: strongly connected components.
	function visit(v,   i, w, size, ring, several) {
		seen[v] = least[v] = ++visited
		stack[++top] = v
		open[v] = 1
		for (i = 1; i <= degree[v]; i++) {
			w = edge[v, i]
			if (!(w in seen))
				visit(w)
			if (open[w] && least[w] < least[v])
				least[v] = least[w]
		}
		if (least[v] < seen[v])
			return
		do {
			w = stack[top--]
			open[w] = 0
			ring = ring " " name[w]
			size++
			several = several || apart(name[w], name[v])
		} while (w != v)
		if (size > most || several)
			print "a ring of " size " objects" (several ? " of several rooms" : "") ":" ring
	}
	END {
		for (i = 1; i <= needs; i++) {
			from = wants[i]
			to = home[symbol[i]]
			if (to == "" || to == from)
				continue
			if (is_wrong(from, to))
				print from " needs " symbol[i] " of " to
			edge[number[from], ++degree[number[from]]] = number[to]
		}
		for (i = 1; i <= objects; i++)
			if (!(i in seen))
				visit(i)
	}'
}

errors=0

# First the checker itself: what is planted must be found, and nothing else.
# planted good|bad NEED...: a need is OBJECT>OBJECT.
planted() {
	local want=$1 need found
	shift
	found=$(for need in "$@"; do
		printf '%s.o: %s T 0 0\n' "${need%>*}" "in_${need%>*}" "${need#*>}" "in_${need#*>}"
		printf '%s.o: %s U\n' "${need%>*}" "in_${need#*>}"
	done | wrong)
	case $want:$found in
	good: | bad:?*) return ;;
	esac
	echo "the checker is wrong: $* is $want, and it said: '$found'"
	errors=1
}
# included good|bad FILE PATH
included() {
	local found
	found=$(for check in wrong_includes upward_includes; do $check <<<"$2:  #  include \"$3\""; done)
	case $1:$found in
	good: | bad:?*) return ;;
	esac
	echo "the checker is wrong: $2 with \"$3\" is $1, and it said: '$found'"
	errors=1
}
included good strategy/base/x.c strategy/base/y.h
for layer in sim real viz cli kernels; do
	included bad strategy/x.h $layer/y.h
done
included bad strategy/base/x.c ../y.h
included bad strategy/base/x.c strategy/../sim/y.h
included bad strategy/base/x.c y.h
included good kernels/x.c kernels/y.h
included bad kernels/x.cu strategy/y.h
included good sim/x.c strategy/y.h
included bad sim/x.c real/y.h
included bad sim/x.c kernels/y.h
included good real/x.c kernels/y.h
included bad real/x.c sim/y.h
included good viz/x.c strategy/y.h
included bad viz/x.c sim/y.h
included good cli/x.c real/y.h
included bad cli/x.c ../real/y.h
included good tests/sim/x.c tests/support/y.h
included good strategy/plan/x.c strategy/base/y.h
included bad strategy/base/x.c strategy/plan/y.h
included bad strategy/plan/x.c strategy/plan/verify/y.h
included good strategy/plan/verify/x.c strategy/plan/y.h
included bad viz/question/x.c viz/scene/y.h
included good viz/scene/x.c viz/question/y.h
planted good 'strategy/plan/a>strategy/base/b' 'sim/c>strategy/plan/a' 'cli/command/d>sim/c'
planted bad 'strategy/base/a>strategy/plan/b'
planted bad 'strategy/plan/a>strategy/strategies/b'
planted bad 'strategy/step/a>strategy/strategies/b'
planted bad 'real/train/a>sim/b'
planted bad 'viz/draw/a>kernels/cpu/b'
planted bad 'real/cuda/a>real/cpu/b'
planted good 'real/cuda/a>real/rank/b'
planted bad 'strategy/nowhere/a>strategy/base/b'
planted good 'sim/a>sim/b' 'sim/b>sim/c' 'sim/c>sim/d' 'sim/d>sim/a' 'sim/e>sim/a' 'sim/d>strategy/base/f'
planted bad 'sim/a>sim/b' 'sim/b>sim/c' 'sim/c>sim/d' 'sim/d>sim/e' 'sim/e>sim/a'
planted bad 'sim/a>strategy/base/b' 'strategy/base/b>sim/a'

# Then the sources, and the objects of the program.
includes=$(grep -rE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' --include='*.[ch]' --include='*.cu' --include='*.cuh' \
	"${layers[@]}" tests)
found=$(for check in wrong_includes upward_includes; do $check <<<"$includes"; done)
if [ -n "$found" ]; then
	echo "$found"
	errors=1
fi
mapfile -t objects < <(cat "$build"/members-* | tr ' ' '\n')
if [ ${#objects[@]} -lt 100 ]; then
	echo "there are only ${#objects[@]} objects in $build"
	exit 1
fi
found=$(nm -A -P "${objects[@]}" 2>/dev/null | sed "s,^$build/,," | wrong)
if [ -n "$found" ]; then
	echo "$found"
	errors=1
fi

# And the linker's word on each layer.
echo 'int main(void) { return 0; }' >"$TMPDIR/main.c"
for layer in "${layers[@]}"; do
	ours=() others=${outside[$layer]}
	for one in ${below[$layer]}; do
		ours+=("$build/libshardlab-$one.a")
		others+=" ${outside[$one]}"
	done
	# shellcheck disable=SC2046,SC2086
	if ! ${CC:-cc} ${SAN:+-fsanitize=$SAN} -fopenmp "$TMPDIR/main.c" \
		-Wl,--whole-archive "$build/libshardlab-$layer.a" -Wl,--no-whole-archive "${ours[@]}" \
		$(pkg-config --libs $others) -lm -lpthread -o "$TMPDIR/alone" >"$TMPDIR/ld" 2>&1; then
		echo "$layer does not link with ${below[$layer]:-nothing} alone:"
		grep -m 5 'undefined' "$TMPDIR/ld" || tail -n 5 "$TMPDIR/ld"
		errors=1
	fi
done
exit $errors
