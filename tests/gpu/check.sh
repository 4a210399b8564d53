#!/bin/bash
# `make check-gpu` runs these scripts one after another. Each can be run alone.
failed=''
for part in kernels plans validate families sanitizer; do
	echo "== $part"
	"$(dirname "$0")/$part.sh" || failed="$failed $part"
done
[ -z "$failed" ] || echo "failed:$failed"
[ -z "$failed" ]
