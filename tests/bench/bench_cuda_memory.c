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

enum { MOST_BUFFERS = 8, BLOCK = 1 << 20 };
enum { WIDTH = 768, VOCABULARY = 50257, STRIDE = 50304, TOKENS = 1024, PARAMETERS = 124439808 };

static int64_t samples = 16, parameters = PARAMETERS;

/* ---- buffers: random numbers in [0, 1) less `shift`, the same each time; or token ids ---- */

struct buffer {
	enum element type;
	int64_t n;
	float shift;
	bool ids, step, is_result; /* step: one int64_t, 1, in two places */
	void *p;
};

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
		check(api->copy(gpu, stream, (char *)b->p + (size_t)i * width, numbers, (size_t)count * width),
		      "a copy");
	}
	check(api->stream_synchronize(gpu, stream), "a copy");
	free(floats);
	free(numbers);
}

/* ---- what is measured ---- */

struct job {
	const char *name;
	double bytes; /* that must be read and written */
	int (*run)(const struct cuda_api *with, const struct buffer *b);
	struct buffer b[MOST_BUFFERS];
};

static int64_t rows(void)
{
	return samples * TOKENS;
}

static int run_copy(const struct cuda_api *with, const struct buffer *b)
{
	return with->copy(gpu, stream, b[1].p, b[0].p, (size_t)b[0].n * 2);
}

static int run_norm_forward(const struct cuda_api *with, const struct buffer *b)
{
	return with->norm_forward(gpu, stream, ELEMENT_BF16, rows(), WIDTH, b[0].p, b[1].p, b[2].p, b[3].p, b[4].p);
}

static int run_norm_backward(const struct cuda_api *with, const struct buffer *b)
{
	return with->norm_backward(gpu, stream, ELEMENT_BF16, rows(), WIDTH, b[0].p, b[1].p, b[2].p, b[3].p, b[4].p,
	                           true, b[5].p, true, b[6].p, true);
}

static int run_classifier(const struct cuda_api *with, const struct buffer *b)
{
	return with->classifier(gpu, stream, ELEMENT_BF16, rows(), VOCABULARY, STRIDE, b[0].p, b[1].p,
	                        1.0 / (double)rows(), NULL, b[2].p, false);
}

static int run_embedding_forward(const struct cuda_api *with, const struct buffer *b)
{
	return with->embedding_forward(gpu, stream, ELEMENT_BF16, samples, TOKENS, WIDTH, b[0].p, b[1].p, b[2].p,
	                               b[3].p);
}

static int run_embedding_backward(const struct cuda_api *with, const struct buffer *b)
{
	return with->embedding_backward(gpu, stream, ELEMENT_BF16, samples, TOKENS, WIDTH, VOCABULARY, TOKENS, b[0].p,
	                                b[1].p, b[2].p, false, b[3].p, false);
}

static int run_adamw(const struct cuda_api *with, const struct buffer *b)
{
	struct cuda_update u = {.learning_rate = 1e-4,
	                        .beta1 = 0.9F,
	                        .beta2 = 0.999F,
	                        .epsilon = 1e-8F,
	                        .weight_decay = 0.1F,
	                        .step = b[5].p};
	return with->adamw_update(gpu, stream, ELEMENT_BF16, &u, parameters, b[0].p, b[1].p, b[2].p, b[3].p, b[4].p);
}

static int run_add(const struct cuda_api *with, const struct buffer *b)
{
	return with->vector_add(gpu, stream, ELEMENT_BF16, parameters, b[0].p, b[1].p);
}

static int run_squares(const struct cuda_api *with, const struct buffer *b)
{
	return with->vector_squares(gpu, stream, ELEMENT_BF16, parameters, b[0].p, b[1].p, false);
}

static int run_overflow(const struct cuda_api *with, const struct buffer *b)
{
	return with->vector_overflow(gpu, stream, ELEMENT_BF16, parameters, b[0].p, b[1].p, false);
}

static int run_convert(const struct cuda_api *with, const struct buffer *b)
{
	return with->vector_convert(gpu, stream, parameters, ELEMENT_FP32, b[0].p, ELEMENT_BF16, b[1].p);
}

static int run_finish(const struct cuda_api *with, const struct buffer *b)
{
	return with->linear_finish(gpu, stream, ELEMENT_BF16, rows(), WIDTH, b[0].p, b[1].p, b[2].p, b[3].p);
}

static int run_shipped(const void *what)
{
	const struct job *j = what;
	return j->run(api, j->b);
}

/* ---- the shipped kernel beside the plain one ---- */

static float *result_of(const struct buffer *b)
{
	void *elements = host((size_t)(b->n * element_bytes(b->type)));
	float *floats = host((size_t)b->n * sizeof *floats);
	check(api->copy(gpu, stream, elements, b->p, (size_t)(b->n * element_bytes(b->type))), "a copy");
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
		check(j->run(way ? plain : api, j->b), j->name);
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

#define BF16(count)                                                                                                    \
	{                                                                                                              \
		.type = ELEMENT_BF16, .n = (count), .shift = 0.5F                                                      \
	}
#define RESULT(t, count)                                                                                               \
	{                                                                                                              \
		.type = (t), .n = (count), .shift = 0.5F, .is_result = true                                            \
	}
#define IDS(count)                                                                                                     \
	{                                                                                                              \
		.n = (count), .ids = true                                                                              \
	}

static bool run_all(bool compare)
{
	int64_t r = rows(), n = r * WIDTH, table = (int64_t)VOCABULARY * WIDTH, p = parameters;
	double size = (double)n * 2;
	struct job jobs[] = {
	        {"copy", 4.0 * (double)p, run_copy, {BF16(p), BF16(p)}},
	        {"norm forward",
	         2 * size,
	         run_norm_forward,
	         {BF16(n), BF16(WIDTH), BF16(WIDTH), RESULT(ELEMENT_BF16, n), RESULT(ELEMENT_FP32, 2 * r)}},
	        {"norm backward",
	         4 * size,
	         run_norm_backward,
	         {BF16(n),
	          BF16(n),
	          {.type = ELEMENT_FP32, .n = 2 * r},
	          BF16(WIDTH),
	          RESULT(ELEMENT_BF16, n),
	          RESULT(ELEMENT_BF16, WIDTH),
	          RESULT(ELEMENT_BF16, WIDTH)}},
	        {"classifier",
	         4.0 * (double)r * VOCABULARY,
	         run_classifier,
	         {RESULT(ELEMENT_BF16, r * STRIDE), IDS(r), RESULT(ELEMENT_FP32, 1)}},
	        {"embedding forward",
	         2 * size,
	         run_embedding_forward,
	         {IDS(r), BF16(table), BF16(TOKENS * WIDTH), RESULT(ELEMENT_BF16, n)}},
	        {"embedding backward",
	         2 * size + 2.0 * (double)table,
	         run_embedding_backward,
	         {IDS(r), BF16(n), RESULT(ELEMENT_BF16, table), RESULT(ELEMENT_BF16, TOKENS * WIDTH)}},
	        {"AdamW",
	         28.0 * (double)p,
	         run_adamw,
	         {RESULT(ELEMENT_BF16, p),
	          BF16(p),
	          RESULT(ELEMENT_FP32, p),
	          {.type = ELEMENT_FP32, .n = p, .is_result = true},
	          RESULT(ELEMENT_FP32, p),
	          {.n = 2, .ids = true, .step = true}}},
	        {"vector add", 6.0 * (double)p, run_add, {BF16(p), RESULT(ELEMENT_BF16, p)}},
	        {"sum of squares", 2.0 * (double)p, run_squares, {BF16(p), RESULT(ELEMENT_FP32, 1)}},
	        {"overflow", 2.0 * (double)p, run_overflow, {BF16(p), {.type = ELEMENT_FP32, .n = 1}}},
	        {"fp32 to bf16", 6.0 * (double)p, run_convert, {{.type = ELEMENT_FP32, .n = p}, BF16(p)}},
	        {"bias, residual, GELU",
	         4 * size,
	         run_finish,
	         {BF16(WIDTH), BF16(n), RESULT(ELEMENT_BF16, n), RESULT(ELEMENT_BF16, n)}},
	};
	double limit = 0;
	bool agree = true;
	for (size_t k = 0; k < sizeof jobs / sizeof *jobs; k++) {
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
