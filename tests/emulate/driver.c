/* A driver where there is no GPU, as a library of its own: it knows no device, and code is loaded into nothing. cuDNN
 * makes its plans with it for cards that are described to it, which it does not without any driver
 * (tests/cuda/test_cuda_cudnn.cpp). */
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>

enum { NO_DEVICE = 100, NOT_FOUND = 500 };

/* name, what it returns, and whether its first parameter is a place for a result: any address will do. */
#define DRIVER_LIST(X)                                                                                                 \
	X(cuInit, NO_DEVICE, false)                                                                                    \
	X(cuDeviceGetCount, NO_DEVICE, false)                                                                          \
	X(cuCtxGetCurrent, NO_DEVICE, false)                                                                           \
	X(cuGetErrorString, NO_DEVICE, false)                                                                          \
	X(cuGetErrorName, NO_DEVICE, false)                                                                            \
	X(cuLaunchKernel, NO_DEVICE, false)                                                                            \
	X(cuLaunchKernelEx, NO_DEVICE, false)                                                                          \
	X(cuTensorMapEncodeTiled, NO_DEVICE, false)                                                                    \
	X(cuTensorMapEncodeIm2col, NO_DEVICE, false)                                                                   \
	X(cuCtxGetLimit, NO_DEVICE, false)                                                                             \
	X(cuCtxPopCurrent, NO_DEVICE, false)                                                                           \
	X(cuCtxPushCurrent, NO_DEVICE, false)                                                                          \
	X(cuStreamGetCtx, NO_DEVICE, false)                                                                            \
	X(cuLinkCreate, NO_DEVICE, false)                                                                              \
	X(cuLinkAddData, NO_DEVICE, false)                                                                             \
	X(cuLinkComplete, NO_DEVICE, false)                                                                            \
	X(cuLinkDestroy, NO_DEVICE, false)                                                                             \
	X(cuLaunchCooperativeKernel, NO_DEVICE, false)                                                                 \
	X(cuDeviceGet, NO_DEVICE, false)                                                                               \
	X(cuLibraryLoadFromFile, NO_DEVICE, false)                                                                     \
	X(cuKernelGetAttribute, NO_DEVICE, false)                                                                      \
	X(cuOccupancyMaxPotentialClusterSize, NO_DEVICE, false)                                                        \
	X(cuFuncGetAttribute, NO_DEVICE, false)                                                                        \
	X(cuFuncSetAttribute, 0, false)                                                                                \
	X(cuKernelSetAttribute, 0, false)                                                                              \
	X(cuLibraryUnload, 0, false)                                                                                   \
	X(cuModuleUnload, 0, false)                                                                                    \
	X(cuLibraryLoadData, 0, true)                                                                                  \
	X(cuLibraryGetKernel, 0, true)                                                                                 \
	X(cuKernelGetFunction, 0, true)                                                                                \
	X(cuModuleLoadData, 0, true)                                                                                   \
	X(cuModuleLoadDataEx, 0, true)                                                                                 \
	X(cuModuleGetFunction, 0, true)

#define X(name, result, gives)                                                                                         \
	int name(void **out);                                                                                          \
	int name(void **out)                                                                                           \
	{                                                                                                              \
		if (gives)                                                                                             \
			*out = &place;                                                                                 \
		return result;                                                                                         \
	}
static int place;
DRIVER_LIST(X)
#undef X

int cuDriverGetVersion(int *version);
int cuDriverGetVersion(int *version)
{
	*version = 13000;
	return 0;
}

/* The runtime asks for every function so. */
int cuGetProcAddress_v2(const char *name, void **out, int version, unsigned long flags, int *why);
int cuGetProcAddress_v2(const char *name, void **out, int version, unsigned long flags, int *why)
{
	(void)version;
	(void)flags;
	*out = dlsym(RTLD_DEFAULT, name);
	if (why)
		*why = *out ? 0 : 1;
	return *out ? 0 : NOT_FOUND;
}

int cuGetProcAddress(const char *name, void **out, int version, unsigned long flags);
int cuGetProcAddress(const char *name, void **out, int version, unsigned long flags)
{
	return cuGetProcAddress_v2(name, out, version, flags, NULL);
}
