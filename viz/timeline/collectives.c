/* The collectives of a step: one of every group of every instance (strategy/plan/rendezvous.h), with its schedule and
 * the chunks that it moves. */
#include <stdlib.h>

#include "strategy/base/arena.h"
#include "strategy/base/memory.h"
#include "strategy/collective/chunks.h"
#include "strategy/plan/rendezvous.h"
#include "viz/timeline/timeline.h"

/* ---- one collective ---- */

/* `rank` is the member of the collective at this place, by operation `op` of its role. */
static void add_member(struct timeline *s, int number, int64_t member, int64_t rank, int op)
{
	struct collective *c = &s->collectives[number];
	const struct role *r = plan_role_of(s->plan, rank);
	int index = timeline_index_of(s, rank);
	c->sent_bytes += op_sent_bytes(s->plan, r, &r->ops[op], rank);
	if (rank < 64)
		c->everyone |= UINT64_C(1) << rank;
	c->shown &= index >= 0;
	if (index >= 0)
		s->ranks[index].collective[op - r->step.begin] = number;
	if (c->rank) {
		c->rank[member] = rank;
		c->ops[member] = op;
	}
}

/* The collective of the group that the shown rank `index` is in. family: by instance, its first collective and 1. */
static void describe_collective(struct timeline *s, const struct rendezvous *v, int *family, int number, int index,
                                int op)
{
	const struct plan *p = s->plan;
	const struct role *r = timeline_role_of(s, index);
	const struct instance *x = rendezvous_instance(v, r, op);
	struct collective *c = &s->collectives[number];
	int64_t rank = s->ranks[index].rank, n = instance_members(v, x);
	int *first = &family[rendezvous_number(v, r, op)];
	*first = *first ? *first : number + 1;
	*c = (struct collective){.kind = r->ops[op].kind,
	                         .traffic = r->ops[op].traffic,
	                         .control = r->ops[op].traffic == TRAFFIC_CONTROL,
	                         .lead = rank,
	                         .op = op,
	                         .family = *first - 1,
	                         .schedule = op_schedule(p, &r->ops[op]),
	                         .element_bytes = op_element_bytes(r, &r->ops[op]),
	                         .begin = INT64_MAX,
	                         .last_came = -1,
	                         .shown = p->ranks <= TIMELINE_ROUND_RANKS && s->rank_count == p->ranks};
	if (n <= TIMELINE_ROUND_RANKS) {
		c->rank = calloc((size_t)n, sizeof *c->rank);
		c->ops = calloc((size_t)n, sizeof *c->ops);
		if (!c->rank || !c->ops)
			memory_exhausted();
	}
	c->rounds = (int)schedule_rounds(&c->schedule);
	for (int64_t member = 0; member < n; member++) {
		int64_t there = instance_rank(v, x, rank, member);
		add_member(s, number, member, there, instance_participant(v, x, there)->op);
	}
}

/* When it began and ended on any rank. A collective without a span is not shown. */
static void time_collectives(struct timeline *s)
{
	for (int i = 0; i < s->rank_count; i++) {
		const struct timeline_rank *r = &s->ranks[i];
		const struct section *step = &timeline_role_of(s, i)->step;
		for (int k = 0; k < step->end - step->begin; k++) {
			if (r->collective[k] < 0)
				continue;
			struct collective *c = &s->collectives[r->collective[k]];
			c->shown &= r->begin[k] >= 0;
			if (r->begin[k] >= 0 && r->begin[k] < c->begin)
				c->begin = r->begin[k];
			if (r->begin[k] > c->last_came) {
				c->last_came = r->begin[k];
				c->last = i;
			}
			c->came = r->came[k] > c->came ? r->came[k] : c->came;
			if (r->end[k] > c->end)
				c->end = r->end[k];
		}
	}
	for (int c = 0; c < s->collective_count; c++)
		if (s->collectives[c].begin > s->collectives[c].end)
			s->collectives[c].begin = s->collectives[c].end;
}

/* True if by this operation a shown rank begins a collective that is not described yet. */
static bool is_new(const struct timeline *s, int index, int op)
{
	const struct role *r = timeline_role_of(s, index);
	const struct op *o = &r->ops[op];
	return op_class(o->kind) == OP_CLASS_C && o->kind != OP_RECEIVE &&
	       s->ranks[index].collective[op - r->step.begin] < 0;
}

void timeline_collect_collectives(struct timeline *s)
{
	size_t capacity = 0;
	struct rendezvous v;
	rendezvous_init(&v, s->plan, SECTION_STEP);
	int *family = array_make((size_t)v.instance_count, sizeof *family);
	for (int i = 0; i < s->rank_count; i++) {
		const struct section *step = &timeline_role_of(s, i)->step;
		size_t ops = (size_t)(step->end - step->begin);
		s->ranks[i].collective = array_make(ops, sizeof *s->ranks[i].collective);
		for (size_t k = 0; k < ops; k++)
			s->ranks[i].collective[k] = -1;
	}
	for (int i = 0; i < s->rank_count; i++) {
		const struct section *step = &timeline_role_of(s, i)->step;
		for (int op = step->begin; op < step->end; op++) {
			if (!is_new(s, i, op))
				continue;
			s->collectives = array_reserve(s->collectives, (size_t)s->collective_count, &capacity,
			                               sizeof *s->collectives);
			describe_collective(s, &v, family, s->collective_count++, i, op);
		}
	}
	free(family);
	rendezvous_release(&v);
	time_collectives(s);
	for (int c = 0; c < s->collective_count; c++)
		if (s->collectives[c].shown)
			s->collectives[c].cuts =
			        schedule_cuts(&s->collectives[c].schedule, &s->collectives[c].chunk_count);
}
