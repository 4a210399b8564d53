/* Nothing is allocated while training: after the first step, neither the compute nor the communication thread asks for
 * memory, whatever the strategy. malloc and its relatives, and mmap, are this program's own here and count.
 *
 * With one rank all of it is counted, libraries too. As rank 0 of four, a communicator that moves nothing stands in for
 * MPI, whose own allocations are not ours to avoid. */
#define _GNU_SOURCE /* syscall */

#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
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

static void no_spin(struct communicator *c, bool spin)
{
	(void)c;
	(void)spin;
}

static const struct communicator_ops no_ops = {.name = "none", .run = no_run, .sum = no_sum, .spin = no_spin};

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

/* Fails if anything is allocated after the first time. */
static void assert_none(enum status s, bool first, const char *words, int threads, const char *what)
{
	watching = false;
	ck_assert_int_eq(s, STATUS_OK);
	ck_assert_msg(first || !seen, "%s, %d threads, %s: %ld allocations, the first by %s", words, threads, what,
	              (long)seen, (const char *)first_seen);
}

static void assert_quiet(int threads, const char *words)
{
	const struct plan *p = made_plan("%s", words);
	struct communicator alone = {.ops = &no_ops, .ranks = (int)p->ranks};
	struct trainer t;
	double loss;
	int64_t bytes;
	kernels_set_threads(threads);
	ck_assert(kernels_prepare(&bytes));
	const char *data = p->model->is_text ? "tests/golden/text.txt" : images;
	must(trainer_open_among(&t, p, data, false, p->ranks > 1 ? &alone : NULL));
	for (int step = 0; step < 4; step++) {
		if (step)
			watch();
		assert_none(trainer_step(&t, &loss), !step, words, threads, "a step");
	}
	for (int pass = 0; pass < 2; pass++) {
		if (pass)
			watch();
		assert_none(trainer_evaluate(&t, &loss), !pass, words, threads, "evaluation");
	}
	trainer_release(&t);
}

/* Sizes at which kernels would ask for memory, if they did. */
static const char *const models[] = {"mlp", SUITE_CASES("gpt:layers=2", "gpt:layers=2,width=32,heads=2,context=16")};

/* On one rank, and as rank 0 of four. */
static void assert_quiet_alone_and_among(int threads, int model, const char *strategy, const char *others)
{
	for (int ranks = 1; ranks <= (strcmp(strategy, "single") ? 4 : 1); ranks += 3) {
		char words[300];
		snprintf(words, sizeof words, "%s %s ranks=%d micro_batch=2 accumulate=2 clip=1 %s", models[model],
		         strategy, ranks, others);
		assert_quiet(threads, words);
	}
}

START_LOOP_TEST(training_allocates_nothing, 0, 7)
{
	for (int model = 0; model < 2; model++)
		assert_quiet_alone_and_among(1, model, strategy_at(_i)->name, "bucket=1048576");
}

/* Every queue has a thread of its own, and none of them asks for memory. */
START_TEST(offload_allocates_nothing)
{
	assert_quiet_alone_and_among(1, 1, "zero2", "bucket=1048576 offload=optimizer,activations");
	assert_quiet_alone_and_among(1, 1, "zero2", "bucket=1048576 offload=optimizer:to=disk");
	assert_quiet_alone_and_among(1, 1, "zero2", "bucket=1048576 offload=optimizer:delayed=yes");
	assert_quiet_alone_and_among(1, 1, "zero3",
	                             "bucket=1048576 offload=optimizer:to=disk,parameters:to=disk,activations");
}

START_TEST(threads_allocate_nothing)
{
	assert_quiet(2, "mlp ddp micro_batch=8");
	assert_quiet(2, SUITE_CASES("gpt:layers=2 ddp micro_batch=8",
	                            "gpt:layers=2,width=32,heads=2,context=16 ddp micro_batch=8"));
}

START_LOOP_TEST(sixteen_bits_allocate_nothing, 0, 2)
{
	for (int model = 0; model < 2; model++)
		assert_quiet_alone_and_among(_i + 1, model, "zero3", _i ? "precision=fp16" : "precision=bf16");
}

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

int main(void)
{
	intercept();
	make_images();
	int status = suite_run("no allocation", 120);
	remove_images();
	return status;
}
