/* Attention of every model that is shipped, put to cuDNN where it is installed: each graph is built, and cuDNN makes a
 * plan of it, for a card that is described to it: no GPU is needed. cuDNN asks for a driver all the same; where there
 * is none, one that knows no device stands in (tests/emulate/driver.c). */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <set>
#include <tuple>
#include <unistd.h>

#include "kernels/cuda/attention_cudnn.h"
#include "tests/support/suite.h"

extern "C" {
#include "strategy/model/family.h"
}

namespace
{

enum { WORKSPACE = 64 << 20 /* as runs have it */ };

/* An H200, as cuDNN describes cards; names of properties are its own. */
const char card[] = R"({"deviceName": "NVIDIA H200", "deviceVer": 900, "driverVer": 13000, "multiProcessorCount": 132,
"warpSize": 32, "regsPerBlock": 65536, "maxRegistersPerSM": 65536, "maxCtasPerSM": 32, "maxThreadsPerBlock": 1024,
"maxThreadsPerSM": 2048, "maxSharedMemoryPerBlock": 49152, "maxSharedMemoryPerBlockOptin": 232448,
"reservedSharedMemoryPerBlock": 1024, "oversizedSharedMemoryPerBlock": 0, "totalGlobalMem": 150000000000,
"smClockRateKHz": 1980000, "memClockRateKHz": 3201000, "memoryBusWidth": 6144, "l2CacheSize": 62914560,
"maxGridSize": [2147483647, 65535, 65535], "maxBlockSize": [1024, 1024, 64], "cudaDeviceId": 0, "pciDeviceId": 0,
"isTccDriver": 0, "supportCoopLaunch": 1})";

decltype(&cudnn_attention_check) check;
decltype(&cudnn_attention_samples) samples;
const char *(*error_text)(int error);

const struct family *const families[] = {
#define X(name) &family_##name,
        FAMILY_LIST(X)
#undef X
};

typedef std::tuple<int64_t, int64_t, int64_t, int64_t> heads; /* tokens, heads, heads of keys, elements */

/* Shapes that cuDNN's rung may take, each once. */
std::set<heads> shapes_of(const struct family *f)
{
	std::set<heads> all;
	for (int i = 0; i < f->count; i++) {
		struct model m;
		ck_assert_int_eq(model_open(&m, f->names[i].name, 0), STATUS_OK);
		for (int k = 0; k < m.kernel_count; k++) {
			const struct kernel *a = &m.kernels[k];
			if (a->kind == KERNEL_ATTENTION && !a->window && !a->alibi && a->head_size <= 128)
				all.insert(heads(a->tokens, a->heads, a->kv_heads, a->head_size));
		}
		model_release(&m);
	}
	return all;
}

void put(const heads &h, enum element type, bool backward)
{
	const struct attention_shape s = {2, std::get<0>(h), std::get<1>(h), std::get<2>(h), std::get<3>(h), type, 0, 0,
	                                  0};
	int64_t bytes = 0, which = 0;
	int error = check(&s, backward, card, &which, WORKSPACE, &bytes);
	/* 2·T² bytes a head: long texts have too many for the workspace, and the rung below is theirs. */
	const bool fits = samples(&s, backward, WORKSPACE) > 0;
	ck_assert_msg(fits ? !error : error == CUDA_ERROR_WORKSPACE, "%s, T %lld, %lld and %lld heads of %lld: %s",
	              backward ? "backward" : "forward", (long long)s.tokens, (long long)s.heads, (long long)s.kv_heads,
	              (long long)s.head_size, error_text(error));
	ck_assert_int_le(bytes, WORKSPACE);
	ck_assert_int_eq(s.head_size % 8, 0); /* rows of q, k and v begin at whole pieces of 16 bytes */
}

START_LOOP_TEST(every_shipped_model_has_plans, 0, COUNT(families))
{
	for (const heads &h : shapes_of(families[_i]))
		for (int backward = 0; backward < 2; backward++)
			put(h, backward ? ELEMENT_BF16 : ELEMENT_FP16, backward);
}

/* Both types, with and without heads that share keys. */
START_LOOP_TEST(both_types, 0, 4)
{
	put(heads(1024, 12, _i & 1 ? 4 : 12, 64), _i & 2 ? ELEMENT_BF16 : ELEMENT_FP16, true);
}

/* All plans of GPT-2's attention, which are timed on a card: cuDNN has more than one, and the next is another. */
START_LOOP_TEST(every_plan_that_is_advised, 0, 2)
{
	const struct attention_shape s = {2, 1024, 12, 12, 64, ELEMENT_BF16, 0, 0, 0};
	int64_t which = 0, last = -1, count = 0, bytes = 0;
	for (; !check(&s, _i, card, &which, WORKSPACE, &bytes); which++, count++) {
		ck_assert_int_gt(which, last);
		ck_assert_int_le(bytes, WORKSPACE);
		last = which;
	}
	ck_assert_int_ge(count, 2);
	ck_assert_int_le(last, CUDNN_MOST_PLANS - 1);
}

void *open_library(const char *name)
{
	const char *program = getenv("SHARDLAB");
	char path[4096];
	int length = program ? static_cast<int>(strrchr(program, '/') - program) : 5;
	snprintf(path, sizeof path, "%.*s/%s", length, program ? program : "build", name);
	return access(path, R_OK) ? nullptr : dlopen(path, RTLD_NOW | RTLD_GLOBAL);
}

void find(void *library, const char *name, void *function)
{
	void *symbol = dlsym(library, name);
	memcpy(function, &symbol, sizeof symbol);
}

} // namespace

int main()
{
	int (*version)(void) = nullptr;
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!driver)
		driver = open_library("tests/emulate/libcuda.so.1");
	void *library = open_library("libshardlab-cuda.so");
	if (!library)
		return suite_skip("the library for GPUs is not built (no nvcc, or under a sanitizer)");
	find(library, "cudnn_version", &version);
	find(library, "cudnn_attention_check", &check);
	find(library, "cudnn_attention_samples", &samples);
	find(library, "cudnn_error_text", &error_text);
	if (!version || !check || !samples || !error_text || !driver) {
		fprintf(stderr, "error: the library for GPUs lacks its part of cuDNN\n");
		return 1;
	}
	if (version() < CUDNN_OLDEST)
		return suite_skip(version() ? "cuDNN is older than 9.10" : "cuDNN is not installed");
	return suite_run("cuda cudnn", 240);
}
