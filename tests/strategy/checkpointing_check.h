/* For the tests of activation checkpointing: a small model, and which bytes of activations are alive when. */
#ifndef SHARDLAB_CHECKPOINTING_CHECK_H
#define SHARDLAB_CHECKPOINTING_CHECK_H

#include <check.h>

#include "tests/support/plan_check.h"

enum { LAYERS = 4, WIDTH = 32, HEADS = 4, TOKENS = 16, SAMPLES = 3 };
static const char small[] = "gpt:layers=4,width=32,heads=4,context=16,vocabulary=50";

/* Bytes of activations alive after operation `at` of the step. */
static inline int64_t alive_after(const struct role *r, int at)
{
	int64_t bytes = 0;
	for (int i = r->step.begin; i <= at; i++) {
		const struct op *op = &r->ops[i];
		if (op_class(op->kind) != OP_CLASS_M)
			continue;
		const struct buffer *b = &r->buffers[op_buffer(op)];
		if (b->category == CATEGORY_ACTIVATIONS)
			bytes += op->kind == OP_ALLOC ? buffer_bytes(b) : -buffer_bytes(b);
	}
	return bytes;
}

/* The last operation of a block's forward pass, with the frees that follow it. */
static inline int end_of_forward(const struct role *r, int unit)
{
	int last = -1;
	for (int i = r->step.begin; i < r->step.end; i++)
		if (r->ops[i].unit == unit && r->ops[i].pass == PASS_FORWARD && r->ops[i].kernel >= 0)
			last = i;
	ck_assert_int_ge(last, 0);
	while (r->ops[last + 1].kind == OP_FREE)
		last++;
	return last;
}

#endif
