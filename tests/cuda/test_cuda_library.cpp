/* The library for GPUs as it is built, where there is none: it loads, its table is whole, cuBLASLt takes every
 * description of a product, and without a driver each call says so. What a device alone can tell is in tests/gpu. */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <unistd.h>

#include "kernels/cuda/product.h"
#include "tests/support/suite.h"

enum { BLAS_NOT_SUPPORTED = 10015, ENTRY = sizeof(void (*)()) };

namespace
{

void *library;
const struct cuda_api *api;

/* ISO C converts no object pointer to a function's. */
void find(const char *name, void *function)
{
	void *symbol = dlsym(library, name);
	memcpy(function, &symbol, sizeof symbol);
}

bool is_there(const void *of, size_t entry)
{
	void (*function)() = nullptr;
	memcpy(&function, static_cast<const char *>(of) + entry, sizeof function);
	return function;
}

START_TEST(the_table_is_whole)
{
	ck_assert_int_eq(api->version, CUDA_API_VERSION);
	for (size_t at = offsetof(struct cuda_api, error_text); at < sizeof *api; at += ENTRY)
		ck_assert_msg(is_there(api, at), "entry %zu", at);
}

START_TEST(errors_have_text)
{
	ck_assert_ptr_nonnull(strstr(api->error_text(2), "memory"));
	ck_assert_ptr_nonnull(strstr(api->error_text(35), "driver"));
	ck_assert_ptr_nonnull(strstr(api->error_text(900), "captur"));
	ck_assert_ptr_nonnull(strstr(api->error_text(BLAS_NOT_SUPPORTED), "not supported"));
	ck_assert_ptr_nonnull(strstr(api->error_text(CUDA_ERROR_WORKSPACE), "workspace"));
	ck_assert_ptr_nonnull(strstr(api->error_text(CUDA_ERROR_SHAPE), "shape"));
}

/* An attribute of another size than cuBLASLt's would leave every product to the slowest of kernels. */
START_TEST(products_can_be_described)
{
	alignas(256) static char memory[1024];
	int (*product_can_be_told)(const struct product *p, bool tf32) = nullptr;
	find("product_check", &product_can_be_told);
	ck_assert(product_can_be_told != nullptr);
	for (int e = PRODUCT_PLAIN; e <= PRODUCT_SUMS_B; e++)
		for (int type = ELEMENT_FP32; type <= ELEMENT_FP16; type++)
			for (int bits = 0; bits < 16; bits++) {
				struct linear_shape s = {
				        64, 24, 40, (bits & 1) != 0, ACTIVATION_NONE, static_cast<enum element>(type),
				        0};
				struct product p = bits & 2 ? product_weight(&s, memory, memory)
				                            : product_input(&s, memory, memory);
				p.epilogue = static_cast<enum product_epilogue>(e);
				p.bias = p.c = p.pre = p.sums = memory;
				p.residual = bits & 4 ? memory : nullptr;
				ck_assert_int_eq(product_can_be_told(&p, bits & 8), 0);
			}
}

bool has_driver()
{
	return !access("/dev/nvidiactl", F_OK) || !access("/dev/dxg", F_OK);
}

START_LOOP_TEST(calls_fail_without_a_driver, 0, !has_driver())
{
	struct cuda_properties properties;
	struct kernel_context *gpu = reinterpret_cast<struct kernel_context *>(&properties);
	void *memory = &properties;
	int devices = 3, error = api->count(&devices);
	ck_assert_int_eq(devices, 0);
	ck_assert_msg(error == 35 || error == 100, "%d: %s", error, api->error_text(error));
	ck_assert_int_ne(api->describe(0, &properties), 0);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_ne(api->open(&gpu, 0, 1 << 20), 0);
		ck_assert_ptr_null(gpu);
	}
	api->close(gpu);
	ck_assert_int_ne(api->allocate(nullptr, 1, &memory), 0);
	ck_assert_ptr_null(memory);
	ck_assert_int_ne(api->allocate_host(nullptr, 0, &memory), 0);
	ck_assert_ptr_null(memory);
}

} // namespace

int main()
{
	const char *program = getenv("SHARDLAB");
	char path[4096];
	int length = program ? static_cast<int>(strrchr(program, '/') - program) : 5;
	snprintf(path, sizeof path, "%.*s/libshardlab-cuda.so", length, program ? program : "build");
	if (access(path, R_OK))
		return suite_skip("the library for GPUs is not built (no nvcc, or under a sanitizer)");
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	const struct cuda_api *(*table)(void) = nullptr;
	if (library)
		find(CUDA_API_SYMBOL, &table);
	api = table ? table() : nullptr;
	if (!api) {
		fprintf(stderr, "error: %s\n", library ? "it lacks its table" : dlerror());
		return 1;
	}
	return suite_run("cuda library", 0);
}
