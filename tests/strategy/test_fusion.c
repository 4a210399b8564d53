/* Which operations of a plan the GPU carries out together: GELU's backward pass in the product before it, where nothing
 * comes between the two. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "real/rank/fusion.h"
#include "tests/support/plans.h"
#include "tests/support/suite.h"

enum { LAYERS = 3 };
#define GPT "gpt:layers=3,width=8,heads=2,context=4,vocabulary=16"

/* Pairs in a step of role 0; each is of the same buffer, and of a layer that has GELU. */
static int pairs_of(const struct request *q)
{
	struct made m;
	int count = 0, done = 0;
	ck_assert_msg(!made_open(&m, q) && !plan_verify(&m.plan, NULL), "%s: %s", q->strategy, status_message());
	const struct role *r = &m.plan.roles[0];
	struct fusion *f = calloc((size_t)r->op_count, sizeof *f);
	fusion_find(r, f);
	for (int i = 0; i < r->op_count; i++) {
		done += f[i].done;
		if (f[i].next < 0)
			continue;
		const struct op *a = &r->ops[i], *b = &r->ops[f[i].next];
		ck_assert(i >= r->step.begin && f[i].next > i && f[i].next < r->step.end && f[f[i].next].done);
		ck_assert(a->kind == OP_LINEAR_BACKWARD && b->kind == OP_LINEAR_BACKWARD);
		ck_assert_int_eq(a->operand[LINEAR_BACKWARD_DX].buffer, b->operand[LINEAR_BACKWARD_DY].buffer);
		ck_assert(m.plan.model->kernels[b->kernel].gelu && b->operand[LINEAR_BACKWARD_PRE].buffer >= 0);
		count++;
	}
	ck_assert_int_eq(count, done);
	free(f);
	made_release(&m);
	return count;
}

START_TEST(pairs)
{
	static const struct {
		struct request request;
		int pairs;
	} cases[] = {
	        {{.model = GPT, .strategy = "single"}, LAYERS},
	        {{.model = GPT, .strategy = "single", .accumulate = 2}, 2 * LAYERS},
	        {{.model = GPT, .strategy = "ddp", .ranks = 2, .bucket = 512}, LAYERS},
	        {{.model = GPT, .strategy = "zero2", .ranks = 2, .bucket = 512}, LAYERS},
	        {{.model = GPT, .strategy = "zero3", .ranks = 2}, LAYERS},
	        {{.model = GPT, .strategy = "tensor", .ranks = 2}, LAYERS},
	        {{.model = GPT, .strategy = "single", .checkpointing = "full"}, LAYERS},
	        {{.model = "mlp:sizes=12-16-16-10", .strategy = "single"}, 2},
	        {{.model = "mlp:sizes=12-10", .strategy = "single"}, 0},
	        /* With a normalization between them GELU belongs to that. */
	        {{.model = "mlp:sizes=12-16-16-10,norm=batch", .strategy = "single", .micro_batch = 2}, 0},
	        /* What forward saved comes back by way of another queue: it may not be there yet. */
	        {{.model = GPT, .strategy = "single", .offload = "activations"}, 0},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct request *q = &cases[i].request;
		ck_assert_msg(pairs_of(q) == cases[i].pairs, "%s, %s, case %d: %d pairs, not %d", q->model, q->strategy,
		              (int)i, pairs_of(q), cases[i].pairs);
	}
}
END_TEST

SUITE("fusion", 0)
