/* Chrome trace JSON, written as it goes: nothing but an index of the spans is built in memory.
 *
 * A process is a rank, a thread a queue. Memory is a counter: it follows from the plan's order of issue, so an alloc or
 * free is shown when the next operation of the compute queue begins. Times in the file are microseconds with three
 * digits, which are exact nanoseconds.
 */
#include "strategy/trace/trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/base/file.h"
#include "strategy/base/memory.h"
#include "strategy/base/merge.h"
#include "strategy/trace/trace_values.h"

struct writer {
	FILE *out;
	const struct trace *t;
	int64_t step;
	bool first; /* no comma yet */
};

static void write_text(FILE *out, const char *text, size_t size)
{
	fputc('"', out);
	for (size_t i = 0; i < size; i++) {
		unsigned char c = (unsigned char)text[i];
		if (c == '"' || c == '\\')
			fprintf(out, "\\%c", c);
		else if (c == '\n')
			fputs("\\n", out);
		else if (c < ' ')
			fprintf(out, "\\u%04x", c);
		else
			fputc(c, out);
	}
	fputc('"', out);
}

static void write_word(FILE *out, const char *text)
{
	write_text(out, text, strlen(text));
}

static void write_time(FILE *out, int64_t ns)
{
	fprintf(out, "%" PRId64 ".%03d", ns / 1000, (int)(ns % 1000));
}

static void next_event(struct writer *w)
{
	fputs(w->first ? "\n" : ",\n", w->out);
	w->first = false;
}

/* Begins an event with a duration, up to and with its times. */
static void begin_lasting(struct writer *w, int64_t rank, int thread, int64_t begin, int64_t end)
{
	next_event(w);
	fprintf(w->out, "{\"ph\":\"X\",\"pid\":%" PRId64 ",\"tid\":%d,\"ts\":", rank, thread);
	write_time(w->out, begin);
	fputs(",\"dur\":", w->out);
	write_time(w->out, end - begin);
}

/* ---- one rank ---- */

static void write_names(struct writer *w, int64_t rank, const struct role *role)
{
	bool used[QUEUE_COUNT] = {false};
	char name[64];
	for (int i = role->step.begin; i < role->step.end; i++)
		used[role->ops[i].queue] = true;
	snprintf(name, sizeof name, "rank %" PRId64 " (%.40s)", rank, role->name);
	next_event(w);
	fprintf(w->out, "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%" PRId64 ",\"args\":{\"name\":", rank);
	write_word(w->out, name);
	fputs("}}", w->out);
	for (int q = 0; q <= QUEUE_COUNT; q++) {
		if (q < QUEUE_COUNT ? !used[q] : !w->t->message_count)
			continue;
		next_event(w);
		fprintf(w->out,
		        "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%" PRId64 ",\"tid\":%d,\"args\":{\"name\":",
		        rank, q);
		write_word(w->out, q < QUEUE_COUNT ? queue_name((enum queue)q) : "messages sent");
		fputs("}}", w->out);
	}
}

static void write_span(struct writer *w, const struct span *s, const struct role *role)
{
	const struct plan *p = w->t->plan;
	const struct op *op = &role->ops[s->op];
	char name[128];
	op_describe(p, op, name, sizeof name);
	begin_lasting(w, s->rank, (int)op->queue, s->begin, s->end);
	fputs(",\"name\":", w->out);
	write_word(w->out, name);
	fputs(",\"cat\":", w->out);
	write_word(w->out, op_name(op->kind));
	fprintf(w->out, ",\"args\":{\"op\":%d", s->op);
	if (op_class(op->kind) == OP_CLASS_C)
		fprintf(w->out, ",\"waited_ns\":%" PRId64 ",\"payload_bytes\":%" PRId64 ",\"sent_bytes\":%" PRId64,
		        s->came - s->begin, op_payload_bytes(role, op), op_sent_bytes(p, role, op, s->rank));
	else
		fprintf(w->out, ",\"flops\":%" PRId64 ",\"bytes\":%" PRId64, op_flops(p, op), op_bytes(p, role, op));
	fputs("}}", w->out);
}

static void write_counter(struct writer *w, int64_t rank, enum space space, int64_t at, const int64_t *live)
{
	next_event(w);
	fprintf(w->out, "{\"ph\":\"C\",\"pid\":%" PRId64 ",\"name\":\"%s memory\",\"ts\":", rank, space_name(space));
	write_time(w->out, at);
	fputs(",\"args\":{", w->out);
	for (int c = 0; c < CATEGORY_COUNT; c++)
		fprintf(w->out, "%s\"%s\":%" PRId64, c ? "," : "", category_name((enum category)c), live[c]);
	fputs("}}", w->out);
}

/* begins: by operation of the step; -1 where none was recorded. */
static void write_memory(struct writer *w, int64_t rank, const struct role *role, enum space space,
                         const int64_t *begins)
{
	int64_t live[CATEGORY_COUNT] = {0};
	bool any = false, changed = false;
	for (int i = 0; i < role->buffer_count; i++) {
		const struct buffer *b = &role->buffers[i];
		any = any || b->space == space;
		if (b->state && b->space == space)
			live[b->category] += buffer_bytes(b);
	}
	if (!any)
		return;
	write_counter(w, rank, space, 0, live);
	for (int i = role->step.begin; i < role->step.end; i++) {
		const struct op *op = &role->ops[i];
		if (op_class(op->kind) == OP_CLASS_M) {
			const struct buffer *b = &role->buffers[op_buffer(op)];
			if (b->space != space)
				continue;
			live[b->category] += op->kind == OP_ALLOC ? buffer_bytes(b) : -buffer_bytes(b);
			changed = true;
		} else if (op->queue == QUEUE_COMPUTE && changed && begins[i - role->step.begin] >= 0) {
			write_counter(w, rank, space, begins[i - role->step.begin], live);
			changed = false;
		}
	}
	if (changed)
		write_counter(w, rank, space, w->step, live);
}

static void write_rank(struct writer *w, int64_t rank, const size_t *order, size_t count)
{
	const struct role *role = plan_role_of(w->t->plan, rank);
	int ops = role->step.end - role->step.begin;
	int64_t *begins = array_make((size_t)ops, sizeof *begins);
	for (int i = 0; i < ops; i++)
		begins[i] = -1;
	write_names(w, rank, role);
	for (size_t i = 0; i < count; i++) {
		const struct span *s = &w->t->spans[order[i]];
		if (s->op >= role->step.begin && s->op < role->step.end)
			begins[s->op - role->step.begin] = s->begin;
		write_span(w, s, role);
	}
	for (int space = 0; space < SPACE_COUNT; space++)
		write_memory(w, rank, role, (enum space)space, begins);
	free(begins);
}

/* ---- the whole ---- */

static bool before(const void *trace, size_t i, size_t j)
{
	const struct span *x = &((const struct trace *)trace)->spans[i], *y = &((const struct trace *)trace)->spans[j];
	return x->rank != y->rank ? x->rank < y->rank : x->op < y->op;
}

static void write_messages(struct writer *w)
{
	for (size_t i = 0; i < w->t->message_count; i++) {
		const struct message *m = &w->t->messages[i];
		begin_lasting(w, m->from, QUEUE_COUNT, m->begin, m->end);
		fprintf(w->out,
		        ",\"name\":\"to rank %" PRId64 "\",\"cat\":\"message\",\"args\":{\"op\":%d,\"to\":%" PRId64
		        ",\"bytes\":%" PRId64 "}}",
		        m->to, m->op, m->to, m->bytes);
	}
}

static void write_plan(FILE *out, const struct plan *p)
{
	char *text = NULL;
	size_t size = 0;
	FILE *memory = memory_stream(&text, &size);
	plan_write(p, NULL, memory);
	memory_stream_close(memory);
	write_text(out, text, size);
	free(text);
}

enum status trace_write(const struct trace *t, FILE *out)
{
	size_t *order = merge_order(t->span_count, before, t);
	struct writer w = {.out = out, .t = t, .first = true};
	for (size_t i = 0; i < t->span_count; i++)
		w.step = t->spans[i].end > w.step ? t->spans[i].end : w.step;
	fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", out);
	for (size_t begin = 0, end; begin < t->span_count; begin = end) {
		int64_t rank = t->spans[order[begin]].rank;
		for (end = begin; end < t->span_count && t->spans[order[end]].rank == rank; end++)
			;
		write_rank(&w, rank, order + begin, end - begin);
	}
	write_messages(&w);
	fputs("\n],\n\"shardlab\":{\"version\":1,\"cluster\":", out);
	write_word(out, t->cluster);
	fprintf(out, ",\"measured\":%s,\"ranks\":%" PRId64 ",\"step_ns\":%" PRId64 ",\"plan\":",
	        t->measured ? "true" : "false", t->plan->ranks, w.step);
	write_plan(out, t->plan);
	if (t->value_count)
		trace_values_write(t, out);
	if (t->scale.now > 0)
		fprintf(out, ",\"loss_scale\":%.3f,\"next_loss_scale\":%.3f,\"skipped\":%s", t->scale.now,
		        t->scale.next, t->scale.skipped ? "true" : "false");
	fputs("}}\n", out);
	free(order);
	if (fflush(out) || ferror(out))
		return status_fail(STATUS_RUN, "the trace cannot be written: %s", strerror(errno));
	return STATUS_OK;
}

static enum status write_to(void *t, FILE *out)
{
	return trace_write(*(const struct trace *const *)t, out);
}

enum status trace_save(const struct trace *t, const char *path)
{
	return file_write(path, "{trace}", write_to, &t);
}
