#!/bin/bash
# Installs the Debian packages that shardlab needs and that this machine lacks.
#
#     tools/install-dependencies.sh          what building, running and testing need
#     tools/install-dependencies.sh --ci     and what .ci/run needs besides: clang and the static checkers
#
# With nothing missing it says nothing, needs neither root nor network, and takes a few milliseconds.
# Exit status: 0 everything is there; 2 packages are missing and could not be installed (one line says which).
set -euo pipefail

# The English text that the language model trains on.
text_package=dict-jargon

packages=(
	gcc g++ libc6-dev make pkg-config      # compiler and build
	openmpi-bin libopenmpi-dev             # ranks and their messages
	libopenblas-pthread-dev                # matrix products
	libjansson-dev libyaml-dev zlib1g-dev  # configurations, traces, compressed data sets
	dataset-fashion-mnist "$text_package"  # what is trained on
	libpcre2-dev libglib2.0-dev            # tokenizers: patterns, normal forms of Unicode
	libcmark-dev                           # lessons, which are Markdown
	libcairo2-dev libsdl2-dev              # pictures and the window
	libpango1.0-dev                        # lines of text on slides and handouts
	fonts-dejavu-core                      # their font
	check                                  # the unit tests
)
ci_packages=(clang clang-format clang-tidy cppcheck libclang-rt-14-dev libomp-14-dev)
# The window's tests: a display without a screen, keys and mouse, a browser for the HTML player.
ci_packages+=(xvfb xdotool xclip chromium imagemagick)
# The window in Chinese.
ci_packages+=(fonts-wqy-microhei)
# Reads the text of a PDF's pages.
ci_packages+=(poppler-utils)
# Hosts of namespaces.
ci_packages+=(iproute2)
# The two commands on a Debian with nothing installed.
ci_packages+=(debootstrap)

fail() {
	echo "install-dependencies.sh: $*" >&2
	exit 2
}

case "${1-}" in
'') ;;
--ci) packages+=("${ci_packages[@]}") ;;
*) fail "unknown argument '$1'; usage: tools/install-dependencies.sh [--ci]" ;;
esac

# Elsewhere than on Debian the names differ. Say what is needed and go on: the build names any library it does not find.
if ! command -v dpkg-query >/dev/null; then
	echo "install-dependencies.sh: not a Debian system, nothing installed; the Debian packages would be: ${packages[*]}" >&2
	exit 0
fi

# dpkg-query lists the packages it knows and complains about the others: what it does not list as installed is missing.
installed=$(dpkg-query --show --showformat '${Package} ${db:Status-Status}\n' "${packages[@]}" 2>/dev/null || true)
missing=()
for package in "${packages[@]}"; do
	grep -qxF "$package installed" <<<"$installed" || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

if [ "$(id -u)" = 0 ]; then
	as_root=()
elif command -v sudo >/dev/null; then
	# Without a terminal nobody can type a password: fail at once instead of waiting for one.
	if [ -t 0 ]; then as_root=(sudo); else as_root=(sudo -n); fi
else
	fail "packages are missing; as root, run: apt-get install ${missing[*]}"
fi

apt_get() {
	"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
		apt-get -y -o DPkg::Lock::Timeout=300 "$@" </dev/null >>"$log" 2>&1
}

log=$(mktemp "${TMPDIR:-/tmp}/shardlab-setup.XXXXXX")
echo "installing ${missing[*]}" >&2
# A list that cannot be updated (one dead third-party source is enough) does not matter as long as the packages install.
apt_get update || true
if ! apt_get install --no-install-recommends "${missing[@]}"; then
	reason=$(grep -E '^(E:|sudo:)' "$log" | tail -n 1 || true)
	fail "could not install packages (${reason:-see the log}; log: $log); as root, run: apt-get install ${missing[*]}"
fi
rm -f "$log"
