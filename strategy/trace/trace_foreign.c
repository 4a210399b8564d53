#include "strategy/trace/trace_foreign.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const struct stream_text none = {0};

/* ---- processes and lanes, as they are met ---- */

static int process_of(struct foreign_reader *r, struct stream_text pid)
{
	struct trace_file *f = r->f;
	struct text_entry *e = text_table_add(&r->processes, pid, none);
	if (e->number < 0) {
		e->number = f->process_count;
		*ARRAY_ADD(f->processes, f->process_count, r->process_capacity) =
		        (struct foreign_process){.name = stream_copy(&f->arena, &pid, true, NULL)};
	}
	return (int)e->number;
}

static int lane_of(struct foreign_reader *r, const struct raw_span *s)
{
	struct trace_file *f = r->f;
	struct text_entry *e = text_table_add(&r->lanes, s->pid, s->tid);
	if (e->number < 0) {
		e->number = f->lane_count;
		*ARRAY_ADD(f->lanes, f->lane_count, r->lane_capacity) = (struct foreign_lane){
		        .thread = stream_copy(&f->arena, &s->tid, true, NULL), .number = process_of(r, s->pid)};
	}
	return (int)e->number;
}

/* ---- names ---- */

static void name_process(struct foreign_reader *r, const struct raw_name *n, const char **labels)
{
	const struct text_entry *x = text_table_find(&r->processes, n->pid, none);
	if (!x)
		return;
	struct foreign_process *p = &r->f->processes[x->number];
	if (n->label == RAW_PROCESS_SORT)
		p->sort = n->sort;
	else
		*(n->label == RAW_PROCESS_NAME ? &p->name : &labels[x->number]) =
		        stream_copy(&r->f->arena, &n->name, true, NULL);
}

/* Kineto's "stream 7 ". */
static const char *trimmed(char *name)
{
	size_t n = strlen(name);
	while (n && name[n - 1] == ' ')
		name[--n] = 0;
	return name;
}

static void name_lane(struct foreign_reader *r, const struct raw_name *n)
{
	const struct text_entry *x = text_table_find(&r->lanes, n->pid, n->tid);
	if (!x)
		return;
	struct foreign_lane *lane = &r->f->lanes[x->number];
	if (n->label == RAW_THREAD_SORT)
		lane->sort = n->sort;
	else
		lane->thread = trimmed(stream_copy(&r->f->arena, &n->name, true, NULL));
}

static struct stream_text text_of(const char *text)
{
	return (struct stream_text){.text = text, .size = strlen(text)};
}

/* Processes of one name have their number behind it. */
static void tell_apart(struct foreign_reader *r)
{
	struct trace_file *f = r->f;
	struct text_table names = {0};
	for (int i = 0; i < f->process_count; i++) {
		struct text_entry *e = text_table_add(&names, text_of(f->processes[i].name), none);
		e->number = e->number < 0 ? 1 : e->number + 1;
	}
	for (size_t i = 0; i < r->processes.capacity; i++) {
		const struct text_entry *x = &r->processes.entries[i];
		struct foreign_process *p = x->used ? &f->processes[x->number] : NULL;
		if (p && text_table_find(&names, text_of(p->name), none)->number > 1)
			p->name = arena_print(&f->arena, "%s, %s", p->name, stream_copy(&f->arena, &x->a, true, NULL));
	}
	text_table_release(&names);
}

/* The last name that an event gives to a process, or to a thread, counts. */
static void name_all(struct foreign_reader *r)
{
	struct trace_file *f = r->f;
	const char **labels = array_make((size_t)f->process_count, sizeof *labels);
	for (size_t i = 0; i < r->e->name_count; i++) {
		const struct raw_name *n = &r->e->names[i];
		if (n->label == RAW_THREAD_NAME || n->label == RAW_THREAD_SORT)
			name_lane(r, n);
		else
			name_process(r, n, labels);
	}
	for (int i = 0; i < f->process_count; i++)
		if (labels[i] && *labels[i])
			f->processes[i].name = arena_print(&f->arena, "%s (%s)", f->processes[i].name, labels[i]);
	free(labels);
	tell_apart(r);
}

/* ---- the order ---- */

/* Numbers in names count as numbers: "stream 7" stands before "stream 20". */
static int compare_names(const char *a, const char *b)
{
	while (*a && *b) {
		if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
			a += strspn(a, "0");
			b += strspn(b, "0");
			size_t n = strspn(a, "0123456789"), m = strspn(b, "0123456789");
			int order = n != m ? (n < m ? -1 : 1) : strncmp(a, b, n);
			if (order)
				return order;
			a += n;
			b += m;
			continue;
		}
		int x = tolower((unsigned char)*a++), y = tolower((unsigned char)*b++);
		if (x != y)
			return x - y;
	}
	return (unsigned char)*a - (unsigned char)*b;
}

/* The sort key of a process, or of a lane, which follows its process. */
struct rank_key {
	int process, number;
	int64_t sort;
	const char *name;
};

static int by_key(const void *a, const void *b)
{
	const struct rank_key *x = a, *y = b;
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->sort != y->sort)
		return x->sort < y->sort ? -1 : 1;
	int order = compare_names(x->name, y->name);
	return order ? order : x->number - y->number;
}

/* Sorts and frees the keys. Returns, by the number of before, the number now, which the caller frees. */
static int *sort_keys(struct rank_key *keys, int count)
{
	int *place = array_make((size_t)count, sizeof *place);
	qsort(keys, (size_t)count, sizeof *keys, by_key);
	for (int i = 0; i < count; i++)
		place[keys[i].number] = i;
	free(keys);
	return place;
}

static void renumber(struct text_table *t, const int *place)
{
	for (size_t i = 0; i < t->capacity; i++)
		if (t->entries[i].used)
			t->entries[i].number = place[t->entries[i].number];
}

static void sort_processes(struct foreign_reader *r)
{
	struct trace_file *f = r->f;
	size_t n = (size_t)f->process_count;
	struct foreign_process *sorted = array_make(n, sizeof *sorted);
	struct rank_key *keys = array_make(n, sizeof *keys);
	for (int i = 0; i < f->process_count; i++)
		keys[i] = (struct rank_key){0, i, f->processes[i].sort, f->processes[i].name};
	int *place = sort_keys(keys, f->process_count);
	for (size_t i = 0; i < n; i++)
		sorted[place[i]] = f->processes[i];
	for (int i = 0; i < f->lane_count; i++)
		f->lanes[i].number = place[f->lanes[i].number];
	renumber(&r->processes, place);
	free(f->processes);
	f->processes = sorted;
	free(place);
}

static void sort_lanes(struct foreign_reader *r)
{
	struct trace_file *f = r->f;
	size_t n = (size_t)f->lane_count;
	struct foreign_lane *sorted = array_make(n, sizeof *sorted);
	struct rank_key *keys = array_make(n, sizeof *keys);
	for (int i = 0; i < f->lane_count; i++)
		keys[i] = (struct rank_key){f->lanes[i].number, i, f->lanes[i].sort, f->lanes[i].thread};
	int *place = sort_keys(keys, f->lane_count);
	for (size_t i = 0; i < n; i++) {
		sorted[place[i]] = f->lanes[i];
		sorted[place[i]].process = f->processes[f->lanes[i].number].name;
	}
	for (size_t i = 0; i < f->span_count; i++)
		f->spans[i].lane = place[f->spans[i].lane];
	renumber(&r->lanes, place);
	free(f->lanes);
	f->lanes = sorted;
	free(place);
}

static int by_lane_and_time(const void *a, const void *b)
{
	const struct foreign_span *x = a, *y = b;
	if (x->lane != y->lane)
		return x->lane < y->lane ? -1 : 1;
	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	if (x->end != y->end)
		return x->end > y->end ? -1 : 1;
	bool range = !strcmp(x->category, "gpu_user_annotation"); /* around the kernel that fills it */
	if (range != !strcmp(y->category, "gpu_user_annotation"))
		return range ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* ---- spans ---- */

static const char *kept(struct trace_file *f, struct text_table *names, const struct stream_text *text)
{
	struct text_entry *n = text_table_add(names, *text, none);
	if (!n->copy)
		n->copy = stream_copy(&f->arena, text, true, NULL);
	return n->copy;
}

static void read_spans(struct foreign_reader *r)
{
	struct trace_file *f = r->f;
	const struct raw_events *e = r->e;
	struct text_table names = {0};
	f->spans = array_make(e->span_count, sizeof *f->spans);
	for (size_t i = 0; i < e->span_count; i++) {
		const struct raw_span *s = &e->spans[i];
		struct foreign_span *out = &f->spans[f->span_count++];
		*out = (struct foreign_span){.lane = lane_of(r, s),
		                             .begin = s->begin - r->first,
		                             .end = s->end - r->first,
		                             .name = kept(f, &names, &s->name),
		                             .category = kept(f, &names, &s->category)};
		out->args = foreign_args(&f->arena, &s->args, out);
	}
	text_table_release(&names);
}

enum status trace_take_foreign(struct trace_file *f, const struct raw_events *e, const char *name)
{
	struct foreign_reader r = {.f = f, .e = e, .first = INT64_MAX};
	f->foreign = true;
	if (!e->span_count)
		return status_fail(STATUS_INPUT, "%s: no event in it has a duration: nothing to show", name);
	for (size_t i = 0; i < e->span_count; i++)
		r.first = e->spans[i].begin < r.first ? e->spans[i].begin : r.first;
	read_spans(&r);
	for (size_t i = 0; i < e->counter_count; i++)
		process_of(&r, e->counters[i].pid);
	name_all(&r);
	sort_processes(&r);
	sort_lanes(&r);
	qsort(f->spans, f->span_count, sizeof *f->spans, by_lane_and_time);
	foreign_read_flows(&r);
	foreign_read_counters(&r);
	text_table_release(&r.lanes);
	text_table_release(&r.processes);
	return STATUS_OK;
}
