#!/bin/bash
# What `make check-gpu` runs, one after another. Each can be run alone.
failed=''
for part in kernels plans validate sanitizer; do
	echo "== $part"
	"$(dirname "$0")/$part.sh" || failed="$failed $part"
done
[ -z "$failed" ] || echo "failed:$failed"
[ -z "$failed" ]
