#include "real/cuda/library.h"
#include "strategy/base/path.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct cuda_api *in_use; /* of a test, or of the library once it is open */

void cuda_library_use(const struct cuda_api *api)
{
	in_use = api;
}

/* CUDA's error numbers, so that its headers are not needed. */
enum { ERROR_OLD_DRIVER = 35, ERROR_NO_DEVICE = 100 };

static const char file_name[] = "libshardlab-cuda.so";

/* `path` beside or above the executable; false if that is not there. */
static bool beside(char *path, size_t size, const char *folder)
{
	char program[PATH_OF_PROGRAM];
	if (!*path_of_program_folder(program))
		return false;
	snprintf(path, size, "%.3000s/%s%s", program, folder, file_name);
	return !access(path, R_OK);
}

static enum status find(char *path, size_t size)
{
	const char *given = getenv("SHARDLAB_CUDA_LIBRARY");
	if (given && *given) {
		snprintf(path, size, "%s", given);
		return access(path, R_OK)
		               ? status_fail(STATUS_INPUT, "{device} cuda: SHARDLAB_CUDA_LIBRARY=%.500s cannot be read",
		                             given)
		               : STATUS_OK;
	}
	if (beside(path, size, "") || beside(path, size, "../lib/"))
		return STATUS_OK;
	return status_fail(
	        STATUS_INPUT,
	        "{device} cuda: this program was built without CUDA (%s is not beside it); build it where nvcc "
	        "is found, or use {device} cpu",
	        file_name);
}

enum status cuda_library_open(const struct cuda_api **out)
{
	char path[4096];
	*out = in_use;
	if (in_use)
		return STATUS_OK;
	TRY(find(path, sizeof path));
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return status_fail(STATUS_INPUT, "{device} cuda: cannot load %.500s: %.500s", path, dlerror());
	const struct cuda_api *(*table)(void);
	void *symbol = dlsym(library, CUDA_API_SYMBOL);
	memcpy(&table, &symbol,
	       sizeof table); /* ISO C has no conversion from an object pointer to a function pointer */
	const struct cuda_api *api = symbol ? table() : NULL;
	if (!api || api->version != CUDA_API_VERSION) {
		dlclose(library);
		return status_fail(STATUS_INPUT,
		                   "{device} cuda: %.500s is of another version than this program; build both together",
		                   path);
	}
	*out = in_use = api;
	return STATUS_OK;
}

enum status cuda_library_failed(const struct cuda_api *api, enum status status, int error, const char *format, ...)
{
	char what[512];
	WITH_ARGS(format, status_format(what, sizeof what, format, args));
	return status_fail(status, "%s: %s", what, api->error_text(error));
}

enum status cuda_library_devices(const struct cuda_api *api, int *count)
{
	int error = api->count(count);
	if (error == ERROR_OLD_DRIVER)
		return status_fail(
		        STATUS_INPUT,
		        "{device} cuda: there is no NVIDIA driver, or it is older than this program's CUDA (%s); "
		        "install a newer driver, or use {device} cpu",
		        api->error_text(error));
	if (error && error != ERROR_NO_DEVICE)
		return status_fail(
		        STATUS_INPUT,
		        "{device} cuda: the driver does not answer (%s); look at nvidia-smi, or use {device} cpu",
		        api->error_text(error));
	if (error || *count < 1)
		return status_fail(STATUS_INPUT,
		                   "{device} cuda: there is no GPU here (is CUDA_VISIBLE_DEVICES empty?); use "
		                   "{device} cpu");
	return STATUS_OK;
}

enum status cuda_library_describe(const struct cuda_api *api, int gpu, struct cuda_properties *out)
{
	*out = (struct cuda_properties){.major = 0};
	int error = api->describe(gpu, out);
	if (error)
		return cuda_library_failed(api, STATUS_INPUT, error,
		                           "{device} cuda: GPU %d does not tell its properties", gpu);
	if (!out->runs_kernels)
		return status_fail(
		        STATUS_INPUT,
		        "{device} cuda: GPU %d (%.100s) has compute capability %d.%d, for which this build has no "
		        "code; build with CUDA_ARCHITECTURES=%d%d",
		        gpu, out->name, out->major, out->minor, out->major, out->minor);
	return STATUS_OK;
}
