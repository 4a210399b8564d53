/* Trace files: what is written is read back; what was damaged is refused in one line; other programs' traces open. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "strategy/collective/chunks.h"
#include "strategy/trace/trace_file.h"
#include "tests/support/plan_check.h"
#include "tests/support/suite.h"
#include "tests/support/viewed.h"
#include "viz/timeline/lanes.h"

static char *written(const struct trace *t, size_t *size)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, size);
	ck_assert(out && !trace_write(t, out) && !fclose(out));
	return text;
}

START_TEST(what_is_written_is_read)
{
	static const char *const strategies[] = {"ddp", "dp", "zero3"};
	for (int i = 0; i < 3; i++) {
		struct viewed v;
		struct trace_file f;
		size_t size;
		viewed_open(&v, "mlp:sizes=12-16-8-4 %s ranks=3", strategies[i]);
		v.trace.scale = i ? (struct trace_scale){65536, 0.5 * i, i == 2} : (struct trace_scale){0};
		char *text = written(&v.trace, &size);
		must(trace_file_read(&f, text, size, "x.json"));
		ck_assert(f.trace.scale.now == v.trace.scale.now && f.trace.scale.next == v.trace.scale.next &&
		          f.trace.scale.skipped == v.trace.scale.skipped);
		ck_assert(!f.foreign && !f.trace.measured);
		ck_assert_str_eq(f.trace.cluster, "laptop");
		ck_assert_uint_eq(f.trace.span_count, v.trace.span_count);
		ck_assert_uint_eq(f.trace.message_count, v.trace.message_count);
		/* the same times to the nanosecond, and so the same timeline */
		struct timeline s;
		ck_assert(!timeline_open(&s, &f.trace, &v.limits));
		ck_assert_uint_eq(s.event_count, v.shown.timeline.event_count);
		for (size_t k = 0; k < s.event_count; k++) {
			const struct event *a = &s.events[k], *b = &v.shown.timeline.events[k];
			ck_assert(a->time == b->time && a->kind == b->kind && a->op == b->op && a->rank == b->rank &&
			          a->to == b->to && a->bytes == b->bytes);
		}
		timeline_release(&s);
		/* written again it is the same text */
		size_t again_size;
		char *again = written(&f.trace, &again_size);
		ck_assert(again_size == size && !memcmp(again, text, size));
		free(again);
		trace_file_release(&f);
		free(text);
		viewed_release(&v);
	}
}

/* Files that were written before had no waits: they follow from when ranks came. */
START_TEST(a_file_without_waits_has_them_all_the_same)
{
	struct trace_file f, old;
	size_t size;
	const struct viewed *v = viewed_plan("mlp:sizes=12-16-8-4 dp ranks=3");
	char *text = written(&v->trace, &size);
	ck_assert(!trace_file_read(&f, text, size, "x.json"));
	for (char *at = text; (at = strstr(at, "waited_ns"));)
		*at = 'W';
	ck_assert(!trace_file_read(&old, text, size, "x.json"));
	int64_t waited = 0;
	for (size_t i = 0; i < f.trace.span_count; i++) {
		ck_assert_int_eq(f.trace.spans[i].came, v->trace.spans[i].came);
		ck_assert_int_eq(old.trace.spans[i].came, v->trace.spans[i].came);
		waited += v->trace.spans[i].came - v->trace.spans[i].begin;
	}
	ck_assert_int_gt(waited, 0);
	trace_file_release(&f);
	trace_file_release(&old);
	free(text);
}

static void refused(const char *text, size_t size, const char *why)
{
	struct trace_file f;
	enum status s = trace_file_read(&f, text, size, "x.json");
	ck_assert_msg(s == STATUS_INPUT || s == STATUS_REFUSED, "read, though %s", why);
	ck_assert_msg(strstr(status_message(), why) != NULL, "'%s' does not say '%s'", status_message(), why);
	ck_assert(!strchr(status_message(), '\n'));
	ck_assert_msg(strstr(status_message(), "x.json") != NULL, "'%s' names no file", status_message());
}

struct damage {
	const char *what, *by, *why;
};

static void refused_damaged(const char *text, const struct damage *cases, int count)
{
	for (int i = 0; i < count; i++) {
		const char *bad = text_replaced(text, cases[i].what, cases[i].by);
		refused(bad, strlen(bad), cases[i].why);
	}
}

START_TEST(damage_is_refused)
{
	static const struct damage cases[] = {
	        {"\"version\":1", "\"version\":2", "version 2"},
	        {"\"ranks\":4", "\"ranks\":1000000", "1000000 ranks"},
	        {"\"ranks\":4", "\"ranks\":5", "plan for 4"},
	        {"\"ranks\":4", "\"ranks\":-1", "-1 ranks"},
	        {"\"ts\":0.000", "\"ts\":-5.000", "negative"},
	        {"\"dur\":", "\"dur\":-", "before it begins"},
	        {"\"args\":{\"op\":", "\"args\":{\"op\":9", "operation"},
	        {"\"pid\":3,\"tid\":0,\"ts\"", "\"pid\":4,\"tid\":0,\"ts\"", "the plan has no such rank"},
	        {"\"args\":{\"op\":", "\"args\":{\"xp\":", "operation"},
	        {"shardlab plan 1", "shardlab plan 7", "plan"},
	        {"\"to\":1", "\"to\":99", "message"},
	        {"\"plan\":", "\"plane\":", "no plan"},
	        {"\"waited_ns\":", "\"waited_ns\":9999999999", "longer than it takes"},
	        {"buffer step", "buffet step", "x.json"},
	        {"\"traceEvents\":[", "\"traceEvents\":{", "x.json"},
	        {"},\n{\"ph\":\"X\"", "}\n{\"ph\":\"X\"", "comma"},
	};
	size_t size;
	const struct viewed *v = viewed_plan("mlp:sizes=12-16-8-4 ddp ranks=4");
	char *text = written(&v->trace, &size);
	refused_damaged(text, cases, COUNT(cases));
	for (size_t cut = 0; cut < size - 1; cut += 1 + size / 211) /* truncated anywhere */
		refused(text, cut, "truncated");
	free(text);
}

/* ---- values ---- */

/* Every chunk of a plan's collectives. */
static void add_values(struct trace *t)
{
	for (int64_t rank = 0; rank < t->plan->ranks; rank++) {
		const struct role *r = plan_role_of(t->plan, rank);
		for (int op = r->step.begin; op < r->step.end; op++) {
			if (!trace_values_of(t->plan, &r->ops[op]))
				continue;
			struct schedule s = op_schedule(t->plan, &r->ops[op]);
			int chunks;
			free(schedule_cuts(&s, &chunks));
			for (int i = 0; i < chunks; i++)
				trace_add_value(t, &(struct trace_value){rank, op, i, (double)rank + 0.125 * i,
				                                         i ? (double)NAN : -1e-20});
		}
	}
}

START_TEST(values_are_read_as_they_were_written)
{
	struct trace_file f;
	size_t size;
	struct viewed *v = viewed_plan("mlp:sizes=12-16-8-4 ddp ranks=3");
	add_values(&v->trace);
	ck_assert_uint_gt(v->trace.value_count, 8);
	char *text = written(&v->trace, &size);
	must(trace_file_read(&f, text, size, "x.json"));
	ck_assert_uint_eq(f.trace.value_count, v->trace.value_count);
	for (size_t i = 0; i < f.trace.value_count; i++) {
		const struct trace_value *a = &v->trace.values[i], *b = trace_value(&f.trace, a->rank, a->op, a->chunk);
		ck_assert(b && b->before == a->before);
		ck_assert(isnan(a->after) ? isnan(b->after) : b->after == a->after);
	}
	ck_assert(!trace_value(&f.trace, 0, f.trace.values[0].op, 99));
	trace_file_release(&f);
	free(text);
}

START_TEST(damaged_values_are_refused)
{
	static const struct damage cases[] = {
	        {"\"values\":{\"version\":1", "\"values\":{\"version\":2", "values of version 2"},
	        {"\"chunks\":[\n[0,", "\"chunks\":[\n[7,", "a value of rank 7"},
	        {"\"chunks\":[\n[0,", "\"chunks\":[\n[-1,", "a value of rank -1"},
	        {"\"chunks\":[\n[0,", "\"chunks\":[\n[0,9", "which the plan does not have"},
	        {"\"chunks\":[\n[0,", "\"chunks\":[\n[0", "x.json"},
	        {",0,0,-1e-20]", ",0,0,-1e-20,5]", "[rank, op, chunk, before, after]"},
	        {",0,0,-1e-20]", ",0,0]", "[rank, op, chunk, before, after]"},
	        {",0,0,-1e-20]", ",0,0,1e999]", "too large"},
	        {",0,0,-1e-20]", ",0,0,\"x\"]", "x.json"},
	        {",1,0.125,null]", ",0,0.125,null]", "two values of chunk 0"},
	        {",1,0.125,null]", ",-4,0.125,null]", "chunk -4"},
	};
	size_t size;
	struct viewed *v = viewed_plan("mlp:sizes=12-16-8-4 ddp ranks=3");
	add_values(&v->trace);
	char *text = written(&v->trace, &size);
	refused_damaged(text, cases, COUNT(cases));
	free(text);
}

START_TEST(not_a_trace)
{
	static const struct {
		const char *text, *why;
	} cases[] = {{"hello", "not JSON"},
	             {"{}", "not a trace"},
	             {"[]", "nothing to show"},
	             {"{\"traceEvents\":[]}", "nothing to show"},
	             {"{\"traceEvents\":[]} x", "behind the end"},
	             {"[{\"ph\":\"X\",\"ts\":1,\"dur\":1e99}]", "not a time"},
	             {"[{\"ph\":\"X\",\"ts\":9223372036854775.8075,\"dur\":1}]", "not a time"},
	             {"[{\"ph\":\"X\",\"ts\":-,\"dur\":1}]", "a number needs a digit"},
	             {"[{\"ph\":\"X\",\"ts\":1,\"dur\":-.5}]", "a number needs a digit"},
	             {"[{\"ph\":\"X\",\"ts\":1,\"dur\":1,\"args\":{\"op\":-}}]", "a number needs a digit"},
	             {"[{\"ph\":\"X\",\"ts\":-", "truncated"},
	             {"[{\"ph\":\"X\",\"ts\":9223372036854775,\"dur\":9223372036854775}]", "64 bits"},
	             {"{\"a\":tru}", "true"}};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		refused(cases[i].text, strlen(cases[i].text), cases[i].why);
	char deep[400];
	memset(deep, '[', sizeof deep);
	memcpy(deep, "{\"a\":", 5);
	refused(deep, sizeof deep, "deep");
}

/* A trace as PyTorch's profiler writes it: names for processes and threads, threads that are texts, nested and B/E
 * events. */
START_TEST(traces_of_other_programs_open)
{
	static const char text[] =
	        "{\"schemaVersion\": 1, \"deviceProperties\": [{\"id\": 0}], \"traceEvents\": [\n"
	        "{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": 17, \"args\": {\"name\": \"python\"}},\n"
	        "{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": 17, \"tid\": 3, \"args\": {\"name\": \"main "
	        "\\u00e9\"}},\n"
	        "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::mm\", \"pid\": 17, \"tid\": 3, \"ts\": 1000.5, "
	        "\"dur\": 10,"
	        " \"args\": {\"op\": \"text\", \"Input Dims\": [[2, 3], []]}},\n"
	        "{\"ph\": \"X\", \"name\": \"inner\", \"pid\": 17, \"tid\": 3, \"ts\": 1002, \"dur\": 2.25},\n"
	        "{\"ph\": \"B\", \"name\": \"outer\", \"pid\": \"Spans\", \"tid\": \"a\", \"ts\": 1001},\n"
	        "{\"ph\": \"B\", \"name\": \"in it\", \"pid\": \"Spans\", \"tid\": \"a\", \"ts\": 1002},\n"
	        "{\"ph\": \"E\", \"pid\": \"Spans\", \"tid\": \"a\", \"ts\": 1003},\n"
	        "{\"ph\": \"E\", \"pid\": \"Spans\", \"tid\": \"a\", \"ts\": 1005},\n"
	        "{\"ph\": \"i\", \"name\": \"instant\", \"pid\": 17, \"tid\": 3, \"ts\": 1}\n"
	        "], \"traceName\": \"x\"}";
	struct trace_file f;
	struct lanes l;
	must(trace_file_read(&f, text, sizeof text - 1, "x.json"));
	ck_assert(f.foreign);
	ck_assert_int_eq(f.lane_count, 2);
	ck_assert_uint_eq(f.span_count, 4);
	ck_assert_str_eq(f.lanes[0].process, "python");
	ck_assert_str_eq(f.lanes[0].thread, "main é");
	ck_assert_str_eq(f.lanes[1].process, "Spans");
	ck_assert_str_eq(f.spans[0].name, "aten::mm");
	ck_assert_int_eq(f.spans[0].begin, 0);
	ck_assert_int_eq(f.spans[0].end, 10000);
	ck_assert_int_eq(f.spans[1].begin, 1500);
	ck_assert_int_eq(f.spans[1].end, 3750);
	ck_assert_str_eq(f.spans[2].name, "outer");
	ck_assert_int_eq(f.spans[2].end - f.spans[2].begin, 4000);
	lanes_of_file(&l, &f);
	ck_assert_int_eq(l.lanes[1].depth, 2);
	ck_assert_int_eq(lane_span_at(&l.lanes[1], 2000, 0), 0);
	ck_assert_int_eq(lane_span_at(&l.lanes[1], 2000, 1), 1);
	ck_assert_int_eq(lane_span_at(&l.lanes[1], 5000, 1), -1);
	lanes_release(&l);
	trace_file_release(&f);
}

/* A hundred thousand events take no longer each than a few: those with arguments that are not ours, those of threads
 * that are open at once, and the names of as many threads. Where time grows with the square, they take minutes.
 */
START_TEST(large_files_read_in_linear_time)
{
	enum { EVENTS = 100000 };
	char *text = NULL;
	size_t size;
	struct trace_file f;
	FILE *out = open_memstream(&text, &size);
	ck_assert_ptr_nonnull(out);
	fprintf(out, "[{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":7,\"args\":{\"name\":\"python\"}}");
	for (int i = 0; i < EVENTS; i++) {
		fprintf(out, ",\n{\"ph\":\"X\",\"name\":\"copy\",\"pid\":7,\"tid\":0,\"ts\":%d,\"dur\":1,", i);
		fprintf(out, "\"args\":{\"to\":%d.5}}", i);
		fprintf(out, ",\n{\"ph\":\"B\",\"name\":\"run\",\"pid\":7,\"tid\":%d,\"ts\":%d}", i + 1, i);
		fprintf(out, ",\n{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":7,\"tid\":%d,", i + 1);
		fprintf(out, "\"args\":{\"name\":\"thread %d\"}}", i + 1);
	}
	for (int i = 0; i < EVENTS; i++)
		fprintf(out, ",\n{\"ph\":\"E\",\"pid\":7,\"tid\":%d,\"ts\":%d}", i + 1, EVENTS + i);
	fprintf(out, "]");
	ck_assert(!fclose(out));
	must(trace_file_read(&f, text, size, "x.json"));
	ck_assert(f.foreign);
	ck_assert_uint_eq(f.span_count, 2 * EVENTS);
	ck_assert_int_eq(f.lane_count, EVENTS + 1);
	for (int i = 1; i <= EVENTS; i++) {
		char name[32];
		snprintf(name, sizeof name, "thread %d", i);
		ck_assert_str_eq(f.lanes[i].thread, name);
		ck_assert_str_eq(f.lanes[i].process, "python");
		ck_assert_int_eq(f.spans[EVENTS + i - 1].end - f.spans[EVENTS + i - 1].begin, 1000 * EVENTS);
	}
	trace_file_release(&f);
	free(text);
}

/* Gaps of the compute lane, and what they are, sum up to what the trace says of its times. */
START_TEST(exposed_and_bubbles)
{
	const struct viewed *v = viewed_plan("mlp:sizes=12-16-8-4 zero3 ranks=4");
	const struct lanes *l = &v->shown.lanes;
	for (int i = 0; i < l->lane_count; i++) {
		const struct lane *lane = &l->lanes[i];
		int64_t exposed = 0, bubble = 0;
		if (lane->queue != QUEUE_COMPUTE)
			continue;
		for (size_t k = 0; k < lane->gap_count; k++)
			*(lane->gaps[k].exposed ? &exposed : &bubble) += lane->gaps[k].end - lane->gaps[k].begin;
		struct times t = trace_times(&v->trace, lane->rank, v->shown.timeline.step_ns);
		ck_assert_int_eq(exposed, t.exposed);
		ck_assert_int_eq(bubble, t.bubble);
		ck_assert_int_gt(exposed, 0);
	}
}

START_TEST(files)
{
	static const char text[] = "[{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":5,\"dur\":1}]";
	const char *folder = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
	char path[512];
	struct trace_file f;
	snprintf(path, sizeof path, "%s/shardlab-test-trace.json.gz", folder);
	gzFile out = gzopen(path, "wb");
	ck_assert(out && gzwrite(out, text, sizeof text - 1) == (int)sizeof text - 1 && !gzclose(out));
	must(trace_file_open(&f, path));
	ck_assert_uint_eq(f.span_count, 1);
	trace_file_release(&f);
	remove(path);
	must_fail(trace_file_open(&f, path), STATUS_INPUT, "cannot open");
	ck_assert_int_eq(trace_file_open(&f, folder), STATUS_INPUT);
}

SUITE("trace file", 20)
