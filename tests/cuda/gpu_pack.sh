#!/bin/bash
# What tests/gpu/pack.sh packs runs on a machine that has none of it: its libraries ask for nothing newer than Debian 12
# has, nor than Ubuntu 24.04, which is newer; and in a root with the essential packages alone everything works until a GPU is looked for, which one line says.
set -uo pipefail
[ -z "${SAN-}" ] || { echo 'under a sanitizer there is no library for GPUs' && exit 77; }
. "$(dirname "$0")/../support/commands.sh"
build=$(dirname "$SHARDLAB")
[ -e "$build/libshardlab-cuda.so" ] || { echo 'the library for GPUs is not built (no nvcc)' && exit 77; }
[ "$(id -u)" = 0 ] && command -v objdump dpkg-query >/dev/null || { echo 'this takes root, objdump and dpkg' && exit 77; }
git rev-parse HEAD >/dev/null 2>&1 || { echo 'git has the files that are packed, and this folder is no clone' && exit 77; }

root=$TMPDIR/root
mkdir -p "$root/packed" "$root/dev" "$root/tmp"
MAKE=none tests/gpu/pack.sh "$TMPDIR/pack.tar" >"$TMPDIR/pack.out" 2>&1 || fail "pack.sh: $(tail -n 3 "$TMPDIR/pack.out")"
tar -C "$root/packed" -xf "$TMPDIR/pack.tar"
rm "$TMPDIR/pack.tar"

# ---- what is asked of the C and C++ libraries: what is packed on Debian 12 runs there, and on all that is newer ----

debian12='GLIBC 2.36
GLIBCXX 3.4.30
CXXABI 1.3.13
GCC 12.0.0'
ubuntu2404='GLIBC 2.39
GLIBCXX 3.4.33
CXXABI 1.3.15
GCC 14.0.0'
case $(. /etc/os-release && echo "$ID $VERSION_ID") in
'debian 12') oldest='Debian 12' newest_of=$debian12 ;;
*) oldest='Ubuntu 24.04' newest_of=$ubuntu2404 ;;
esac

find "$root/packed/build" "$root/packed/lib" "$root/packed/mpi" "$root/packed/pmix" -type f -exec objdump -T {} + 2>/dev/null |
	grep -F '*UND*' | grep -oE '(GLIBC|GLIBCXX|CXXABI|GCC)_[0-9.]+' | sort -uV >"$TMPDIR/versions"
while read -r name newest; do
	asked=$(grep "^${name}_" "$TMPDIR/versions" | tail -n 1)
	[ -n "$asked" ] || fail "nothing asks for $name"
	[ "$(printf '%s\n' "$asked" "${name}_$newest" | sort -V | tail -n 1)" = "${name}_$newest" ] ||
		fail "$asked is newer than ${name}_$newest of $oldest"
done <<<"$newest_of"

# ---- a root with nothing but what every Debian or Ubuntu has ----

essential=$(dpkg-query -W -f '${Essential} ${Package}\n' | sed -n 's/^yes //p')
# shellcheck disable=SC2086
dpkg-query -L $essential libc6 libstdc++6 libgcc-s1 mawk 2>/dev/null | grep -v '/share/' | while read -r path; do
	[ ! -f "$path" ] || echo "$path"
done >"$TMPDIR/files"
xargs ldd <"$TMPDIR/files" 2>/dev/null | awk '$2 == "=>" && $3 ~ "^/" { print $3 }' | sort -u >>"$TMPDIR/files"
tar -C / -c -h -T <(sed 's|^/||' "$TMPDIR/files") 2>/dev/null | tar -C "$root" -x
ln -sf mawk "$root/usr/bin/awk"
cp -a /dev/null /dev/zero /dev/urandom "$root/dev/"
inside() {
	chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp /bin/bash -c ". /packed/env.sh >/tmp/missing; $1"
}
inside 'cat /tmp/missing' >"$TMPDIR/missing" 2>&1
! grep -v 'libcublasLt' "$TMPDIR/missing" || fail "not packed: $(cat "$TMPDIR/missing")"
inside '"$SHARDLAB" sim --model gpt --strategy zero2 --ranks 4' >"$TMPDIR/sim" 2>&1 || fail "sim: $(cat "$TMPDIR/sim")"
inside '"$SHARDLAB" train --model gpt:layers=1,width=16,heads=2,context=8 --data tests/golden/text.txt --steps 2 --ranks 1' \
	>"$TMPDIR/train" 2>&1 || fail "train: $(cat "$TMPDIR/train")"
for script in first second third beside; do
	inside "tests/gpu/$script.sh" >"$TMPDIR/script" 2>&1 || fail "$script.sh: $(cat "$TMPDIR/script")"
	grep -q '^skipped: .*: no GPU: ' "$TMPDIR/script" || fail "$script.sh: no reason: $(cat "$TMPDIR/script")"
	[ "$(wc -l <"$TMPDIR/script")" = 1 ] || fail "$script.sh: more than one line: $(cat "$TMPDIR/script")"
done
