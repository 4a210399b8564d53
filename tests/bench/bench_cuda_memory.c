/* How fast the kernels that memory limits are on this GPU, and what share that is of how fast it copies.
 *
 *     bench_cuda_memory [--repeats N]      GB/s of each, at the sizes of GPT-2 124M, 16 × 1024 tokens, bf16
 *     bench_cuda_memory --check            the shipped kernels beside the plain ones, on fewer rows; exit status 1 if
 *                                          one differs by more than its rounding
 *
 * GB/s count each number once for each time that it must be read or written; what a kernel reads again, and what it
 * keeps in the workspace, is its own affair.
 *
 * The library is that of `make`, or what SHARDLAB_CUDA_LIBRARY names. Where there is none, or no GPU, it says so.
 */
#include <math.h>

#include "tests/bench/cuda_bench.h"
#include "tests/bench/cuda_jobs.h"

enum { BLOCK = 1 << 20 };

/* Random numbers, the same each time. */
static void fill(const struct buffer *b)
{
	size_t width = b->ids ? sizeof(int32_t) : (size_t)element_bytes(b->type);
	float *floats = host(BLOCK * sizeof *floats);
	int32_t *numbers = host(BLOCK * sizeof *numbers);
	uint32_t state = 1;
	for (int64_t i = 0; i < BLOCK; i++) {
		floats[i] = random_next(&state);
		/* few ids have most of the tokens, as words have */
		numbers[i] = (int32_t)(powf(floats[i], 3) * (float)(VOCABULARY - 1));
		floats[i] -= b->shift;
	}
	if (b->step)
		memcpy(numbers, &(int64_t){1}, sizeof(int64_t));
	if (!b->ids)
		vector_convert(BLOCK, ELEMENT_FP32, floats, b->type, numbers);
	for (int64_t i = 0; i < b->n; i += BLOCK) {
		int64_t count = b->n - i < BLOCK ? b->n - i : BLOCK;
		check(kernels->copy(gpu, stream, (char *)b->p + (size_t)i * width, numbers, (size_t)count * width),
		      "a copy");
	}
	check(api->stream_synchronize(gpu, stream), "a copy");
	free(floats);
	free(numbers);
}

static int run_shipped(const void *what)
{
	const struct job *j = what;
	return j->run(&(struct on){kernels, gpu, stream}, j->b);
}

/* ---- the shipped kernel beside the plain one ---- */

static float *result_of(const struct buffer *b)
{
	void *elements = host((size_t)(b->n * element_bytes(b->type)));
	float *floats = host((size_t)b->n * sizeof *floats);
	check(kernels->copy(gpu, stream, elements, b->p, (size_t)(b->n * element_bytes(b->type))), "a copy");
	check(api->stream_synchronize(gpu, stream), "a kernel");
	vector_convert(b->n, b->type, elements, ELEMENT_FP32, floats);
	free(elements);
	return floats;
}

/* Neighbours of bf16 at most; fp32 within what the order of a sum changes. */
static bool results_agree(const struct job *j, int place, const float *shipped, const float *simple)
{
	const struct buffer *b = &j->b[place];
	double squares = 0, worst = 0, step = b->type == ELEMENT_FP32 ? 0 : 0x1p-7;
	for (int64_t i = 0; i < b->n; i++)
		squares += (double)simple[i] * (double)simple[i] / (double)b->n;
	for (int64_t i = 0; i < b->n; i++) {
		double limit = step * fabs((double)simple[i]) + 1e-5 * (fabs((double)simple[i]) + sqrt(squares));
		double off = fabs((double)shipped[i] - (double)simple[i]);
		worst = off <= limit ? fmax(worst, limit > 0 ? off / limit : 0) : INFINITY;
		if (!(off <= limit)) {
			printf("%-24s result %d: element %lld is %.9g, not %.9g\n", j->name, place, (long long)i,
			       (double)shipped[i], (double)simple[i]);
			return false;
		}
	}
	printf("%-24s result %d: as the plain one, at most %.2f of what is allowed\n", j->name, place, worst);
	return true;
}

static bool job_agrees(const struct job *j)
{
	float *results[2][MOST_BUFFERS] = {{NULL}};
	bool agrees = true;
	for (int way = 0; way < 2; way++) {
		for (int i = 0; i < MOST_BUFFERS && j->b[i].n; i++)
			fill(&j->b[i]);
		check(j->run(&(struct on){way ? plain : kernels, gpu, stream}, j->b), j->name);
		for (int i = 0; i < MOST_BUFFERS && j->b[i].n; i++)
			if (j->b[i].is_result)
				results[way][i] = result_of(&j->b[i]);
	}
	for (int i = 0; i < MOST_BUFFERS; i++)
		if (results[0][i] && results[1][i]) {
			agrees = results_agree(j, i, results[0][i], results[1][i]) && agrees;
			free(results[0][i]);
			free(results[1][i]);
		}
	return agrees;
}

/* ---- all of them ---- */

static bool run_all(bool compare)
{
	struct job jobs[JOBS];
	double limit = 0;
	bool agree = true;
	jobs_make(jobs);
	for (size_t k = 0; k < JOBS; k++) {
		struct job *j = &jobs[k];
		bool has_plain = j->run != run_copy && j->run != run_overflow && j->run != run_convert;
		if (compare && !has_plain)
			continue;
		for (int i = 0; i < MOST_BUFFERS && j->b[i].n; i++) {
			size_t width = j->b[i].ids ? sizeof(int32_t) : (size_t)element_bytes(j->b[i].type);
			check(api->allocate(gpu, (size_t)j->b[i].n * width, &j->b[i].p), "memory");
			fill(&j->b[i]);
		}
		if (compare) {
			agree = job_agrees(j) && agree;
		} else {
			double rate = 1e-9 * j->bytes / gpu_seconds(run_shipped, j, j->name);
			limit = j->run == run_copy ? rate : limit;
			printf("%-24s %9.1f us %8.1f GB/s %5.1f%% of the copy\n", j->name, 1e-3 * j->bytes / rate, rate,
			       100 * rate / limit);
		}
		for (int i = 0; i < MOST_BUFFERS && j->b[i].n; i++)
			api->release(gpu, j->b[i].p);
	}
	return agree;
}

int main(int argc, char **argv)
{
	bool compare = argc == 2 && !strcmp(argv[1], "--check");
	if (argc == 3 && !strcmp(argv[1], "--repeats") && atoi(argv[2]) > 0 && atoi(argv[2]) <= MOST_REPEATS) {
		repeats = atoi(argv[2]);
	} else if (argc > 1 && !compare) {
		fprintf(stderr, "usage: %s [--repeats N | --check]\n", argv[0]);
		return 2;
	}
	if (!gpu_open("bench_cuda_memory"))
		return 0;
	if (compare) {
		samples = 2;
		parameters = 10000003;
	}
	bool agree = run_all(compare);
	gpu_close();
	return agree ? 0 : 1;
}
