#!/bin/bash
# Packs this build for a machine that has a GPU, CUDA's libraries and nothing else of what is needed: the programs, Open
# MPI, all shared libraries, the scripts of tests/gpu and what they read.
#
#     tests/gpu/pack.sh ARCHIVE.tar.xz       here, on Debian 12, after `make`; it runs there and on Ubuntu 24.04, and on what is newer
#     mkdir /tmp/gpu && tar -C /tmp/gpu -xf ARCHIVE.tar.xz
#     . /tmp/gpu/env.sh                      there: says what is missing, goes to the tree, sets what programs need
#     tests/gpu/first.sh                     ten minutes; docs/gpu.md says what is next
#
# `tests/gpu/record.sh LOG…` then writes what they printed into kernels/RESULTS.md.
set -euo pipefail
# An ARCHIVE.tar is not compressed. MAKE=none: all is built already.
[ $# = 1 ] || { echo "usage: $0 ARCHIVE.tar.xz" >&2 && exit 2; }
archive=$(realpath "$1")
cd "$(dirname "$0")/../.."

programs=(shardlab tests/gpu/ask_gpu tests/bench/bench_cuda_memory tests/bench/bench_cuda_matrix tests/bench/bench_cuda_ladder)
while read -r source; do
	programs+=("tests/gpu/$(basename "${source%.*}")")
done < <(grep -lE 'target_run|CUDA_SUITE' tests/cuda/test_cuda_*.c*)
[ "${MAKE-}" = none ] || make WERROR=1 "${programs[@]/#/build/}" build/libshardlab-cuda.so

stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
mkdir -p "$stage"/{build,lib,mpi/{bin,share,etc},pmix/lib,data,tree}
for program in "${programs[@]}"; do
	mkdir -p "$stage/build/$(dirname "$program")"
	strip -o "$stage/build/$program" "build/$program"
done
cp build/libshardlab-cuda.so "$stage/build/" # with its lines, by which compute-sanitizer names places

# Open MPI. On one machine shared memory is all the transport it needs.
libraries=/usr/lib/$(gcc -print-multiarch)
modules=$stage/mpi/lib/$(gcc -print-multiarch)/openmpi/lib/openmpi3 # as Debian has it below its prefix, /usr
mkdir -p "$modules"
cp -L "$(command -v mpirun)" "$(command -v orted)" "$stage/mpi/bin/"
cp -rL "$libraries/openmpi/lib/openmpi3/." "$modules/"
(cd "$modules" && rm -f mca_{mtl,btl,osc,atomic,oob,common,spml,pml}_*{ofi,psm,psm2,usnic,uct,openib,ucx,ud}.so \
	mca_pmix_s[12].so mca_{fs,fbtl,fcoll,ras,io,sharedfp}_*.so ./*.la)
cp -rL "$libraries/pmix2/lib/pmix" "$stage/pmix/lib/"
cp -rL "$libraries/pmix2/share" "$stage/pmix/"
cp -rL /usr/share/openmpi "$stage/mpi/share/"
cp -rL /etc/openmpi "$stage/mpi/etc/"

# Every shared library of all that, but the C and C++ libraries and CUDA's, which the other machine has.
find "$stage/build" "$stage/mpi" -type f \( -perm /u+x -o -name '*.so*' \) -exec ldd {} \; 2>/dev/null |
	awk '$2 == "=>" && $3 ~ "^/" { print $1, $3 }' | sort -u |
	grep -vE '^(lib(c|m|dl|pthread|rt|stdc\+\+|gcc_s|cuda|cublasLt)|ld-linux-x86-64)\.so' |
	while read -r name path; do
		cp -L "$path" "$stage/lib/$name"
		strip --strip-unneeded "$stage/lib/$name" 2>/dev/null || true
	done

cat >"$stage/env.sh" <<'END'
# Sourced by bash, from anywhere: the tree that was packed, and what its programs need.
packed=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export OPAL_PREFIX=$packed/mpi OPAL_SYSCONFDIR=$packed/mpi/etc/openmpi PMIX_INSTALL_PREFIX=$packed/pmix
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_plm=isolated OMPI_MCA_btl=self,vader OMPI_MCA_pml=ob1
# Containers may forbid reading another process's memory, and a driver's pinned memory may not be readable so.
export OMPI_MCA_btl_vader_single_copy_mechanism=none
# PyTorch has libraries of its own.
printf '#!/bin/sh\nexport LD_LIBRARY_PATH="%s"\nexec python3 "$@"\n' "${LD_LIBRARY_PATH:-}" >"$packed/python"
chmod +x "$packed/python"
export PYTORCH=$packed/python
# CUDA's own folders, or those of Python's packages; by its whole name: another version, or the empty
# library that CUDA has for linkers, does not serve.
folder_of() {
	find /usr/local/cuda*/ /usr/local /usr/lib /opt $(python3 -c 'import sys; print(*filter(None, sys.path))' 2>/dev/null) \
		-name "$1" -printf '%h:' -quit 2>/dev/null
}
LD_LIBRARY_PATH=$packed/lib:$(folder_of CUBLASLT)$(folder_of libnccl.so.2)/usr/local/nvidia/lib64:${LD_LIBRARY_PATH:-}
export LD_LIBRARY_PATH PATH=$packed/mpi/bin:/usr/local/cuda/bin:$PATH
export SHARDLAB=$packed/build/shardlab SHARDLAB_CUDA_LIBRARY=$packed/build/libshardlab-cuda.so
[ -e /usr/share/dictd/jargon.dict.dz ] || { mkdir -p /usr/share/dictd && cp "$packed/data/jargon.dict.dz" /usr/share/dictd/; }
ldd "$SHARDLAB" "$SHARDLAB_CUDA_LIBRARY" 2>&1 |
	sed -n 's/^\s*\(libcublasLt[^ ]*\) => not found.*/\1 is not here: install the toolkit of that number, or the cuBLAS of Python (nvidia-cublas, CUDA 12: nvidia-cublas-cu12)/p; t; /not found/p'
cd "$packed/tree" || return
END
cublaslt=$(ldd build/libshardlab-cuda.so | sed -n 's/^\s*\(libcublasLt[^ ]*\) .*/\1/p')
sed -i "s/CUBLASLT/${cublaslt:?}/" "$stage/env.sh"
cp /usr/share/dictd/jargon.dict.dz "$stage/data/"
git archive HEAD tests/gpu tests/golden/text.txt tests/golden/gpt2_losses.json tests/oracle kernels/RESULTS.md \
	tests/cuda/test_cuda_\* | tar -C "$stage/tree" -x
case $archive in
*.tar) tar -C "$stage" -c . >"$archive" ;;
*) tar -C "$stage" -c . | xz -T 0 -3 >"$archive" ;;
esac
echo "$archive: $(du -h "$archive" | cut -f 1)"
