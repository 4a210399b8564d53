/* Tensor parallelism by its numbers: which elements a rank has, what is summed when, and the kernels before and after
 * the sums against those that have everything. That training comes out the same is tests/mpi_tensor.c's. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"
#include "kernels/sliced.h"
#include "strategy/model/slice.h"
#include "tests/support/plan_edit.h"
#include "tests/support/plans.h"
#include "tests/support/virtual_ranks.h"

static void open_plan(struct made *m, const struct request *r)
{
	ck_assert_msg(made_open(m, r) == STATUS_OK, "%s, %s: %s", r->model, r->strategy, status_message());
	ck_assert_msg(plan_verify(&m->plan, NULL) == STATUS_OK, "%s", status_message());
}

static int tensor_named(const struct model *m, const char *name)
{
	int t = 0;
	while (t < m->tensor_count && strcmp(m->tensors[t].name, name) != 0)
		t++;
	ck_assert_msg(t < m->tensor_count, "no tensor %s", name);
	return t;
}

/* ---- places ---- */

#define GPT "gpt:layers=2,width=24,heads=12,context=12,vocabulary=35"

static const struct {
	const char *model;
	int ranks;
} sliced[] = {{GPT, 2}, {GPT, 3}, {GPT, 4}, {GPT, 12}, {"mlp:sizes=7-12-5-24-3", 4}, {"mlp:sizes=7-12-5-3", 6}};

/* Over all ranks, every element of a sliced tensor has one owner; of a whole one, every rank has all. */
START_TEST(every_element_has_its_place)
{
	struct made m;
	int ranks = sliced[_i].ranks;
	open_plan(&m, &(struct request){.model = sliced[_i].model, .strategy = "tensor", .ranks = ranks});
	const struct model *slice = m.plan.model;
	ck_assert_int_eq(slice->slices, ranks);
	ck_assert_int_eq(slice->parameters, m.model.parameters);
	int64_t all = 0;
	for (int t = 0; t < slice->tensor_count; t++) {
		const struct tensor *x = &slice->tensors[t];
		int64_t n = m.model.tensors[t].elements, padding = 0;
		int *owners = calloc((size_t)n, sizeof *owners);
		ck_assert_ptr_nonnull(owners);
		ck_assert_int_eq(tensor_whole_elements(x), n);
		for (int rank = 0; rank < ranks; rank++)
			for (int64_t at = 0; at < x->elements;) {
				struct run_of_tensor run = tensor_run(x, ranks, rank, at);
				ck_assert_int_ge(run.count, 1);
				ck_assert_int_le(run.count, x->elements - at);
				for (int64_t i = 0; i < run.count && run.whole >= 0; i++) {
					ck_assert_int_lt(run.whole + i, n);
					owners[run.whole + i]++;
				}
				padding += run.whole < 0 ? run.count : 0;
				at += run.count;
			}
		for (int64_t i = 0; i < n; i++)
			ck_assert_msg(owners[i] == (x->cut == CUT_NONE ? ranks : 1), "%s, element %lld: %d owners",
			              x->name, (long long)i, owners[i]);
		ck_assert_int_eq(padding, x->cut == CUT_NONE ? 0 : ranks * x->elements - n);
		all += tensor_whole_elements(x);
		free(owners);
	}
	ck_assert_int_eq(all, m.model.parameters);
	made_release(&m);
}
END_TEST

/* c_attn is q|k|v, each heads × head size: rank 1 of 2 has the second half of the heads of each. */
START_TEST(heads_stay_whole)
{
	enum { C = 24, RANKS = 2, OWN = C / RANKS };
	struct made m;
	open_plan(&m, &(struct request){.model = GPT, .strategy = "tensor", .ranks = RANKS});
	const struct model *s = m.plan.model;
	const struct tensor *w = &s->tensors[tensor_named(s, "h.1.attn.c_attn.weight")];
	const struct tensor *b = &s->tensors[tensor_named(s, "h.1.attn.c_attn.bias")];
	ck_assert_int_eq(w->elements, C * 3 * OWN);
	for (int64_t row = 0; row < C; row++)
		for (int64_t column = 0; column < 3 * OWN; column++) {
			int64_t want = column / OWN * C + OWN + column % OWN;
			ck_assert_int_eq(tensor_run(w, RANKS, 1, row * 3 * OWN + column).whole, row * 3 * C + want);
			ck_assert_int_eq(tensor_run(b, RANKS, 1, column).whole, want);
		}
	const struct tensor *proj = &s->tensors[tensor_named(s, "h.0.attn.c_proj.weight")];
	ck_assert_int_eq(tensor_run(proj, RANKS, 1, 0).whole, OWN * C);
	ck_assert_int_eq(tensor_run(proj, RANKS, 1, 0).count, OWN * C);
	made_release(&m);
}
END_TEST

/* ---- what is kept, and what is sent ---- */

/* 12 C² of a block's weights, and those biases that go with columns, are divided; norms and the biases behind a sum are
 * not. gpt: C = 256, 6 blocks, vocabulary 256, 128 positions. */
START_TEST(model_states_are_divided)
{
	static const int64_t ranks[] = {2, 4, 8};
	enum { C = 256, LAYERS = 6, VOCABULARY = 256, CONTEXT = 128 };
	for (int i = 0; i < 3; i++) {
		struct made m;
		open_plan(&m, &(struct request){.model = "gpt", .strategy = "tensor", .ranks = ranks[i]});
		int64_t divided = LAYERS * (12 * C * C + 7 * C) + VOCABULARY * C;
		int64_t whole = LAYERS * 6 * C + CONTEXT * C + 2 * C;
		ck_assert_int_eq(divided + whole, m.model.parameters);
		ck_assert_int_eq(plan_model_states(&m.plan, 0), 16 * (divided / ranks[i] + whole));
		made_release(&m);
	}
}
END_TEST

static int count_sums(const struct role *r, enum pass pass, int64_t payload, const char *buffer)
{
	int n = 0;
	for (int i = r->step.begin; i < r->step.end; i++) {
		const struct op *op = &r->ops[i];
		n += op->kind == OP_ALL_REDUCE && op->pass == pass && op->payload == payload &&
		     !strncmp(r->buffers[op->operand[0].buffer].name, buffer, strlen(buffer));
	}
	return n;
}

/* Two of b·t·C elements a block forward and two backward; one of the embedding, one of the head's input; of the loss
 * b·t maxima, and b·t sums of exponentials with the targets' logits. */
START_TEST(sums_are_counted)
{
	enum { C = 256, T = 128, B = 3, LAYERS = 6, ACCUMULATE = 2 };
	struct made m;
	open_plan(
	        &m,
	        &(struct request){
	                .model = "gpt", .strategy = "tensor", .ranks = 4, .micro_batch = B, .accumulate = ACCUMULATE});
	const struct role *r = &m.plan.roles[0];
	for (int block = 0; block < LAYERS; block++) {
		char name[32], gradient[32];
		snprintf(name, sizeof name, "block.%d.", block);
		snprintf(gradient, sizeof gradient, "d.block.%d.", block);
		ck_assert_int_eq(count_sums(r, PASS_FORWARD, B * T * C, name), 2 * ACCUMULATE);
		ck_assert_int_eq(count_sums(r, PASS_BACKWARD, B * T * C, gradient), 2 * ACCUMULATE);
	}
	ck_assert_int_eq(count_sums(r, PASS_FORWARD, B * T * C, ""), (2 * LAYERS + 1) * ACCUMULATE);
	ck_assert_int_eq(count_sums(r, PASS_BACKWARD, B * T * C, ""), (2 * LAYERS + 1) * ACCUMULATE);
	struct moved moved = plan_moved_all(&m.plan, 0);
	ck_assert_int_eq(moved.calls, (4 * LAYERS + 2 + 2) * ACCUMULATE);
	ck_assert_int_eq(moved.payload, 4 * ACCUMULATE * B * T * ((4 * LAYERS + 2) * C + 3));
	ck_assert_int_eq(moved.sent, 2 * 3 * moved.payload / 4);
	ck_assert_int_eq(plan_moved(&m.plan, 0, TRAFFIC_CONTROL).calls, 0); /* every rank has the loss */
	made_release(&m);
}
END_TEST

/* With sequence parallelism: forward an all-gather where two pairs begin and a reduce-scatter where they end, backward
 * the same the other way round, and the two inputs are gathered once more. Norms' gradients are summed once a step. */
START_TEST(rows_are_counted)
{
	enum { C = 256, T = 128, B = 3, LAYERS = 6, ACCUMULATE = 2 };
	struct made m;
	open_plan(&m, &(struct request){.model = "gpt",
	                                .strategy = "tensor:sequence=yes",
	                                .ranks = 4,
	                                .micro_batch = B,
	                                .accumulate = ACCUMULATE});
	struct moved gather = plan_moved(&m.plan, 0, TRAFFIC_ALL_GATHER);
	struct moved scatter = plan_moved(&m.plan, 0, TRAFFIC_REDUCE_SCATTER);
	struct moved sum = plan_moved(&m.plan, 0, TRAFFIC_ALL_REDUCE);
	/* blocks; forward the head's input, backward that again and the embedding's gradient */
	ck_assert_int_eq(gather.calls, (6 * LAYERS + 3) * ACCUMULATE);
	ck_assert_int_eq(gather.payload, 4 * B * T * C * gather.calls);
	ck_assert_int_eq(scatter.calls, (4 * LAYERS + 2) * ACCUMULATE);
	ck_assert_int_eq(scatter.payload, 4 * B * T * C * scatter.calls);
	ck_assert_int_eq(scatter.sent, 3 * scatter.payload / 4);
	ck_assert_int_eq(sum.calls, 2 * ACCUMULATE + 1);
	ck_assert_int_eq(sum.payload, 4 * (3 * B * T * ACCUMULATE + (2 * LAYERS + 1) * 2 * C));
	made_release(&m);
}
END_TEST

/* A part of a sum is nothing that a kernel may read, and what is whole must not be summed: the message says so. */
START_TEST(parts_are_told_from_sums)
{
	struct made m;
	open_plan(&m, &(struct request){.model = GPT, .strategy = "tensor", .ranks = 2});
	const struct role *r = &m.plan.roles[0];
	int sums = 0;
	for (int i = r->step.begin; i < r->step.end; i++) {
		struct plan mutant;
		if (r->ops[i].kind != OP_ALL_REDUCE && r->ops[i].kind != OP_ALL_REDUCE_MAXIMUM)
			continue;
		sums++;
		plan_copy(&mutant, &m.plan);
		plan_drop_op(&mutant, 0, i);
		ck_assert_int_eq(plan_verify(&mutant, NULL), STATUS_REFUSED);
		ck_assert_msg(strstr(status_message(), "this rank's part") != NULL, "%s", status_message());
		plan_release(&mutant);
		plan_copy(&mutant, &m.plan);
		plan_double_op(&mutant, 0, i);
		ck_assert_int_eq(plan_verify(&mutant, NULL), STATUS_REFUSED);
		ck_assert_msg(strstr(status_message(), "must be this rank's part") != NULL, "%s", status_message());
		plan_release(&mutant);
	}
	ck_assert_int_eq(sums, 2 * 4 + 2 + 2);
	made_release(&m);
}
END_TEST

/* ---- all ranks in one process ---- */

/* Initial weights are single's, bit for bit; after three steps they are single's up to rounding. */
START_TEST(weights_are_those_of_one_rank)
{
	static const int64_t ranks[] = {2, 12, 4};
	struct request q = {.model = GPT,
	                    .strategy = "single",
	                    .micro_batch = 2,
	                    .accumulate = 2,
	                    .clip = 0.5,
	                    .optimizer = OPTIMIZER_SGD,
	                    .learning_rate = 0.5};
	struct made single, m;
	struct virtual_run first, last, run;
	q.ranks = 1;
	open_plan(&single, &q);
	virtual_ranks_run(&single.plan, 0, 0, &first);
	virtual_ranks_run(&single.plan, 3, 0, &last);
	for (int i = 0; i < 6; i++) {
		q.strategy = i % 2 ? "tensor:sequence=yes" : "tensor";
		q.ranks = ranks[i / 2];
		open_plan(&m, &q);
		virtual_ranks_run(&m.plan, 0, 0, &run);
		ck_assert_mem_eq(run.weights, first.weights, (size_t)first.parameters * sizeof(float));
		virtual_run_release(&run);
		virtual_ranks_run(&m.plan, 3, 1, &run);
		for (int64_t k = 0; k < run.parameters; k++) {
			ck_assert_int_eq(run.shown[k], 1);
			ck_assert_msg(fabsf(run.weights[k] - last.weights[k]) <= 2e-6F,
			              "%d ranks, element %lld: %g, not %g", (int)q.ranks, (long long)k,
			              (double)run.weights[k], (double)last.weights[k]);
		}
		ck_assert_double_eq_tol(run.losses[2], last.losses[2], 1e-5);
		ck_assert_int_eq(run.evaluate_correct, last.evaluate_correct * q.ranks);
		virtual_run_release(&run);
		made_release(&m);
	}
	ck_assert_float_ne(first.weights[0], last.weights[0]);
	virtual_run_release(&first);
	virtual_run_release(&last);
	made_release(&single);
}
END_TEST

/* ---- kernels ---- */

static uint64_t seed = 88172645463325252u;

static float uniform(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (float)(seed >> 40) / (float)(1 << 23) - 1.0F;
}

enum { ROWS = 9, MOST_CLASSES = 150, MOST_RANKS = 5 };

/* Logits of the whole, cut into slices of `stride` with rubbish in the padding. */
struct cut_logits {
	struct class_slice slice;
	float logits[ROWS * MOST_CLASSES];
};

static void cut_logits(struct cut_logits *c, int ranks, int rank, int classes, const float *logits)
{
	int64_t stride = (classes + ranks - 1) / ranks, first = rank * stride, left = classes - first;
	c->slice = (struct class_slice){first, left < 0 ? 0 : left < stride ? left : stride, stride};
	for (int row = 0; row < ROWS; row++)
		for (int64_t i = 0; i < stride; i++)
			c->logits[row * stride + i] = i < c->slice.count ? logits[row * classes + first + i] : 1e30F;
}

static void check_classifier(int classes, int ranks, bool ties)
{
	static struct cut_logits slices[MOST_RANKS];
	float logits[ROWS * MOST_CLASSES], whole[ROWS * MOST_CLASSES], maxima[ROWS], own[ROWS], sums[2 * ROWS] = {0};
	float part[3 * ROWS], counts[3 * ROWS] = {0}, loss = 0.5F, want = 0.5F;
	int32_t targets[ROWS];
	double evaluated, want_evaluated;
	int64_t correct, want_correct;
	for (int i = 0; i < ROWS * classes; i++) /* ties: several classes have the largest logit */
		logits[i] = ties ? (float)((int)(uniform() * 2.0F)) : 8 * uniform();
	for (int row = 0; row < ROWS; row++) {
		targets[row] = (int32_t)((uniform() + 1.0F) / 2.0F * (float)classes * 0.999F);
		maxima[row] = -INFINITY;
	}
	memcpy(whole, logits, sizeof whole);
	classifier_evaluate(ELEMENT_FP32, ROWS, classes, whole, targets, &want_evaluated, &want_correct);
	classifier(ELEMENT_FP32, ROWS, classes, whole, targets, 0.25, 0.25, &want, true);
	for (int r = 0; r < ranks; r++) {
		cut_logits(&slices[r], ranks, r, classes, logits);
		classifier_maxima(ELEMENT_FP32, ROWS, &slices[r].slice, slices[r].logits, own);
		for (int row = 0; row < ROWS; row++)
			maxima[row] = fmaxf(maxima[row], own[row]);
	}
	for (int r = 0; r < ranks; r++) {
		classifier_sums(ELEMENT_FP32, ROWS, &slices[r].slice, slices[r].logits, targets, maxima, part);
		for (int i = 0; i < 2 * ROWS; i++)
			sums[i] += part[i];
		evaluate_sums(ELEMENT_FP32, ROWS, &slices[r].slice, slices[r].logits, targets, maxima, part);
		for (int i = 0; i < 3 * ROWS; i++)
			counts[i] += part[i];
	}
	evaluate_count(ROWS, maxima, counts, &evaluated, &correct);
	ck_assert_int_eq(correct, want_correct);
	ck_assert_double_eq_tol(evaluated, want_evaluated, 1e-5 * fabs(want_evaluated));
	for (int r = 0; r < ranks; r++) {
		float each = 0.5F;
		const struct class_slice *s = &slices[r].slice;
		classifier_gradient(ELEMENT_FP32, ROWS, s, slices[r].logits, targets, maxima, sums, 0.25, 0.25, &each,
		                    true);
		ck_assert(r == 0 || each == loss); /* the same bits on all ranks */
		loss = each;
		for (int row = 0; row < ROWS; row++)
			for (int64_t i = 0; i < s->stride; i++) {
				float got = slices[r].logits[row * s->stride + i];
				float there = i < s->count ? whole[row * classes + s->first + i] : 0;
				ck_assert_msg(fabsf(got - there) <= 1e-6F, "%d classes on %d ranks: %g, not %g",
				              classes, ranks, (double)got, (double)there);
			}
	}
	ck_assert_float_eq_tol(loss, want, 1e-5F * want);
}

START_TEST(slices_of_a_classifier)
{
	static const int classes[] = {5, 16, 33, 130, 150};
	kernels_limit_instruction_set(_i);
	for (size_t k = 0; k < sizeof classes / sizeof *classes; k++)
		for (int ranks = 1; ranks <= MOST_RANKS; ranks++) {
			check_classifier(classes[k], ranks, false);
			check_classifier(classes[k], ranks, true);
		}
}
END_TEST

START_TEST(slices_of_a_token_table)
{
	enum {
		SAMPLES = 2,
		TOKENS = 5,
		WIDTH = 21,
		CONTEXT = 7,
		VOCABULARY = 11,
		RANKS = 3,
		OWN = 4,
		N = SAMPLES * TOKENS * WIDTH
	};
	float table[RANKS * OWN * WIDTH] = {0}, positions[CONTEXT * WIDTH], want[N], sum[N] = {0}, part[N], dy[N];
	float dtable[VOCABULARY * WIDTH], dpositions[CONTEXT * WIDTH], own[OWN * WIDTH], own_positions[CONTEXT * WIDTH];
	int32_t ids[SAMPLES * TOKENS];
	kernels_limit_instruction_set(_i);
	for (int i = 0; i < VOCABULARY * WIDTH; i++)
		table[i] = uniform();
	for (int i = 0; i < CONTEXT * WIDTH; i++)
		positions[i] = uniform();
	for (int i = 0; i < N; i++)
		dy[i] = uniform();
	for (int i = 0; i < SAMPLES * TOKENS; i++)
		ids[i] = (i * 7 + 3) % VOCABULARY;
	embedding_forward(ELEMENT_FP32, SAMPLES, TOKENS, WIDTH, ids, table, positions, want);
	embedding_backward(ELEMENT_FP32, SAMPLES, TOKENS, WIDTH, VOCABULARY, CONTEXT, ids, dy, dtable, false,
	                   dpositions, false);
	for (int r = 0; r < RANKS; r++) {
		struct class_slice s = {r * OWN, r < RANKS - 1 ? OWN : VOCABULARY - r * OWN, OWN};
		embedding_sliced_forward(ELEMENT_FP32, SAMPLES, TOKENS, WIDTH, &s, ids, table + r * OWN * WIDTH, part);
		for (int i = 0; i < N; i++)
			sum[i] += part[i];
		for (int accumulate = 0; accumulate < 2; accumulate++) /* over rubbish first */
			embedding_sliced_backward(ELEMENT_FP32, SAMPLES, TOKENS, WIDTH, &s, CONTEXT, ids, dy, own,
			                          accumulate, own_positions, accumulate);
		for (int i = 0; i < OWN * WIDTH; i++) {
			float there = i < s.count * WIDTH ? 2 * dtable[r * OWN * WIDTH + i] : 0;
			ck_assert_float_eq_tol(own[i], there, 1e-5F);
		}
		for (int i = 0; i < CONTEXT * WIDTH; i++)
			ck_assert_float_eq_tol(own_positions[i], 2 * dpositions[i], 1e-5F);
	}
	embedding_finish(ELEMENT_FP32, SAMPLES, TOKENS, WIDTH, positions, sum);
	ck_assert_mem_eq(sum, want, sizeof want); /* one rank's row and zeros: no rounding */
}
END_TEST

/* y = x W + b + residual, and GELU of it: the two halves of x on two ranks, then what is added once. */
START_TEST(halves_of_a_linear_layer)
{
	enum { ROWS_IN = 5, IN = 14, OUT = 19, HALF = IN / 2 };
	float x[ROWS_IN * IN], weight[IN * OUT], bias[OUT], residual[ROWS_IN * OUT], want[ROWS_IN * OUT],
	        want_pre[ROWS_IN * OUT] = {0};
	float half[ROWS_IN * HALF], part[ROWS_IN * OUT], sum[ROWS_IN * OUT], y[ROWS_IN * OUT] = {0};
	kernels_limit_instruction_set(_i);
	for (int i = 0; i < ROWS_IN * IN; i++)
		x[i] = uniform();
	for (int i = 0; i < IN * OUT; i++)
		weight[i] = uniform();
	for (int i = 0; i < OUT; i++)
		bias[i] = uniform();
	for (int i = 0; i < ROWS_IN * OUT; i++)
		residual[i] = uniform();
	for (int gelu = 0; gelu < 2; gelu++) {
		struct linear_shape s = {ROWS_IN, IN, OUT, true, gelu, ELEMENT_FP32},
		                    own = {ROWS_IN, HALF, OUT, true, false, ELEMENT_FP32};
		linear_forward(&s, x, weight, bias, gelu ? NULL : residual, want, gelu ? want_pre : NULL);
		memset(sum, 0, sizeof sum);
		for (int r = 0; r < 2; r++) {
			for (int row = 0; row < ROWS_IN; row++)
				memcpy(half + row * HALF, x + row * IN + r * HALF, HALF * sizeof *x);
			linear_forward(&own, half, weight + r * HALF * OUT, NULL, NULL, part, NULL);
			for (int i = 0; i < ROWS_IN * OUT; i++)
				sum[i] += part[i];
		}
		linear_finish(ELEMENT_FP32, ROWS_IN, OUT, bias, gelu ? NULL : residual, sum, gelu ? y : NULL);
		for (int i = 0; i < ROWS_IN * OUT; i++) {
			ck_assert_float_eq_tol(gelu ? y[i] : sum[i], want[i], 1e-5F);
			ck_assert(!gelu || fabsf(sum[i] - want_pre[i]) <= 1e-5F);
		}
	}
}
END_TEST

/* ---- what is refused ---- */

static const struct {
	const char *model;
	int64_t ranks;
	const char *part, *strategy;
} refused[] = {{"gpt:context=10", 4, "10 tokens do not divide by 4 ranks", "tensor:sequence=yes"},
               {"mlp", 2, "divides the tokens of a text", "tensor:sequence=yes"},
               {"gpt", 3, "the 8 heads of block.0.attention do not divide by 3 ranks", "tensor"},
               {"gpt", 16, "the 8 heads of block.0.attention do not divide by 16 ranks", "tensor"},
               {"mlp:sizes=8-6-4-2", 4, "the 6 outputs of layer.0.linear do not divide by 4 ranks", "tensor"},
               {"mlp:sizes=8-8-4,norm=batch", 2, "whole on no rank", "tensor"},
               {"params=1000", 2, "no way to split", "tensor"}};

START_TEST(what_does_not_divide_is_refused)
{
	struct made m;
	ck_assert_int_eq(made_open(&m, &(struct request){.model = refused[_i].model,
	                                                 .strategy = refused[_i].strategy,
	                                                 .ranks = refused[_i].ranks,
	                                                 .micro_batch = 2}),
	                 STATUS_INPUT);
	ck_assert_msg(strstr(status_message(), refused[_i].part) != NULL, "%s", status_message());
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("tensor");
	TCase *tcase = tcase_create("tensor");
	tcase_set_timeout(tcase, 120);
	tcase_add_loop_test(tcase, every_element_has_its_place, 0, (int)(sizeof sliced / sizeof *sliced));
	tcase_add_test(tcase, heads_stay_whole);
	tcase_add_test(tcase, model_states_are_divided);
	tcase_add_test(tcase, sums_are_counted);
	tcase_add_test(tcase, rows_are_counted);
	tcase_add_test(tcase, parts_are_told_from_sums);
	tcase_add_test(tcase, weights_are_those_of_one_rank);
	tcase_add_loop_test(tcase, slices_of_a_classifier, 0, 3);
	tcase_add_loop_test(tcase, slices_of_a_token_table, 0, 3);
	tcase_add_loop_test(tcase, halves_of_a_linear_layer, 0, 3);
	tcase_add_loop_test(tcase, what_does_not_divide_is_refused, 0, (int)(sizeof refused / sizeof *refused));
	suite_add_tcase(suite, tcase);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
