#include "sim/gathering.h"

#include "sim/cost.h"

static bool is_timed(const struct op *op)
{
	return op_class(op->kind) == OP_CLASS_C || op->kind == OP_COPY;
}

enum status gathering_time(const struct plan *p, const struct cluster *c, int64_t *ns)
{
	const struct role *r = &p->roles[0];
	struct cost_cache cache = {0};
	enum status s = STATUS_OK;
	*ns = 0;
	for (int i = r->epilogue.begin; i < r->epilogue.end && !s; i++) {
		const struct op *op = &r->ops[i];
		struct cost cost = {0};
		if (!is_timed(op))
			continue;
		s = op_class(op->kind) == OP_CLASS_C ? cost_collective(&cache, c, p, r, op, &cost)
		                                     : cost_kernel(c, p, r, op, &cost);
		*ns = time_clamp((wide)*ns + (wide)cost.ns);
	}
	cost_cache_release(&cache);
	return s;
}
