#include "strategy/trace/trace_file.h"
#include "strategy/base/compare.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "strategy/base/file.h"
#include "strategy/base/memory.h"
#include "strategy/trace/trace_foreign.h"
#include "strategy/trace/trace_values.h"

/* The members of "shardlab". */
struct head {
	bool found;
	int64_t version, ranks;
	bool measured;
	struct stream_text plan, cluster;
	struct raw_values values;
	int64_t scale, next_scale; /* thousandths */
	bool skipped;
	int64_t rank, world; /* another program's; -1 */
};

/* ---- our own ---- */

static enum status disagrees(const char *name, const char *what, size_t event)
{
	return status_fail(STATUS_INPUT, "%s: event %zu: %s; the file was changed, record it again", name, event, what);
}

static enum status take_span(struct trace_file *f, const struct raw_span *s, size_t number, const char *name)
{
	int64_t rank;
	if (!stream_text_whole(&s->pid, &rank) || rank < 0 || rank >= f->plan.ranks)
		return disagrees(name, "the plan has no such rank", number);
	const struct role *r = plan_role_of(&f->plan, rank);
	if (s->op < r->step.begin || s->op >= r->step.end || op_class(r->ops[s->op].kind) == OP_CLASS_M)
		return disagrees(name, "the plan's step has no such operation that takes time", number);
	bool communicates = op_class(r->ops[s->op].kind) == OP_CLASS_C;
	if (!s->message && communicates && s->waited > s->end - s->begin)
		return disagrees(name, "it waits for longer than it takes", number);
	if (!s->message) {
		trace_add_span(&f->trace, rank, (int)s->op, s->begin, s->end);
		f->trace.spans[f->trace.span_count - 1].came += communicates && s->waited > 0 ? s->waited : 0;
		return STATUS_OK;
	}
	if (!communicates || s->to < 0 || s->to >= f->plan.ranks || s->bytes < 0)
		return disagrees(name, "a message of no collective of the plan", number);
	struct message m = {
	        .from = rank, .to = s->to, .bytes = s->bytes, .op = (int)s->op, .begin = s->begin, .end = s->end};
	trace_add_message(&f->trace, &m);
	return STATUS_OK;
}

static int by_rank_and_op(const void *a, const void *b)
{
	const struct span *x = a, *y = b;
	return x->rank != y->rank ? compare(x->rank, y->rank) : compare(x->op, y->op);
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
		                   ", and this program reads version 1; record it again",
		                   name, head->version);
	if (head->ranks < 1 || head->ranks > TRACE_RANKS_LIMIT)
		return status_fail(STATUS_INPUT, "%s: a trace of %" PRId64 " ranks; 1 to %d can be shown", name,
		                   head->ranks, TRACE_RANKS_LIMIT);
	if (!head->plan.text)
		return status_fail(STATUS_INPUT, "%s: the trace has no plan in it; record it again", name);
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
	if (head->scale > 0 && head->next_scale > 0)
		f->trace.scale = (struct trace_scale){(double)head->scale / 1000, (double)head->next_scale / 1000,
		                                      head->skipped};
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
		else if (stream_is(&key, "loss_scale"))
			stream_thousandths(j, &h->scale);
		else if (stream_is(&key, "next_loss_scale"))
			stream_thousandths(j, &h->next_scale);
		else if (stream_is(&key, "skipped"))
			stream_boolean(j, &h->skipped);
		else if (stream_is(&key, "values") && !h->values.found)
			raw_values_read(&h->values, j);
		else
			stream_skip(j);
	}
}

static void read_whole(struct json_stream *j, int64_t *out)
{
	struct stream_text number;
	if (stream_peek(j) != '0')
		stream_skip(j);
	else if (stream_number(j, &number) && (!stream_text_whole(&number, out) || *out < 0))
		*out = -1;
}

/* Anything may stand there, as it is another program's. */
static void read_distributed(struct json_stream *j, struct head *h)
{
	struct stream_text key;
	if (stream_peek(j) != '{') {
		stream_skip(j);
		return;
	}
	stream_enter(j, '{');
	while (stream_key(j, &key))
		if (stream_is(&key, "rank"))
			read_whole(j, &h->rank);
		else if (stream_is(&key, "world_size"))
			read_whole(j, &h->world);
		else
			stream_skip(j);
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
			} else if (stream_is(&key, "distributedInfo")) {
				read_distributed(j, h);
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
	struct head head = {.rank = -1, .world = -1};
	*f = (struct trace_file){0};
	enum status s = read_all(&j, &events, &head);
	f->rank = head.rank;
	f->ranks = head.world;
	if (!s)
		s = head.found ? take_ours(f, &events, &head, name) : trace_take_foreign(f, &events, name);
	raw_events_release(&events);
	raw_values_release(&head.values);
	if (s)
		trace_file_release(f);
	return s;
}

enum status trace_file_open(struct trace_file *f, const char *path)
{
	return trace_file_open_as(f, path, "{trace}");
}

enum status trace_file_open_as(struct trace_file *f, const char *path, const char *what)
{
	char *text = NULL;
	size_t size = 0, capacity = 0;
	int got;
	*f = (struct trace_file){0};
	int file;
	enum status s = file_open(&file, path, what);
	if (s)
		return s;
	gzFile in = gzdopen(file, "rb");
	if (!in)
		memory_exhausted();
	gzbuffer(in, 1 << 20);
	do {
		enum { PIECE = 4 << 20 };
		while (capacity < size + PIECE)
			text = array_reserve(text, capacity, &capacity, 1);
		got = gzread(in, text + size, PIECE);
		size += got > 0 ? (size_t)got : 0;
	} while (got > 0 && size < TRACE_FILE_LIMIT);
	gzclose(in);
	if (got < 0)
		s = status_fail(STATUS_INPUT, "%s: cannot read '%s': a folder, or a damaged gzip file?",
		                status_words(what), path);
	else if (got > 0)
		s = status_fail(STATUS_INPUT, "%s: '%s' is larger than 1 GiB; record a shorter time",
		                status_words(what), path);
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
	for (int i = 0; i < f->counter_count; i++)
		free(f->counters[i].points);
	free(f->counters);
	free(f->flows);
	free(f->processes);
	free(f->lanes);
	free(f->spans);
	*f = (struct trace_file){0};
}
