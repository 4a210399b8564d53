/* Rule 6, "the same on all ranks": parameters that several ranks keep whole must be made equal by something other than
 * every rank's good luck in initialising them.
 *
 * Either the update's all-gather brings everyone what its owner made (ZeRO-1, ZeRO-2), or rank after rank starts from
 * what one of them has: a broadcast in the prologue, after the initialisation (DDP).
 */
#include "strategy/plan/verify.h"

/* Does an operation of this kind in the section work on all of the region, at `operand`? */
static bool covered(const struct role *r, const struct section *s, enum op_kind kind, int operand, int from,
                    const struct region *region)
{
	for (int i = from > s->begin ? from : s->begin; i < s->end; i++) {
		const struct region *g = &r->ops[i].operand[operand];
		if (r->ops[i].kind == kind && !g->slice && g->buffer == region->buffer && g->offset <= region->offset &&
		    g->offset + g->count >= region->offset + region->count)
			return true;
	}
	return false;
}

static bool is_replica(const struct plan *p, const struct role *r, const struct op *op)
{
	const struct region *w = &op->operand[0];
	return op->kind == OP_INITIALIZE && r->ranks > 1 && !w->slice && w->count == p->groups[op->group].padded &&
	       r->buffers[w->buffer].category == CATEGORY_PARAMETERS;
}

enum status verify_replicas(const struct verify *v)
{
	const struct plan *p = v->p;
	for (int i = 0; i < p->role_count; i++) {
		const struct role *r = &p->roles[i];
		for (int n = r->prologue.begin; n < r->prologue.end; n++) {
			const struct region *w = &r->ops[n].operand[0];
			if (!is_replica(p, r, &r->ops[n]) || covered(r, &r->step, OP_ALL_GATHER, 1, 0, w) ||
			    covered(r, &r->prologue, OP_BROADCAST, 0, n, w))
				continue;
			return refuse(
			        v, 6, r, n, w->buffer,
			        "every rank makes these weights by itself, and nothing makes them the same; broadcast "
			        "them from one rank in the prologue");
		}
	}
	return STATUS_OK;
}
