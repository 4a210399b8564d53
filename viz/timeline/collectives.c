/* The collectives of a step: which operations of all ranks are one, its schedule, and the chunks that it moves. */
#include <stdlib.h>
#include <string.h>

#include "viz/timeline/score.h"

static int by_offset(const void *a, const void *b)
{
	const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

/* Chunks are what the schedule never divides. */
static void cut_chunks(struct collective *c)
{
	size_t count = 0, capacity = 0, kept = 0;
	int64_t *cuts = NULL, ends[] = {0, c->schedule.elements};
	for (int i = 0; i < 2; i++) {
		cuts = array_reserve(cuts, count, &capacity, sizeof *cuts);
		cuts[count++] = ends[i];
	}
	for (int round = 0; round < c->rounds; round++)
		for (int64_t rank = 0; rank < c->schedule.ranks; rank++) {
			struct round r = schedule_round(&c->schedule, rank, round);
			if (r.send_to < 0)
				continue;
			cuts = array_reserve(cuts, count + 1, &capacity, sizeof *cuts);
			cuts[count++] = r.send_offset;
			cuts[count++] = r.send_offset + r.send_count;
		}
	qsort(cuts, count, sizeof *cuts, by_offset);
	for (size_t i = 0; i < count; i++)
		if (!kept || cuts[i] != cuts[kept - 1])
			cuts[kept++] = cuts[i];
	c->cuts = cuts;
	c->chunk_count = (int)kept - 1;
}

/* ---- whose operations meet ---- */

/* What a rank does with one partner or over the same axes, in order: the n-th meets the n-th of the others. */
struct line {
	enum op_kind kind; /* of a message; a collective of any kind: OP_KIND_COUNT */
	int64_t peer;      /* of a message */
	unsigned axes;
	bool ends;
	int *ops, count;
	size_t capacity;
};

struct lines {
	struct line *lines;
	int count;
	size_t capacity;
	int *ordinal; /* [op - step.begin]: which of its line it is */
};

/* The lines of roles, and, where these have messages, whose peers are each rank's own, of ranks. */
struct matcher {
	const struct plan *plan;
	struct lines roles[PLAN_ROLES], *ranks;
	int *first[PLAN_ROLES]; /* [op - step.begin]: the first collective that it is, and 1 */
};

static struct line line_of(const struct plan *p, const struct op *op, int64_t rank)
{
	if (op_is_message(op->kind))
		return (struct line){.kind = op->kind, .peer = op_peer(p, op, rank)};
	return (struct line){.kind = OP_KIND_COUNT, .axes = op_axes(p, op), .ends = op->ends};
}

static struct line *line_find(const struct lines *l, const struct line *key)
{
	for (int i = 0; i < l->count; i++) {
		struct line *one = &l->lines[i];
		if (one->kind == key->kind && one->peer == key->peer && one->axes == key->axes &&
		    one->ends == key->ends)
			return one;
	}
	return NULL;
}

static void lines_make(struct lines *l, const struct plan *p, const struct role *r, int64_t rank)
{
	l->ordinal = calloc((size_t)(r->step.end - r->step.begin) + 1, sizeof *l->ordinal);
	if (!l->ordinal)
		abort();
	for (int i = r->step.begin; i < r->step.end; i++) {
		if (op_class(r->ops[i].kind) != OP_CLASS_C)
			continue;
		struct line key = line_of(p, &r->ops[i], rank), *to = line_find(l, &key);
		if (!to) {
			l->lines = array_reserve(l->lines, (size_t)l->count, &l->capacity, sizeof *l->lines);
			to = &l->lines[l->count++];
			*to = key;
		}
		to->ops = array_reserve(to->ops, (size_t)to->count, &to->capacity, sizeof *to->ops);
		l->ordinal[i - r->step.begin] = to->count;
		to->ops[to->count++] = i;
	}
}

static void lines_release(struct lines *l)
{
	for (int i = 0; i < l->count; i++)
		free(l->lines[i].ops);
	free(l->lines);
	free(l->ordinal);
}

static void matcher_init(struct matcher *m, const struct plan *p)
{
	*m = (struct matcher){.plan = p, .ranks = calloc((size_t)p->ranks, sizeof *m->ranks)};
	if (!m->ranks)
		abort();
	for (int i = 0; i < p->role_count; i++) {
		const struct role *r = &p->roles[i];
		bool messages = false;
		for (int k = r->step.begin; k < r->step.end; k++)
			messages |= op_is_message(r->ops[k].kind);
		if (!messages)
			lines_make(&m->roles[i], p, r, r->first_rank);
		for (int64_t rank = r->first_rank; messages && rank < r->first_rank + r->ranks; rank++)
			lines_make(&m->ranks[rank], p, r, rank);
		m->first[i] = calloc((size_t)(r->step.end - r->step.begin) + 1, sizeof *m->first[i]);
		if (!m->first[i])
			abort();
	}
}

static void matcher_release(struct matcher *m)
{
	for (int64_t rank = 0; rank < m->plan->ranks; rank++)
		lines_release(&m->ranks[rank]);
	for (int i = 0; i < m->plan->role_count; i++) {
		lines_release(&m->roles[i]);
		free(m->first[i]);
	}
	free(m->ranks);
}

static const struct lines *matcher_lines(const struct matcher *m, int64_t rank)
{
	const struct lines *own = &m->ranks[rank];
	return own->ordinal ? own : &m->roles[plan_role_of(m->plan, rank) - m->plan->roles];
}

/* The operation by which another rank takes part in what `op` of `rank` begins; -1: none. */
static int matching_op(const struct matcher *m, int64_t rank, int op, int64_t other)
{
	const struct role *r = plan_role_of(m->plan, rank);
	int n = matcher_lines(m, rank)->ordinal[op - r->step.begin];
	struct line key = line_of(m->plan, &r->ops[op], rank);
	if (key.kind == OP_SEND)
		key = (struct line){.kind = OP_RECEIVE, .peer = rank};
	const struct line *there = line_find(matcher_lines(m, other), &key);
	return there && n < there->count ? there->ops[n] : -1;
}

/* ---- one collective ---- */

static void join(struct score *s, int number, int64_t member, int64_t rank, int op)
{
	struct collective *c = &s->collectives[number];
	int index = score_index_of(s, rank);
	if (op >= 0)
		c->sent_bytes += op_sent_bytes(s->plan, plan_role_of(s->plan, rank),
		                               &plan_role_of(s->plan, rank)->ops[op], rank);
	if (rank < 64)
		c->everyone |= UINT64_C(1) << rank;
	c->shown &= index >= 0 && op >= 0;
	if (index >= 0 && op >= 0)
		s->ranks[index].collective[op - score_role_of(s, index)->step.begin] = number;
	if (c->rank) {
		c->rank[member] = rank;
		c->ops[member] = op;
	}
}

static void describe_collective(struct score *s, struct matcher *m, int number, int index, int op_index)
{
	const struct plan *p = s->plan;
	const struct role *r = score_role_of(s, index);
	const struct op *op = &r->ops[op_index];
	struct collective *c = &s->collectives[number];
	int64_t rank = s->ranks[index].rank, n = op->kind == OP_SEND ? 2 : op_members(p, op);
	int *first = &m->first[r - p->roles][op_index - r->step.begin];
	*first = *first ? *first : number + 1;
	*c = (struct collective){.kind = op->kind,
	                         .traffic = op->traffic,
	                         .control = op->traffic == TRAFFIC_CONTROL,
	                         .lead = rank,
	                         .op = op_index,
	                         .family = *first - 1,
	                         .element_bytes = op_element_bytes(r, op),
	                         .begin = INT64_MAX,
	                         .shown = p->ranks <= SCORE_ROUND_RANKS && s->rank_count == p->ranks};
	if (n <= SCORE_ROUND_RANKS) {
		c->rank = calloc((size_t)n, sizeof *c->rank);
		c->ops = calloc((size_t)n, sizeof *c->ops);
		if (!c->rank || !c->ops)
			abort();
	}
	if (op->kind == OP_SEND) {
		int64_t peer = op_peer(p, op, rank);
		/* one round, in which place 0 sends all to place 1 */
		c->schedule = (struct schedule){SCHEDULE_TREE_BROADCAST, 2, 0, op->operand[0].count, 0};
		c->rounds = 1;
		join(s, number, 0, rank, op_index);
		join(s, number, 1, peer, matching_op(m, rank, op_index, peer));
		return;
	}
	c->schedule = op_schedule(p, op);
	c->rounds = (int)schedule_rounds(&c->schedule);
	for (int64_t member = 0; member < n; member++) {
		int64_t there = op_member_rank(p, op, rank, member);
		join(s, number, member, there,
		     plan_role_of(p, there) == r ? op_index : matching_op(m, rank, op_index, there));
	}
}

/* When it began and ended on any rank. A collective without a span is not shown. */
static void time_collectives(struct score *s)
{
	for (int i = 0; i < s->rank_count; i++) {
		const struct score_rank *r = &s->ranks[i];
		const struct section *step = &score_role_of(s, i)->step;
		for (int k = 0; k < step->end - step->begin; k++) {
			if (r->collective[k] < 0)
				continue;
			struct collective *c = &s->collectives[r->collective[k]];
			c->shown &= r->begin[k] >= 0;
			if (r->begin[k] >= 0 && r->begin[k] < c->begin)
				c->begin = r->begin[k];
			if (r->end[k] > c->end)
				c->end = r->end[k];
		}
	}
	for (int c = 0; c < s->collective_count; c++)
		if (s->collectives[c].begin > s->collectives[c].end)
			s->collectives[c].begin = s->collectives[c].end;
}

void score_collect_collectives(struct score *s)
{
	size_t capacity = 0;
	struct matcher m;
	matcher_init(&m, s->plan);
	for (int i = 0; i < s->rank_count; i++) {
		const struct section *step = &score_role_of(s, i)->step;
		size_t ops = (size_t)(step->end - step->begin);
		s->ranks[i].collective = calloc(ops + 1, sizeof *s->ranks[i].collective);
		if (!s->ranks[i].collective)
			abort();
		for (size_t k = 0; k < ops; k++)
			s->ranks[i].collective[k] = -1;
	}
	for (int i = 0; i < s->rank_count; i++) {
		const struct role *r = score_role_of(s, i);
		for (int k = r->step.begin; k < r->step.end; k++) {
			const struct op *op = &r->ops[k];
			if (op_class(op->kind) != OP_CLASS_C || s->ranks[i].collective[k - r->step.begin] >= 0 ||
			    op->kind == OP_RECEIVE ||
			    (!op_is_message(op->kind) && op_member(s->plan, op, s->ranks[i].rank) < 0))
				continue;
			s->collectives = array_reserve(s->collectives, (size_t)s->collective_count, &capacity,
			                               sizeof *s->collectives);
			describe_collective(s, &m, s->collective_count++, i, k);
		}
	}
	matcher_release(&m);
	time_collectives(s);
	for (int c = 0; c < s->collective_count; c++)
		if (s->collectives[c].shown)
			cut_chunks(&s->collectives[c]);
}
