#!/bin/bash
# Tries the README's two commands on a fresh Debian 12: makes one in a temporary folder, copies the tree there, installs
# make and nothing else, and runs `make demo` and `make check`. Not a part of `make check`, but of .ci/run.
#
#     make fresh-root                           both commands
#     tests/cli/fresh_root.sh setup all         these make targets instead
#     ROOT=/var/tmp/bare ONLY=gpu tests/cli/fresh_root.sh check
#
# Needs root, debootstrap and this machine's package mirror; where one of them is missing, or the root cannot be made
# with them, the exit status is 77 and the last line says why. Takes the files that git tracks or would track, as they
# lie in the folder. make is told WERROR, ONLY, MPI_RANKS, TEST_TIMEOUT and TEST_AGAIN.
#
# ROOT=FOLDER stays, and is taken as it was left the next time, with what was built in it.
set -euo pipefail

cd "$(dirname "$0")/../.."
impossible() {
	echo "no fresh Debian: $*"
	exit 77
}
[ "$(id -u)" = 0 ] || impossible 'this takes root'
command -v debootstrap >/dev/null || impossible 'debootstrap is missing; tools/install-dependencies.sh --ci brings it'
git rev-parse --git-dir >/dev/null 2>&1 || impossible 'git says which files belong to the tree, and this folder is no clone'
targets=("$@")
[ $# -gt 0 ] || targets=(demo check)

# The first Debian archive among this machine's own sources, in either format (deb822, or lines that start with "deb").
mirror=$({
	cat /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list /etc/apt/sources.list.d/*.sources \
		/etc/apt/sources.list.d/*.list 2>/dev/null || true
} | grep -oE '^(URIs:|deb( \[[^]]*\])?) *(https?|file):[^ ]+' | sed -n '1s/.* //p')
[ -n "$mirror" ] || impossible 'there is no package mirror in /etc/apt'

root=${ROOT:-$(mktemp -d "${TMPDIR:-/tmp}/shardlab-root.XXXXXX")}
mounted=()
clean_up() {
	local i
	for ((i = ${#mounted[@]} - 1; i >= 0; i--)); do
		# Lazily, when something inside still runs; what is still mounted must not be deleted through.
		umount "${mounted[i]}" 2>/dev/null || umount -l "${mounted[i]}" || return
	done
	if [ -z "${ROOT-}" ]; then rm -rf --one-file-system "$root"; fi
}
trap clean_up EXIT
trap 'exit 130' INT TERM

# mount_at FOLDER MOUNT-ARGUMENT...: in the root.
mount_at() {
	mount "${@:2}" "$root/$1" 2>"$root/mount.log" || return
	mounted+=("$root/$1")
}

# logged NAME COMMAND...: shows what it printed when it fails.
logged() {
	"${@:2}" >"$root/$1.log" 2>&1 && return
	tail -n 20 "$root/$1.log"
	return 1
}

stage() { printf '== %s (%d s)\n' "$*" "$SECONDS"; }

mkdir -p "$root"
if [ ! -e "$root/etc/debian_version" ]; then
	stage 'a fresh Debian'
	logged debootstrap debootstrap --variant=minbase bookworm "$root" "$mirror" || impossible 'debootstrap failed'
	# Nobody needs the root after a crash.
	echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/unsafe-io"
fi

# The network as this machine reaches it: names, proxy, certificates.
cp -L /etc/resolv.conf "$root/etc/resolv.conf"
for file in /etc/apt/apt.conf $(grep -lisE 'proxy|verify|cainfo' /etc/apt/apt.conf.d/* || true); do
	if [ -e "$file" ]; then cp "$file" "$root/etc/apt/apt.conf.d/"; fi
done
if [ -e /etc/ssl/certs/ca-certificates.crt ]; then
	mkdir -p "$root/etc/ssl/certs"
	cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
fi

# Where /proc cannot be mounted anew (a container), the machine's own is bound. Ranks on one machine share memory.
mount_at proc -t proc proc || mount_at proc --rbind /proc || impossible "mount: $(cat "$root/mount.log")"
for device in null zero full random urandom tty; do
	[ -e "$root/dev/$device" ] || : >"$root/dev/$device"
	mount_at "dev/$device" --bind "/dev/$device" || impossible "mount: $(cat "$root/mount.log")"
done
mkdir -p "$root/dev/shm" "$root/dev/pts"
mount_at dev/shm -t tmpfs tmpfs || impossible "mount: $(cat "$root/mount.log")"
# Terminals, for tests of what people see.
mount_at dev/pts -t devpts -o newinstance,ptmxmode=0666 devpts || impossible "mount: $(cat "$root/mount.log")"
ln -sf pts/ptmx "$root/dev/ptmx"

mkdir -p "$root/shardlab"
find "$root/shardlab" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' file; do
	if [ -e "$file" ]; then printf '%s\0' "$file"; fi
done | tar --null --no-recursion -T - -cf - | tar -xf - --no-same-owner -C "$root/shardlab"

inside() {
	chroot "$root" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 "$@"
}
if ! inside sh -c 'command -v make' >/dev/null; then
	stage 'apt-get install make'
	logged apt inside sh -c 'apt-get -q update && DEBIAN_FRONTEND=noninteractive apt-get -q -y install make'
fi
told=()
for variable in WERROR ONLY MPI_RANKS TEST_TIMEOUT TEST_AGAIN; do
	if [ -n "${!variable-}" ]; then told+=("$variable=${!variable}"); fi
done
for target in "${targets[@]}"; do
	stage "make $target"
	inside "${told[@]}" make --no-print-directory -C /shardlab "$target"
done
stage 'done'
