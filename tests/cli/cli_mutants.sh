#!/bin/bash
# The bugs of tests/mutants are those of this source: each has a name of its own, and its text stands where it says. Else
# `make mutants` stops before it has tried one.
set -euo pipefail
command -v python3 >/dev/null || { echo 'python3, which reads the bugs, is not installed' && exit 77; }
tests/mutants/run.py --list >"$TMPDIR/list" 2>&1 || { grep -E '^(stale|fatal)' "$TMPDIR/list" || cat "$TMPDIR/list"; exit 1; }
