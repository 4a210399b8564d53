#!/bin/bash
# Puts what was built where others find it, or takes it away again: the program, the lessons, the strategy layer and the
# simulator as libraries with their headers, and what pkg-config tells of them (`pkg-config --cflags --libs shardlab`).
#
#     tools/install.sh install BUILD PREFIX        tools/install.sh uninstall BUILD PREFIX
#
# BUILD is make's folder. DESTDIR stands before PREFIX where files are written, and not in what is written.
set -euo pipefail

cd "$(dirname "$0")/.."
what=$1 build=$2 prefix=$3 at=${DESTDIR-}$3

if [ "$what" = uninstall ]; then
	rm -f "$at"/bin/shardlab "$at"/lib/libshardlab-{cuda.so,strategy.a,sim.a} "$at"/lib/pkgconfig/shardlab.pc
	rm -f "$at"/share/man/man1/shardlab.1 "$at"/share/bash-completion/completions/shardlab \
		"$at"/share/zsh/site-functions/_shardlab
	rm -rf "$at"/include/shardlab "$at"/share/shardlab/lessons
	exit
fi

install -D -m 755 "$build/shardlab" "$at/bin/shardlab"
if [ -e "$build/libshardlab-cuda.so" ]; then
	install -D -m 755 "$build/libshardlab-cuda.so" "$at/lib/libshardlab-cuda.so"
fi
make_file() {
	mkdir -p "$(dirname "$at/$1")"
	"$build/shardlab" help "$2" >"$at/$1"
	chmod 644 "$at/$1"
}
make_file share/man/man1/shardlab.1 man
make_file share/bash-completion/completions/shardlab bash
make_file share/zsh/site-functions/_shardlab zsh
find lessons -type f | while IFS= read -r file; do
	install -D -m 644 "$file" "$at/share/shardlab/$file"
done
for layer in strategy sim; do
	install -D -m 644 "$build/libshardlab-$layer.a" "$at/lib/libshardlab-$layer.a"
	find "$layer" -name '*.h' -o -name '*.def' | while IFS= read -r header; do
		install -D -m 644 "$header" "$at/include/shardlab/$header"
	done
done
mkdir -p "$at/lib/pkgconfig"
cat >"$at/lib/pkgconfig/shardlab.pc" <<PC
prefix=$prefix

Name: shardlab
Description: Plans of distributed training: compiled, verified, simulated
Version: $(sed -n 's/^#define SHARDLAB_VERSION "\(.*\)"/\1/p' strategy/base/version.h)
Requires: jansson yaml-0.1 zlib
Cflags: -I\${prefix}/include/shardlab
Libs: -L\${prefix}/lib -lshardlab-sim -lshardlab-strategy -lm -lpthread
PC
