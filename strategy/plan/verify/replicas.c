/* Rule 6, "the same on all ranks": parameters that several ranks keep must be made equal by something other than every
 * rank's good luck in initialising them.
 *
 * Several ranks keep the same part of a group along the axes that it is not sharded along, and across roles that both
 * have the group (the token table of a pipeline's first and last stage). Either the update's all-gather brings everyone
 * what its owner made (ZeRO-1, ZeRO-2), or rank after rank starts from what one of them has: a broadcast in the
 * prologue, after the initialisation (DDP, hybrid, pipeline).
 *
 * Parameters alone are looked at, as the frameworks broadcast parameters alone. In 16 bits the fp32 master weights
 * stay what each rank initialised: `initialize` draws every element by a counter, from the seed and the element's place
 * in the model, so ranks that keep the same part draw the same bits, and the update refuses master weights that were
 * not initialised (update.c).
 */
#include "strategy/plan/verify/verify.h"

struct replica {
	const struct plan *p;
	const struct role *r;
	int number; /* of its initialize */
	const struct op *op;
	struct region home; /* where these parameters stay: its operand, or on disk, where a copy takes them */
};

static bool region_covers(const struct region *g, const struct region *part)
{
	return !g->slice && g->buffer == part->buffer && g->offset <= part->offset &&
	       g->offset + g->count >= part->offset + part->count;
}

static bool is_parameters(const struct role *r, const struct region *g)
{
	return r->buffers[g->buffer].category == CATEGORY_PARAMETERS;
}

/* false: what it initialises are no parameters. */
static bool find_home(struct replica *x)
{
	x->home = x->op->operand[INITIALIZE_WEIGHTS];
	for (int i = x->number + 1; i < x->r->prologue.end && !is_parameters(x->r, &x->home); i++) {
		const struct op *op = &x->r->ops[i];
		if (op->kind == OP_COPY && region_covers(&op->operand[COPY_X], &x->op->operand[INITIALIZE_WEIGHTS]))
			x->home = op->operand[COPY_Y];
	}
	return is_parameters(x->r, &x->home);
}

/* The axes within the role along which ranks keep the same. */
static unsigned same_along(const struct replica *x)
{
	unsigned axes = plan_all_axes(x->p) & ~op_shard_axes(x->p, x->op) & ~x->home.slice, many = 0;
	axes &= ~group_slice_axes(x->p, x->op->group);
	for (int i = 0; i < x->p->axis_count; i++) {
		int64_t extent = i ? x->p->axes[i].size : x->r->ranks * x->p->axes[0].size / x->p->ranks;
		many |= axes >> i & 1 && extent > 1 ? 1u << i : 0;
	}
	return many;
}

/* True if an operation of this kind in [begin, end) works on all of the region, at `operand`, over at least these axes,
 * and with a member of role `with`. */
static bool covered(const struct replica *x, const struct region *region, int begin, int end, enum op_kind kind,
                    int operand, unsigned axes, const struct role *with)
{
	for (int i = begin; i < end; i++) {
		const struct op *op = &x->r->ops[i];
		const struct region *g = &op->operand[operand];
		if (op->kind == kind && region_covers(g, region) && !(axes & ~op_axes(x->p, op)) &&
		    (with == x->r ? !op->ends_only : role_takes_part(x->p, op, x->r, with)))
			return true;
	}
	return false;
}

/* In the prologue: where they stay, or on a visit to the device, from which they are copied back (through the host, if
 * they stay on disk). */
static bool broadcast(const struct replica *x, const struct region *home, int end, unsigned axes,
                      const struct role *with)
{
	const struct role *r = x->r;
	if (covered(x, home, x->number, end, OP_BROADCAST, 0, axes, with))
		return true;
	for (int i = end - 1; i > x->number; i--)
		if (r->ops[i].kind == OP_COPY && region_covers(&r->ops[i].operand[COPY_Y], home))
			return broadcast(x, &r->ops[i].operand[COPY_X], i, axes, with);
	return false;
}

static bool made_equal(const struct replica *x, unsigned axes, const struct role *with)
{
	const struct role *r = x->r;
	return covered(x, &x->home, r->step.begin, r->step.end, OP_ALL_GATHER, 1, axes, with) ||
	       broadcast(x, &x->home, r->prologue.end, axes, with);
}

/* True if another role keeps parameters of this group as well. */
static const struct role *also_kept_by(const struct replica *x)
{
	for (int i = 0; i < x->p->role_count; i++) {
		const struct role *r = &x->p->roles[i];
		for (int n = r->prologue.begin; r != x->r && n < r->prologue.end; n++)
			if (r->ops[n].kind == OP_INITIALIZE && r->ops[n].group == x->op->group &&
			    r->buffers[op_buffer(&r->ops[n])].category == CATEGORY_PARAMETERS)
				return r;
	}
	return NULL;
}

static enum status check_replica(const struct verify *v, const struct replica *x)
{
	const struct role *other = also_kept_by(x);
	unsigned same = same_along(x);
	if ((!same || made_equal(x, same, x->r)) &&
	    (!other || (op_shard_axes(x->p, x->op) & 1) || made_equal(x, 0, other)))
		return STATUS_OK;
	return refuse(v, 6, x->r, x->number, x->home.buffer,
	              "every rank makes these weights by itself, and nothing makes them the same; broadcast them from "
	              "one rank in the prologue");
}

enum status verify_replicas(const struct verify *v)
{
	const struct plan *p = v->p;
	for (int i = 0; i < p->role_count; i++) {
		const struct role *r = &p->roles[i];
		for (int n = r->prologue.begin; n < r->prologue.end; n++) {
			struct replica x = {.p = p, .r = r, .number = n, .op = &r->ops[n]};
			enum status s = STATUS_OK;
			if (x.op->kind == OP_INITIALIZE && find_home(&x))
				s = check_replica(v, &x);
			if (s)
				return s;
		}
	}
	return STATUS_OK;
}
