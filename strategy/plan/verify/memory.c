#include "strategy/plan/verify/memory.h"

#include "strategy/base/memory.h"
#include "strategy/base/search.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- meanings: equal ones have equal numbers ---- */

/* Fewer meanings are not worth a sweep. */
enum { LEAST_SWEPT = 1 << 14 };

/* Values of one micro-batch that follow one another stand side by side in the table: a stage comes to them together. */
static uint64_t hash_meaning(const struct meaning *a)
{
	const unsigned side_by_side = 7;
	uint64_t words[6] = {(uint64_t)a->kind << 32 | ((unsigned)a->index & ~side_by_side),
	                     (uint64_t)(unsigned)a->micro << 32 | (unsigned)a->version,
	                     (uint64_t)(unsigned)a->sum << 8 | a->shard << 1 | a->all_ranks,
	                     (uint64_t)a->origin,
	                     a->consumers,
	                     (uint64_t)a->form << 32 | (unsigned)a->scaled};
	uint64_t h = 88172645463325252u;
	for (int i = 0; i < 6; i++)
		h = (h ^ words[i] ^ words[i] >> 31) * UINT64_C(0x9e3779b97f4a7c15);
	h ^= h >> 32;
	return (h & ~(uint64_t)side_by_side) | ((unsigned)a->index & side_by_side);
}

bool meanings_equal(const struct meaning *a, const struct meaning *b)
{
	return a->kind == b->kind && a->form == b->form && a->index == b->index && a->micro == b->micro &&
	       a->version == b->version && a->sum == b->sum && a->scaled == b->scaled && a->shard == b->shard &&
	       a->all_ranks == b->all_ranks && a->origin == b->origin && a->consumers == b->consumers;
}

static struct slot slot_of(uint64_t hash, size_t number)
{
	return (struct slot){(int)number, (unsigned)(hash >> 32)};
}

static void fill_table(struct memory *m)
{
	memset(m->table, -1, m->table_size * sizeof *m->table);
	for (size_t i = 0; i < m->count; i++) {
		uint64_t hash = hash_meaning(&m->meanings[i]);
		size_t at = hash & (m->table_size - 1);
		while (m->table[at].number >= 0)
			at = (at + 1) & (m->table_size - 1);
		m->table[at] = slot_of(hash, i);
	}
}

static void grow_table(struct memory *m)
{
	m->table_size = m->table_size ? 2 * m->table_size : 1024;
	free(m->table);
	m->table = array_make(m->table_size, sizeof *m->table);
	fill_table(m);
}

int meaning_number(struct memory *m, const struct meaning *what)
{
	const uint64_t hash = hash_meaning(what);
	size_t at = hash & (m->table_size - 1);
	for (struct slot *t; (t = &m->table[at])->number >= 0; at = (at + 1) & (m->table_size - 1))
		if (t->hash == (unsigned)(hash >> 32) && meanings_equal(what, &m->meanings[t->number]))
			return t->number;
	m->meanings = array_reserve(m->meanings, m->count, &m->capacity, sizeof *m->meanings);
	m->meanings[m->count] = *what;
	m->table[at] = slot_of(hash, m->count);
	int number = (int)m->count++;
	if (m->count * 2 > m->table_size)
		grow_table(m);
	return number;
}

static const struct {
	const char *noun, *version, *sum; /* NULL: it has none */
	enum { OF_ITSELF, OF_GROUP, OF_VALUE, OF_KERNEL } of;
	bool place, samples; /* its place is told; whose samples it is of is told */
} kinds[MEANING_KINDS] = {
        [MEANING_UNDEFINED] = {.noun = "nothing that was ever written"},
        [MEANING_ZERO] = {.noun = "zeros"},
        [MEANING_SPOILED] = {.noun = "what an operation spoiled"},
        [MEANING_STALE] = {.noun = "what an earlier step left"},
        [MEANING_COUNTER] = {.noun = "a step counter", .version = "at step"},
        [MEANING_WEIGHTS] = {.noun = "weights", .of = OF_GROUP, .place = true, .version = "version"},
        [MEANING_FIRST_MOMENT] = {.noun = "first moments", .of = OF_GROUP, .version = "version"},
        [MEANING_SECOND_MOMENT] = {.noun = "second moments", .of = OF_GROUP, .version = "version"},
        [MEANING_RUNNING] = {"running statistics", "after micro-batch", NULL, OF_ITSELF, true, true},
        [MEANING_SCALER] = {.noun = "a loss scale", .version = "after update"},
        [MEANING_GRADIENT] = {.noun = "gradients", .of = OF_GROUP, .place = true, .sum = "micro-batches"},
        [MEANING_VALUE] = {.noun = "the value", .of = OF_VALUE, .samples = true},
        [MEANING_VALUE_GRADIENT] = {.noun = "the gradient", .of = OF_VALUE, .samples = true},
        [MEANING_STATISTICS] = {.noun = "statistics", .of = OF_KERNEL, .samples = true},
        [MEANING_SUMS] = {.noun = "sums for the gradient", .of = OF_KERNEL, .samples = true},
        [MEANING_INNER_GRADIENT] = {.noun = "the gradient before GELU", .of = OF_KERNEL},
        [MEANING_LOSS] = {.noun = "a loss", .sum = "micro-batches"},
        [MEANING_NORM] = {.noun = "a norm", .sum = "groups"},
        [MEANING_OVERFLOW] = {.noun = "whether gradients overflowed", .sum = "groups"},
};

void meaning_describe(const struct memory *m, int number, char *out, size_t size)
{
	static const char *const forms[] = {[FORM_WHOLE] = "",
	                                    [FORM_PARTIAL] = "this rank's part of the sum that is ",
	                                    [FORM_UNFINISHED] = "the sum that becomes ",
	                                    [FORM_GATHERED] = "all ranks' rows of "};
	const struct meaning *a = &m->meanings[number];
	const struct plan *p = m->v->p;
	struct text t = {out, size, 0};
	char sum[160];
	text_add(&t, "%s%s%s", a->shard ? "a slice of the " : "", forms[a->form], kinds[a->kind].noun);
	if (kinds[a->kind].of == OF_GROUP)
		text_add(&t, " of %s", p->groups[a->index].name);
	if (kinds[a->kind].of == OF_VALUE)
		text_add(&t, " of %s, micro-batch %d", p->model->values[a->index].name, a->micro);
	if (kinds[a->kind].of == OF_KERNEL)
		text_add(&t, " of %s, micro-batch %d", p->model->kernels[a->index].name, a->micro);
	if (kinds[a->kind].place)
		text_add(&t, " at [%lld]", (long long)a->origin);
	if (kinds[a->kind].version)
		text_add(&t, ", %s %d", kinds[a->kind].version, a->version);
	if (kinds[a->kind].sum) {
		sum_describe(&m->sums, a->sum, sum, sizeof sum);
		text_add(&t, " with %s %s", kinds[a->kind].sum, sum);
	}
	if (kinds[a->kind].samples)
		text_add(&t, ", of %s samples", a->all_ranks ? "all ranks'" : "this rank's");
	if (a->scaled)
		text_add(&t, ", times the loss scale of step %d", a->scaled);
}

/* ---- blocks ---- */

void memory_init(struct memory *m, const struct verify *v)
{
	*m = (struct memory){.v = v, .sweep_at = LEAST_SWEPT};
	sums_init(&m->sums, v->p);
	grow_table(m);
	meaning_number(m, &(struct meaning){.kind = MEANING_UNDEFINED});
	m->lasting = m->count;
	for (int i = 0; i < v->p->role_count; i++) {
		const struct role *r = &v->p->roles[i];
		m->cells[i] = array_make((size_t)r->buffer_count, sizeof(struct cells *));
	}
}

enum { SLAB_CELLS = 255, LINE_BYTES = 64 };

struct slab {
	_Alignas(LINE_BYTES) struct slab *next;
	_Alignas(LINE_BYTES) struct cells cells[SLAB_CELLS];
};

static void put_cells(struct memory *m, struct cells *c)
{
	c->count = 0;
	c->next = m->unused;
	m->unused = c;
}

static void add_slab(struct memory *m)
{
	struct slab *s = aligned_alloc(LINE_BYTES, sizeof *s);
	if (!s)
		memory_exhausted();
	s->next = m->slabs;
	m->slabs = s;
	for (int i = SLAB_CELLS - 1; i >= 0; i--) {
		s->cells[i] = (struct cells){.blocks = &s->cells[i].first};
		put_cells(m, &s->cells[i]);
	}
}

static void release_slab(struct slab *s)
{
	for (int i = 0; i < SLAB_CELLS; i++)
		if (s->cells[i].blocks != &s->cells[i].first)
			free(s->cells[i].blocks);
	free(s);
}

void memory_release(struct memory *m)
{
	for (int i = 0; i < m->v->p->role_count; i++)
		free(m->cells[i]);
	while (m->slabs) {
		struct slab *next = m->slabs->next;
		release_slab(m->slabs);
		m->slabs = next;
	}
	sums_release(&m->sums);
	free(m->meanings);
	free(m->table);
}

static struct cells *take_cells(struct memory *m)
{
	if (!m->unused)
		add_slab(m);
	struct cells *c = m->unused;
	m->unused = c->next;
	return c;
}

void memory_clear(struct memory *m, int role, int buffer)
{
	struct cells **c = &m->cells[role][buffer];
	if (!*c)
		*c = take_cells(m);
	(*c)->elements = m->v->p->roles[role].buffers[buffer].elements;
	(*c)->count = 1;
	(*c)->blocks[0] = (struct block){0};
}

void memory_forget(struct memory *m, int role, int buffer)
{
	put_cells(m, m->cells[role][buffer]);
	m->cells[role][buffer] = NULL;
}

/* ---- meanings that nothing stands for any more ---- */

/* Calls `each` for every meaning that a buffer holds. */
static void for_held(struct memory *m, void (*each)(int *number, int *now), int *now)
{
	for (struct slab *s = m->slabs; s; s = s->next)
		for (int i = 0; i < SLAB_CELLS; i++)
			for (int k = 0; k < s->cells[i].count; k++) {
				each(&s->cells[i].blocks[k].own, now);
				each(&s->cells[i].blocks[k].rest, now);
			}
}

static void mark(int *number, int *now)
{
	now[*number] = 1;
}

static void renumber(int *number, int *now)
{
	*number = now[*number];
}

void memory_sweep(struct memory *m)
{
	if (m->count < m->sweep_at)
		return;
	int *now = array_make(m->count, sizeof *now);
	size_t kept = 0;
	for_held(m, mark, now);
	for (size_t i = 0; i < m->count; i++) {
		if (i >= m->lasting && !now[i])
			continue;
		m->meanings[kept] = m->meanings[i];
		now[i] = (int)kept++;
	}
	for_held(m, renumber, now);
	free(now);
	m->count = kept;
	m->sweep_at = 2 * kept > LEAST_SWEPT ? 2 * kept : LEAST_SWEPT;
	fill_table(m);
}

/* ---- their blocks ---- */

/* Makes room for one more block. */
static void reserve(struct cells *c)
{
	bool inside = c->blocks == &c->first;
	size_t capacity = inside ? 0 : (size_t)c->capacity;
	c->blocks = array_reserve(inside ? NULL : c->blocks, (size_t)c->count, &capacity, sizeof *c->blocks);
	c->capacity = (int)capacity;
	if (inside)
		c->blocks[0] = c->first;
}

/* The block that holds element `at`. */
static int find(const struct cells *c, int64_t at)
{
	return (int)FIRST_PAST(c->blocks, begin, 1, c->count, at) - 1;
}

static int64_t block_end(const struct cells *c, int block)
{
	return block + 1 < c->count ? c->blocks[block + 1].begin : c->elements;
}

/* Makes a block begin at `at`; its index. */
static int split(struct cells *c, int64_t at)
{
	if (at >= c->elements)
		return c->count;
	int i = find(c, at);
	if (c->blocks[i].begin == at)
		return i;
	reserve(c);
	memmove(&c->blocks[i + 2], &c->blocks[i + 1], (size_t)(c->count - i - 1) * sizeof *c->blocks);
	c->blocks[i + 1] = c->blocks[i];
	c->blocks[i + 1].begin = at;
	c->count++;
	return i + 1;
}

void block_set(struct block *b, int own, int rest, int64_t begin, int64_t end, unsigned axes)
{
	*b = (struct block){.begin = b->begin, .own = own, .rest = rest};
	if (own == rest)
		return;
	b->frame = begin;
	b->frame_count = end - begin;
	b->axes = axes;
}

static void set_all(struct cells *c, int64_t begin, int64_t end, int meaning)
{
	int first = split(c, begin), past = split(c, end);
	c->blocks[first] = (struct block){.begin = begin, .own = meaning, .rest = meaning};
	if (past > first + 1) {
		memmove(&c->blocks[first + 1], &c->blocks[past], (size_t)(c->count - past) * sizeof *c->blocks);
		c->count -= past - first - 1;
	}
}

static bool set_own(struct cells *c, int64_t begin, int64_t end, unsigned axes, int meaning)
{
	int first = split(c, begin), past = split(c, end);
	for (int i = first; i < past; i++) {
		struct block *b = &c->blocks[i];
		if (b->frame_count && (b->frame != begin || b->frame_count != end - begin || b->axes != axes))
			return false;
	}
	for (int i = first; i < past; i++) {
		block_set(&c->blocks[i], meaning, c->blocks[i].rest, begin, end, axes);
	}
	return true;
}

/* A slice of something, and not all of it because there is one rank along those axes. */
static bool is_slice(const struct plan *p, const struct region *g)
{
	return plan_along(p, g->slice) > 1;
}

bool memory_set(struct memory *m, int role, const struct region *g, int meaning)
{
	struct cells *c = m->cells[role][g->buffer];
	if (is_slice(m->v->p, g))
		return set_own(c, g->offset, g->offset + g->count, g->slice, meaning);
	set_all(c, g->offset, g->offset + g->count, meaning);
	return true;
}

static bool is_zero(const struct memory *m, const struct block *b)
{
	return b->own == b->rest && m->meanings[b->own].kind == MEANING_ZERO;
}

void memory_set_but_zeros(struct memory *m, int role, const struct region *g, int meaning)
{
	struct cells *c = m->cells[role][g->buffer];
	bool own = is_slice(m->v->p, g);
	int first = split(c, g->offset), past = split(c, g->offset + g->count);
	for (int i = first; i < past; i++) {
		struct block *b = &c->blocks[i];
		if (is_zero(m, b))
			continue;
		block_set(b, meaning, own ? b->rest : meaning, g->offset, g->offset + g->count, g->slice);
	}
}

void memory_spoil(struct memory *m, int role, const struct region *g)
{
	struct region all = *g;
	all.slice = 0;
	memory_set_but_zeros(m, role, &all, meaning_number(m, &(struct meaning){.kind = MEANING_SPOILED}));
}

/* ---- reading ---- */

void memory_walk_begin(struct memory_walk *w, const struct memory *m, int role, const struct region *g)
{
	*w = (struct memory_walk){.cells = m->cells[role][g->buffer], .region = g, .end = g->offset};
	w->block = find(w->cells, g->offset);
}

bool memory_walk_next(struct memory_walk *w)
{
	const struct region *g = w->region;
	if (w->end >= g->offset + g->count)
		return false;
	const struct block *b = &w->cells->blocks[w->block];
	int64_t end = block_end(w->cells, w->block++);
	w->begin = w->end;
	w->end = end < g->offset + g->count ? end : g->offset + g->count;
	bool own = g->slice == b->axes && b->frame == g->offset && b->frame_count == g->count;
	w->meaning = b->own == b->rest || own ? b->own : -1;
	return true;
}

int memory_get(const struct memory *m, int role, const struct region *g)
{
	struct memory_walk w;
	int meaning = -1;
	memory_walk_begin(&w, m, role, g);
	while (memory_walk_next(&w)) {
		if (w.meaning < 0 || (meaning >= 0 && meaning != w.meaning))
			return -1;
		meaning = w.meaning;
	}
	return meaning;
}

void memory_describe(const struct memory *m, int role, const struct region *g, int good, char *out, size_t size)
{
	struct memory_walk w;
	char text[300];
	memory_walk_begin(&w, m, role, g);
	while (memory_walk_next(&w)) {
		if (w.meaning == good && good >= 0)
			continue;
		if (w.meaning >= 0) {
			meaning_describe(m, w.meaning, text, sizeof text);
		} else {
			const struct block *b = &w.cells->blocks[w.block - 1];
			char rest[120], own[120];
			meaning_describe(m, b->own, own, sizeof own);
			meaning_describe(m, b->rest, rest, sizeof rest);
			snprintf(text, sizeof text, "%s on its own slice and %s elsewhere", own, rest);
		}
		snprintf(out, size, "[%lld:%lld] holds %s", (long long)w.begin, (long long)(w.end - w.begin), text);
		return;
	}
	snprintf(out, size, "holds what it should");
}
