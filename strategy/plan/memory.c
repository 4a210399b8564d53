/* Memory of a plan, exactly: the sum of live bytes after every alloc of the step, in issue order. */
#include "strategy/plan/plan.h"

void plan_section_peak(const struct role *r, const struct section *s, enum space space, struct memory_use *out)
{
	int64_t live[CATEGORY_COUNT] = {0}, total = 0;
	*out = (struct memory_use){.peak_op = -1};
	for (int i = 0; i < r->buffer_count; i++) {
		const struct buffer *b = &r->buffers[i];
		if (!b->state || b->space != space)
			continue;
		live[b->category] += buffer_bytes(b);
		total += buffer_bytes(b);
	}
	for (int c = 0; c < CATEGORY_COUNT; c++)
		out->steady[c] = out->at_peak[c] = live[c];
	out->peak_bytes = total;
	for (int i = s->begin; i < s->end; i++) {
		const struct op *op = &r->ops[i];
		if (op_class(op->kind) != OP_CLASS_M)
			continue;
		const struct buffer *b = &r->buffers[op_buffer(op)];
		if (b->space != space)
			continue;
		int64_t bytes = op->kind == OP_ALLOC ? buffer_bytes(b) : -buffer_bytes(b);
		live[b->category] += bytes;
		total += bytes;
		if (total <= out->peak_bytes)
			continue;
		out->peak_bytes = total;
		out->peak_op = i;
		for (int c = 0; c < CATEGORY_COUNT; c++)
			out->at_peak[c] = live[c];
	}
}

void plan_peak(const struct role *r, enum space space, struct memory_use *out)
{
	plan_section_peak(r, &r->step, space, out);
}

void plan_memory(const struct plan *p, const struct role *r, enum space space, struct memory_use *out)
{
	(void)p;
	plan_peak(r, space, out);
	out->arena_bytes = r->laid_out ? r->arena_bytes[space] : layout_arena_bytes(r, space, LAYOUT_EXACT);
}

void plan_peak_describe(const struct plan *p, const struct role *r, int peak_op, char *out, int size)
{
	if (peak_op < 0) {
		snprintf(out, (size_t)size, "between steps");
		return;
	}
	for (int i = peak_op; i < r->step.end; i++)
		if (op_class(r->ops[i].kind) != OP_CLASS_M) {
			op_describe(p, &r->ops[i], out, size);
			return;
		}
	snprintf(out, (size_t)size, "the end of the step");
}
