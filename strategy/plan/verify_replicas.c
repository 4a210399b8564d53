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
 * not initialised (verify_update.c).
 */
#include "strategy/plan/verify.h"

struct replica {
	const struct plan *p;
	const struct role *r;
	int number; /* of its initialize */
	const struct op *op;
};

/* The axes within the role along which ranks keep the same. */
static unsigned same_along(const struct replica *x)
{
	unsigned axes = plan_all_axes(x->p) & ~op_shard_axes(x->p, x->op) & ~x->op->operand[0].slice, many = 0;
	axes &= ~group_slice_axes(x->p, x->op->group);
	for (int i = 0; i < x->p->axis_count; i++) {
		int64_t extent = i ? x->p->axes[i].size : x->r->ranks * x->p->axes[0].size / x->p->ranks;
		many |= axes >> i & 1 && extent > 1 ? 1u << i : 0;
	}
	return many;
}

/* Does an operation of this kind in the section work on all of the region, at `operand`, over at least these axes, and
 * with a member of role `with`? */
static bool covered(const struct replica *x, const struct section *s, enum op_kind kind, int operand, int from,
                    unsigned axes, const struct role *with)
{
	const struct region *region = &x->op->operand[0];
	for (int i = from > s->begin ? from : s->begin; i < s->end; i++) {
		const struct op *op = &x->r->ops[i];
		const struct region *g = &op->operand[operand];
		if (op->kind == kind && !g->slice && g->buffer == region->buffer && g->offset <= region->offset &&
		    g->offset + g->count >= region->offset + region->count && !(axes & ~op_axes(x->p, op)) &&
		    (with == x->r ? !op->ends : takes_part(x->p, op, x->r, with)))
			return true;
	}
	return false;
}

static bool made_equal(const struct replica *x, unsigned axes, const struct role *with)
{
	return covered(x, &x->r->step, OP_ALL_GATHER, 1, 0, axes, with) ||
	       covered(x, &x->r->prologue, OP_BROADCAST, 0, x->number, axes, with);
}

/* Does another role keep parameters of this group as well? */
static const struct role *also_kept_by(const struct replica *x)
{
	for (int i = 0; i < x->p->role_count; i++) {
		const struct role *r = &x->p->roles[i];
		for (int n = r->prologue.begin; r != x->r && n < r->prologue.end; n++)
			if (r->ops[n].kind == OP_INITIALIZE && r->ops[n].group == x->op->group &&
			    r->buffers[r->ops[n].operand[0].buffer].category == CATEGORY_PARAMETERS)
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
	return refuse(v, 6, x->r, x->number, x->op->operand[0].buffer,
	              "every rank makes these weights by itself, and nothing makes them the same; broadcast them from "
	              "one rank in the prologue");
}

enum status verify_replicas(const struct verify *v)
{
	const struct plan *p = v->p;
	for (int i = 0; i < p->role_count; i++) {
		const struct role *r = &p->roles[i];
		for (int n = r->prologue.begin; n < r->prologue.end; n++) {
			struct replica x = {p, r, n, &r->ops[n]};
			enum status s = STATUS_OK;
			if (x.op->kind == OP_INITIALIZE &&
			    r->buffers[x.op->operand[0].buffer].category == CATEGORY_PARAMETERS)
				s = check_replica(v, &x);
			if (s)
				return s;
		}
	}
	return STATUS_OK;
}
