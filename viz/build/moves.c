/* A plan's step in moves: runs of operations that belong together, as the strategy issues them.
 *
 *     alloc gathered.root.forward, all_gather root        gather root
 *     alloc …, load                                       load samples
 *     alloc embedding.y, embedding.forward                forward embedding
 *     …                                                   forward block.0
 *     free gathered.block.0.forward                       free block.0
 *
 * Memory that is allocated belongs to what is done with it next. A buffer's free belongs to what was done with it last;
 * but parameters and gradients that are whole for a while are freed by a move of their own: when to do so is what
 * strategies differ in.
 */
#include <stdio.h>
#include <string.h>

#include "strategy/base/language.h"
#include "viz/build/exercise.h"

static const struct {
	const char *verb, *heading, *what;
} kinds[MOVE_KINDS] = {
#define X(constant, verb, heading, what) {verb, heading, what},
        MOVE_LIST(X)
#undef X
};

const char *move_heading(enum move_kind k)
{
	return tr(kinds[k].heading);
}

const char *move_what(enum move_kind k)
{
	return tr(kinds[k].what);
}

/* The facts that tell moves apart. */
struct key {
	enum move_kind kind;
	int unit, group, micro;
};

static bool same_key(const struct key *a, const struct key *b)
{
	return a->kind == b->kind && a->unit == b->unit && a->group == b->group && a->micro == b->micro;
}

/* ---- what an operation belongs to ---- */

/* The group whose parameters or gradients a buffer holds for a while. */
static int group_held(const struct role *r, int buffer)
{
	for (int i = r->step.begin; i < r->step.end; i++)
		if (op_class(r->ops[i].kind) == OP_CLASS_C && r->ops[i].group >= 0 && op_uses(&r->ops[i], buffer))
			return r->ops[i].group;
	return -1;
}

static bool key_of_free(const struct exercise *e, const struct op *op, struct key *out)
{
	const struct role *r = &e->plan->roles[0];
	int buffer = op_buffer(op);
	if (r->buffers[buffer].category != CATEGORY_GATHERED)
		return false;
	bool gradients = e->words.roles[0].held[buffer] == HELD_WHOLE_GRADIENTS;
	*out = (struct key){gradients ? MOVE_FREE_GRADIENTS : MOVE_FREE, -1, group_held(r, buffer), -1};
	return out->group >= 0;
}

static bool key_of_communication(const struct op *op, struct key *out)
{
	enum move_kind kind = op->kind == OP_ALL_GATHER       ? MOVE_GATHER
	                      : op->kind == OP_REDUCE_SCATTER ? MOVE_REDUCE_SCATTER
	                                                      : MOVE_ALL_REDUCE;
	if (op->traffic == TRAFFIC_CONTROL)
		*out = (struct key){MOVE_COUNT, -1, -1, -1};
	else
		*out = (struct key){kind, -1, op->group, op->micro};
	return op->traffic == TRAFFIC_CONTROL || op->group >= 0;
}

static bool key_of_kernel(const struct exercise *e, const struct op *op, struct key *out)
{
	enum pass pass = op->pass != PASS_NONE ? op->pass : op_pass(op->kind);
	*out = (struct key){pass == PASS_FORWARD ? MOVE_FORWARD : MOVE_BACKWARD,
	                    e->plan->model->kernels[op->kernel].unit, -1, op->micro};
	return true;
}

static bool key_of_vector(const struct op *op, struct key *out)
{
	if (op->kind == OP_LOAD)
		*out = (struct key){MOVE_LOAD, -1, -1, op->micro};
	else if (op->kind == OP_ADAMW || op->kind == OP_SGD)
		*out = (struct key){MOVE_UPDATE, -1, op->group, -1};
	else if (op->pass == PASS_UPDATE || op->group < 0)
		*out = (struct key){MOVE_COUNT, -1, -1, -1};
	else
		return false;
	return true;
}

/* False: it goes with what it stands beside. */
static bool key_of(const struct exercise *e, const struct op *op, struct key *out)
{
	if (op->kind == OP_ALLOC || op->kind == OP_ZERO)
		return false;
	if (op->kind == OP_FREE)
		return key_of_free(e, op, out);
	if (op_class(op->kind) == OP_CLASS_C)
		return key_of_communication(op, out);
	return op->kernel >= 0 ? key_of_kernel(e, op, out) : key_of_vector(op, out);
}

/* ---- runs ---- */

static struct move *begin_move(struct exercise *e, const struct key *k, int op)
{
	struct move *m = &e->moves[e->move_count++];
	*m = (struct move){.kind = k->kind, .unit = k->unit, .group = k->group, .micro = k->micro};
	m->ops = array_make((size_t)(e->plan->roles[0].step.end - op) + 1, sizeof *m->ops);
	m->pass = e->plan->roles[0].ops[op].pass;
	m->kernel = e->plan->roles[0].ops[op].kernel;
	return m;
}

/* Whether there are too many shows in move_count. */
static void find_runs(struct exercise *e)
{
	const struct role *r = &e->plan->roles[0];
	struct move *m = NULL;
	struct key k = {MOVE_COUNT, -1, -1, -1}, now = k;
	int waiting = r->step.begin; /* allocations from here on belong to what comes */
	for (int i = r->step.begin; i < r->step.end; i++) {
		const struct op *op = &r->ops[i];
		if (op->kind == OP_ALLOC || op->kind == OP_ZERO)
			continue;
		bool own = key_of(e, op, &k);
		if (!m || (own && !same_key(&k, &now))) {
			if (e->move_count == EXERCISE_MOVES) {
				e->move_count++;
				return;
			}
			m = begin_move(e, &k, i);
			now = k;
		}
		for (; waiting <= i; waiting++)
			m->ops[m->op_count++] = waiting;
	}
	for (; m && waiting < r->step.end; waiting++)
		m->ops[m->op_count++] = waiting;
}

/* ---- names ---- */

/* The kernel of a run that computes most. */
static const char *main_kernel(const struct exercise *e, const struct move *m)
{
	const struct plan *p = e->plan;
	int64_t most = -1;
	const char *name = p->model->units[m->unit].name;
	for (int i = 0; i < m->op_count; i++) {
		const struct op *op = &p->roles[0].ops[m->ops[i]];
		if (op->kernel >= 0 && op_flops(p, op) > most) {
			most = op_flops(p, op);
			name = p->model->kernels[op->kernel].name;
		}
	}
	return name;
}

static bool alike(const struct move *a, const struct move *b)
{
	return a->kind == b->kind && a->unit == b->unit && a->group == b->group &&
	       (a->unit < 0 || a->micro == b->micro);
}

/* Counts the moves like this one, and finds its place among them. */
static int count_alike(const struct exercise *e, const struct move *m, int *which)
{
	int count = 0;
	for (int i = 0; i < e->move_count; i++) {
		*which = &e->moves[i] == m ? count : *which;
		count += alike(&e->moves[i], m);
	}
	return count;
}

/* Do passes of other units lie between its runs, as those of blocks between embedding and head? */
static bool is_split(const struct exercise *e, const struct move *m)
{
	bool inside = false, between = false;
	for (int i = 0; i < e->move_count; i++) {
		const struct move *o = &e->moves[i];
		if (alike(o, m) && between)
			return true;
		inside |= alike(o, m);
		between |= inside && o->kind == m->kind && o->unit != m->unit;
	}
	return false;
}

/* The subject of a move, and which of several like it, as it is written and as it is said. */
struct naming {
	const char *base;
	char more[48], said[64];
};

__attribute__((format(printf, 2, 3))) static void add_more(struct naming *n, const char *format, ...)
{
	size_t more = strlen(n->more), said = strlen(n->said);
	WITH_ARGS(format, vsnprintf(n->more + more, sizeof n->more - more, format, args));
	WITH_ARGS(format, vsnprintf(n->said + said, sizeof n->said - said, tr(format), args));
}

static void name_pass(const struct exercise *e, const struct move *m, struct naming *n)
{
	int which = 0, count = count_alike(e, m, &which);
	n->base = e->plan->model->units[m->unit].name;
	if (count > 1 && is_split(e, m))
		n->base = main_kernel(e, m);
	else if (count > 1)
		add_more(n, " part %d", which + 1);
	if (e->plan->settings.accumulate > 1)
		add_more(n, " micro-batch %d", m->micro);
}

static void name_others(const struct exercise *e, const struct move *m, struct naming *n)
{
	static const char *const times[] = {"", " again", " a third time", " a fourth time"};
	int which = 0;
	count_alike(e, m, &which);
	n->base = m->kind == MOVE_LOAD    ? "samples"
	          : m->kind == MOVE_COUNT ? "the step"
	          : m->group >= 0         ? e->plan->groups[m->group].name
	                                  : "the model";
	if (which < 4)
		add_more(n, "%s", times[which]);
	else
		add_more(n, " time %d", which + 1);
	if (which < 4)
		snprintf(n->said, sizeof n->said, "%s", *times[which] ? tr(times[which]) : "");
}

static void name_move(const struct exercise *e, struct move *m)
{
	struct naming n = {.base = ""};
	if (m->unit >= 0)
		name_pass(e, m, &n);
	else
		name_others(e, m, &n);
	snprintf(m->object, sizeof m->object, "%.40s%.23s", n.base, n.more);
	snprintf(m->said_object, sizeof m->said_object, "%.40s%s", tr(n.base), n.said);
	snprintf(m->name, sizeof m->name, "%s %s", kinds[m->kind].verb, m->object);
	snprintf(m->said, sizeof m->said, "%s %s", tr(kinds[m->kind].verb), m->said_object);
}

/* ---- the drawer ---- */

/* The part of the model that a move is about: a kernel of a pass, else a group. */
static int part_of(const struct move *m)
{
	return m->unit >= 0 ? m->kernel : m->group;
}

static bool comes_before(const struct exercise *e, int a, int b)
{
	const struct move *x = &e->moves[a], *y = &e->moves[b];
	int first = 0, second = 0;
	if (x->kind != y->kind)
		return x->kind < y->kind;
	if (x->unit < 0) {
		count_alike(e, x, &first);
		count_alike(e, y, &second);
	}
	if (first != second)
		return first < second;
	if (x->micro != y->micro && x->unit >= 0)
		return x->micro < y->micro;
	return part_of(x) != part_of(y) ? part_of(x) < part_of(y) : a < b;
}

int exercise_drawer(const struct exercise *e, int order[EXERCISE_MOVES])
{
	for (int i = 0, k; i < e->move_count; i++) {
		for (k = i; k && comes_before(e, i, order[k - 1]); k--)
			order[k] = order[k - 1];
		order[k] = i;
	}
	return e->move_count;
}

enum status exercise_split(struct exercise *e)
{
	e->moves = array_make(EXERCISE_MOVES + 1, sizeof *e->moves);
	find_runs(e);
	if (e->move_count > EXERCISE_MOVES) {
		e->move_count = EXERCISE_MOVES;
		return status_fail(STATUS_INPUT,
		                   "this step has more than %d moves to put together: fewer layers or micro-batches, "
		                   "or larger buckets, leave fewer",
		                   EXERCISE_MOVES);
	}
	for (int i = 0; i < e->move_count; i++)
		name_move(e, &e->moves[i]);
	return STATUS_OK;
}
