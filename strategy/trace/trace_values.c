#include "strategy/trace/trace_values.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "strategy/base/arena.h"
#include "strategy/base/compare.h"
#include "strategy/collective/chunks.h"

enum { VERSION = 1 };

/* ---- which there are ---- */

bool trace_values_of(const struct plan *p, const struct op *op)
{
	if (op_class(op->kind) != OP_CLASS_C)
		return false;
	int64_t ranks = op_schedule(p, op).ranks;
	return ranks > 1 && ranks <= TRACE_VALUE_RANKS;
}

static int by_place(const void *a, const void *b)
{
	const struct trace_value *x = a, *y = b;
	return x->rank != y->rank ? compare(x->rank, y->rank)
	       : x->op != y->op   ? compare(x->op, y->op)
	                          : compare(x->chunk, y->chunk);
}

const struct trace_value *trace_value(const struct trace *t, int64_t rank, int op, int chunk)
{
	struct trace_value wanted = {.rank = rank, .op = op, .chunk = chunk};
	return t->value_count ? bsearch(&wanted, t->values, t->value_count, sizeof wanted, by_place) : NULL;
}

/* ---- written ---- */

static void write_number(FILE *out, double x)
{
	if (isfinite(x))
		fprintf(out, ",%.9g", x);
	else
		fputs(",null", out);
}

void trace_values_write(const struct trace *t, FILE *out)
{
	fprintf(out, ",\"values\":{\"version\":%d,\"chunks\":[", VERSION);
	for (size_t i = 0; i < t->value_count; i++) {
		const struct trace_value *v = &t->values[i];
		fprintf(out, "%s\n[%" PRId64 ",%d,%d", i ? "," : "", v->rank, v->op, v->chunk);
		write_number(out, v->before);
		write_number(out, v->after);
		fputc(']', out);
	}
	fputs("]}", out);
}

/* ---- read ---- */

static bool read_number(struct json_stream *j, double *out)
{
	struct stream_text text;
	char copy[64];
	*out = NAN;
	if (stream_peek(j) == 'n')
		return stream_skip(j);
	if (!stream_number(j, &text))
		return false;
	if (text.size >= sizeof copy)
		return stream_fail(j, "a value of more than %zu digits", sizeof copy - 1);
	memcpy(copy, text.text, text.size);
	copy[text.size] = 0;
	*out = strtod(copy, NULL);
	return isfinite(*out) || stream_fail(j, "a value that is too large");
}

static bool read_value(struct json_stream *j, struct raw_value *v)
{
	int64_t *places[] = {&v->rank, &v->op, &v->chunk};
	double *numbers[] = {&v->before, &v->after};
	if (!stream_enter(j, '['))
		return false;
	for (int i = 0; i < 5; i++) {
		if (!stream_element(j))
			return j->failed ? false : stream_fail(j, "a value is [rank, op, chunk, before, after]");
		if (i < 3 ? !stream_whole(j, places[i]) : !read_number(j, numbers[i - 3]))
			return false;
	}
	return !stream_element(j) || stream_fail(j, "a value is [rank, op, chunk, before, after]");
}

static bool read_list(struct raw_values *r, struct json_stream *j)
{
	if (!stream_enter(j, '['))
		return false;
	while (stream_element(j)) {
		r->list = array_reserve(r->list, r->count, &r->capacity, sizeof *r->list);
		if (!read_value(j, &r->list[r->count++]))
			return false;
	}
	return !j->failed;
}

bool raw_values_read(struct raw_values *r, struct json_stream *j)
{
	struct stream_text key;
	r->found = true;
	if (!stream_enter(j, '{'))
		return false;
	while (stream_key(j, &key)) {
		if (stream_is(&key, "version"))
			stream_whole(j, &r->version);
		else if (stream_is(&key, "chunks") && !r->count)
			read_list(r, j);
		else
			stream_skip(j);
	}
	return !j->failed;
}

void raw_values_release(struct raw_values *r)
{
	free(r->list);
	*r = (struct raw_values){0};
}

/* ---- checked ---- */

static enum status check_value(const struct plan *p, const struct raw_value *v, const char *name)
{
	const struct role *r = v->rank >= 0 && v->rank < p->ranks ? plan_role_of(p, v->rank) : NULL;
	int chunks = 0;
	if (r && v->op >= r->step.begin && v->op < r->step.end && trace_values_of(p, &r->ops[v->op])) {
		struct schedule s = op_schedule(p, &r->ops[v->op]);
		free(schedule_cuts(&s, &chunks));
	}
	if (v->chunk >= 0 && v->chunk < chunks)
		return STATUS_OK;
	return status_fail(STATUS_INPUT,
	                   "%s: a value of rank %" PRId64 ", operation %" PRId64 ", chunk %" PRId64
	                   ", which the plan does not have; the file was changed, record it again",
	                   name, v->rank, v->op, v->chunk);
}

enum status trace_values_take(struct trace *t, const struct raw_values *r, const char *name)
{
	enum status s = STATUS_OK;
	if (r->found && r->version != VERSION)
		return status_fail(STATUS_INPUT,
		                   "%s: values of version %" PRId64
		                   ", and this program reads version %d; record it again",
		                   name, r->version, VERSION);
	for (size_t i = 0; i < r->count && !s; i++) {
		const struct raw_value *v = &r->list[i];
		if (!(s = check_value(t->plan, v, name)))
			trace_add_value(t,
			                &(struct trace_value){v->rank, (int)v->op, (int)v->chunk, v->before, v->after});
	}
	if (!s && t->value_count)
		qsort(t->values, t->value_count, sizeof *t->values, by_place);
	for (size_t i = 1; i < t->value_count && !s; i++)
		if (!by_place(&t->values[i - 1], &t->values[i]))
			s = status_fail(STATUS_INPUT, "%s: rank %" PRId64 ", operation %d has two values of chunk %d",
			                name, t->values[i].rank, t->values[i].op, t->values[i].chunk);
	return s;
}
