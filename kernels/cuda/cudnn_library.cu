/* Where cuDNN is: it is opened by name, in the loader's folders and in those of Python's packages. */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <glob.h>
#include <unistd.h>

#include "kernels/cuda/cudnn_library.h"

struct cudnn_library cudnn_library;

namespace
{

/* ISO C has no conversion from an object pointer to a function pointer. */
bool find(void *in, const char *name, void *function, size_t size)
{
	void *symbol = dlsym(in, name);
	memcpy(function, &symbol, size);
	return symbol;
}

/* The folders of Python's packages; * is a version of Python. cuDNN's other libraries lie beside it. */
const char *const packages[] = {"{VIRTUAL_ENV}/lib/python3*/site-packages", "{python3}/lib/python3*/site-packages",
                                "{HOME}/.local/lib/python3*/site-packages", "/usr/local/lib/python3*/dist-packages",
                                "/usr/local/lib/python3*/site-packages",    "/usr/lib/python3*/site-packages",
                                "/opt/conda/lib/python3*/site-packages"};

/* The folder above that of the python3 which PATH names: a virtual environment's own, whatever its python3 is a link
 * to. */
const char *python_prefix(char *out, size_t size)
{
	const char *path = getenv("PATH");
	while (path && *path) {
		int n = static_cast<int>(strcspn(path, ":"));
		if (snprintf(out, size, "%.*s/python3", n, path) < static_cast<int>(size) && !access(out, X_OK)) {
			strcpy(strrchr(out, '/'), "/..");
			return out;
		}
		path += n + (path[n] == ':');
	}
	return nullptr;
}

/* {NAME} at the start is a variable's value, {python3} that folder; where there is none, there is no such pattern. */
bool expand(const char *pattern, char *out, size_t size)
{
	const char *end = *pattern == '{' ? strchr(pattern, '}') : nullptr, *value = "";
	char prefix[1000];
	if (end) {
		char name[32];
		snprintf(name, sizeof name, "%.*s", static_cast<int>(end - pattern - 1), pattern + 1);
		value = strcmp(name, "python3") ? getenv(name) : python_prefix(prefix, sizeof prefix);
	}
	return value && snprintf(out, size, "%s%s/nvidia/cudnn/lib/libcudnn.so.9", value, end ? end + 1 : pattern) <
	                        static_cast<int>(size);
}

void *in_package(const char *pattern)
{
	char path[2000];
	glob_t found;
	void *library = nullptr;
	if (!expand(pattern, path, sizeof path) || glob(path, 0, nullptr, &found))
		return nullptr;
	for (size_t i = 0; i < found.gl_pathc && !library; i++)
		library = dlopen(found.gl_pathv[i], RTLD_NOW | RTLD_LOCAL);
	globfree(&found);
	return library;
}

void *load()
{
	const char *given = getenv("SHARDLAB_CUDNN");
	if (given && *given)
		return dlopen(given, RTLD_NOW | RTLD_LOCAL);
	void *library = dlopen("libcudnn.so.9", RTLD_NOW | RTLD_LOCAL);
	for (size_t i = 0; i < sizeof packages / sizeof *packages && !library; i++)
		library = in_package(packages[i]);
	return library;
}

int ask()
{
	void *in = load();
	if (!in)
		return CUDA_ERROR_NO_CUDNN;
	if (!find(in, "cudnnGetVersion", &cudnn_library.GetVersion, sizeof cudnn_library.GetVersion))
		return CUDA_ERROR_OLD_CUDNN;
	cudnn_library.version = static_cast<int>(cudnn_library.GetVersion());
#define X(name, parameters)                                                                                            \
	if (!find(in, "cudnn" #name, &cudnn_library.name, sizeof cudnn_library.name))                                  \
		return CUDA_ERROR_OLD_CUDNN;
	CUDNN_FUNCTION_LIST(X)
#undef X
	if (!find(in, "cudnnGetErrorString", &cudnn_library.GetErrorString, sizeof cudnn_library.GetErrorString))
		return CUDA_ERROR_OLD_CUDNN;
	return cudnn_library.version < CUDNN_OLDEST ? CUDA_ERROR_OLD_CUDNN : 0;
}

} // namespace

int cudnn_open(void)
{
	if (!cudnn_library.asked)
		cudnn_library.error = ask();
	cudnn_library.asked = true;
	return cudnn_library.error;
}

int cudnn_version(void)
{
	(void)cudnn_open();
	return cudnn_library.version;
}

const char *cudnn_error_text(int error)
{
	return error >= CUDNN_ERROR && cudnn_library.GetErrorString ? cudnn_library.GetErrorString(error - CUDNN_ERROR)
	                                                            : nullptr;
}
