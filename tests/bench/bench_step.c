/* A training step against the matrix product, and in bf16 against fp32: one rank, one thread.
 *
 *     bench_step [rounds]            default: 9
 *
 * The step is what training runs: the plan of `gpt`, then of `llama`, on one rank, 16 × 128 tokens, carried out by the
 * CPU executor. Its FLOPs are the model's, not the kernels': a token takes 6 for each parameter that is multiplied (all
 * but the position table, or the token table of a head that is not tied), and 6·128·256 for the attention of each
 * layer, its causal half. SGEMM is n = 1024, with the core that OpenBLAS takes by itself. All are measured in turn, so
 * that what else the machine does falls on all alike.
 */
#define _GNU_SOURCE
#include <cblas.h>
#include <string.h>

#include "kernels/kernels.h"
#include "tests/bench/bench_steps.h"

enum { SAMPLES = 16, TOKENS = 128, WIDTH = 256, LAYERS = 6, SQUARE = 1024, ROUNDS_MOST = 1000, PRODUCTS = 8 };
static const double BF16_TARGET = 1.4;

static const struct {
	const char *name;
	double multiplied, target; /* parameters; of SGEMM's rate */
} models[] = {{"gpt", 4837376 - 32768, 0.80}, {"llama", 4484352 - 65536, 0.75}};
enum { MODELS = sizeof models / sizeof *models };

static float *matrix(void)
{
	float *m = aligned_alloc(64, SQUARE * SQUARE * sizeof *m);
	if (!m)
		bench_fail("out of memory");
	for (int i = 0; i < SQUARE * SQUARE; i++)
		m[i] = (float)(i % 17) / 17 - 0.5f;
	return m;
}

static double multiply(const float *a, const float *b, float *c)
{
	double begin = clock_seconds();
	cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, SQUARE, SQUARE, SQUARE, 1, a, SQUARE, b, SQUARE, 0, c,
	            SQUARE);
	return clock_seconds() - begin;
}

static double step(struct timed_run *r)
{
	must(executor_run(r->executor, r->step));
	return (double)executor_times(r->executor).step * 1e-9;
}

/* The time of the last step by kind of operation. */
static void print_kinds(const struct timed_run *r)
{
	int64_t ns[OP_KIND_COUNT] = {0}, all = 0;
	double flops[OP_KIND_COUNT] = {0};
	for (int i = r->step->begin; i < r->step->end; i++) {
		const struct op *op = &r->device.rank->role->ops[i];
		int64_t begin, end;
		executor_span(r->executor, i, &begin, &end);
		ns[op->kind] += end - begin;
		all += end - begin;
		flops[op->kind] += (double)op_flops(&r->plan, op);
	}
	for (int k = 0; k < OP_KIND_COUNT; k++)
		if (ns[k] * 200 > all)
			printf("    %-22s %5.1f %%   %6.1f GFLOP/s\n", op_name((enum op_kind)k),
			       100.0 * (double)ns[k] / (double)all, flops[k] / (double)ns[k]);
}

/* SGEMM's two factors and its result. */
struct matrices {
	float *a, *b, *c;
};

static void print_model(int model, double step_s, double product_s)
{
	double token_flops = 6.0 * models[model].multiplied + 6.0 * LAYERS * TOKENS * WIDTH;
	double model_rate = SAMPLES * TOKENS * token_flops / step_s;
	double sgemm_rate = 2.0 * SQUARE * SQUARE * SQUARE / product_s;
	printf("(a) model FLOP/s ÷ SGEMM        %6.2f   (%.1f of %.1f GFLOP/s)   target ≥ %.2f   %s\n",
	       model_rate / sgemm_rate, model_rate / 1e9, sgemm_rate / 1e9, models[model].target,
	       verdict(model_rate / sgemm_rate >= models[model].target));
}

static void print_type(int k, double ratio)
{
	bool has_target = k == TYPE_BF16 && strstr(kernels_instruction_set(), "BF16");
	printf("(%c) %s ÷ fp32, steps a second    %6.2f   ", 'a' + k, type_name((enum type)k), ratio);
	if (has_target)
		printf("target ≥ %.2f   %s\n", BF16_TARGET, verdict(ratio >= BF16_TARGET));
	else
		printf("no target: this processor has no products of it\n");
}

static void measure(int model, int rounds, const struct matrices *m)
{
	enum { CASES = 3 }; /* fp32, bf16, fp16 */
	static double steps[CASES][ROUNDS_MOST], products[ROUNDS_MOST * PRODUCTS];
	struct timed_run r[CASES];
	for (int k = 0; k < CASES; k++) {
		bench_open(&r[k], NULL, "%s single micro_batch=%d precision=%s", models[model].name, SAMPLES,
		           type_name((enum type)k));
		step(&r[k]);
	}
	multiply(m->a, m->b, m->c);
	for (int i = 0; i < rounds; i++) {
		for (int k = 0; k < PRODUCTS; k++)
			products[i * PRODUCTS + k] = multiply(m->a, m->b, m->c);
		for (int k = 0; k < CASES; k++)
			steps[k][i] = step(&r[k]);
	}
	double step_s = median(steps[0], rounds);
	printf("%s, 1 rank, 1 thread, 16 × 128 tokens a step; %s, OpenBLAS core %s\n", models[model].name,
	       kernels_instruction_set(), kernels_blas_core());
	print_kinds(&r[0]);
	print_model(model, step_s, median(products, rounds * PRODUCTS));
	for (int k = 1; k < CASES; k++) {
		printf("%s\n", type_name((enum type)k));
		print_kinds(&r[k]);
		print_type(k, step_s / median(steps[k], rounds));
	}
	for (int k = 0; k < CASES; k++)
		timed_run_release(&r[k]);
}

int main(int argc, char **argv)
{
	const char *forced = getenv("OPENBLAS_CORETYPE");
	int rounds = bench_rounds(argc, argv, 9, ROUNDS_MOST);
	if (forced && *forced)
		bench_fail("OPENBLAS_CORETYPE forces a core on SGEMM, so there is nothing to compare with; unset it");
	kernels_set_threads(1);
	struct matrices m = {matrix(), matrix(), matrix()};
	for (int model = 0; model < MODELS; model++)
		measure(model, rounds, &m);
	free(m.a);
	free(m.b);
	free(m.c);
	return 0;
}
