/* The operations of a plan that the GPU carries out together: GELU's backward pass in the product before it, where
 * nothing comes between the two. */
#include <stdlib.h>

#include "real/rank/fusion.h"
#include "tests/support/plan_check.h"
#include "tests/support/suite.h"

enum { LAYERS = 3 };
#define GPT "gpt:layers=3,width=8,heads=2,context=4,vocabulary=16"

/* Pairs in a step of role 0; each is of the same buffer, and of a layer that has GELU. */
static int pairs_of(const struct plan *p)
{
	int count = 0, done = 0;
	const struct role *r = &p->roles[0];
	struct fusion *f = calloc((size_t)r->op_count, sizeof *f);
	fusion_find(p->model, r, f);
	for (int i = 0; i < r->op_count; i++) {
		done += f[i].done;
		if (f[i].next < 0)
			continue;
		const struct op *a = &r->ops[i], *b = &r->ops[f[i].next];
		ck_assert(i >= r->step.begin && f[i].next > i && f[i].next < r->step.end && f[f[i].next].done);
		ck_assert(a->kind == OP_LINEAR_BACKWARD && b->kind == OP_LINEAR_BACKWARD);
		ck_assert_int_eq(a->operand[LINEAR_BACKWARD_DX].buffer, b->operand[LINEAR_BACKWARD_DY].buffer);
		ck_assert(p->model->kernels[b->kernel].nonlinear == NONLINEAR_GELU_TANH &&
		          b->operand[LINEAR_BACKWARD_PRE].buffer >= 0);
		count++;
	}
	ck_assert_int_eq(count, done);
	free(f);
	return count;
}

START_TEST(pairs)
{
	static const struct {
		const char *words;
		int pairs;
	} cases[] = {
	        {GPT " single", LAYERS},
	        {GPT " single accumulate=2", 2 * LAYERS},
	        {GPT " ddp ranks=2 bucket=512", LAYERS},
	        {GPT " zero2 ranks=2 bucket=512", LAYERS},
	        {GPT " zero3 ranks=2", LAYERS},
	        {GPT " tensor ranks=2", LAYERS},
	        {GPT " single activation_checkpointing=full", LAYERS},
	        {"mlp:sizes=12-16-16-10 single", 2},
	        {"mlp:sizes=12-10 single", 0},
	        /* No library has the slope of the other activations. */
	        {"mpt:layers=3,width=8,heads=2,context=4,vocabulary=16 single", 0},
	        {"opt:layers=3,width=8,heads=2,context=4,vocabulary=16 single", 0},
	        /* With a normalization between them GELU belongs to that. */
	        {"mlp:sizes=12-16-16-10,norm=batch single micro_batch=2", 0},
	        /* Offloaded activations come back on another queue: they may not be there yet. */
	        {GPT " single offload=activations", 0},
	};
	for (int i = 0; i < COUNT(cases); i++) {
		int count = pairs_of(right_plan("%s", cases[i].words));
		ck_assert_msg(count == cases[i].pairs, "%s: %d pairs, not %d", cases[i].words, count, cases[i].pairs);
	}
}

SUITE("fusion", 0)
