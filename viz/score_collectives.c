/* The collectives of a step: which operations of all ranks are one, its schedule, and the chunks that it moves. */
#include <stdlib.h>
#include <string.h>

#include "viz/score.h"

static int64_t bytes_of_element(const struct role *r, const struct op *op)
{
	int b = op->operand[0].buffer >= 0 ? op->operand[0].buffer : op->operand[1].buffer;
	return op->kind == OP_SUM ? (int64_t)sizeof(double) : type_bytes(r->buffers[b].type);
}

/* A control sum goes up a tree and down again, its values as one piece. */
static struct schedule control_schedule(const struct collective *c, enum schedule_algorithm a)
{
	return (struct schedule){.algorithm = a, .ranks = c->schedule.ranks, .elements = c->schedule.elements};
}

struct round score_round_of(const struct collective *c, int64_t member, int round)
{
	if (c->kind == OP_SEND) /* place 0 sends all to place 1 */
		return (struct round){.send_to = member ? -1 : 1,
		                      .receive_from = member ? 0 : -1,
		                      .send_count = c->schedule.elements,
		                      .receive_count = c->schedule.elements};
	if (c->kind != OP_SUM)
		return schedule_round(&c->schedule, member, round);
	struct schedule up = control_schedule(c, SCHEDULE_TREE_REDUCE);
	int64_t rounds = schedule_rounds(&up);
	if (round < rounds)
		return schedule_round(&up, member, round);
	struct schedule down = control_schedule(c, SCHEDULE_TREE_BROADCAST);
	return schedule_round(&down, member, round - rounds);
}

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
			struct round r = score_round_of(c, rank, round);
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

/* Which of its kind, over the same axes, an operation is in its role. */
static int ordinal_of(const struct plan *p, const struct role *r, int number)
{
	int n = 0;
	for (int i = r->step.begin; i < number; i++)
		n += op_class(r->ops[i].kind) == OP_CLASS_C && !op_is_message(r->ops[i].kind) &&
		     op_axes(p, &r->ops[i]) == op_axes(p, &r->ops[number]) && r->ops[i].ends == r->ops[number].ends;
	return n;
}

/* The operation by which another role takes part; -1: none. */
static int same_in(const struct plan *p, const struct role *r, const struct op *op, int ordinal)
{
	for (int i = r->step.begin; i < r->step.end; i++)
		if (op_class(r->ops[i].kind) == OP_CLASS_C && !op_is_message(r->ops[i].kind) &&
		    op_axes(p, &r->ops[i]) == op_axes(p, op) && r->ops[i].ends == op->ends && !ordinal--)
			return i;
	return -1;
}

/* The n-th message of a role's rank from or to a peer. */
static int message_in(const struct plan *p, int64_t rank, enum op_kind kind, int64_t peer, int n)
{
	const struct role *r = plan_role_of(p, rank);
	for (int i = r->step.begin; i < r->step.end; i++)
		if (r->ops[i].kind == kind && op_peer(p, &r->ops[i], rank) == peer && !n--)
			return i;
	return -1;
}

static int message_ordinal(const struct plan *p, int64_t rank, int number)
{
	const struct role *r = plan_role_of(p, rank);
	int64_t peer = op_peer(p, &r->ops[number], rank);
	int n = 0;
	for (int i = r->step.begin; i < number; i++)
		n += r->ops[i].kind == r->ops[number].kind && op_peer(p, &r->ops[i], rank) == peer;
	return n;
}

static void join(struct score *s, struct collective *c, int number, int64_t rank, int op)
{
	int index = score_index_of(s, rank);
	if (op >= 0)
		c->sent_bytes += op_sent_bytes(s->plan, plan_role_of(s->plan, rank),
		                               &plan_role_of(s->plan, rank)->ops[op], rank);
	if (rank < 64)
		c->everyone |= UINT64_C(1) << rank;
	c->shown &= index >= 0 && op >= 0;
	if (index >= 0 && op >= 0)
		s->ranks[index].collective[op - score_role_of(s, index)->step.begin] = number;
}

static void describe_collective(struct score *s, int number, int index, int op_index)
{
	const struct plan *p = s->plan;
	const struct role *r = score_role_of(s, index);
	const struct op *op = &r->ops[op_index];
	struct collective *c = &s->collectives[number];
	int64_t rank = s->ranks[index].rank, n = op->kind == OP_SEND ? 2 : op_members(p, op);
	*c = (struct collective){.kind = op->kind,
	                         .traffic = op->traffic,
	                         .control = op->traffic == TRAFFIC_CONTROL,
	                         .lead = rank,
	                         .op = op_index,
	                         .family = number,
	                         .element_bytes = bytes_of_element(r, op),
	                         .begin = INT64_MAX,
	                         .shown = p->ranks <= SCORE_ROUND_RANKS && s->rank_count == p->ranks};
	for (int i = 0; i < number; i++)
		if (s->collectives[i].op == op_index && plan_role_of(p, s->collectives[i].lead) == r) {
			c->family = i;
			break;
		}
	if (n <= SCORE_ROUND_RANKS && !(c->rank = calloc((size_t)n, sizeof *c->rank)))
		abort();
	if (op->kind == OP_SEND) {
		int64_t peer = op_peer(p, op, rank);
		c->schedule = (struct schedule){.ranks = 2, .elements = op->operand[0].count};
		c->rounds = 1;
		c->rank[0] = rank;
		c->rank[1] = peer;
		join(s, c, number, rank, op_index);
		join(s, c, number, peer, message_in(p, peer, OP_RECEIVE, rank, message_ordinal(p, rank, op_index)));
		return;
	}
	c->schedule = op_schedule(p, op);
	if (op->kind == OP_SUM) /* whatever the count, it travels whole */
		c->schedule.elements = op->operand[0].count * n;
	struct schedule up = control_schedule(c, SCHEDULE_TREE_REDUCE);
	c->rounds = (int)(op->kind == OP_SUM ? 2 * schedule_rounds(&up) : schedule_rounds(&c->schedule));
	int ordinal = ordinal_of(p, r, op_index);
	for (int64_t member = 0; member < n; member++) {
		int64_t there = op_member_rank(p, op, rank, member);
		const struct role *other = plan_role_of(p, there);
		join(s, c, number, there, other == r ? op_index : same_in(p, other, op, ordinal));
		if (c->rank)
			c->rank[member] = there;
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
			describe_collective(s, s->collective_count++, i, k);
		}
	}
	time_collectives(s);
	for (int c = 0; c < s->collective_count; c++)
		if (s->collectives[c].shown)
			cut_chunks(&s->collectives[c]);
}
