/* The library for GPUs as it is built, where there is none: it loads, its table is whole, cuBLASLt takes every
 * description of a product, and without a driver each call says so. What a device alone can tell is in tests/gpu. */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <unistd.h>

#include "kernels/cuda/product.h"
#include "tests/support/suite.h"

extern "C" {
#include "strategy/model/family.h"
}

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

/* ---- the products of every model that is shipped ---- */

int (*product_status)(const struct product *p, bool tf32);

const struct family *const families[] = {
#define X(name) &family_##name,
        FAMILY_LIST(X)
#undef X
};

/* A plan's buffers begin at multiples of 64 bytes. */
alignas(64) char buffer[64]; /* addresses beyond it are asked about, never read */

/* What is put to cuBLASLt: it can be described; sums of columns are of the operand and layout that it takes; in 16 bits
 * rows begin at whole pieces of 16 bytes and consist of them, without which there are no fast algorithms; and nothing
 * that is fused in training falls back to a pass of its own. */
void check_part(const struct model *m, const char *kernel, const struct product *p)
{
	const struct product_arguments a = product_arguments_of(p);
	const bool narrow = p->type != ELEMENT_FP32;
	struct product parts[2];
	int status = product_status(p, !narrow);
	ck_assert_msg(!status, "%s, %s: status %d", m->specification, kernel, status);
	ck_assert_uint_eq(a.a_alignment, 16);
	ck_assert_uint_eq(a.d_alignment, 16);
	if (!narrow)
		return;
	ck_assert_msg(a.a_leading % 8 == 0 && a.b_leading % 8 == 0 && a.c_leading % 8 == 0,
	              "%s, %s: rows of %lld, %lld and %lld elements", m->specification, kernel,
	              static_cast<long long>(a.a_leading), static_cast<long long>(a.b_leading),
	              static_cast<long long>(a.c_leading));
	ck_assert_msg(product_parts(p, parts) == 1, "%s, %s: %lld x %lld x %lld ends within a piece of 16 bytes",
	              m->specification, kernel, static_cast<long long>(p->m), static_cast<long long>(p->n),
	              static_cast<long long>(p->k));
}

void check_product(const struct model *m, const char *kernel, const struct product *p)
{
	const struct product_arguments a = product_arguments_of(p);
	const bool fuses = p->epilogue > PRODUCT_BIAS && p->type != ELEMENT_FP32;
	struct product parts[2] = {*p, {}};
	const int count = p->epilogue > PRODUCT_BIAS ? 1 : product_parts(p, parts);
	for (int i = 0; i < count; i++)
		check_part(m, kernel, &parts[i]);
	ck_assert(p->epilogue != PRODUCT_SUMS_B || !a.a_transposed);
	ck_assert(p->epilogue != PRODUCT_SUMS_A || a.b_transposed);
	ck_assert_msg(!fuses || product_epilogue_fits(p), "%s, %s: epilogue %d does not fit", m->specification, kernel,
	              p->epilogue);
}

/* Does GELU, in the form that cuBLASLt has, make what this kernel reads? Then its slope is an epilogue backward. */
bool reads_gelu(const struct model *m, const struct kernel *k)
{
	for (int i = 0; i < m->kernel_count; i++)
		if (m->kernels[i].kind == KERNEL_LINEAR && m->kernels[i].y == k->x)
			return m->kernels[i].nonlinear == NONLINEAR_GELU_TANH;
	return false;
}

void check_kernel(const struct model *m, const struct kernel *k, enum element type)
{
	const bool narrow = type != ELEMENT_FP32;
	const struct linear_shape s = {2 * k->tokens,      k->in, k->out, k->weight_in_out, ACTIVATION_NONE, type,
	                               kernel_stride(m, k)};
	struct product p = product_forward(&s, buffer, buffer);
	p.c = p.pre = p.sums = buffer;
	p.bias = k->bias >= 0 ? buffer : nullptr;
	p.residual = k->residual >= 0 ? buffer : nullptr;
	p.epilogue = p.bias ? PRODUCT_BIAS : PRODUCT_PLAIN;
	if (narrow && k->nonlinear == NONLINEAR_GELU_TANH)
		p.epilogue = p.bias ? PRODUCT_GELU_BIAS : PRODUCT_GELU;
	check_product(m, k->name, &p);

	p = product_input(&s, buffer, buffer);
	p.c = p.pre = buffer;
	p.epilogue = narrow && reads_gelu(m, k) ? PRODUCT_GELU_SLOPE : PRODUCT_PLAIN;
	check_product(m, k->name, &p);

	for (int accumulates = 0; accumulates < 2; accumulates++) {
		p = product_weight(&s, buffer, buffer);
		p.c = p.sums = buffer;
		p.residual = accumulates ? buffer : nullptr;
		p.epilogue = narrow && k->bias >= 0 ? product_bias_sums(&s) : PRODUCT_PLAIN;
		check_product(m, k->name, &p);
	}
}

/* Not the MLP's: ten classes are no whole pieces. */
START_LOOP_TEST(products_of_shipped_models_are_fast_ones, 1, COUNT(families))
{
	int products = 0;
	find("product_check", &product_status);
	ck_assert(product_status != nullptr);
	for (int i = 0; i < families[_i]->count; i++) {
		struct model m;
		ck_assert_int_eq(model_open(&m, families[_i]->names[i].name, 0), STATUS_OK);
		for (int k = 0; k < m.kernel_count; k++)
			for (int type = ELEMENT_FP32; type <= ELEMENT_FP16 && m.kernels[k].kind == KERNEL_LINEAR;
			     type++) {
				check_kernel(&m, &m.kernels[k], static_cast<enum element>(type));
				products++;
			}
		model_release(&m);
	}
	ck_assert(products > 0 || families[_i] == &family_abstract);
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
