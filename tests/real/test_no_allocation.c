/* Nothing is allocated while training: after the first step, neither the compute nor the communication thread asks for
 * memory, whatever the strategy. malloc and its relatives, and mmap, are this program's own here and count.
 *
 * With one rank all of it is counted, libraries too. As rank 0 of four, a communicator that moves nothing stands in for
 * MPI, whose own allocations are not ours to avoid. */
#define _GNU_SOURCE /* syscall */

#include <check.h>
#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernels/kernels.h"
#include "tests/support/images.h"
#include "tests/support/plan_check.h"
#include "tests/support/suite.h"
#include "tests/support/trainer.h"

/* ---- counting ---- */

static atomic_bool watching;
static atomic_long seen;
static const char *_Atomic first_seen;

static void count(const char *what)
{
	const char *none = NULL;
	if (!watching)
		return;
	seen++;
	atomic_compare_exchange_strong(&first_seen, &none, what);
}

static void watch(void)
{
	seen = 0;
	first_seen = NULL;
	watching = true;
}

#if defined __SANITIZE_ADDRESS__

/* The sanitizer has an allocator of its own, and tells of it. (sanitizer/allocator_interface.h is clang's alone.) */
int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void *, size_t),
                                              void (*on_free)(const volatile void *));

static void on_malloc(const volatile void *p, size_t size)
{
	(void)p;
	(void)size;
	count("malloc");
}

static void on_free(const volatile void *p)
{
	(void)p;
	count("free");
}

static void intercept(void)
{
	__sanitizer_install_malloc_and_free_hooks(on_malloc, on_free);
}

#else

/* glibc's own, under the names that it keeps for this. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *p);

void *malloc(size_t size)
{
	count("malloc");
	return __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	count("calloc");
	return __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
	count("realloc");
	return __libc_realloc(p, size);
}

void *memalign(size_t alignment, size_t size)
{
	count("memalign");
	return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	count("aligned_alloc");
	return __libc_memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
	count("posix_memalign");
	*out = __libc_memalign(alignment, size);
	return *out ? 0 : ENOMEM;
}

void free(void *p)
{
	count("free");
	__libc_free(p);
}

static void intercept(void)
{
}

#endif

void *mmap(void *address, size_t size, int protection, int flags, int file, off_t offset)
{
	count("mmap");
	return (void *)syscall(SYS_mmap, address, size, protection, flags, file, offset);
}

/* ---- a communicator that moves nothing ---- */

static enum status no_run(struct communicator *c, const struct collective *what, struct traffic *traffic)
{
	(void)c;
	(void)what;
	*traffic = (struct traffic){.counted = true};
	return STATUS_OK;
}

static enum status no_sum(struct communicator *c, double *values, int n, struct traffic *traffic)
{
	(void)c;
	(void)values;
	(void)n;
	*traffic = (struct traffic){.counted = true};
	return STATUS_OK;
}

static void no_hurry(struct communicator *c, bool hurry)
{
	(void)c;
	(void)hurry;
}

static const struct communicator_ops no_ops = {.name = "none", .run = no_run, .sum = no_sum, .hurry = no_hurry};

/* ---- the tests ---- */

static char images[256];

static void make_images(void)
{
	ck_assert(images_make(images, sizeof images, 28, 28, 300, 100));
}

static void remove_images(void)
{
	images_remove(images);
}

static void assert_quiet(const struct request *r, int threads)
{
	struct communicator alone = {.ops = &no_ops, .ranks = (int)r->ranks};
	struct made m;
	struct trainer t;
	double loss;
	must_open(&m, r);
	int64_t bytes;
	kernels_set_threads(threads);
	ck_assert(kernels_prepare(&bytes));
	const char *data = m.model.is_text ? "tests/golden/text.txt" : images;
	ck_assert_msg(trainer_open_among(&t, &m.plan, data, false, r->ranks > 1 ? &alone : NULL) == STATUS_OK, "%s",
	              status_message());
	for (int step = 0; step < 4; step++) {
		if (step)
			watch();
		enum status s = trainer_step(&t, &loss);
		watching = false;
		ck_assert_int_eq(s, STATUS_OK);
		ck_assert_msg(!step || !seen,
		              "%s, %s, %s, %d ranks, %d threads, step %d: %ld allocations, the first by %s", r->model,
		              r->strategy, type_name(r->precision), (int)r->ranks, threads, step + 1, (long)seen,
		              (const char *)first_seen);
	}
	for (int pass = 0; pass < 2; pass++) {
		if (pass)
			watch();
		enum status s = trainer_evaluate(&t, &loss);
		watching = false;
		ck_assert_int_eq(s, STATUS_OK);
		ck_assert_msg(!pass || !seen, "%s, %s, %d ranks: %ld allocations in evaluation, the first by %s",
		              r->model, r->strategy, (int)r->ranks, (long)seen, (const char *)first_seen);
	}
	trainer_release(&t);
	made_release(&m);
}

/* Sizes at which kernels would ask for memory, if they did. */
static const char *const models[] = {"mlp", SUITE_CASES("gpt:layers=2", "gpt:layers=2,width=32,heads=2,context=16")};

START_LOOP_TEST(training_allocates_nothing, 0, 7)
{
	for (int model = 0; model < 2; model++)
		for (int64_t ranks = 1; ranks <= 4; ranks += 3) {
			struct request r = {.model = models[model],
			                    .strategy = strategy_at(_i)->name,
			                    .ranks = ranks,
			                    .micro_batch = 2,
			                    .accumulate = 2,
			                    .clip = 1,
			                    .bucket = 1 << 20};
			if (_i == 0 && ranks > 1)
				continue;
			assert_quiet(&r, 1);
		}
}
END_TEST

/* Every queue has a thread of its own, and none of them asks for memory. */
START_TEST(offload_allocates_nothing)
{
	static const char *const offloads[] = {"optimizer,activations", "optimizer:to=disk", "optimizer:delayed=yes",
	                                       "optimizer:to=disk,parameters:to=disk,activations"};
	for (int64_t ranks = 1; ranks <= 4; ranks += 3)
		for (int i = 0; i < 4; i++) {
			struct request r = {.model = models[1],
			                    .strategy = i < 3 ? "zero2" : "zero3",
			                    .ranks = ranks,
			                    .micro_batch = 2,
			                    .accumulate = 2,
			                    .clip = 1,
			                    .bucket = 1 << 20,
			                    .offload = offloads[i]};
			assert_quiet(&r, 1);
		}
}
END_TEST

START_TEST(threads_allocate_nothing)
{
	for (int model = 0; model < 2; model++)
		assert_quiet(&(struct request){.model = models[model], .strategy = "ddp", .ranks = 1, .micro_batch = 8},
		             2);
}
END_TEST

START_LOOP_TEST(sixteen_bits_allocate_nothing, 0, 2)
{
	for (int model = 0; model < 2; model++)
		for (int64_t ranks = 1; ranks <= 4; ranks += 3)
			assert_quiet(&(struct request){.model = models[model],
			                               .strategy = "zero3",
			                               .ranks = ranks,
			                               .micro_batch = 2,
			                               .accumulate = 2,
			                               .clip = 1,
			                               .precision = _i ? TYPE_FP16 : TYPE_BF16},
			             _i + 1);
}
END_TEST

/* The counter itself. Check allocates as well, so nothing is asserted before the end. */
START_TEST(allocations_are_seen)
{
	void *volatile p;
	long counts[5];
	watch();
	p = malloc(100);
	counts[0] = seen;
	free(p);
	counts[1] = seen;
	p = calloc(3, 5);
	counts[2] = seen;
	p = realloc(p, 1000);
	counts[3] = seen;
	free(p);
	watch();
	p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	counts[4] = seen;
	munmap(p, 4096);
	watching = false;
	ck_assert_int_eq(counts[0], 1);
	ck_assert_int_eq(counts[1], 2);
	ck_assert_int_eq(counts[2], 3);
	ck_assert_int_gt(counts[3], 3);
	ck_assert_int_eq(counts[4], 1);
	ck_assert_str_eq((const char *)first_seen, "mmap");
}
END_TEST

int main(void)
{
	intercept();
	make_images();
	int status = suite_run("no allocation", 120);
	remove_images();
	return status;
}
