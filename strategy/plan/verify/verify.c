#include "strategy/plan/verify/verify.h"

static enum status verify_ordered(struct verify *v, const struct layout *layouts)
{
	const struct plan *p = v->p;
	enum status s;
	for (int i = 0; i < p->role_count; i++)
		for (int k = 0; k < SECTION_KINDS; k++)
			order_make(&v->order[i][k], &p->roles[i], section_of(&p->roles[i], (enum section_kind)k));
	if (!(s = verify_lifetimes(v)) && !(s = verify_races(v)) && !(s = verify_replicas(v)) &&
	    !(s = verify_meaning(v)))
		s = verify_layout(v, layouts);
	for (int i = 0; i < p->role_count; i++)
		for (int k = 0; k < SECTION_KINDS; k++)
			order_release(&v->order[i][k]);
	return s;
}

enum status plan_verify_why(const struct plan *p, const struct layout *layouts, struct refusal *out)
{
	struct verify v = {.p = p, .why = out};
	*out = (struct refusal){.role = -1, .op = -1, .buffer = -1};
	enum status s = verify_structure(&v);
	if (s)
		return s;
	for (int k = 0; k < SECTION_KINDS; k++)
		rendezvous_init(&v.rendezvous[k], p, (enum section_kind)k);
	if (!(s = verify_graph(&v)) && !(s = verify_shapes(&v)) && !(s = verify_matching(&v)))
		s = verify_ordered(&v, layouts);
	for (int k = 0; k < SECTION_KINDS; k++)
		rendezvous_release(&v.rendezvous[k]);
	return s;
}

enum status plan_verify(const struct plan *p, const struct layout *layouts)
{
	struct refusal why;
	return plan_verify_why(p, layouts, &why);
}
