/* Every operation of a plan, one after another. */
#include "strategy/plan/verify/verify.h"

enum status verify_each(const struct verify *v, enum status (*check)(const struct at *a))
{
	enum status s = STATUS_OK;
	for (int i = 0; i < v->p->role_count; i++)
		for (int k = 0; k < SECTION_KINDS; k++) {
			struct at a = {.v = v, .p = v->p, .r = &v->p->roles[i], .section = (enum section_kind)k};
			const struct section *section = section_of(a.r, a.section);
			for (a.number = section->begin; a.number < section->end && !s; a.number++) {
				a.op = &a.r->ops[a.number];
				s = check(&a);
			}
		}
	return s;
}
