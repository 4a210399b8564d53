#!/bin/sh
# Links the program with strategies and collective algorithms of one's own; the tree stays as it is.
#
#     tools/own.sh mine.c               makes build/own/shardlab in the folder where one is
#     build/own/shardlab plan --strategy mine --ranks 4
#
# Every `const struct strategy NAME = …` and `const struct algorithm NAME = …` that begins a line of the files joins those
# of the tree. It stands on what `make` has built, in the folder build of the tree or in $BUILD.
set -eu

tree=$(cd -P "$(dirname "$0")/.." && pwd)
build=${BUILD:-$tree/build} to=build/own
stop() {
	echo "tools/own.sh: $*" >&2
	exit 2
}
[ $# -gt 0 ] || stop 'no file; give the C files of your strategy or algorithm: tools/own.sh mine.c'
for file; do
	[ -r "$file" ] || stop "cannot read $file"
done
if [ ! -e "$build/cli/main.o" ] || [ ! -e "$build/libraries.mk" ]; then
	stop "nothing is built in $build; run make first"
fi

# rows KIND FILE...: the names of what is defined.
rows() {
	kind=$1
	shift
	sed -n "s/^const struct $kind \([A-Za-z_][A-Za-z0-9_]*\) *=.*/\1/p" "$@"
}
strategies=$(rows strategy "$@")
algorithms=$(rows algorithm "$@")
[ -n "$strategies$algorithms" ] ||
	stop "$* defines nothing: a line must begin with 'const struct strategy NAME =' or 'const struct algorithm NAME ='"

# list KIND NAMES
list() {
	for name in $2; do echo "extern const struct $1 $name;"; done
	echo "const struct $1 *const own_$3[] = {"
	for name in $2; do echo "	&$name,"; done
	echo '	NULL,'
	echo '};'
}
mkdir -p "$to"
{
	echo '#include "strategy/collective/algorithms.h"'
	echo '#include "strategy/strategies/strategy.h"'
	list strategy "$strategies" strategies
	list algorithm "$algorithms" algorithms
} >"$to/lists.c"

cflags=$(sed -n 's/^LIBRARY_CFLAGS := //p' "$build/libraries.mk")
libraries=$(sed -n 's/^LIBRARIES := //p' "$build/libraries.mk")
layers=
for layer in cli viz real sim kernels strategy; do layers="$layers $build/libshardlab-$layer.a"; done
# Before the libraries, so that the lists stand in place of their empty ones.
# shellcheck disable=SC2086
${CC:-gcc} -std=gnu11 -O2 -g -Wall -Wextra -Wshadow -I"$tree" $cflags "$@" "$to/lists.c" "$build/cli/main.o" $layers \
	-Wl,--as-needed -fopenmp $libraries -o "$to/shardlab"
if [ -e "$build/libshardlab-cuda.so" ]; then ln -sf "$build/libshardlab-cuda.so" "$to/"; fi
for name in $strategies $algorithms; do echo "$to/shardlab has $name"; done
