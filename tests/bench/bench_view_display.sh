#!/bin/bash
# From a key to its picture on a display: the one that there is, or Xvfb. Without it, `bench_view` has used SDL's dummy.
set -euo pipefail

program=$(dirname "$SHARDLAB")/tests/bench/bench_view
if [ -n "${DISPLAY-}${WAYLAND_DISPLAY-}" ]; then
	exec "$program" key
fi
if ! command -v Xvfb >/dev/null; then
	echo "Xvfb is missing, and there is no display: not measured"
	exit 0
fi
folder=$(mktemp -d)
trap 'kill "$xvfb" 2>/dev/null || true; rm -r "$folder"' EXIT
Xvfb -displayfd 3 -screen 0 1920x1080x24 -nolisten tcp 3>"$folder/display" >/dev/null 2>&1 &
xvfb=$!
for _ in $(seq 100); do
	[ ! -s "$folder/display" ] || break
	sleep 0.1
done
[ -s "$folder/display" ] || { echo "Xvfb did not start: not measured"; exit 1; }
unset SDL_VIDEODRIVER
DISPLAY=:$(cat "$folder/display") "$program" key
