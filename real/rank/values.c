#include "real/rank/values.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"
#include "strategy/collective/chunks.h"

struct value_log {
	const struct rank_memory *memory;
	size_t *first;      /* [op - step.begin]: of its chunks; the end behind the last operation */
	struct trace trace; /* its values */
	int64_t *at;        /* by value: the element that is looked at */
};

/* ---- which there are ---- */

static void add_op(struct value_log *v, int number, size_t *capacity)
{
	const struct plan *p = v->memory->plan;
	const struct op *op = &v->memory->role->ops[number];
	int chunks;
	if (!trace_values_of(p, op))
		return;
	struct schedule s = op_schedule(p, op);
	int64_t *cuts = schedule_cuts(&s, &chunks);
	for (int i = 0; i < chunks; i++) {
		v->at = array_reserve(v->at, v->trace.value_count, capacity, sizeof *v->at);
		v->at[v->trace.value_count] = cuts[i];
		trace_add_value(&v->trace, &(struct trace_value){v->memory->rank, number, i, NAN, NAN});
	}
	free(cuts);
}

enum status values_open(struct value_log **out, const struct rank_memory *memory)
{
	const struct section *step = &memory->role->step;
	size_t capacity = 0;
	struct value_log *v = *out = array_make(1, sizeof *v);
	v->first = array_make((size_t)(step->end - step->begin), sizeof *v->first);
	v->memory = memory;
	trace_open(&v->trace, memory->plan, "", true);
	for (int i = step->begin; i < step->end; i++) {
		v->first[i - step->begin] = v->trace.value_count;
		add_op(v, i, &capacity);
	}
	v->first[step->end - step->begin] = v->trace.value_count;
	return STATUS_OK;
}

void values_close(struct value_log *v)
{
	if (!v)
		return;
	trace_release(&v->trace);
	free(v->first);
	free(v->at);
	free(v);
}

const struct trace_value *values_all(const struct value_log *v, size_t *count)
{
	*count = v->trace.value_count;
	return v->trace.values;
}

/* ---- reading ---- */

static double read_element(enum type type, const void *at, int64_t element)
{
	const char *from = (const char *)at + element * type_bytes(type);
	int32_t whole;
	float out;
	switch (type) {
	case TYPE_I32:
		memcpy(&whole, from, sizeof whole);
		return whole;
	case TYPE_FP32:
	case TYPE_BF16:
	case TYPE_FP16:
		vector_convert(1, (enum element)type, from, ELEMENT_FP32, &out);
		return isfinite(out) ? (double)out : (double)NAN;
	default: /* no collective moves others */
		return (double)NAN;
	}
}

/* An element of a collective that this rank, at its place in the group, brings or keeps. */
static double read_of(const struct collective *c, int64_t ranks, int64_t member, int64_t element, bool after)
{
	const struct schedule s = {c->algorithm, ranks, c->root, c->elements, 0};
	const struct operation_row *o = operation_row(schedule_row(c->algorithm)->operation);
	enum extent extent = after ? o->after : o->before;
	const void *at = extent == EXTENT_SLICE ? c->part : c->whole;
	if (!at || !schedule_holds(&s, extent, member, element))
		return (double)NAN;
	return read_element(c->type, at, extent == EXTENT_SLICE ? element - member * (c->elements / ranks) : element);
}

static void note(struct trace_value *v, double x, bool after)
{
	*(after ? &v->after : &v->before) = x;
}

static bool range_of(const struct value_log *v, int op, size_t *begin, size_t *end)
{
	const struct section *step = &v->memory->role->step;
	if (op < step->begin || op >= step->end)
		return false;
	*begin = v->first[op - step->begin];
	*end = v->first[op - step->begin + 1];
	return true;
}

void values_note(struct value_log *v, int number, const struct collective *c, bool after)
{
	const struct plan *p = v->memory->plan;
	const struct op *op = &v->memory->role->ops[number];
	size_t begin, end;
	if (!range_of(v, number, &begin, &end))
		return;
	int64_t ranks = op_members(p, op), member = op_member(p, op, v->memory->rank);
	for (size_t i = begin; i < end; i++)
		note(&v->trace.values[i], read_of(c, ranks, member, v->at[i], after), after);
}

void values_note_message(struct value_log *v, int number, const void *at, bool after)
{
	const struct op *op = &v->memory->role->ops[number];
	enum type type = v->memory->role->buffers[op_buffer(op)].type;
	size_t begin, end;
	if (!range_of(v, number, &begin, &end) || (op->kind == OP_RECEIVE && !after))
		return;
	for (size_t i = begin; i < end; i++)
		note(&v->trace.values[i], read_element(type, at, v->at[i]), after);
}

void values_note_sum(struct value_log *v, int number, const float *x, bool after)
{
	size_t begin, end;
	if (!range_of(v, number, &begin, &end))
		return;
	for (size_t i = begin; i < end; i++)
		note(&v->trace.values[i], read_element(TYPE_FP32, x, v->at[i]), after);
}
