#include "strategy/plan/verify/verify.h"

static enum status verify_issued(const struct verify *v, const struct layout *layouts)
{
	enum status s;
	if ((s = verify_graph(v)) || (s = verify_shapes(v)) || (s = verify_matching(v)) || (s = verify_lifetimes(v)) ||
	    (s = verify_races(v)) || (s = verify_replicas(v)) || (s = verify_meaning(v)))
		return s;
	return verify_layout(v, layouts);
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
	s = verify_issued(&v, layouts);
	for (int k = 0; k < SECTION_KINDS; k++)
		rendezvous_release(&v.rendezvous[k]);
	return s;
}

enum status plan_verify(const struct plan *p, const struct layout *layouts)
{
	struct refusal why;
	return plan_verify_why(p, layouts, &why);
}
