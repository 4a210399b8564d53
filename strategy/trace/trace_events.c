#include "strategy/trace/trace_events.h"

#include <stdlib.h>

enum { SPAN_LIMIT = 16 << 20 };

/* One event of the file while it is read. */
struct raw_event {
	struct raw_span span;
	int64_t duration, bytes;
	int64_t sort;
	struct stream_text phase, label, labels, id, binding;
	bool timed, lasts, sorted;
	bool odd, odd_bytes; /* an argument with one of our names is not a whole number of 64 bits */
};

static bool read_scalar(struct json_stream *j, struct stream_text *out)
{
	char c = stream_peek(j);
	return c == '"' ? stream_string(j, out) : c == '0' ? stream_number(j, out) : stream_skip(j);
}

static void read_whole(struct json_stream *j, int64_t *out, bool *odd)
{
	struct stream_text number;
	if (stream_peek(j) != '0')
		stream_skip(j);
	else if (stream_number(j, &number))
		*odd |= !stream_text_whole(&number, out);
}

static void read_sort(struct json_stream *j, struct raw_event *e)
{
	bool odd = false;
	e->sorted = stream_peek(j) == '0';
	read_whole(j, &e->sort, &odd);
	e->sorted &= !odd;
}

/* The arguments of another program's events may hold anything; ours are whole numbers. Other values are skipped without
 * a message: to say where one stands would take a walk over the file for every such event. */
static void read_args(struct json_stream *j, struct raw_event *e)
{
	struct stream_text key;
	e->span.op = e->span.to = e->span.waited = e->bytes = -1;
	e->label = e->labels = e->span.args = (struct stream_text){0};
	e->odd = e->odd_bytes = e->sorted = false;
	if (stream_peek(j) != '{') {
		stream_skip(j);
		return;
	}
	const char *begin = j->at;
	stream_enter(j, '{');
	while (stream_key(j, &key)) {
		if (stream_is(&key, "op"))
			read_whole(j, &e->span.op, &e->odd);
		else if (stream_is(&key, "to"))
			read_whole(j, &e->span.to, &e->odd);
		else if (stream_is(&key, "waited_ns"))
			read_whole(j, &e->span.waited, &e->odd);
		else if (stream_is(&key, "bytes"))
			read_whole(j, &e->bytes, &e->odd_bytes);
		else if (stream_is(&key, "name") && stream_peek(j) == '"')
			stream_string(j, &e->label);
		else if (stream_is(&key, "labels") && stream_peek(j) == '"')
			stream_string(j, &e->labels);
		else if (stream_is(&key, "sort_index"))
			read_sort(j, e);
		else
			stream_skip(j);
	}
	if (!j->failed)
		e->span.args = (struct stream_text){.text = begin, .size = (size_t)(j->at - begin)};
}

static bool read_event(struct json_stream *j, struct raw_event *e)
{
	struct stream_text key;
	*e = (struct raw_event){.span = {.op = -1, .to = -1, .waited = -1}, .bytes = -1};
	if (!stream_enter(j, '{'))
		return false;
	while (stream_key(j, &key)) {
		if (stream_is(&key, "ph")) {
			read_scalar(j, &e->phase);
		} else if (stream_is(&key, "pid")) {
			read_scalar(j, &e->span.pid);
		} else if (stream_is(&key, "tid")) {
			read_scalar(j, &e->span.tid);
		} else if (stream_is(&key, "name")) {
			read_scalar(j, &e->span.name);
		} else if (stream_is(&key, "cat")) {
			read_scalar(j, &e->span.category);
		} else if (stream_is(&key, "id")) {
			read_scalar(j, &e->id);
		} else if (stream_is(&key, "bp")) {
			read_scalar(j, &e->binding);
		} else if (stream_is(&key, "ts") && stream_peek(j) == '0') {
			e->timed = stream_thousandths(j, &e->span.begin);
		} else if (stream_is(&key, "dur") && stream_peek(j) == '0') {
			e->lasts = stream_thousandths(j, &e->duration);
		} else if (stream_is(&key, "args")) {
			read_args(j, e);
		} else {
			stream_skip(j);
		}
	}
	e->span.message = stream_is(&e->span.category, "message");
	e->span.bytes = e->span.message ? e->bytes : -1;
	if (e->odd || (e->span.message && e->odd_bytes))
		e->span.op = e->span.to = e->span.bytes = -1;
	return !j->failed;
}

static bool add_span(struct raw_events *e, struct json_stream *j, const struct raw_span *s)
{
	if (s->begin < 0)
		return stream_fail(j, "an event begins at a negative time");
	if (s->end < s->begin)
		return stream_fail(j, "an event ends before it begins");
	if (e->span_count == SPAN_LIMIT)
		return stream_fail(j, "more than %d events", SPAN_LIMIT);
	*ARRAY_ADD(e->spans, e->span_count, e->span_capacity) = *s;
	return true;
}

/* B events of one thread are a stack: each names the one below. */
static bool open_span(struct raw_events *e, struct json_stream *j, const struct raw_span *s)
{
	if (e->open_count == SPAN_LIMIT)
		return stream_fail(j, "more than %d events are open", SPAN_LIMIT);
	struct text_entry *top = text_table_add(&e->threads, s->pid, s->tid);
	*ARRAY_ADD(e->open, e->open_count, e->open_capacity) = (struct open_span){*s, top->number};
	top->number = (int64_t)e->open_count - 1;
	return true;
}

/* An E closes the last B of its thread that is open. */
static bool close_span(struct raw_events *e, struct json_stream *j, const struct raw_span *end)
{
	struct text_entry *top = text_table_find(&e->threads, end->pid, end->tid);
	if (!top || top->number < 0)
		return true; /* it was opened before the recording began */
	struct raw_span s = e->open[top->number].span;
	top->number = e->open[top->number].below;
	s.end = end->begin;
	return add_span(e, j, &s);
}

static void add_name(struct raw_events *e, const struct raw_event *v)
{
	static const struct {
		const char *name;
		enum raw_label label;
	} kinds[] = {{"process_name", RAW_PROCESS_NAME},
	             {"process_labels", RAW_PROCESS_LABELS},
	             {"process_sort_index", RAW_PROCESS_SORT},
	             {"thread_name", RAW_THREAD_NAME},
	             {"thread_sort_index", RAW_THREAD_SORT}};
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
		bool sorts = kinds[i].label == RAW_PROCESS_SORT || kinds[i].label == RAW_THREAD_SORT;
		const struct stream_text *text = kinds[i].label == RAW_PROCESS_LABELS ? &v->labels : &v->label;
		if (!stream_is(&v->span.name, kinds[i].name) || !(sorts ? v->sorted : text->text != NULL))
			continue;
		*ARRAY_ADD(e->names, e->name_count, e->name_capacity) =
		        (struct raw_name){v->span.pid, v->span.tid, *text, v->sort, kinds[i].label};
	}
}

static bool add_counter(struct raw_events *e, struct json_stream *j, const struct raw_event *v)
{
	const struct raw_span *s = &v->span;
	if (e->counter_count == SPAN_LIMIT)
		return stream_fail(j, "more than %d values of counters", SPAN_LIMIT);
	*ARRAY_ADD(e->counters, e->counter_count, e->counter_capacity) =
	        (struct raw_counter){s->pid,  s->tid,   s->name,
	                             s->args, s->begin, stream_is(&s->name, "[memory]") && stream_is(&v->phase, "i")};
	return true;
}

static bool add_flow(struct raw_events *e, struct json_stream *j, const struct raw_event *v, char phase)
{
	const struct raw_span *s = &v->span;
	if (e->flow_count == SPAN_LIMIT)
		return stream_fail(j, "more than %d ends of flows", SPAN_LIMIT);
	*ARRAY_ADD(e->flows, e->flow_count, e->flow_capacity) = (struct raw_flow){
	        s->pid, s->tid, s->category, v->id, s->begin, phase, phase == 's' || stream_is(&v->binding, "e")};
	return true;
}

static bool keep_event(struct raw_events *e, struct json_stream *j, const struct raw_event *v)
{
	struct raw_span s = v->span;
	char phase = v->phase.size == 1 ? v->phase.text[0] : 0;
	if (phase == 'X' && v->timed) {
		if (__builtin_add_overflow(s.begin, v->lasts ? v->duration : 0, &s.end))
			return stream_fail(j, "an event ends too late for 64 bits");
		return add_span(e, j, &s);
	}
	if (phase == 'B' && v->timed)
		return open_span(e, j, &s);
	if (phase == 'E' && v->timed)
		return close_span(e, j, &s);
	bool counts = phase == 'C' || (phase == 'i' && stream_is(&s.name, "[memory]"));
	if (counts && v->timed && s.begin >= 0)
		return add_counter(e, j, v);
	if ((phase == 's' || phase == 't' || phase == 'f') && v->timed && s.begin >= 0)
		return add_flow(e, j, v, phase);
	if (phase == 'M')
		add_name(e, v);
	return true;
}

bool raw_events_read(struct raw_events *e, struct json_stream *j)
{
	struct raw_event v;
	if (!stream_enter(j, '['))
		return false;
	while (stream_element(j))
		if (!read_event(j, &v) || !keep_event(e, j, &v))
			return false;
	return !j->failed;
}

void raw_events_release(struct raw_events *e)
{
	free(e->spans);
	free(e->names);
	free(e->open);
	free(e->counters);
	free(e->flows);
	text_table_release(&e->threads);
	*e = (struct raw_events){0};
}
