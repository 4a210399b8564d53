#!/bin/bash
# Limits on ptxas's figures for the GPU's kernels, kept beside each object: no kernel spills registers into memory or has more
# of them than is written here, and no products of Hopper's wgmma are made to wait for one another.
set -uo pipefail
[ -z "${SAN-}" ] || { echo 'under a sanitizer there is no library for GPUs' && exit 77; }
. "$(dirname "$0")/../support/commands.sh"

# FILE or *, and the most registers of a thread of its kernels. A multiprocessor has 65536: of 255 it holds 256 threads, of
# 128 twice as many, of 80 three times. Attention, norms and products keep what they work on in registers, a few blocks at a time.
ceilings='
attention_backward   255
attention_forward    255
attention_hopper     255
attention_hopper_backward 255
norm                 255
embedding            128
attention_plain      128
product_simple       128
product_tensor       128
product_hopper       128
*                     80
'

# check FILE...: a line for each kernel that is out of bounds, and how many there are.
check() {
	awk -v ceilings="$ceilings" '
		BEGIN { n = split(ceilings, lines, "\n"); for (i = 1; i <= n; i++) if (split(lines[i], w, " ")) most[w[1]] = w[2] }
		FNR == 1 { file = FILENAME; sub(/.*\//, "", file); sub(/\.ptxas$/, "", file); name = file in most ? file : "*"; limit = most[name] }
		/Compiling entry function/ { kernel = $7 " for " $9; kernels++ }
		match($0, /[0-9]+ bytes spill stores/) && substr($0, RSTART) + 0 > 0 { print file ": " kernel ": " $0; bad++ }
		match($0, /Used [0-9]+ registers/) && substr($0, RSTART + 5) + 0 > limit { print file ": " kernel ": " $0 ", at most " limit; bad++ }
		/C75[0-9][0-9]|serializ/ { print file ": " $0; bad++ }
		END { print kernels + 0 " kernels"; exit bad > 0 || !kernels }' "$@"
}

# ---- it finds what there is to find ----

entry="ptxas info    : Compiling entry function 'k' for 'sm_90'"
said() {
	printf '%s\n' "$entry" "    0 bytes stack frame, ${2:-0} bytes spill stores, ${3:-0} bytes spill loads" \
		"ptxas info    : Used ${4:-40} registers, used 1 barriers" "${5-}" >"$TMPDIR/$1.ptxas"
}
said swiglu
[ "$(check "$TMPDIR/swiglu.ptxas")" = '1 kernels' ] || fail 'a good kernel is not taken'
said swiglu 8 8 && check "$TMPDIR/swiglu.ptxas" >"$TMPDIR/found" && fail 'a spill'
said swiglu 0 0 81 && check "$TMPDIR/swiglu.ptxas" >"$TMPDIR/found" && fail 'registers'
said attention_forward 0 0 255 && ! check "$TMPDIR/attention_forward.ptxas" >"$TMPDIR/found" && fail 'registers of attention'
said swiglu 0 0 40 'ptxas warning : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized' &&
	check "$TMPDIR/swiglu.ptxas" >"$TMPDIR/found" && fail 'serialized products'

# ---- the kernels that were built ----

shopt -s nullglob
objects=("$(dirname "$SHARDLAB")"/cuda/kernels/cuda/*.o) reports=("$(dirname "$SHARDLAB")"/cuda/kernels/cuda/*.ptxas)
[ ${#objects[@]} -gt 0 ] || { echo 'the library for GPUs is not built (no nvcc)' && exit 77; }
[ ${#reports[@]} -eq ${#objects[@]} ] || fail "${#reports[@]} reports of ${#objects[@]} objects: build the library anew (make clean, make)"
check "${reports[@]}" >"$TMPDIR/found" || fail "$(cat "$TMPDIR/found")"
cat "$TMPDIR/found"
