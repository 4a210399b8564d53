/* Tensor parallelism by its numbers: which elements a rank has, and what is summed when. The kernels before and after
 * the sums are tests/kernels/test_kernels_sliced.c's; that training comes out the same is tests/mpi/mpi_tensor.c's. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/model/slice.h"
#include "tests/support/plan_check.h"
#include "tests/support/plan_edit.h"
#include "tests/support/suite.h"
#include "tests/support/virtual_ranks.h"

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
START_LOOP_TEST(every_element_has_its_place, 0, COUNT(sliced))
{
	int ranks = sliced[_i].ranks;
	const struct model *slice = right_plan("%s tensor ranks=%d", sliced[_i].model, ranks)->model;
	struct model whole;
	ck_assert_int_eq(model_open(&whole, sliced[_i].model, 0), STATUS_OK);
	ck_assert_int_eq(slice->slices, ranks);
	ck_assert_int_eq(slice->parameters, whole.parameters);
	int64_t all = 0;
	for (int t = 0; t < slice->tensor_count; t++) {
		const struct tensor *x = &slice->tensors[t];
		int64_t n = whole.tensors[t].elements, padding = 0;
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
			ck_assert_msg(owners[i] == (x->partition == PARTITION_NONE ? ranks : 1),
			              "%s, element %lld: %d owners", x->name, (long long)i, owners[i]);
		ck_assert_int_eq(padding, x->partition == PARTITION_NONE ? 0 : ranks * x->elements - n);
		all += tensor_whole_elements(x);
		free(owners);
	}
	ck_assert_int_eq(all, whole.parameters);
	model_release(&whole);
}

/* c_attn is q|k|v, each heads × head size: rank 1 of 2 has the second half of the heads of each. */
START_TEST(heads_stay_whole)
{
	enum { C = 24, RANKS = 2, OWN = C / RANKS };
	const struct plan *p = right_plan(GPT " tensor ranks=%d", RANKS);
	const struct model *s = p->model;
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
}

/* ---- what is kept, and what is sent ---- */

/* 12 C² of a block's weights, and those biases that go with columns, are divided; norms and the biases behind a sum are
 * not. gpt: C = 256, 6 blocks, vocabulary 256, 128 positions. */
START_TEST(model_states_are_divided)
{
	static const int64_t ranks[] = {2, 4, 8};
	enum { C = 256, LAYERS = 6, VOCABULARY = 256, CONTEXT = 128 };
	for (int i = 0; i < 3; i++) {
		const struct plan *p = right_plan("gpt tensor ranks=%d", (int)ranks[i]);
		int64_t divided = LAYERS * (12 * C * C + 7 * C) + VOCABULARY * C;
		int64_t whole = LAYERS * 6 * C + CONTEXT * C + 2 * C;
		ck_assert_int_eq(divided + whole, p->model->parameters);
		ck_assert_int_eq(plan_model_states(p, 0), 16 * (divided / ranks[i] + whole));
	}
}

static int count_sums(const struct role *r, enum pass pass, int64_t payload, const char *buffer)
{
	int n = 0;
	for (int i = r->step.begin; i < r->step.end; i++) {
		const struct op *op = &r->ops[i];
		n += op->kind == OP_ALL_REDUCE && op->pass == pass && op->payload == payload &&
		     !strncmp(r->buffers[op_buffer(op)].name, buffer, strlen(buffer));
	}
	return n;
}

/* Two of b·t·C elements a block forward and two backward; one of the embedding, one of the head's input; of the loss
 * b·t maxima, and b·t sums of exponentials with the targets' logits. */
START_TEST(sums_are_counted)
{
	enum { C = 256, T = 128, B = 3, LAYERS = 6, ACCUMULATE = 2 };
	const struct plan *p = right_plan("gpt tensor ranks=4 micro_batch=%d accumulate=%d", B, ACCUMULATE);
	const struct role *r = &p->roles[0];
	for (int block = 0; block < LAYERS; block++) {
		char name[32], gradient[32];
		snprintf(name, sizeof name, "block.%d.", block);
		snprintf(gradient, sizeof gradient, "d.block.%d.", block);
		ck_assert_int_eq(count_sums(r, PASS_FORWARD, B * T * C, name), 2 * ACCUMULATE);
		ck_assert_int_eq(count_sums(r, PASS_BACKWARD, B * T * C, gradient), 2 * ACCUMULATE);
	}
	ck_assert_int_eq(count_sums(r, PASS_FORWARD, B * T * C, ""), (2 * LAYERS + 1) * ACCUMULATE);
	ck_assert_int_eq(count_sums(r, PASS_BACKWARD, B * T * C, ""), (2 * LAYERS + 1) * ACCUMULATE);
	struct moved moved = plan_moved_all(p, 0);
	ck_assert_int_eq(moved.calls, (4 * LAYERS + 2 + 2) * ACCUMULATE);
	ck_assert_int_eq(moved.payload, 4 * ACCUMULATE * B * T * ((4 * LAYERS + 2) * C + 3));
	ck_assert_int_eq(moved.sent, 2 * 3 * moved.payload / 4);
	ck_assert_int_eq(plan_moved(p, 0, TRAFFIC_CONTROL).calls, 0); /* every rank has the loss */
}

/* With sequence parallelism: forward an all-gather where two pairs begin and a reduce-scatter where they end, backward
 * the same the other way round, and the two inputs are gathered once more. Norms' gradients are summed once a step. */
START_TEST(rows_are_counted)
{
	enum { C = 256, T = 128, B = 3, LAYERS = 6, ACCUMULATE = 2 };
	const struct plan *p =
	        right_plan("gpt tensor:sequence=yes ranks=4 micro_batch=%d accumulate=%d", B, ACCUMULATE);
	struct moved gather = plan_moved(p, 0, TRAFFIC_ALL_GATHER);
	struct moved scatter = plan_moved(p, 0, TRAFFIC_REDUCE_SCATTER);
	struct moved sum = plan_moved(p, 0, TRAFFIC_ALL_REDUCE);
	/* blocks; forward the head's input, backward that again and the embedding's gradient */
	ck_assert_int_eq(gather.calls, (6 * LAYERS + 3) * ACCUMULATE);
	ck_assert_int_eq(gather.payload, 4 * B * T * C * gather.calls);
	ck_assert_int_eq(scatter.calls, (4 * LAYERS + 2) * ACCUMULATE);
	ck_assert_int_eq(scatter.payload, 4 * B * T * C * scatter.calls);
	ck_assert_int_eq(scatter.sent, 3 * scatter.payload / 4);
	ck_assert_int_eq(sum.calls, 2 * ACCUMULATE + 1);
	ck_assert_int_eq(sum.payload, 4 * (3 * B * T * ACCUMULATE + (2 * LAYERS + 1) * 2 * C));
}

/* A part of a sum is nothing that a kernel may read, and what is whole must not be summed: the message says so. */
START_TEST(parts_are_told_from_sums)
{
	const struct plan *p = right_plan(GPT " tensor ranks=2");
	const struct role *r = &p->roles[0];
	int sums = 0;
	for (int i = r->step.begin; i < r->step.end; i++) {
		struct plan mutant;
		if (r->ops[i].kind != OP_ALL_REDUCE && r->ops[i].kind != OP_ALL_REDUCE_MAXIMUM)
			continue;
		sums++;
		plan_copy(&mutant, p);
		plan_drop_op(&mutant, 0, i);
		must_fail(plan_verify(&mutant, NULL), STATUS_REFUSED, "this rank's part");
		plan_release(&mutant);
		plan_copy(&mutant, p);
		plan_double_op(&mutant, 0, i);
		must_fail(plan_verify(&mutant, NULL), STATUS_REFUSED, "must be this rank's part");
		plan_release(&mutant);
	}
	ck_assert_int_eq(sums, 2 * 4 + 2 + 2);
}

static struct op *step_op(struct plan *p, enum op_kind kind)
{
	for (int i = p->roles[0].step.begin; i < p->roles[0].step.end; i++)
		if (p->roles[0].ops[i].kind == kind)
			return &p->roles[0].ops[i];
	ck_abort_msg("no such operation");
	return NULL;
}

/* A slice of a value is cut from one that is the same on all ranks, not from a rank's own rows. */
START_LOOP_TEST(own_rows_are_not_cut, 0, 2)
{
	struct region operands[OP_OPERANDS];
	struct op cut = {
	        .kind = OP_COPY, .queue = QUEUE_COMPUTE, .unit = -1, .kernel = -1, .group = -1, .operand = operands};
	struct plan p;
	plan_copy(&p, made_plan(GPT " tensor:sequence=%s ranks=2", _i ? "yes" : "no"));
	const struct op *norm = step_op(&p, OP_NORM_FORWARD);
	/* into the gradients, which nobody reads yet */
	int part = step_op(&p, OP_ADAMW)->operand[ADAMW_GRADIENTS].buffer;
	cut.operand[COPY_X] = norm->operand[NORM_FORWARD_Y];
	cut.operand[COPY_X].slice = plan_axis(&p, "tensor");
	cut.operand[COPY_Y] = (struct region){part, 0, 0, cut.operand[COPY_X].count / 2};
	plan_insert_op(&p, 0, (int)(norm - p.roles[0].ops) + 1, &cut);
	ck_assert_int_eq(plan_verify(&p, NULL), _i ? STATUS_REFUSED : STATUS_OK);
	ck_assert(!_i || strstr(status_message(), "rule 7"));
	plan_release(&p);
}

static void broadcast_a_slice(struct plan *p)
{
	struct role *r = &p->roles[0];
	int at = r->prologue.begin, made = at;
	while (r->ops[at].kind != OP_BROADCAST)
		at++;
	while (r->ops[made].kind != OP_INITIALIZE || !group_is_sliced(p, r->ops[made].group))
		made++;
	struct op wrong = r->ops[at];
	struct region operands[OP_OPERANDS];
	memcpy(operands, wrong.operand, (size_t)op_operand_count(wrong.kind) * sizeof *operands);
	wrong.operand = operands;
	wrong.group = r->ops[made].group;
	wrong.operand[BROADCAST_X] = r->ops[made].operand[INITIALIZE_WEIGHTS];
	wrong.payload = wrong.operand[BROADCAST_X].count;
	plan_insert_op(p, 0, at, &wrong);
}

/* Rank 0's slice is no slice of the others': a broadcast over the tensor group is of what all have whole. */
START_TEST(slices_are_not_broadcast)
{
	must_be_refused(&(struct broken){"rule 6 (version)", GPT " tensor ranks=2", NULL, "not this rank's slice",
	                                 broadcast_a_slice});
}

/* ---- all ranks in one process ---- */

/* Initial weights are single's, bit for bit; after three steps they are single's up to rounding. */
START_TEST(weights_are_those_of_one_rank)
{
	static const int ranks[] = {2, 12, 4};
	static const char settings[] = "micro_batch=2 accumulate=2 clip=0.5 optimizer=sgd learning_rate=0.5";
	const struct plan *single = right_plan(GPT " single %s", settings);
	struct virtual_run first, last, run;
	virtual_ranks_run(single, 0, 0, &first);
	virtual_ranks_run(single, 3, 0, &last);
	for (int i = 0; i < 6; i++) {
		const struct plan *p =
		        right_plan(GPT " tensor:sequence=%s ranks=%d %s", i % 2 ? "yes" : "no", ranks[i / 2], settings);
		virtual_ranks_run(p, 0, 0, &run);
		ck_assert_mem_eq(run.weights, first.weights, (size_t)first.parameters * sizeof(float));
		virtual_run_release(&run);
		virtual_ranks_run(p, 3, 1, &run);
		for (int64_t k = 0; k < run.parameters; k++) {
			ck_assert_int_eq(run.shown[k], 1);
			ck_assert_msg(fabsf(run.weights[k] - last.weights[k]) <= 2e-6F,
			              "%d ranks, element %lld: %g, not %g", ranks[i / 2], (long long)k,
			              (double)run.weights[k], (double)last.weights[k]);
		}
		ck_assert_double_eq_tol(run.losses[2], last.losses[2], 1e-5);
		ck_assert_int_eq(run.evaluate_correct, last.evaluate_correct * ranks[i / 2]);
		virtual_run_release(&run);
	}
	ck_assert_float_ne(first.weights[0], last.weights[0]);
	virtual_run_release(&first);
	virtual_run_release(&last);
}

/* ---- what is refused ---- */

static const char *const refused[][2] = {
        {"gpt:context=10 tensor:sequence=yes ranks=4", "10 tokens do not divide by 4 ranks"},
        {"mlp tensor:sequence=yes ranks=2", "divides the tokens of a text"},
        {"gpt tensor ranks=3", "the 8 heads of block.0.attention do not divide by 3 ranks"},
        {"gpt tensor ranks=16", "the 8 heads of block.0.attention do not divide by 16 ranks"},
        {"mlp:sizes=8-6-4-2 tensor ranks=4", "the 6 outputs of layer.0.linear do not divide by 4 ranks"},
        {"mlp:sizes=8-8-4,norm=batch tensor ranks=2", "whole on no rank"},
        {"params=1000 tensor ranks=2", "no way to split"}};

START_LOOP_TEST(indivisible_sizes_are_refused, 0, COUNT(refused))
{
	must_not_open(refused[_i][1], "%s micro_batch=2", refused[_i][0]);
}

SUITE("tensor", 120)
