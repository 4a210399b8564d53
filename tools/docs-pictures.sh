#!/bin/bash
# Draws the pictures of docs/ anew, with the program that make has built. They are not compared in a test: those of the
# lessons and of tests/golden/pictures show the same scenes and are.
#
#     make docs-pictures
#
# The page's two pictures need chromium.
set -euo pipefail
cd "$(dirname "$0")/.."
shardlab=build/shardlab
scratch=$(mktemp -d "${TMPDIR:-/tmp}/shardlab-docs.XXXXXX")
trap 'rm -rf "$scratch"' EXIT

$shardlab compare --model gpt2-124m --ranks 8 --micro-batch 1 --sequence 256 --precision bf16 --cluster a100-80gb \
	--export docs/memory.png >/dev/null
view() { $shardlab view "${@:2}" --export "docs/view_$1.png"; }
view overview --scene overview --at 60
view ring --scene collective --at 54
view memory --scene memory --at 60
view timeline --scene timeline --at 80
view ask --ask --at 53
view build --build --strategy zero3 --ranks 4 \
	--moves "load samples$(printf ', gather %s' root block.0 block.1 'root again' 'block.0 again' 'block.1 again'), …"

command -v chromium >/dev/null || {
	echo 'docs-pictures.sh: chromium is missing, so view_page.png and view_page_phone.png stay as they are' >&2
	exit 0
}
$shardlab view --model gpt2-124m --strategy zero3 --cluster a100-80gb --export "$scratch/page.html"
photograph() {
	HOME=$scratch chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size="$2" --screenshot="$PWD/docs/$1.png" \
		"file://$scratch/page.html#overview/150" 2>/dev/null
}
photograph view_page 1280,720
photograph view_page_phone 420,800
