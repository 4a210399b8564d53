/* Stochastic rounding: what numbers become, how often, and which number an element has under each strategy. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "real/rank/memory.h"
#include "real/rank/rounding.h"
#include "strategy/model/slice.h"
#include "strategy/strategies/strategy.h"
#include "tests/support/plan_check.h"
#include "tests/support/suite.h"

static const struct rounding RUN = {7, {0, 0, INT64_C(1) << 40, INT64_C(1) << 40, INT64_C(1) << 40, 0}};

#define EACH_TYPE(type) for (enum element type = ELEMENT_BF16; type <= ELEMENT_FP16; type++)

enum { MOST = 100000 };
static float x[MOST];
static uint16_t y[MOST], z[MOST];

static double number_of(enum element type, uint16_t bits)
{
	float number;
	vector_convert(1, type, &bits, ELEMENT_FP32, &number);
	return (double)number;
}

/* ---- numbers ---- */

/* To one of the two neighbours, and to each as often as the other is near: the mean is the number itself. */
START_TEST(mean)
{
	enum { N = MOST };
	static const float values[] = {1.001F,   -3.1F,     0.0123F,      3e-6F,  -2e-8F, 1e-7F,       200.3F,
	                               65500.0F, -65503.0F, 0x1.ffcp-15F, 1e-39F, 3e38F,  0x1.fep-127F};
	EACH_TYPE(type)
	for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
		double sum = 0, low = INFINITY, high = -INFINITY, exact = (double)values[v];
		if (type == ELEMENT_FP16 && (fabs(exact) > 65504 || fabs(exact) < 1e-9))
			continue;
		for (int i = 0; i < N; i++)
			x[i] = values[v];
		vector_round(type, &RUN, 3, N, x, y);
		for (int i = 0; i < N; i++) {
			double one = number_of(type, y[i]);
			sum += one / N;
			low = fmin(low, one);
			high = fmax(high, one);
		}
		double smallest = type == ELEMENT_FP16 ? 0x1p-24 : 0x1p-133;
		double digits = type == ELEMENT_FP16 ? 0x1p-10 : 0x1p-7;
		ck_assert_msg(low <= exact && exact <= high && high - low <= fmax(digits * fabs(exact), smallest),
		              "%g in type %d: between %g and %g", exact, (int)type, low, high);
		/* five standard deviations of the mean of N such numbers */
		double p = high > low ? (exact - low) / (high - low) : 0;
		ck_assert_msg(fabs(sum - exact) <= 5 * (high - low) * sqrt(p * (1 - p) / N) + 1e-12 * fabs(exact),
		              "%g in type %d: the mean is %.9g", exact, (int)type, sum);
	}
}

/* Numbers that 16 bits hold stay, every one of them; a NaN stays one, and what is too large is infinite. */
START_TEST(exact)
{
	EACH_TYPE(type)
	for (uint32_t bits = 0; bits < 65536; bits++) {
		uint16_t from = (uint16_t)bits, to;
		vector_convert(1, type, &from, ELEMENT_FP32, x);
		for (int64_t step = 1; step < 4; step++) {
			vector_round(type, &RUN, step, 1, x, &to);
			if (isnan(x[0]))
				ck_assert(isnan(number_of(type, to)));
			else
				ck_assert_uint_eq(to, from);
		}
	}
	const float large[] = {65519, -65519, 65520, -1e9F};
	uint16_t to[4];
	vector_round(ELEMENT_FP16, &RUN, 1, 4, large, to);
	ck_assert(number_of(ELEMENT_FP16, to[0]) == 65504 && number_of(ELEMENT_FP16, to[1]) == -65504);
	ck_assert(isinf(number_of(ELEMENT_FP16, to[2])) && isinf(number_of(ELEMENT_FP16, to[3])));
}

/* Other steps, seeds and elements have other bits; the number of threads and where a run is cut change none. */
START_TEST(counted)
{
	enum { N = 20000, CUT = 4097 };
	struct rounding other = RUN, rest = RUN;
	for (int i = 0; i < N; i++)
		x[i] = (float)(i * 7919 % 10007) / 10007.0F - 0.5F;
	vector_round(ELEMENT_BF16, &RUN, 5, N, x, y);
	kernels_set_threads(3);
	vector_round(ELEMENT_BF16, &RUN, 5, CUT, x, z);
	rest.numbers.begin = CUT;
	vector_round(ELEMENT_BF16, &rest, 5, N - CUT, x + CUT, z + CUT);
	kernels_set_threads(1);
	ck_assert_mem_eq(y, z, N * sizeof *y);
	vector_round(ELEMENT_BF16, &RUN, 6, N, x, z);
	ck_assert_mem_ne(y, z, N * sizeof *y);
	other.seed++;
	vector_round(ELEMENT_BF16, &other, 5, N, x, z);
	ck_assert_mem_ne(y, z, N * sizeof *y);
	other = RUN;
	other.numbers.first = 1;
	vector_round(ELEMENT_BF16, &other, 5, N, x, z);
	ck_assert_mem_ne(y, z, N * sizeof *y);
}

/* ---- which number an element has ---- */

static int64_t base_of(const struct model *m, int tensor)
{
	int64_t base = 0;
	for (int t = 0; t < tensor; t++)
		base += m->tensors[t].elements;
	return base;
}

/* An element of a whole tensor or of a slice is numbered by its place in the whole model, as strategy/model/slice.h
 * defines it. */
START_TEST(slices)
{
	static const struct {
		const char *model;
		int64_t ranks;
	} cases[] = {{"gpt:layers=1,width=24,heads=6,context=5,vocabulary=35", 1},
	             {"gpt:layers=1,width=24,heads=6,context=5,vocabulary=35", 2},
	             {"gpt:layers=1,width=24,heads=6,context=5,vocabulary=35", 3},
	             {"llama:layers=1,width=24,heads=4,kv_heads=2,hidden=10,context=5,vocabulary=35,bias=all", 1},
	             {"llama:layers=1,width=24,heads=4,kv_heads=2,hidden=10,context=5,vocabulary=35,bias=all", 2},
	             {"mlp:sizes=12-24-18-10", 3}};
	for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
		struct model whole, slice;
		struct arena arena = {0};
		ck_assert(!model_open(&whole, cases[c].model, 0));
		ck_assert(!model_slice(&slice, &whole, cases[c].ranks, false, &arena));
		for (int t = 0; t < slice.tensor_count; t++)
			for (int64_t rank = 0; rank < cases[c].ranks; rank++) {
				int64_t next = 0;
				for (int p = 0; p < rounding_parts(&slice.tensors[t]); p++) {
					struct rounding_part e = rounding_part(&slice, rank, t, p);
					ck_assert_int_eq(e.begin, next);
					next += e.count;
					for (int64_t i = 0; i < e.count; i++) {
						struct run_of_tensor run = tensor_run(&slice.tensors[t], cases[c].ranks,
						                                      rank, e.begin + i);
						if (run.whole >= 0)
							ck_assert_int_eq(element_number(&e.numbers, i),
							                 base_of(&whole, t) + run.whole);
					}
				}
				ck_assert_int_eq(next, slice.tensors[t].elements);
			}
		arena_release(&arena);
		model_release(&whole);
	}
}

/* Every rank's update, its padding left out, has the number of each element that it owns; together they have all. */
START_TEST(strategies)
{
	static const char *const cases[] = {"single",
	                                    "ddp ranks=3",
	                                    "zero1 ranks=3",
	                                    "zero2 ranks=4 offload=optimizer",
	                                    "zero3 ranks=3",
	                                    "zero3 ranks=2 offload=optimizer,parameters:to=disk",
	                                    "fsdp ranks=2",
	                                    "hybrid:shard=2 ranks=4",
	                                    "hybrid:shard=2 ranks=4 offload=optimizer",
	                                    "pipeline ranks=2",
	                                    "tensor ranks=2",
	                                    "dp ranks=2"};
	for (int c = 0; c < COUNT(cases); c++) {
		const struct plan *p =
		        right_plan("gpt:layers=2,width=24,heads=6,context=5,vocabulary=35 %s precision=bf16 "
		                   "bucket=4096 stochastic_rounding=yes",
		                   cases[c]);
		unsigned char *seen = calloc((size_t)p->model->parameters, 1);
		for (int64_t rank = 0; rank < p->ranks; rank++) {
			const struct role *r = plan_role_of(p, rank);
			const struct rank_memory d = {.plan = p, .role = r, .rank = rank};
			for (int i = r->step.begin; i < r->step.end; i++) {
				struct rounding_run run;
				if (!r->ops[i].stochastic)
					continue;
				for (int t = 0; rounding_next(&d, &r->ops[i], &t, &run);)
					for (int64_t k = 0; k < run.count; k++) {
						int64_t n = element_number(&run.rounding.numbers, k);
						if (n < p->model->parameters)
							seen[n] = 1;
					}
			}
		}
		for (int64_t n = 0; n < p->model->parameters; n++)
			ck_assert_msg(seen[n], "%s: nobody rounds element %d", cases[c], (int)n);
		free(seen);
	}
}

/* fp32 rounds nothing; and an update says what the plan's settings say. */
START_TEST(refused)
{
	struct settings s = settings_default();
	s.stochastic_rounding = true;
	ck_assert_int_eq(settings_resolve(&s, strategy_data_ranks(&s)), STATUS_INPUT);
	ck_assert(strstr(status_message(), "stochastic_rounding") && strstr(status_message(), "fp32"));
	must_be_refused(&(struct broken){"rule", "mlp zero1 ranks=2 precision=bf16", "set adamw stochastic 1",
	                                 "rounds stochastically", NULL});
}

SUITE("rounding", 120)
