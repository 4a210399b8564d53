#include "strategy/plan/rendezvous.h"

#include <stdlib.h>

#include "strategy/base/arena.h"

static int role_number(const struct plan *p, const struct role *r)
{
	return (int)(r - p->roles);
}

/* ---- by role ---- */

int64_t ranks_behind_first_axis(const struct plan *p)
{
	return p->ranks / p->axes[0].size;
}

bool role_is_an_end(const struct plan *p, const struct role *r)
{
	return r->ranks == ranks_behind_first_axis(p) && (!r->first_rank || r->first_rank + r->ranks == p->ranks);
}

const struct role *role_across(const struct plan *p, const struct op *op, const struct role *r)
{
	int64_t rank = op_peer(p, op, r->first_rank);
	const struct role *across = rank < 0 ? NULL : plan_role_of(p, rank);
	return across && across->first_rank == rank && across->ranks == r->ranks ? across : NULL;
}

bool role_takes_part(const struct plan *p, const struct op *op, const struct role *issues, const struct role *other)
{
	if (op_is_message(op->kind))
		return issues == other || role_across(p, op, issues) == other;
	if (!(op_axes(p, op) & 1))
		return issues == other;
	return !op->ends_only || role_is_an_end(p, other);
}

/* ---- matching ---- */

/* A channel is what tells apart who communicates: the n-th operations on it are the n-th instance. */
struct channel {
	unsigned axes;
	bool ends_only;
	int from, to; /* roles: of a message; from: of a collective within a role. Else -1 */
	int wanted;   /* roles that take part */
	int *instances, count;
	size_t capacity;
};

/* How a role names a channel, and how many operations it has issued on it. */
struct line {
	unsigned axes;
	bool ends_only;
	int neighbour; /* a message's peer, by its place */
	bool sends;
	int channel, issued;
};

struct matcher {
	struct rendezvous *v;
	struct channel *channels;
	int channel_count;
	size_t channel_capacity, instance_capacity;
	struct line *lines; /* of the role at hand */
	int line_count;
	size_t line_capacity;
};

static struct channel channel_of(const struct plan *p, const struct role *r, const struct op *op)
{
	struct channel c = {.axes = op_axes(p, op), .ends_only = op->ends_only, .from = -1, .to = -1, .wanted = 2};
	int own = role_number(p, r);
	if (op_is_message(op->kind)) {
		const struct role *across = role_across(p, op, r);
		int peer = across ? role_number(p, across) : -1;
		c.from = op->kind == OP_SEND ? own : peer;
		c.to = op->kind == OP_SEND ? peer : own;
		return c;
	}
	c.from = c.axes & 1 ? -1 : own;
	c.wanted = 0;
	for (int i = 0; i < p->role_count; i++)
		c.wanted += role_takes_part(p, op, r, &p->roles[i]);
	return c;
}

static int find_channel(struct matcher *m, const struct role *r, const struct op *op)
{
	struct channel key = channel_of(m->v->plan, r, op);
	for (int i = 0; i < m->channel_count; i++) {
		const struct channel *c = &m->channels[i];
		if (c->axes == key.axes && c->ends_only == key.ends_only && c->from == key.from && c->to == key.to)
			return i;
	}
	m->channels = array_reserve(m->channels, (size_t)m->channel_count, &m->channel_capacity, sizeof *m->channels);
	m->channels[m->channel_count] = key;
	return m->channel_count++;
}

static struct line *find_line(struct matcher *m, const struct role *r, const struct op *op)
{
	struct line key = {.axes = op_axes(m->v->plan, op),
	                   .ends_only = op->ends_only,
	                   .neighbour = op_is_message(op->kind) ? op->neighbour : 0,
	                   .sends = op->kind == OP_SEND};
	for (int i = 0; i < m->line_count; i++) {
		struct line *l = &m->lines[i];
		if (l->axes == key.axes && l->ends_only == key.ends_only && l->neighbour == key.neighbour &&
		    l->sends == key.sends)
			return l;
	}
	key.channel = find_channel(m, r, op);
	m->lines = array_reserve(m->lines, (size_t)m->line_count, &m->line_capacity, sizeof *m->lines);
	m->lines[m->line_count] = key;
	return &m->lines[m->line_count++];
}

/* The instance that the role comes to next on this line. */
static int next_instance(struct matcher *m, struct line *l)
{
	struct channel *c = &m->channels[l->channel];
	struct rendezvous *v = m->v;
	if (l->issued == c->count) {
		v->instances = array_reserve(v->instances, (size_t)v->instance_count, &m->instance_capacity,
		                             sizeof *v->instances);
		v->instances[v->instance_count] = (struct instance){.missing = c->wanted};
		c->instances = array_reserve(c->instances, (size_t)c->count, &c->capacity, sizeof *c->instances);
		c->instances[c->count++] = v->instance_count++;
	}
	return c->instances[l->issued++];
}

/* Returns how many operations of the role communicate. */
static int match_role(struct matcher *m, const struct role *r)
{
	const struct section *s = section_of(r, m->v->section);
	const int role = role_number(m->v->plan, r);
	struct subset *found = &m->v->communication[role];
	size_t capacity = 0;
	subset_init(found, s->end - s->begin);
	m->line_count = 0;
	for (int i = s->begin; i < s->end; i++) {
		if (op_class(r->ops[i].kind) != OP_CLASS_C)
			continue;
		int number = next_instance(m, find_line(m, r, &r->ops[i]));
		m->v->number[role] = array_reserve(m->v->number[role], (size_t)found->count, &capacity, sizeof(int));
		m->v->number[role][found->count] = number;
		subset_add(found, i - s->begin);
		m->v->instances[number].participant_count++;
		m->v->instances[number].missing--;
	}
	return found->count;
}

/* Every instance gets its run of the participants, and the roles put themselves in, in order. */
static void list_participants(struct rendezvous *v, int count)
{
	struct participant *next = v->participants = array_make((size_t)count, sizeof *next);
	for (int i = 0; i < v->instance_count; i++) {
		v->instances[i].participants = next;
		next += v->instances[i].participant_count;
		v->instances[i].participant_count = 0;
	}
	for (int i = 0; i < v->plan->role_count; i++) {
		const struct role *r = &v->plan->roles[i];
		const struct section *s = section_of(r, v->section);
		for (int op = s->begin; op < s->end; op++) {
			if (op_class(r->ops[op].kind) != OP_CLASS_C)
				continue;
			struct instance *x = &v->instances[rendezvous_number(v, r, op)];
			x->participants[x->participant_count++] = (struct participant){i, op};
		}
	}
}

void rendezvous_init(struct rendezvous *v, const struct plan *p, enum section_kind section)
{
	*v = (struct rendezvous){.plan = p, .section = section};
	struct matcher m = {.v = v};
	int count = 0;
	for (int i = 0; i < p->role_count; i++)
		count += match_role(&m, &p->roles[i]);
	list_participants(v, count);
	for (int i = 0; i < m.channel_count; i++)
		free(m.channels[i].instances);
	free(m.channels);
	free(m.lines);
}

void rendezvous_release(struct rendezvous *v)
{
	if (!v)
		return;
	for (int i = 0; i < PLAN_ROLES; i++) {
		subset_release(&v->communication[i]);
		free(v->number[i]);
	}
	free(v->participants);
	free(v->instances);
	*v = (struct rendezvous){0};
}

int rendezvous_number(const struct rendezvous *v, const struct role *r, int op)
{
	const int role = role_number(v->plan, r);
	int place = subset_place(&v->communication[role], op - section_of(r, v->section)->begin);
	return place < 0 ? -1 : v->number[role][place];
}

/* ---- by rank ---- */

const struct participant *instance_participant(const struct rendezvous *v, const struct instance *x, int64_t rank)
{
	for (int i = 0; i < x->participant_count; i++) {
		const struct role *r = participant_role(v, &x->participants[i]);
		if (rank >= r->first_rank && rank < r->first_rank + r->ranks)
			return &x->participants[i];
	}
	return NULL;
}

int64_t instance_members(const struct rendezvous *v, const struct instance *x)
{
	return op_members(v->plan, instance_op(v, x));
}

int64_t instance_member(const struct rendezvous *v, const struct instance *x, int64_t rank)
{
	const struct participant *own = instance_participant(v, x, rank);
	return own ? op_member(v->plan, participant_op(v, own), rank) : -1;
}

int64_t instance_rank(const struct rendezvous *v, const struct instance *x, int64_t rank, int64_t member)
{
	return op_member_rank(v->plan, participant_op(v, instance_participant(v, x, rank)), rank, member);
}

/* The ranks over which the groups lie: of a message those that send, of a collective within a role those of the role.
 */
static const struct role *role_of_groups(const struct rendezvous *v, const struct instance *x)
{
	const struct op *op = instance_op(v, x);
	if (op_is_message(op->kind))
		return participant_role(v, &x->participants[op->kind == OP_SEND ? 0 : x->participant_count - 1]);
	return op_axes(v->plan, op) & 1 ? NULL : participant_role(v, x->participants);
}

int64_t instance_groups(const struct rendezvous *v, const struct instance *x)
{
	const struct op *op = instance_op(v, x);
	const struct role *r = role_of_groups(v, x);
	int64_t ranks = r ? r->ranks : v->plan->ranks;
	return op_is_message(op->kind) ? ranks : ranks / plan_along(v->plan, op_axes(v->plan, op));
}

int64_t instance_group(const struct rendezvous *v, const struct instance *x, int64_t rank)
{
	const struct op *op = instance_op(v, x);
	const struct role *r = role_of_groups(v, x);
	unsigned others = plan_all_axes(v->plan) & ~op_axes(v->plan, op);
	if (op_is_message(op->kind))
		return instance_rank(v, x, rank, 0) - r->first_rank;
	return plan_place(v->plan, others, rank) - (r ? plan_place(v->plan, others, r->first_rank) : 0);
}
