#include "strategy/trace/trace_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "strategy/trace/trace_events.h"
#include "strategy/trace/trace_values.h"

/* The members of "shardlab". */
struct head {
	bool found;
	int64_t version, ranks;
	bool measured;
	struct stream_text plan, cluster;
	struct raw_values values;
};

/* ---- our own ---- */

static enum status disagrees(const char *name, const char *what, size_t event)
{
	return status_fail(STATUS_INPUT, "%s: event %zu: %s; the file was changed, record it anew", name, event, what);
}

static enum status take_span(struct trace_file *f, const struct raw_span *s, size_t number, const char *name)
{
	int64_t rank;
	if (!stream_text_whole(&s->pid, &rank) || rank < 0 || rank >= f->plan.ranks)
		return disagrees(name, "its rank is none of the plan's", number);
	const struct role *r = plan_role_of(&f->plan, rank);
	if (s->op < r->step.begin || s->op >= r->step.end || op_class(r->ops[s->op].kind) == OP_CLASS_M)
		return disagrees(name, "its operation is none that takes time in the plan's step", number);
	bool communicates = op_class(r->ops[s->op].kind) == OP_CLASS_C;
	if (!s->message && communicates && s->waited > s->end - s->begin)
		return disagrees(name, "it waits for longer than it takes", number);
	if (!s->message) {
		trace_add_span(&f->trace, rank, (int)s->op, s->begin, s->end);
		f->trace.spans[f->trace.span_count - 1].came += communicates && s->waited > 0 ? s->waited : 0;
		return STATUS_OK;
	}
	if (!communicates || s->to < 0 || s->to >= f->plan.ranks || s->bytes < 0)
		return disagrees(name, "a message that is none of a collective of the plan", number);
	struct message m = {
	        .from = rank, .to = s->to, .bytes = s->bytes, .op = (int)s->op, .begin = s->begin, .end = s->end};
	trace_add_message(&f->trace, &m);
	return STATUS_OK;
}

static int by_rank_and_op(const void *a, const void *b)
{
	const struct span *x = a, *y = b;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return (x->op > y->op) - (x->op < y->op);
}

/* Files of before have no waits in them. */
static bool has_waits(const struct raw_events *e)
{
	for (size_t i = 0; i < e->span_count; i++)
		if (e->spans[i].waited >= 0)
			return true;
	return false;
}

static enum status take_ours(struct trace_file *f, const struct raw_events *e, const struct head *head,
                             const char *name)
{
	size_t size;
	if (head->version != 1)
		return status_fail(STATUS_INPUT,
		                   "%s: a trace of version %" PRId64
		                   ", and this program reads version 1; record it anew",
		                   name, head->version);
	if (head->ranks < 1 || head->ranks > TRACE_RANKS_LIMIT)
		return status_fail(STATUS_INPUT, "%s: a trace of %" PRId64 " ranks; 1 to %d can be shown", name,
		                   head->ranks, TRACE_RANKS_LIMIT);
	if (!head->plan.text)
		return status_fail(STATUS_INPUT, "%s: the trace has no plan in it; record it anew", name);
	char *text = stream_copy(&f->arena, &head->plan, false, &size);
	enum status s = plan_read(&f->plan, &f->model, text, size, name);
	if (!s)
		s = plan_verify(&f->plan, NULL);
	if (s)
		return status_prefix(s, "the plan in the trace");
	if (f->plan.ranks != head->ranks)
		return status_fail(STATUS_INPUT, "%s: a trace of %" PRId64 " ranks with a plan for %" PRId64, name,
		                   head->ranks, f->plan.ranks);
	trace_open(&f->trace, &f->plan, head->cluster.text ? stream_copy(&f->arena, &head->cluster, true, NULL) : "?",
	           head->measured);
	for (size_t i = 0; i < e->span_count; i++)
		if ((s = take_span(f, &e->spans[i], i + 1, name)))
			return s;
	struct span *spans = f->trace.spans;
	size_t n = f->trace.span_count;
	if (!n)
		return status_fail(STATUS_INPUT, "%s: the trace has no operation in it", name);
	qsort(spans, n, sizeof *spans, by_rank_and_op);
	for (size_t i = 1; i < n; i++)
		if (spans[i].rank == spans[i - 1].rank && spans[i].op == spans[i - 1].op)
			return status_fail(STATUS_INPUT, "%s: rank %" PRId64 " carries out operation %d twice", name,
			                   spans[i].rank, spans[i].op);
	if (!has_waits(e))
		trace_meet(&f->trace);
	return trace_values_take(&f->trace, &head->values, name);
}

/* ---- another program's ---- */

static int lane_of(struct trace_file *f, struct text_table *lanes, const struct raw_span *s, size_t *capacity)
{
	struct text_entry *e = text_table_add(lanes, s->pid, s->tid);
	if (e->number < 0) {
		e->number = f->lane_count;
		f->lanes = array_reserve(f->lanes, (size_t)f->lane_count, capacity, sizeof *f->lanes);
		f->lanes[f->lane_count++] = (struct foreign_lane){stream_copy(&f->arena, &s->pid, true, NULL),
		                                                  stream_copy(&f->arena, &s->tid, true, NULL)};
	}
	return (int)e->number;
}

/* The last name that an event gives to a process, or to a thread, counts. */
static void name_lanes(struct trace_file *f, const struct text_table *lanes, const struct raw_events *e)
{
	struct text_table processes = {0};
	const struct stream_text none = {0};
	for (size_t i = 0; i < e->name_count; i++) {
		const struct raw_name *n = &e->names[i];
		struct text_entry *x =
		        n->process ? text_table_add(&processes, n->pid, none) : text_table_find(lanes, n->pid, n->tid);
		if (!x)
			continue;
		const char *name = stream_copy(&f->arena, &n->name, true, NULL);
		if (n->process)
			x->copy = name;
		else
			f->lanes[x->number].thread = name;
	}
	for (size_t i = 0; i < lanes->capacity; i++) {
		const struct text_entry *x = &lanes->entries[i];
		const struct text_entry *process = x->used ? text_table_find(&processes, x->a, none) : NULL;
		if (process)
			f->lanes[x->number].process = process->copy;
	}
	text_table_release(&processes);
}

static int by_lane_and_time(const void *a, const void *b)
{
	const struct foreign_span *x = a, *y = b;
	if (x->lane != y->lane)
		return x->lane < y->lane ? -1 : 1;
	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return (x->end < y->end) - (x->end > y->end);
}

static enum status take_foreign(struct trace_file *f, const struct raw_events *e, const char *name)
{
	struct text_table lanes = {0}, names = {0};
	const struct stream_text none = {0};
	size_t capacity = 0;
	int64_t first = INT64_MAX;
	f->foreign = true;
	if (!e->span_count)
		return status_fail(STATUS_INPUT, "%s: no event in it has a duration: nothing to show", name);
	f->spans = array_make(e->span_count, sizeof *f->spans);
	for (size_t i = 0; i < e->span_count; i++)
		first = e->spans[i].begin < first ? e->spans[i].begin : first;
	for (size_t i = 0; i < e->span_count; i++) {
		const struct raw_span *s = &e->spans[i];
		struct text_entry *n = text_table_add(&names, s->name, none);
		if (!n->copy)
			n->copy = stream_copy(&f->arena, &s->name, true, NULL);
		f->spans[f->span_count++] = (struct foreign_span){.lane = lane_of(f, &lanes, s, &capacity),
		                                                  .begin = s->begin - first,
		                                                  .end = s->end - first,
		                                                  .name = n->copy};
	}
	name_lanes(f, &lanes, e);
	qsort(f->spans, f->span_count, sizeof *f->spans, by_lane_and_time);
	text_table_release(&lanes);
	text_table_release(&names);
	return STATUS_OK;
}

/* ---- the file ---- */

static void read_head(struct json_stream *j, struct head *h)
{
	struct stream_text key;
	h->found = true;
	if (!stream_enter(j, '{'))
		return;
	while (stream_key(j, &key)) {
		if (stream_is(&key, "version"))
			stream_whole(j, &h->version);
		else if (stream_is(&key, "ranks"))
			stream_whole(j, &h->ranks);
		else if (stream_is(&key, "measured"))
			stream_boolean(j, &h->measured);
		else if (stream_is(&key, "plan"))
			stream_string(j, &h->plan);
		else if (stream_is(&key, "cluster"))
			stream_string(j, &h->cluster);
		else if (stream_is(&key, "values") && !h->values.found)
			raw_values_read(&h->values, j);
		else
			stream_skip(j);
	}
}

static enum status read_all(struct json_stream *j, struct raw_events *e, struct head *h)
{
	struct stream_text key;
	bool any = false;
	if (stream_peek(j) == '[') { /* the events alone */
		any = true;
		raw_events_read(e, j);
	} else if (stream_enter(j, '{')) {
		while (stream_key(j, &key)) {
			if (stream_is(&key, "traceEvents") && !any) {
				any = true;
				raw_events_read(e, j);
			} else if (stream_is(&key, "shardlab") && !h->found) {
				read_head(j, h);
			} else {
				stream_skip(j);
			}
		}
	}
	stream_finished(j);
	if (!j->failed && !any)
		return status_fail(STATUS_INPUT, "%s: no \"traceEvents\" in it: not a trace", j->name);
	return j->failed;
}

enum status trace_file_read(struct trace_file *f, const char *text, size_t size, const char *name)
{
	struct json_stream j = {.at = text, .begin = text, .end = text + size, .name = name};
	struct raw_events events = {0};
	struct head head = {0};
	*f = (struct trace_file){0};
	enum status s = read_all(&j, &events, &head);
	if (!s)
		s = head.found ? take_ours(f, &events, &head, name) : take_foreign(f, &events, name);
	raw_events_release(&events);
	raw_values_release(&head.values);
	if (s)
		trace_file_release(f);
	return s;
}

enum status trace_file_open(struct trace_file *f, const char *path)
{
	char *text = NULL;
	size_t size = 0, capacity = 0;
	int got;
	*f = (struct trace_file){0};
	errno = 0;
	gzFile in = gzopen(path, "rb");
	if (!in)
		return status_fail(STATUS_INPUT, "{trace}: cannot open '%s': %s", path,
		                   errno ? strerror(errno) : "out of memory");
	gzbuffer(in, 1 << 20);
	do {
		enum { PIECE = 4 << 20 };
		while (capacity < size + PIECE)
			text = array_reserve(text, capacity, &capacity, 1);
		got = gzread(in, text + size, PIECE);
		size += got > 0 ? (size_t)got : 0;
	} while (got > 0 && size < TRACE_FILE_LIMIT);
	gzclose(in);
	enum status s;
	if (got < 0)
		s = status_fail(STATUS_INPUT, "{trace}: cannot read '%s': a folder, or a damaged gzip file?", path);
	else if (got > 0)
		s = status_fail(STATUS_INPUT, "{trace}: '%s' is larger than 1 GiB; record a shorter time", path);
	else
		s = trace_file_read(f, text, size, path);
	free(text);
	return s;
}

void trace_file_release(struct trace_file *f)
{
	if (!f)
		return;
	trace_release(&f->trace);
	plan_release(&f->plan);
	model_release(&f->model);
	arena_release(&f->arena);
	free(f->lanes);
	free(f->spans);
	*f = (struct trace_file){0};
}
