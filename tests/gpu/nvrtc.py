"""Compiles a .cu file's device code by a toolkit's NVRTC, which has NVIDIA's own front end, and writes its PTX.

    VENV/bin/python tests/gpu/nvrtc.py FILE.cu OUT.ptx sm_90a [-DNAME…]       status 1: it says why not

NVRTC knows no host: so functions that launch are compiled for the device, where they are never called, but make the same
instances of kernels' templates. What they need of the host's headers is below.
"""
import ctypes
import glob
import re
import sys

STD = """
#pragma once
typedef signed char int8_t; typedef unsigned char uint8_t; typedef short int16_t; typedef unsigned short uint16_t;
typedef int int32_t; typedef unsigned uint32_t; typedef long int64_t; typedef unsigned long uint64_t, uintptr_t;
typedef long intptr_t, ptrdiff_t;
#define INFINITY __int_as_float(0x7f800000)
#define INT64_MAX 0x7fffffffffffffffL
#define INT32_MAX 0x7fffffff
#define UINT32_MAX 0xffffffffU
#define UINT64_C(x) x##UL
#define INT64_C(x) x##L
namespace std {
template <typename T, T V> struct integral_constant {
	static constexpr T value = V;
	typedef T value_type;
	typedef integral_constant type;
	constexpr operator T() const { return V; }
};
typedef integral_constant<bool, true> true_type;
typedef integral_constant<bool, false> false_type;
template <typename A, typename B> struct is_same : false_type {};
template <typename A> struct is_same<A, A> : true_type {};
template <bool, typename A, typename B> struct conditional { typedef A type; };
template <typename A, typename B> struct conditional<false, A, B> { typedef B type; };
template <typename T> struct has_unique_object_representations : true_type {};
}
"""
RUNTIME = """
#pragma once
#include <type_traits>
template <typename... A> inline int cudaFuncSetAttribute(A...) { return 0; }
inline int no_error() { return 0; }
"""
ALIASES = "cmath cstddef cstdint cstring cstdlib cstdio math.h string.h stdbool.h stddef.h stdint.h stdio.h stdlib.h vector initializer_list"


def headers():
    """Names and sources of what is not read from folders: the launch is left out of device.cuh."""
    with open("kernels/cuda/device.cuh", encoding="utf-8") as f:
        device = f.read()
    for pattern, instead in ((r"kernel<<<.*?>>>\(.*\);", "(void)kernel;"), (r"cudaError_t error", "int error"),
                             ("cudaFuncAttributeMaxDynamicSharedMemorySize", "0"), (r"cudaMemsetAsync\([^()]*\([^()]*\)\)", "0"),
                             ("cudaGetLastError", "no_error")):
        device, count = re.subn(pattern, instead, device)
        if not count:
            sys.exit(f"nvrtc.py: device.cuh has no {pattern!r}: say here how it launches now")
    found = {"type_traits": STD, "cuda_runtime.h": RUNTIME, "kernels/cuda/device.cuh": device}
    found.update((name, "#include <type_traits>\n") for name in ALIASES.split())
    return found


def main(source, out, architecture, *options):
    """Compiles; the exit status."""
    packages = glob.glob(sys.prefix + "/lib*/python3*/site-packages/nvidia")[0]
    for name in sorted(glob.glob(packages + "/cuda_nvrtc/lib/libnvrtc*.so.*"), reverse=True):
        if "alt" not in name:  # the builtins' library is "libnvrtc-builtins…", looked for by the other
            library = ctypes.CDLL(name, mode=ctypes.RTLD_GLOBAL)
            if hasattr(library, "nvrtcCompileProgram"):
                nvrtc = library
    with open(source, "rb") as f:
        text = f.read()
    names = [(n.encode(), t.encode()) for n, t in headers().items()]
    strings = ctypes.c_char_p * len(names)
    program = ctypes.c_void_p()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), text, source.encode(), len(names), strings(*(t for _, t in names)),
                             strings(*(n for n, _ in names)))
    arguments = ["-std=c++17", "-default-device", "-rdc=true", "-arch=" + architecture, "-I.", "-I" + packages +
                 "/cuda_runtime/include", *options]
    failed = nvrtc.nvrtcCompileProgram(program, len(arguments), (ctypes.c_char_p * len(arguments))(*(a.encode() for a in arguments)))
    size = ctypes.c_size_t()
    if failed:
        nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetProgramLog(program, log)
        sys.stderr.write(log.value.decode())
        return 1
    nvrtc.nvrtcGetPTXSize(program, ctypes.byref(size))
    ptx = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetPTX(program, ptx)
    with open(out, "wb") as f:
        f.write(ptx.value)
    return 0


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
