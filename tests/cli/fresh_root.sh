#!/bin/bash
# Tries the README's two commands on a fresh Debian 12: makes one in a temporary folder, copies the tree there, installs
# make and nothing else, and runs `make demo` and `make check`. Not a part of `make check`; takes some minutes.
#
#     make fresh-root                     both commands
#     tests/cli/fresh_root.sh setup all       these make targets instead
#
# Needs root, debootstrap and this machine's package mirror. Takes the files that git tracks or would track, as they lie
# in the folder. KEEP=1 leaves the new root in place.
set -euo pipefail

cd "$(dirname "$0")/../.."
if [ "$(id -u)" != 0 ] || ! command -v debootstrap >/dev/null; then
	echo 'fresh_root.sh: needs root and the package debootstrap' >&2
	exit 2
fi
if ! git rev-parse --git-dir >/dev/null 2>&1; then
	echo 'fresh_root.sh: asks git which files belong to the tree, and this folder is no clone' >&2
	exit 2
fi
targets=("$@")
[ $# -gt 0 ] || targets=(demo check)

# The first Debian archive among this machine's own sources, in either format (deb822, or lines that start with "deb").
mirror=$({
	cat /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list /etc/apt/sources.list.d/*.sources \
		/etc/apt/sources.list.d/*.list 2>/dev/null || true
} | grep -oE '^(URIs:|deb( \[[^]]*\])?) *(https?|file):[^ ]+' | sed -n '1s/.* //p')
if [ -z "$mirror" ]; then
	echo 'fresh_root.sh: found no package mirror in /etc/apt' >&2
	exit 2
fi

root=$(mktemp -d "${TMPDIR:-/tmp}/shardlab-root.XXXXXX")
mounted=()
clean_up() {
	local i
	for ((i = ${#mounted[@]} - 1; i >= 0; i--)); do
		# Lazily, when something inside still runs; what is still mounted must not be deleted through.
		umount "${mounted[i]}" 2>/dev/null || umount -l "${mounted[i]}" || return
	done
	if [ -n "${KEEP-}" ]; then echo "fresh_root.sh: kept $root" >&2; else rm -rf --one-file-system "$root"; fi
}
trap clean_up EXIT
trap 'exit 130' INT TERM

stage() { printf '== %s (%d s)\n' "$*" "$SECONDS"; }

stage 'a fresh Debian'
debootstrap --variant=minbase bookworm "$root" "$mirror" >"$root.log" 2>&1 || {
	tail -n 20 "$root.log" >&2
	exit 1
}
rm -f "$root.log"

# The network as this machine reaches it: names, proxy, certificates.
cp -L /etc/resolv.conf "$root/etc/resolv.conf"
for file in /etc/apt/apt.conf $(grep -lisE 'proxy|verify|cainfo' /etc/apt/apt.conf.d/* || true); do
	if [ -e "$file" ]; then cp "$file" "$root/etc/apt/apt.conf.d/"; fi
done
if [ -e /etc/ssl/certs/ca-certificates.crt ]; then
	mkdir -p "$root/etc/ssl/certs"
	cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
fi

# Where /proc cannot be mounted anew (a container), the machine's own is bound.
mount -t proc proc "$root/proc" 2>/dev/null || mount --rbind /proc "$root/proc"
mounted+=("$root/proc")
for device in null zero full random urandom tty; do
	[ -e "$root/dev/$device" ] || : >"$root/dev/$device"
	mount --bind "/dev/$device" "$root/dev/$device"
	mounted+=("$root/dev/$device")
done
# Ranks on one machine share memory.
mkdir -p "$root/dev/shm"
mount -t tmpfs tmpfs "$root/dev/shm"
mounted+=("$root/dev/shm")

mkdir "$root/shardlab"
git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' file; do
	if [ -e "$file" ]; then printf '%s\0' "$file"; fi
done | tar --null --no-recursion -T - -cf - | tar -xf - --no-same-owner -C "$root/shardlab"

inside() {
	chroot "$root" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 "$@"
}
stage 'apt-get install make'
inside sh -c 'apt-get -q update && DEBIAN_FRONTEND=noninteractive apt-get -q -y install make' >"$root/make.log" 2>&1 || {
	tail -n 20 "$root/make.log" >&2
	exit 1
}
for target in "${targets[@]}"; do
	stage "make $target"
	inside make --no-print-directory -C /shardlab "$target"
done
stage 'done'
