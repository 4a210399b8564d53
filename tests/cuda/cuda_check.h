/* Helpers for tests of the GPU's kernels. Each case is run by the CPU's kernels and by the GPU's, compiled for
 * the host or on a GPU (tests/gpu/target.h); then by the GPU's again, on the host with blocks and threads in the
 * opposite order and other rubbish in the workspace, which must give the same bits. */
#ifndef SHARDLAB_TESTS_CUDA_CHECK_H
#define SHARDLAB_TESTS_CUDA_CHECK_H

#include "tests/gpu/target.h"

#define CHECK_MEMORY target_memory
#define CHECK_RELEASE target_release
#include "tests/kernels/elements_check.h"

/* Memory that a case reads and changes. */
struct array {
	const char *name; /* NULL: only read */
	enum element type;
	int64_t n;
	const void *before;
	void *now;
};

/* The number of cases in a list, whose last is the largest. */
#define CASES(list) (COUNT(list) - SUITE_CASES(0, 1))

enum { MOST_ARRAYS = 12, SHIFT_MOST = 16, WORKSPACE = 4 << 20 };

/* 0, or a kernel's error. What it reads of the results, it waits for. */
typedef int case_run(const struct kernel_table *kernels, struct kernel_context *c, const void *context,
                     struct array *a);
/* One whose context is a structure: CASE_RUN(sum_run, struct sum_case, k) { return kernels->sum(c, NULL, k->n, …); } */
#define CASE_RUN(name, type, k)                                                                                        \
	static int name##_of(const struct kernel_table *kernels, struct kernel_context *c, const type *k,              \
	                     struct array *a);                                                                         \
	static int name(const struct kernel_table *kernels, struct kernel_context *c, const void *k, struct array *a)  \
	{                                                                                                              \
		return name##_of(kernels, c, (const type *)k, a);                                                      \
	}                                                                                                              \
	static int name##_of(const struct kernel_table *kernels, struct kernel_context *c, const type *k,              \
	                     struct array *a)

/* Elements that the arrays begin beside a multiple of 16 bytes. */
static int array_shift;

/* A case. Each test runs at aligned addresses, then beside them. */
static inline void begin(int shift)
{
	buffers_release();
	buffers_init();
	array_shift = shift;
}

static inline void *array_memory(enum element type, int64_t n)
{
	char *memory = (char *)blank((n + array_shift + 1) * element_bytes(type) / 4 + 1);
	return memory + array_shift * element_bytes(type);
}

static inline void *typed(enum element type, int64_t n, float scale)
{
	void *p = array_memory(type, n);
	for (int64_t i = 0; i < n; i++)
		set(type, p, i, scale * uniform());
	return p;
}

static inline struct array changed(const char *name, enum element type, int64_t n, float scale)
{
	return (struct array){.name = name, .type = type, .n = n, .before = typed(type, n, scale)};
}

static inline struct array only_read(enum element type, int64_t n, float scale)
{
	return changed(NULL, type, n, scale);
}

static inline void *copied(const struct array *a)
{
	void *p = array_memory(a->type, a->n);
	memcpy(p, a->before, (size_t)(a->n * element_bytes(a->type)));
	return p;
}

/* Both were rounded once, from numbers that differ by `slack`: they are neighbours at most, and seldom differ. */
static inline void assert_same(const struct array *a, const void *got, const void *want, double slack)
{
	double squares = 0, step = a->type == ELEMENT_FP32 ? 0 : 2 * unit(a->type);
	double least = a->type == ELEMENT_FP16 ? 0x1p-24 : 0;
	int64_t different = 0;
	for (int64_t i = 0; i < a->n; i++) {
		double one = (double)get(a->type, want, i);
		squares += one * one / (double)a->n;
	}
	for (int64_t i = 0; i < a->n; i++) {
		double x = (double)get(a->type, got, i), y = (double)get(a->type, want, i);
		double limit = step * fabs(y) + slack * (fabs(y) + sqrt(squares)) + least;
		if (x == y || (isnan(x) && isnan(y)))
			continue;
		different++;
		ck_assert_msg(fabs(x - y) <= limit, "%s: element %lld of %lld is %.9g, not %.9g (type %d)", a->name,
		              (long long)i, (long long)a->n, x, y, (int)a->type);
	}
	if (a->type != ELEMENT_FP32)
		ck_assert_msg(different <= 2 + a->n / 16, "%s: %lld of %lld elements differ (type %d)", a->name,
		              (long long)different, (long long)a->n, (int)a->type);
}

static inline void run_on(const struct kernel_table *kernels, case_run *run, const void *context, struct array *a,
                          int count)
{
	struct kernel_context *c = kernels == &cpu_kernels ? NULL : target_open(3, WORKSPACE);
	for (int i = 0; i < count; i++)
		a[i].now = a[i].name ? copied(a + i) : (void *)(uintptr_t)a[i].before;
	int error = run(kernels, c, context, a);
	ck_assert_int_eq(c ? target_wait(c, error) : error, 0);
	target_close(c);
}

static inline void cuda_check(case_run *run, const void *context, const struct array *arrays, int count, double slack)
{
	const struct kernel_table *tables[] = {&cpu_kernels, target_kernels(), target_kernels()};
	struct array runs[3][MOST_ARRAYS];
	for (int r = 0; r < 3; r++) {
		memcpy(runs[r], arrays, (size_t)count * sizeof *arrays);
		target_order(r == 2);
		run_on(tables[r], run, context, runs[r], count);
	}
	target_order(false);
	for (int i = 0; i < count; i++) {
		const struct array *a = arrays + i;
		if (!a->name)
			continue;
		assert_same(a, runs[1][i].now, runs[0][i].now, slack);
		ck_assert_msg(!memcmp(runs[1][i].now, runs[2][i].now, (size_t)(a->n * element_bytes(a->type))),
		              "%s: other bits in another order", a->name);
	}
}

/* The last line of a program of tests. */
#define CUDA_SUITE(name, seconds)                                                                                      \
	int main(void)                                                                                                 \
	{                                                                                                              \
		suite_fixture(NULL, buffers_release);                                                                  \
		return target_run(name, seconds);                                                                      \
	}

#endif
