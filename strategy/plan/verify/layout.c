/* Rule 8: buffers that share bytes are ordered by waits, from every use of the first to the first use of the second.
 *
 * Each space has an arena of its own. A section is walked in issue order over a map of it: who had each stretch of
 * bytes last. A buffer that is allocated is held against those only; what they were held against before is ordered all
 * the more.
 *
 *     bytes    │ state │ a (freed)   │ b (freed) │ c      │
 *                         └─ d is allocated here ─┘  → a before d, b before d; then the map has d there
 */
#include <stdlib.h>
#include <string.h>

#include "strategy/base/search.h"
#include "strategy/plan/verify/verify.h"

struct stretch {
	int64_t begin, end;
	int buffer;
};

struct map {
	const struct verify *v;
	const struct role *role;
	struct order order;
	const struct layout *layout;
	enum space space; /* the arena at hand */
	struct uses *uses;
	bool *alive;
	struct stretch *had; /* by begin; no two overlap */
	size_t count, capacity;
};

static bool is_used(const struct map *m, int buffer)
{
	for (int q = 0; q < QUEUE_COUNT; q++)
		if (m->uses[buffer].last[q] >= 0)
			return true;
	return false;
}

static enum status check_order(const struct map *m, int number, int a, int b)
{
	const char *name = m->role->buffers[a].name;
	int used, first;
	if (m->alive[a] || m->role->buffers[a].state)
		return refuse(m->v, 8, m->role, number, b,
		              "takes bytes of buffer '%s', which is alive; move one of them", name);
	if (!uses_clash(&m->order, &m->uses[a], &m->uses[b], &used, &first))
		return STATUS_OK;
	return refuse(m->v, 8, m->role, first, b,
	              "takes bytes of buffer '%s', which operation %s may still use; let %d wait for it, or move one "
	              "of them",
	              name, op_title(m->v, m->role, used), first);
}

static size_t first_past(const struct map *m, int64_t offset)
{
	return FIRST_PAST(m->had, end, 0, m->count, offset);
}

/* Puts these in place of had[first] up to had[past]. */
static void replace(struct map *m, size_t first, size_t past, const struct stretch *with, size_t count)
{
	m->had = array_reserve(m->had, m->count + count, &m->capacity, sizeof *m->had);
	if (past - first != count)
		memmove(&m->had[first + count], &m->had[past], (m->count - past) * sizeof *m->had);
	memcpy(&m->had[first], with, count * sizeof *with);
	m->count = m->count + count - (past - first);
}

/* From now on the buffer has these bytes; who had some of them keeps the others. */
static void take(struct map *m, struct stretch s)
{
	struct stretch with[3];
	size_t first = first_past(m, s.begin), past = first, n = 0;
	while (past < m->count && m->had[past].begin < s.end)
		past++;
	if (past > first && m->had[first].begin < s.begin)
		with[n++] = (struct stretch){m->had[first].begin, s.begin, m->had[first].buffer};
	with[n++] = s;
	if (past > first && m->had[past - 1].end > s.end)
		with[n++] = (struct stretch){s.end, m->had[past - 1].end, m->had[past - 1].buffer};
	replace(m, first, past, with, n);
}

static enum status allocate(struct map *m, int number, int buffer)
{
	int64_t begin = m->layout->offset[buffer], end = begin + buffer_bytes(&m->role->buffers[buffer]);
	if (begin < 0 || begin % LAYOUT_ALIGNMENT || end > m->layout->arena_bytes[m->role->buffers[buffer].space])
		return refuse(m->v, 8, m->role, number, buffer,
		              "stands at bytes %lld to %lld, unaligned or outside an arena of %lld", (long long)begin,
		              (long long)end, (long long)m->layout->arena_bytes[m->role->buffers[buffer].space]);
	for (size_t i = first_past(m, begin); i < m->count && m->had[i].begin < end; i++)
		TRY(check_order(m, number, m->had[i].buffer, buffer));
	/* One that nobody uses orders nothing: those below it stay in the map, or what follows would not be held to
	 * them. */
	if (!m->role->buffers[buffer].state && !is_used(m, buffer))
		return STATUS_OK;
	take(m, (struct stretch){begin, end, buffer});
	return STATUS_OK;
}

static enum status check_allocs(struct map *m, const struct section *s)
{
	enum status status = STATUS_OK;
	/* Only state outlives a section; the rest begins anew. */
	size_t kept = 0;
	for (size_t i = 0; i < m->count; i++)
		if (m->role->buffers[m->had[i].buffer].state)
			m->had[kept++] = m->had[i];
	m->count = kept;
	for (int i = s->begin; i < s->end && !status; i++) {
		int b = op_buffer(&m->role->ops[i]);
		if (op_class(m->role->ops[i].kind) != OP_CLASS_M || m->role->buffers[b].space != m->space)
			continue;
		if (m->role->ops[i].kind == OP_ALLOC) {
			status = allocate(m, i, b);
			m->alive[b] = true;
		} else {
			m->alive[b] = false;
		}
	}
	return status;
}

static enum status check_section(struct map *m, const struct section *s)
{
	if (s->begin == s->end)
		return STATUS_OK;
	order_make(&m->order, m->role, s);
	uses_find(m->uses, m->role, s);
	enum status status = check_allocs(m, s);
	order_release(&m->order);
	return status;
}

static enum status check_role(const struct verify *v, int role, const struct layout *l)
{
	const struct role *r = &v->p->roles[role];
	struct map m = {.v = v, .role = r, .layout = l};
	enum status s = STATUS_OK;
	m.uses = array_make((size_t)r->buffer_count, sizeof *m.uses);
	m.alive = array_make((size_t)r->buffer_count, sizeof *m.alive);
	for (int space = 0; space < SPACE_COUNT && !s; space++) {
		if (!role_has_space(r, (enum space)space))
			continue;
		m.space = (enum space)space;
		m.count = 0;
		for (int k = 0; k < SECTION_KINDS && !s; k++)
			s = check_section(&m, section_of(r, (enum section_kind)k));
	}
	free(m.uses);
	free(m.alive);
	free(m.had);
	return s;
}

enum status verify_layout(const struct verify *v, int role, const struct layout *layout, int64_t *arena_bytes)
{
	struct layout made = {0};
	if (!layout)
		layout_make(&made, v->p, &v->p->roles[role], 0);
	enum status s = check_role(v, role, layout ? layout : &made);
	if (arena_bytes)
		memcpy(arena_bytes, layout ? layout->arena_bytes : made.arena_bytes, sizeof made.arena_bytes);
	layout_release(&made);
	return s;
}
