#!/bin/bash
# The first pictures of a teacher, an engineer and a newcomer, as `view --export` draws them: a row a picture, compared with
# tests/golden/pictures/NAME.png (a few levels a channel may differ in a few pixels, as in window.sh). No display is needed.
#
#     UPDATE=1 SHARDLAB=$PWD/build/shardlab tests/viz/pictures.sh      draws them anew
#
# References have 16 levels a channel and 256 colours, closer than what may differ, so that many pictures are small: pale
# grounds look tinted in them, and `view` draws the true ones.
set -euo pipefail
. "$(dirname "$0")/../support/commands.sh"

[ -z "${SAN-}" ] || { echo 'under a sanitizer test_sizes and cli_view.sh draw the same scenes' && exit 77; }
command -v compare >/dev/null || { echo "ImageMagick's compare is missing: tools/install-dependencies.sh --ci brings it"; exit 77; }
golden=$PWD/tests/golden/pictures
list=()

# NAME OPTIONS: what is looked at most, in every size and in the presenter
everywhere='
first-screen
ring            --scene collective --at 56
pipeline        --strategy pipeline --accumulate 4 --scene timeline --at 150
ranks-64        --strategy zero3 --ranks 64 --at 30
ranks-1024      --strategy zero3 --ranks 1024 --cluster a100-80gb --at 30
does-not-fit    --model gpt2-1558m --strategy ddp --ranks 4 --cluster v100-16gb --at 40
compare         --compare all --at 40
what-if         --strategy zero2 --what-if bucket=4MB,link-bandwidth=10GB --pair before --at 40
question        --ask --at 20
measured        --scene timeline --measure 2000000:6000000 --at 60
other-program   --trace tests/golden/torch_profiler.json
'
# NAME SIZE OPTIONS: a new feature gets its row at the end
pictures='
pair            1366x768   --strategy zero1 --pair zero3 --at 30
race            1024x768   --race all-reduce --presenter --theme projector
schematic       1366x768   --collective ring-all-reduce --ranks 64 --at 10
built           1366x768   --build --strategy zero2 --ranks 2
'

# differs NAME: in how many pixels it differs from its reference
differs() {
	local off
	off=$(compare -metric AE -fuzz 4% "$TMPDIR/$1.png" "$golden/$1.png" null: 2>&1 || true)
	echo "${off%%[ .]*}"
}

# keep NAME: makes it a reference, of its commonest colours
keep() {
	mkdir -p "$golden"
	convert "$TMPDIR/$1.png" -strip +dither -posterize 16 "$TMPDIR/levels.png"
	convert "$TMPDIR/levels.png" -depth 8 -format %c histogram:info: | LC_ALL=C sort -rn |
		sed -n '1,256s/.*\(#[0-9A-F]*\).*/xc:\1/p' >"$TMPDIR/colours"
	xargs -a "$TMPDIR/colours" sh -c 'exec convert -size 1x1 "$@" +append "$0"' "$TMPDIR/colours.png"
	convert "$TMPDIR/levels.png" +dither -remap "$TMPDIR/colours.png" -define png:compression-level=9 "PNG8:$golden/$1.png"
}

# look NAME SIZE OPTIONS...
look() {
	local name=$1 size=$2 off
	shift 2
	list+=("$name.png")
	run drawn view --size "$size" "$@" --export "$TMPDIR/$name.png"
	if [ -n "${UPDATE-}" ]; then
		keep "$name"
		return
	fi
	[ -e "$golden/$name.png" ] || { complain "there is no reference for $name: UPDATE=1 draws it"; return; }
	off=$(differs "$name")
	[ "$off" -le 400 ] 2>/dev/null || complain "$name differs from its reference in '$off' pixels"
}

[ -z "${UPDATE-}" ] || rm -f "$golden"/*.png
while read -r name options; do
	for size in 1920x1080 1366x768 1024x768; do
		# shellcheck disable=SC2086
		[ -z "$name" ] || look "$name-$size" "$size" $options
	done
	# shellcheck disable=SC2086
	[ -z "$name" ] || look "$name-presenter" 1024x768 $options --presenter --theme projector
done <<<"$everywhere"
while read -r name size options; do
	# shellcheck disable=SC2086
	[ -z "$name" ] || look "$name" "$size" $options
done <<<"$pictures"

# The comparison can fail, and nothing is kept that no row draws.
cp "$TMPDIR/compare-1366x768.png" "$TMPDIR/first-screen-1366x768.png"
[ "$(differs first-screen-1366x768)" -gt 400 ] || complain 'another picture passes for the first screen'
[ "$(cd "$golden" && LC_ALL=C ls)" = "$(printf '%s\n' "${list[@]}" | LC_ALL=C sort)" ] || complain "tests/golden/pictures holds other files than the list"
[ "$(du -cb "$golden"/*.png | tail -n 1 | cut -f 1)" -le 2000000 ] || complain 'the references take more than 2 MB'
exit $((errors > 0))
