#include "tests/support/mutants.h"

#include <stdio.h>

#include "kernels/mix64.h"
#include "tests/support/plan_edit.h"

struct chance {
	uint64_t state;
	struct plan *p;
	int role, op; /* the object */
};

static int pick(struct chance *c, int64_t n)
{
	return n > 0 ? (int)(mix64(c->state += UINT64_C(0x9e3779b97f4a7c15)) % (uint64_t)n) : 0;
}

static struct role *role_of(struct chance *c)
{
	return &c->p->roles[c->role];
}

static struct op *op_of(struct chance *c)
{
	return &role_of(c)->ops[c->op];
}

static void section_around(struct chance *c, int *begin, int *end)
{
	struct role *r = role_of(c);
	struct section *all[] = {&r->prologue, &r->step, &r->evaluate, &r->save, &r->restore, &r->epilogue, NULL};
	for (struct section **s = all; *s; s++)
		if (c->op >= (*s)->begin && c->op < (*s)->end) {
			*begin = (*s)->begin;
			*end = (*s)->end;
		}
}

static struct region *some_operand(struct chance *c)
{
	struct op *op = op_of(c);
	int n = op_operand_count(op->kind), first = pick(c, n);
	for (int i = 0; i < n; i++)
		if (op->operand[(first + i) % n].buffer >= 0)
			return &op->operand[(first + i) % n];
	return NULL;
}

static bool drop(struct chance *c)
{
	plan_drop_op(c->p, c->role, c->op);
	return true;
}

static bool twice(struct chance *c)
{
	plan_double_op(c->p, c->role, c->op);
	return true;
}

static bool swap(struct chance *c)
{
	int begin = 0, end = 0;
	section_around(c, &begin, &end);
	if (c->op + 1 >= end)
		return false;
	plan_move_op(c->p, c->role, c->op, c->op + 1);
	return true;
}

static bool move(struct chance *c)
{
	int begin = 0, end = 0;
	section_around(c, &begin, &end);
	int dest = begin + pick(c, end - begin);
	plan_move_op(c->p, c->role, c->op, dest);
	return dest != c->op;
}

static bool requeue(struct chance *c)
{
	enum queue q = (enum queue)pick(c, QUEUE_COUNT);
	bool changed = q != op_of(c)->queue && op_class(op_of(c)->kind) != OP_CLASS_M;
	op_of(c)->queue = q;
	return changed;
}

static bool resize(struct chance *c)
{
	struct region *g = some_operand(c);
	int64_t old = g ? g->count : 0;
	if (!g)
		return false;
	int64_t counts[] = {old - 1,           old + 1,           old / 2,           old * 2,
	                    old - c->p->ranks, old + c->p->ranks, old * c->p->ranks, old / c->p->ranks};
	g->count = counts[pick(c, 8)];
	return g->count != old;
}

static bool shift(struct chance *c)
{
	struct region *g = some_operand(c);
	int64_t old = g ? g->offset : 0;
	if (!g)
		return false;
	int64_t offsets[] = {
	        old - 1, old + 1, 0, old + g->count, old - g->count, old + c->p->ranks, g->count * (c->p->ranks - 1)};
	g->offset = offsets[pick(c, 7)];
	return g->offset != old;
}

static bool slice(struct chance *c)
{
	struct region *g = some_operand(c);
	unsigned old = g ? g->slice : 0;
	if (!g || c->p->ranks == 1)
		return false;
	g->slice = (unsigned)pick(c, (int)plan_all_axes(c->p) + 1);
	return g->slice != old;
}

static bool rebuffer(struct chance *c)
{
	struct region *g = some_operand(c);
	int b = pick(c, role_of(c)->buffer_count);
	if (!g || g->buffer == b)
		return false;
	if (op_class(op_of(c)->kind) == OP_CLASS_M)
		g->count = role_of(c)->buffers[b].elements;
	g->buffer = b;
	if (g->offset + g->count > role_of(c)->buffers[b].elements)
		g->offset = 0;
	return true;
}

/* Takes an operand from another operation of its kind: of the right size, often, and the wrong thing. */
static bool borrow(struct chance *c)
{
	struct role *r = role_of(c);
	struct op *op = op_of(c);
	int n = op_operand_count(op->kind), i = pick(c, n), first = pick(c, r->op_count);
	for (int k = 0; k < r->op_count; k++) {
		const struct op *other = &r->ops[(first + k) % r->op_count];
		const struct region *a = &op->operand[i], *b = &other->operand[i];
		if (other->kind != op->kind ||
		    (a->buffer == b->buffer && a->offset == b->offset && a->count == b->count))
			continue;
		op->operand[i] = other->operand[i];
		return true;
	}
	return false;
}

static bool exchange(struct chance *c)
{
	struct op *op = op_of(c);
	int n = op_operand_count(op->kind);
	if (n < 2)
		return false;
	int a = pick(c, n), b = (a + 1 + pick(c, n - 1)) % n;
	struct region old = op->operand[a];
	op->operand[a] = op->operand[b];
	op->operand[b] = old;
	return op->operand[a].buffer != op->operand[b].buffer || op->operand[a].offset != op->operand[b].offset;
}

static bool absent(struct chance *c)
{
	struct region *g = some_operand(c);
	if (g)
		g->buffer = -1;
	return g != NULL;
}

static bool unwait(struct chance *c)
{
	struct op *op = op_of(c);
	if (!op->after_count)
		return false;
	op->after[pick(c, op->after_count)] = op->after[op->after_count - 1];
	op->after_count--;
	return true;
}

static bool rewait(struct chance *c)
{
	struct op *op = op_of(c);
	int begin = 0, end = 0;
	section_around(c, &begin, &end);
	if (!op->after_count)
		return false;
	int w = pick(c, op->after_count), old = op->after[w];
	op->after[w] = begin + pick(c, end - begin);
	return op->after[w] != old;
}

/* ---- fields of the operation ---- */

/* A change of one field: what it becomes, and of which operations that means anything. */
#define FIELD_CHANGE(name, field, value, means)                                                                        \
	static bool set_##name(struct chance *c)                                                                       \
	{                                                                                                              \
		struct op *op = op_of(c), old = *op;                                                                   \
		bool meant = means;                                                                                    \
		op->field = value;                                                                                     \
		return meant && old.field != op->field;                                                                \
	}
#define COMMUNICATES (op_class(op->kind) == OP_CLASS_C)
#define RUNS (op_class(op->kind) != OP_CLASS_M)
#define IS_KERNEL (op_class(op->kind) == OP_CLASS_K)

FIELD_CHANGE(root, root, pick(c, c->p->ranks + 1), COMMUNICATES)
FIELD_CHANGE(algorithm, algorithm, (enum schedule_algorithm)pick(c, SCHEDULE_COUNT), COMMUNICATES)
FIELD_CHANGE(micro, micro, pick(c, c->p->settings.accumulate + 1) - 1, RUNS)
FIELD_CHANGE(group, group, pick(c, c->p->group_count + 1) - 1, RUNS)
FIELD_CHANGE(add, accumulate, (uint16_t)(op->accumulate ^ 1u << pick(c, op_operand_count(op->kind))), true)
FIELD_CHANGE(wide, all_ranks, !op->all_ranks, IS_KERNEL || op->kind == OP_LOAD)
FIELD_CHANGE(payload, payload, op->payload + (pick(c, 2) ? 1 : -1), COMMUNICATES)
FIELD_CHANGE(traffic, traffic, (enum traffic_kind)pick(c, TRAFFIC_COUNT), COMMUNICATES)
FIELD_CHANGE(ends, ends_only, !op->ends_only, COMMUNICATES)
FIELD_CHANGE(shift, neighbour, (enum neighbour)(pick(c, 2) ? op->neighbour + 1 : -op->neighbour - !op->neighbour),
             COMMUNICATES)
FIELD_CHANGE(pass, pass, (enum pass)pick(c, 4), RUNS)
FIELD_CHANGE(kind, kind, (enum op_kind)pick(c, OP_KIND_COUNT), true)

static bool set_scale(struct chance *c)
{
	double factors[] = {2, 0.5, 1 + 1e-9, (double)c->p->ranks, 1 / (double)c->p->ranks, 0, -1};
	double old = op_of(c)->scale;
	if (op_class(op_of(c)->kind) == OP_CLASS_C) /* has a payload in its place */
		return false;
	op_of(c)->scale *= factors[pick(c, 7)];
	return op_makes_loss(op_of(c)->kind) && old != op_of(c)->scale;
}

static bool set_kernel(struct chance *c)
{
	int old = op_of(c)->kernel;
	op_of(c)->kernel = pick(c, c->p->model->kernel_count + 1) - 1;
	if (op_of(c)->kernel >= 0)
		op_of(c)->unit = c->p->model->kernels[op_of(c)->kernel].unit;
	return old != op_of(c)->kernel && op_class(op_of(c)->kind) == OP_CLASS_K;
}

static bool set_axes(struct chance *c)
{
	unsigned old = op_axes(c->p, op_of(c));
	op_of(c)->axes = (uint8_t)pick(c, (int)plan_all_axes(c->p) + 2);
	return op_class(op_of(c)->kind) != OP_CLASS_M && old != op_axes(c->p, op_of(c));
}

static bool set_buffer(struct chance *c)
{
	struct buffer *b = &role_of(c)->buffers[pick(c, role_of(c)->buffer_count)], old = *b;
	switch (pick(c, 4)) {
	case 0:
		b->elements += pick(c, 5) - 2;
		break;
	case 1:
		b->type = (enum type)pick(c, TYPE_COUNT);
		break;
	case 2:
		b->state = !b->state;
		break;
	default:
		b->space = (enum space)pick(c, SPACE_COUNT);
	}
	return b->elements != old.elements || b->type != old.type || b->state != old.state || b->space != old.space;
}

/* The last operation of a section falls to the next, or the first of the next to it. */
static bool set_section(struct chance *c)
{
	struct role *r = role_of(c);
	struct section *all[] = {&r->prologue, &r->step, &r->evaluate, &r->epilogue};
	int i = pick(c, 3), by = pick(c, 2) ? 1 : -1;
	all[i]->end += by;
	all[i + 1]->begin += by;
	r->save = r->restore = (struct section){r->evaluate.end, r->evaluate.end}; /* of a plan without checkpoints */
	return all[i]->end >= all[i]->begin && all[i + 1]->end >= all[i + 1]->begin;
}

static const struct {
	const char *name;
	bool (*change)(struct chance *c);
} mutations[] = {
        {"drop", drop},         {"double", twice},    {"swap", swap},           {"move", move},
        {"requeue", requeue},   {"resize", resize},   {"shift", shift},         {"slice", slice},
        {"rebuffer", rebuffer}, {"borrow", borrow},   {"exchange", exchange},   {"absent", absent},
        {"unwait", unwait},     {"rewait", rewait},   {"root", set_root},       {"algorithm", set_algorithm},
        {"scale", set_scale},   {"micro", set_micro}, {"group", set_group},     {"kernel", set_kernel},
        {"add", set_add},       {"wide", set_wide},   {"payload", set_payload}, {"traffic", set_traffic},
        {"pass", set_pass},     {"kind", set_kind},   {"buffer", set_buffer},   {"section", set_section},
        {"axes", set_axes},     {"ends", set_ends},   {"shift", set_shift},
};
enum { MUTATIONS = sizeof mutations / sizeof mutations[0] };

const char *mutation_name(int kind)
{
	return kind < MUTATIONS ? mutations[kind].name : NULL;
}

bool mutant_make(struct plan *out, const struct plan *p, uint64_t seed, int *kind, char *what, size_t size)
{
	struct chance c = {.state = mix64(seed), .p = out};
	char title[160];
	plan_copy(out, p);
	*kind = pick(&c, MUTATIONS);
	c.role = pick(&c, p->role_count);
	c.op = pick(&c, p->roles[c.role].op_count);
	/* Every other operation allocates or frees, and few changes mean anything there. */
	for (int again = 0; again < 2 && op_class(p->roles[c.role].ops[c.op].kind) == OP_CLASS_M; again++)
		c.op = pick(&c, p->roles[c.role].op_count);
	op_describe(p, &p->roles[c.role].ops[c.op], title, sizeof title);
	snprintf(what, size, "%s, operation %d of role %s, %s (%s)", mutations[*kind].name, c.op, p->roles[c.role].name,
	         op_name(p->roles[c.role].ops[c.op].kind), title);
	return mutations[*kind].change(&c);
}
