#!/bin/bash
# Another nvcc than the one that is here: one that is too old is refused in a line, and tests/gpu/toolkits.sh says of each what it
# builds and what its ptxas reports. The compilers are stand-ins.
set -uo pipefail
[ -z "${SAN-}" ] || { echo 'under a sanitizer there is no library for GPUs' && exit 77; }
. "$(dirname "$0")/../support/commands.sh"

# nvcc RELEASE SPILLED
nvcc() {
	mkdir -p "$TMPDIR/$1/bin"
	cat >"$TMPDIR/$1/bin/nvcc" <<END
#!/bin/bash
[ "\$1" != --version ] || { echo 'Cuda compilation tools, release $1, V$1.131' && exit; }
echo "ptxas info    : Compiling entry function 'k' for 'sm_90'"
echo '    0 bytes stack frame, $2 bytes spill stores, $2 bytes spill loads'
touch "\${@: -1}"
END
	chmod +x "$TMPDIR/$1/bin/nvcc"
	echo "$TMPDIR/$1/bin/nvcc"
}
toolkits() {
	status=0
	NVCC=$1 TOOLKITS='' tests/gpu/toolkits.sh >"$TMPDIR/said" 2>&1 || status=$?
}

old=$(nvcc 11.8 0)
status=0
env -u MAKEFLAGS -u MAKELEVEL make -s BUILD="$TMPDIR/build" NVCC="$old" cuda >"$TMPDIR/said" 2>&1 || status=$?
[ "$status" = 2 ] && [ "$(head -n 1 "$TMPDIR/said")" = "make: nvcc 11.8 is too old ($old): CUDA 12.0 or newer is needed" ] ||
	fail "an old nvcc: $(cat "$TMPDIR/said")"
toolkits "$(nvcc 12.4 0) $(nvcc 12.9 0)"
[ "$status" = 0 ] || fail "toolkits.sh: $(cat "$TMPDIR/said")"
for release in 12.4 12.9; do
	grep -q "^nvcc $release ($TMPDIR/$release/bin/nvcc): builds the library, [0-9]* kernels: no spills, " "$TMPDIR/said" ||
		fail "toolkits.sh: no $release: $(cat "$TMPDIR/said")"
done
toolkits "$old $(nvcc 12.0 8)"
[ "$status" = 1 ] || fail "toolkits.sh: $(cat "$TMPDIR/said")"
grep -q '^make: nvcc 11.8 is too old ' "$TMPDIR/said" || fail "toolkits.sh: no word of 11.8: $(cat "$TMPDIR/said")"
grep -q "kernel 'k' for 'sm_90'\|'k' for 'sm_90': *0 bytes stack frame, 8 bytes spill" "$TMPDIR/said" || fail "toolkits.sh: no spill: $(cat "$TMPDIR/said")"
toolkits ''
[ "$status" = 77 ] || fail "toolkits.sh without a toolkit: exit status $status"
