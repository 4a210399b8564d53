#include "strategy/trace/bubble.h"

#include <inttypes.h>
#include <stdio.h>

/* True if the first stage goes on with another micro-batch before the first comes back. */
static bool fills(const struct role *r)
{
	for (int i = r->step.begin; i < r->step.end; i++) {
		const struct op *op = &r->ops[i];
		if (op_class(op->kind) == OP_CLASS_K && (op->micro > 0 || op->pass == PASS_BACKWARD))
			return op->pass != PASS_BACKWARD;
	}
	return false;
}

struct bubble bubble_of(const struct plan *p)
{
	if (!plan_axis(p, "stage") || p->ranks == 1)
		return (struct bubble){0};
	return (struct bubble){p->ranks, fills(&p->roles[0]) ? p->settings.accumulate : 1};
}

double bubble_share(const struct bubble *b)
{
	return (double)(b->stages - 1) / (double)(b->micro_batches + b->stages - 1);
}

const char *bubble_text(char out[BUBBLE_TEXT], const struct bubble *b)
{
	snprintf(out, BUBBLE_TEXT, "bubble (p−1)/(m+p−1) = %" PRId64 "/%" PRId64 " = %.1f %%", b->stages - 1,
	         b->micro_batches + b->stages - 1, 100 * bubble_share(b));
	return out;
}
