#!/bin/bash
# Files from `make install` can be built against, and are gone after `make uninstall`. A program of a few lines
# compiles, verifies, simulates and prints a plan, without any library of the executors or the window: the text and the
# time are those of the command.
set -euo pipefail

cd "$(dirname "$0")/../.."
. tests/support/commands.sh
prefix=$TMPDIR/prefix

tools/install.sh install "$(dirname "$SHARDLAB")" "$prefix"
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
cp tests/strategy/installed.c "$TMPDIR"
# In a folder of its own, so that headers are the installed ones. No library but those that pkg-config names.
# shellcheck disable=SC2046,SC2086
(cd "$TMPDIR" && ${CC:-cc} ${SAN:+-fsanitize=$SAN} -std=c11 -Wall -Wextra -Werror installed.c \
	$(pkg-config --cflags --libs shardlab) -o installed)
"$TMPDIR/installed" >"$TMPDIR/plan" 2>"$TMPDIR/time" || fail "the program failed: $(cat "$TMPDIR/time")"

run plan plan --strategy zero2 --ranks 4
cmp "$TMPDIR/plan" "$TMPDIR/plan.out" || fail 'the program prints another plan than the command'
run sim sim --strategy zero2 --ranks 4 --cluster a100-80gb --json
grep -qF "\"step_s\": $(cat "$TMPDIR/time")," "$TMPDIR/sim.out" || fail "the program has a step of $(cat "$TMPDIR/time") s"
[ "$("$prefix/bin/shardlab" --version)" = "shardlab $(pkg-config --modversion shardlab)" ] || fail 'pkg-config has another version'

"$prefix/bin/shardlab" lesson --language zh >"$TMPDIR/lessons"
grep -q '^0\. 五分钟入门' "$TMPDIR/lessons" || fail 'no Chinese lessons beside the installed program'

tools/install.sh uninstall "$(dirname "$SHARDLAB")" "$prefix"
left=$(find "$prefix" -type f)
[ -z "$left" ] || fail "left after uninstall: $left"
