#!/bin/bash
# Plans and predictions of a hundred requests, by their checksums: a change of the structure changes none of them. When one
# differs on purpose, tests/support/requests.sh shows by how much (in a folder for each tree, compared by diff -r), and
#
#     make && SHARDLAB=build/shardlab UPDATE_GOLDEN=1 TMPDIR=/tmp bash tests/cli/cli_requests.sh
#
# writes the new ones.
set -euo pipefail

cd "$(dirname "$0")/../.."
golden=tests/golden/requests.txt
EVERY=8 tests/support/requests.sh plans >"$TMPDIR/requests"
if [ -n "${UPDATE_GOLDEN-}" ]; then
	cp "$TMPDIR/requests" "$golden"
fi
diff -u "$golden" "$TMPDIR/requests"
