#!/bin/bash
# No script asks a program through a pipe whose reader ends at its first match. A program that still has something to write then
# dies of SIGPIPE: with pipefail that is a failure, or a negation that holds, now and then.
set -euo pipefail
cd "$(dirname "$0")/../.."

program='(SHARDLAB"?|program"?|(^|[^-a-z])shardlab|fc-list|ldconfig|pdf[a-z]+)'
ends_early() {
	grep -nE "^[^#]*$program[ \"}][^|#]*\\| *(grep -[a-zA-Z]*q|grep -m|head)" "$@"
}

# One that is put in is found, and what reads all of it is not.
while IFS= read -r line; do
	ends_early <<<"$line" >/dev/null || { echo "not found: $line" && exit 1; }
done <<'END'
"$SHARDLAB" sim --json | grep -q '"step_s"'
if ! fc-list 2>/dev/null | grep -qF Noto; then
x=$(build/own/shardlab help | head -n 1)
"$prefix/bin/shardlab" --version | grep -qx 'shardlab 1'
END
! ends_early <<<'"$SHARDLAB" sim --json | sed -n 1p' || exit 1
! ends_early <<<'"$SHARDLAB" sim >out && grep -q step out || fail none' || exit 1

! ends_early tests/*/*.sh tests/hosts/* tools/*.sh --exclude=cli_pipes.sh || { echo 'let it write into a file, and ask that' && exit 1; }
