/* The GPUs' checks: the driver's library is asked without a context, the others for their versions. */
#include "cli/doctor/doctor.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/cuda/cudnn.h"
#include "real/communicator/nccl.h"
#include "real/cuda/library.h"
#include "strategy/base/file.h"

/* ISO C converts no object pointer to a function's. */
static bool find(void *library, const char *name, void *function, size_t size)
{
	void *symbol = dlsym(library, name);
	memcpy(function, &symbol, size);
	return symbol != NULL;
}

/* ---- the driver ---- */

enum { DRIVER_NO_DEVICE = 100, MOST_GPUS = 64 };

/* name as in the library, parameters */
#define DRIVER_LIST(X)                                                                                                 \
	X(cuInit, (unsigned flags))                                                                                    \
	X(cuDriverGetVersion, (int *version))                                                                          \
	X(cuDeviceGetCount, (int *count))                                                                              \
	X(cuDeviceGet, (int *device, int number))                                                                      \
	X(cuDeviceGetName, (char *name, int size, int device))                                                         \
	X(cuDeviceTotalMem_v2, (size_t * bytes, int device))                                                           \
	X(cuDeviceCanAccessPeer, (int *can, int device, int peer))

static struct driver {
#define X(name, parameters) int(*name) parameters;
	DRIVER_LIST(X)
#undef X
	int version, error, count;
	int device[MOST_GPUS];
} driver;

/* The driver's error; NULL: there is none. */
static const char *driver_ask(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return "there is none (no libcuda.so.1); install NVIDIA's, or start the container with --gpus all";
#define X(name, parameters)                                                                                            \
	if (!find(library, #name, &driver.name, sizeof driver.name))                                                   \
		return "libcuda.so.1 has no " #name "; install a newer driver";
	DRIVER_LIST(X)
#undef X
	(void)driver.cuDriverGetVersion(&driver.version);
	driver.error = driver.cuInit(0);
	if (driver.error && driver.error != DRIVER_NO_DEVICE)
		return "it does not answer; look at nvidia-smi, and whether its version is the kernel module's";
	if (driver.error || driver.cuDeviceGetCount(&driver.count))
		driver.count = 0;
	driver.count = driver.count < MOST_GPUS ? driver.count : MOST_GPUS;
	for (int i = 0; i < driver.count; i++)
		if (driver.cuDeviceGet(&driver.device[i], i))
			driver.count = i;
	return NULL;
}

static const char *driver_wrong(void)
{
	static const char *wrong;
	static bool asked;
	if (!asked)
		wrong = driver_ask();
	asked = true;
	return wrong;
}

/* Checks that stand on the driver have nothing to say without it. */
static bool has_gpus(struct finding *out, enum doctor_state otherwise)
{
	if (driver_wrong())
		doctor_found(out, otherwise, "not known without a driver");
	else if (!driver.count)
		doctor_found(out, otherwise, "none; is CUDA_VISIBLE_DEVICES empty? See nvidia-smi -L");
	return !driver_wrong() && driver.count;
}

void doctor_driver(struct finding *out)
{
	if (driver_wrong() && driver.error)
		doctor_found(out, DOCTOR_MISSING, "error %d: %s", driver.error, driver_wrong());
	else if (driver_wrong())
		doctor_found(out, DOCTOR_MISSING, "%s", driver_wrong());
	else
		doctor_found(out, DOCTOR_OK, "up to CUDA %d.%d", driver.version / 1000, driver.version % 1000 / 10);
}

void doctor_gpus(struct finding *out)
{
	char name[200] = "?", other[200];
	size_t bytes = 0, least;
	bool same = true;
	if (!has_gpus(out, DOCTOR_MISSING))
		return;
	(void)driver.cuDeviceGetName(name, sizeof name, driver.device[0]);
	(void)driver.cuDeviceTotalMem_v2(&bytes, driver.device[0]);
	least = bytes;
	for (int i = 1; i < driver.count; i++) {
		if (!driver.cuDeviceGetName(other, sizeof other, driver.device[i]))
			same &= !strcmp(other, name);
		if (!driver.cuDeviceTotalMem_v2(&bytes, driver.device[i]) && bytes < least)
			least = bytes;
	}
	doctor_found(out, same ? DOCTOR_OK : DOCTOR_NOTE, "%d × %s, %.1f GB%s", driver.count, name, (double)least / 1e9,
	             same ? ""
	                  : " at least, and not all the same: the slowest sets the pace; choose with "
	                    "CUDA_VISIBLE_DEVICES");
}

void doctor_peers(struct finding *out)
{
	int pairs = 0, reached = 0, can;
	if (!has_gpus(out, DOCTOR_NOTE))
		return;
	for (int i = 0; i < driver.count; i++)
		for (int k = 0; k < driver.count; k++)
			if (i != k) {
				can = 0;
				pairs++;
				reached +=
				        !driver.cuDeviceCanAccessPeer(&can, driver.device[i], driver.device[k]) && can;
			}
	if (!pairs)
		doctor_found(out, DOCTOR_OK, "one GPU: there is none to reach");
	else if (reached == pairs)
		doctor_found(out, DOCTOR_OK, "each of %d GPUs reaches the others' memory", driver.count);
	else
		doctor_found(out, DOCTOR_NOTE,
		             "%d of %d pairs of GPUs: the others meet in the host's memory, which is slower; see "
		             "nvidia-smi topo -m, and whether IOMMU or ACS is on",
		             reached, pairs);
}

/* ---- libraries ---- */

void doctor_library(struct finding *out)
{
	const struct cuda_api *api;
	struct cuda_properties p = {.major = 0};
	int count = 0;
	enum status s = cuda_library_open(&api);
	s = s ? s : cuda_library_devices(api, &count);
	for (int i = 0; i < count && !s; i++)
		s = cuda_library_describe(api, i, &p);
	if (s)
		doctor_found(out, DOCTOR_MISSING, "%.600s", status_message());
	else
		doctor_found(out, DOCTOR_OK, "CUDA %d.%d, with code for compute capability %d.%d", p.runtime / 1000,
		             p.runtime % 1000 / 10, p.major, p.minor);
}

void doctor_toolkit(struct finding *out)
{
	char found[4096] = "/usr/local/cuda/bin/nvcc", whole[PATH_MAX];
	bool there = file_on_path("nvcc", found, sizeof found);
	if (!there)
		snprintf(found, sizeof found, "/usr/local/cuda/bin/nvcc");
	if (!there && access(found, X_OK))
		doctor_found(out, DOCTOR_NOTE,
		             "no nvcc on the PATH or in /usr/local/cuda/bin; to build for GPUs, install cuda-toolkit");
	else
		doctor_found(out, DOCTOR_OK, "%.500s", realpath(found, whole) ? whole : found);
}

/* The first of these files that there is, and the value that `version` of it gives; 0: it is not there. */
static size_t version_of(const char *const *files, const char *version)
{
	size_t (*ask)(void);
	for (; *files; files++) {
		void *library = dlopen(*files, RTLD_LAZY | RTLD_LOCAL);
		if (library && find(library, version, &ask, sizeof ask))
			return ask();
	}
	return 0;
}

static void found_cublaslt(struct finding *out, int built, int here)
{
	doctor_found(out, here < built ? DOCTOR_NOTE : DOCTOR_OK,
	             "%d.%d.%d; shardlab's library was built with %d.%d.%d%s", here / 10000, here / 100 % 100,
	             here % 100, built / 10000, built / 100 % 100, built % 100,
	             here < built ? ", which is newer: install that, or build with the toolkit that is here" : "");
}

void doctor_cublaslt(struct finding *out)
{
	static const char *const files[] = {"libcublasLt.so.13", "libcublasLt.so.12", NULL};
	const struct cuda_api *api;
	int built = 0, here = 0;
	if (!cuda_library_open(&api)) {
		api->cublaslt(&built, &here);
		found_cublaslt(out, built, here);
		return;
	}
	size_t v = version_of(files, "cublasLtGetVersion");
	if (v)
		doctor_found(out, DOCTOR_OK, "%zu.%zu.%zu", v / 10000, v / 100 % 100, v % 100);
	else
		doctor_found(out, DOCTOR_NOTE,
		             "not where libraries are looked for; shardlab's library finds that of its toolkit, or set "
		             "LD_LIBRARY_PATH");
}

void doctor_cudnn(struct finding *out)
{
	static const char *const files[] = {"libcudnn.so.9", NULL};
	const struct cuda_api *api;
	int v = cuda_library_open(&api) ? (int)version_of(files, "cudnnGetVersion") : api->cudnn();
	if (v >= CUDNN_OLDEST)
		doctor_found(out, DOCTOR_OK, "%d.%d.%d", v / 10000, v / 100 % 100, v % 100);
	else if (v)
		doctor_found(out, DOCTOR_NOTE,
		             "%d.%d.%d, which is too old: --attention cudnn needs 9.10; install a newer one", v / 10000,
		             v / 100 % 100, v % 100);
	else
		doctor_found(out, DOCTOR_NOTE,
		             "not found, and attention does without; for --attention cudnn install it (pip install "
		             "nvidia-cudnn-cu13, or -cu12), or name libcudnn.so.9 in SHARDLAB_CUDNN");
}

void doctor_nccl(struct finding *out)
{
	int v = 0, (*ask)(int *);
	if (nccl_check()) {
		doctor_found(out, DOCTOR_NOTE, "%.600s", status_message());
		return;
	}
	void *library = dlopen("libnccl.so.2", RTLD_LAZY | RTLD_LOCAL);
	if (library && find(library, "ncclGetVersion", &ask, sizeof ask))
		(void)ask(&v);
	doctor_found(out, DOCTOR_OK, "%d.%d.%d", v / 10000, v / 100 % 100, v % 100);
}
