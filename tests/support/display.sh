# shellcheck shell=bash
# A display of its own for a test's windows, with TMPDIR for its number. Sourced; whoever has an own trap on EXIT calls
# close_display in it.
xvfb=
close_display() {
	[ -z "$xvfb" ] || kill "$xvfb" 2>/dev/null || true
}

# open_display WIDTHxHEIGHT: the server chooses a number that is free and says which.
open_display() {
	Xvfb -displayfd 3 -screen 0 "$1x24" -noreset -nolisten tcp 3>"$TMPDIR/display" >/dev/null 2>&1 &
	xvfb=$!
	for _ in $(seq 100); do
		[ ! -s "$TMPDIR/display" ] || break
		sleep 0.1
	done
	DISPLAY=:$(cat "$TMPDIR/display")
	export DISPLAY
	unset SDL_VIDEODRIVER WAYLAND_DISPLAY
}
