/* How fast the kernels that memory limits are on this GPU, and what share that is of how fast it copies.
 *
 *     bench_cuda_memory [--repeats N]      GB/s of each, at the sizes of GPT-2 124M, 64 × 1024 tokens, bf16; and of all
 *                                          of a step
 *     bench_cuda_memory --check            the same kernels beside the CPU's, on fewer rows; exit status 1 if one
 *                                          differs by more than its rounding
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

static size_t width_of(const struct buffer *b)
{
	return b->ids ? sizeof(int32_t) : (size_t)element_bytes(b->type);
}

/* Random numbers, the same each time, by the copy of the device whose memory it is. */
static void fill(const struct kernel_table *by, const struct buffer *b)
{
	size_t width = width_of(b);
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
		check(by->copy(gpu, stream, (char *)b->p + (size_t)i * width, numbers, (size_t)count * width),
		      "a copy");
	}
	check(api->stream_synchronize(gpu, stream), "a copy");
	free(floats);
	free(numbers);
}

static int run_job(const void *what)
{
	const struct job *j = what;
	return j->run(&(struct on){kernels, gpu, stream}, j->b);
}

/* ---- beside the CPU ---- */

/* Neighbours of bf16 at most; fp32 within what the order of a sum changes. */
static bool results_agree(const struct job *j, int place, const float *got, const float *want)
{
	const struct buffer *b = &j->b[place];
	double squares = 0, worst = 0, step = b->type == ELEMENT_FP32 ? 0 : 0x1p-7;
	for (int64_t i = 0; i < b->n; i++)
		squares += (double)want[i] * (double)want[i] / (double)b->n;
	for (int64_t i = 0; i < b->n; i++) {
		double limit = step * fabs((double)want[i]) + 1e-5 * (fabs((double)want[i]) + sqrt(squares));
		double off = fabs((double)got[i] - (double)want[i]);
		worst = off <= limit ? fmax(worst, limit > 0 ? off / limit : 0) : INFINITY;
		if (!(off <= limit)) {
			printf("%-24s result %d: element %lld is %.9g, not %.9g\n", j->name, place, (long long)i,
			       (double)got[i], (double)want[i]);
			return false;
		}
	}
	printf("%-24s result %d: as the CPU's, at most %.2f of what is allowed\n", j->name, place, worst);
	return true;
}

static bool job_agrees(const struct job *j)
{
	struct job on_cpu = *j;
	bool agrees = true;
	for (int i = 0; i < MOST_BUFFERS && j->b[i].n; i++) {
		on_cpu.b[i].p = host((size_t)j->b[i].n * width_of(&j->b[i]));
		fill(&cpu_kernels, &on_cpu.b[i]);
	}
	check(run_job(j), j->name);
	(void)on_cpu.run(&(struct on){&cpu_kernels, NULL, NULL}, on_cpu.b);
	for (int i = 0; i < MOST_BUFFERS && j->b[i].n; i++) {
		const struct buffer *b = &j->b[i];
		if (b->is_result) {
			float *got = fetched(b->type, b->p, b->n), *want = host((size_t)b->n * sizeof *want);
			vector_convert(b->n, b->type, on_cpu.b[i].p, ELEMENT_FP32, want);
			agrees = results_agree(j, i, got, want) && agrees;
			free(got);
			free(want);
		}
		free(on_cpu.b[i].p);
	}
	return agrees;
}

/* ---- all of them ---- */

static bool run_all(bool compare)
{
	struct job jobs[JOBS];
	double limit = 0, bytes = 0, seconds = 0;
	bool agree = true;
	jobs_make(jobs);
	for (size_t k = 0; k < JOBS; k++) {
		struct job *j = &jobs[k];
		for (int i = 0; i < MOST_BUFFERS && j->b[i].n; i++) {
			check(api->allocate(gpu, (size_t)j->b[i].n * width_of(&j->b[i]), &j->b[i].p), "memory");
			fill(kernels, &j->b[i]);
		}
		if (compare) {
			agree = job_agrees(j) && agree;
		} else {
			double once = gpu_seconds(run_job, j, j->name), rate = 1e-9 * j->bytes / once;
			limit = j->run == run_copy ? rate : limit;
			bytes += j->in_step * j->bytes;
			seconds += j->in_step * once;
			printf("%-24s %9.1f us %8.1f GB/s %5.1f%% of the copy\n", j->name, 1e-3 * j->bytes / rate, rate,
			       100 * rate / limit);
		}
		for (int i = 0; i < MOST_BUFFERS && j->b[i].n; i++)
			api->release(gpu, j->b[i].p);
	}
	if (!compare)
		printf("those of a step together %9.1f us %8.1f GB/s %5.1f%% of the copy\n", 1e6 * seconds,
		       1e-9 * bytes / seconds, 1e-7 * bytes / seconds / limit);
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
		samples = 1; /* the CPU rounds a table's row once for every 1024 tokens */
		parameters = 10000003;
	}
	bool agree = run_all(compare);
	gpu_close();
	return agree ? 0 : 1;
}
