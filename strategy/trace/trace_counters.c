/* Another program's counters, and the memory that PyTorch's profiler notes with each allocation. */
#include <math.h>
#include <stdlib.h>

#include "strategy/base/compare.h"
#include "strategy/trace/trace_foreign.h"

static const struct stream_text none = {0};

/* ---- curves ---- */

/* Each member of a counter's arguments is a curve of its own. */
struct curves {
	struct text_table numbers; /* of process, name and member */
	char *key;
	size_t capacity;
};

static void add_to_key(struct curves *c, size_t at, const struct stream_text *text)
{
	while (!c->key || c->capacity < at + text->size + 1)
		c->key = array_reserve(c->key, c->capacity, &c->capacity, 1);
	if (text->size)
		memcpy(c->key + at, text->text, text->size);
	c->key[at + text->size] = 0;
}

static struct foreign_counter *curve_of(struct foreign_reader *r, struct curves *c, struct stream_text pid,
                                        struct stream_text name, struct stream_text member)
{
	struct trace_file *f = r->f;
	int process = (int)text_table_find(&r->processes, pid, none)->number;
	add_to_key(c, 0, &name);
	add_to_key(c, name.size + 1, &member);
	struct stream_text key = {.text = c->key, .size = name.size + 1 + member.size};
	struct text_entry *e = text_table_find(&c->numbers, pid, key);
	if (e)
		return &f->counters[e->number];
	char *kept = arena_alloc(&f->arena, key.size + 1);
	memcpy(kept, c->key, key.size);
	key.text = kept;
	const char *word = stream_copy(&f->arena, &name, true, NULL);
	if (!stream_is(&member, "value"))
		word = arena_print(&f->arena, "%s: %s", word, stream_copy(&f->arena, &member, true, NULL));
	text_table_add(&c->numbers, pid, key)->number = f->counter_count;
	struct foreign_counter *made = ARRAY_ADD(f->counters, f->counter_count, r->counter_capacity);
	*made = (struct foreign_counter){.process = process, .name = word, .least = INFINITY, .most = -INFINITY};
	return made;
}

static void add_point(struct foreign_counter *c, int64_t time, int lane, double value)
{
	if (!isfinite(value))
		return;
	int64_t order = (int64_t)c->point_count;
	*ARRAY_ADD(c->points, c->point_count, c->capacity) =
	        (struct counter_point){time < 0 ? 0 : time, value, order, lane};
}

static struct json_stream stream_of(const struct stream_text *args)
{
	return (struct json_stream){
	        .at = args->text, .begin = args->text, .end = args->text + args->size, .name = "args"};
}

static void read_counter(struct foreign_reader *r, struct curves *c, const struct raw_counter *raw)
{
	struct json_stream j = stream_of(&raw->args);
	struct stream_text member, number;
	if (!raw->args.size || !stream_enter(&j, '{'))
		return;
	while (stream_key(&j, &member)) {
		if (stream_peek(&j) != '0')
			stream_skip(&j);
		else if (stream_number(&j, &number))
			add_point(curve_of(r, c, raw->pid, raw->name, member), raw->time - r->first, -1,
			          strtod(number.text, NULL));
	}
}

/* ---- memory ---- */

/* The keys with which PyTorch notes an allocation (torch/csrc/autograd/profiler_kineto.cpp): constant, key. */
#define NOTED_LIST(X)                                                                                                  \
	X(TYPE, "Device Type") /* c10::DeviceType: 0 is the CPU */                                                     \
	X(DEVICE, "Device Id")                                                                                         \
	X(BYTES, "Bytes") /* negative: they are freed */                                                               \
	X(ALLOCATED, "Total Allocated")                                                                                \
	X(RESERVED, "Total Reserved") /* by the caching allocator */

enum noted {
#define X(constant, key) NOTED_##constant,
	NOTED_LIST(X)
#undef X
	        NOTED_COUNT
};

static void read_noted(const struct raw_counter *raw, struct stream_text out[NOTED_COUNT])
{
	static const char *const keys[] = {
#define X(constant, key) key,
	        NOTED_LIST(X)
#undef X
	};
	struct json_stream j = stream_of(&raw->args);
	struct stream_text key;
	if (!raw->args.size || !stream_enter(&j, '{'))
		return;
	while (stream_key(&j, &key)) {
		int i = 0;
		while (i < NOTED_COUNT && !stream_is(&key, keys[i]))
			i++;
		if (i < NOTED_COUNT && stream_peek(&j) == '0')
			stream_number(&j, &out[i]);
		else
			stream_skip(&j);
	}
}

static struct stream_text text_of(const char *text)
{
	return (struct stream_text){.text = text, .size = strlen(text)};
}

/* A GPU's process bears its number. Where nothing else of the GPU was recorded, its memory stands with the program's.
 */
static bool find_process(const struct foreign_reader *r, const struct stream_text noted[NOTED_COUNT],
                         struct stream_text *pid)
{
	const struct stream_text *device = &noted[NOTED_DEVICE];
	const struct text_entry *e = device->size ? text_table_find(&r->processes, *device, none) : NULL;
	bool known = e && e->number != text_table_find(&r->processes, *pid, none)->number;
	if (known)
		*pid = e->a;
	return known;
}

static void read_memory(struct foreign_reader *r, struct curves *c, const struct raw_counter *raw)
{
	struct stream_text noted[NOTED_COUNT] = {{0}}, pid = raw->pid, name = text_of("memory");
	const struct text_entry *lane = text_table_find(&r->lanes, raw->pid, raw->tid);
	int at = lane ? (int)lane->number : -1;
	read_noted(raw, noted);
	bool on_cpu = noted[NOTED_TYPE].size && stream_is(&noted[NOTED_TYPE], "0");
	if (!on_cpu && !find_process(r, noted, &pid))
		name = text_of(arena_print(&r->f->arena, "memory of device %.*s", (int)noted[NOTED_DEVICE].size,
		                           noted[NOTED_DEVICE].size ? noted[NOTED_DEVICE].text : ""));
	static const struct {
		enum noted from;
		const char *member;
		bool sums;
	} rows[] = {{NOTED_ALLOCATED, "allocated", false},
	            {NOTED_RESERVED, "reserved", false},
	            {NOTED_BYTES, "allocated since the recording began", true}};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const struct stream_text *value = &noted[rows[i].from];
		if (!value->size || (rows[i].sums && noted[NOTED_ALLOCATED].size) ||
		    (on_cpu && rows[i].from == NOTED_RESERVED)) /* it is always 0 */
			continue;
		struct foreign_counter *curve = curve_of(r, c, pid, name, text_of(rows[i].member));
		curve->bytes = true;
		curve->sums = rows[i].sums;
		add_point(curve, raw->time - r->first, at, strtod(value->text, NULL));
	}
}

/* ---- all of them ---- */

static int by_time(const void *a, const void *b)
{
	const struct counter_point *x = a, *y = b;
	return x->time != y->time ? compare(x->time, y->time) : compare(x->order, y->order);
}

static int by_process(const void *a, const void *b)
{
	const struct foreign_counter *x = a, *y = b;
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* Sorts the points by time, and adds up those that were noted as changes. */
static void finish(struct foreign_counter *c)
{
	double sum = 0;
	if (c->point_count)
		qsort(c->points, c->point_count, sizeof *c->points, by_time);
	for (size_t i = 0; i < c->point_count; i++) {
		struct counter_point *p = &c->points[i];
		sum += p->value;
		p->value = c->sums ? sum : p->value;
		c->least = fmin(c->least, p->value);
		c->most = fmax(c->most, p->value);
	}
}

void foreign_read_counters(struct foreign_reader *r)
{
	struct trace_file *f = r->f;
	struct curves c = {0};
	for (size_t i = 0; i < r->e->counter_count; i++)
		(r->e->counters[i].memory ? read_memory : read_counter)(r, &c, &r->e->counters[i]);
	for (int i = 0; i < f->counter_count; i++)
		finish(&f->counters[i]);
	if (f->counter_count)
		qsort(f->counters, (size_t)f->counter_count, sizeof *f->counters, by_process);
	free(c.key);
	text_table_release(&c.numbers);
}
