/* Every operation of a plan, role by role, and what else can be verified in parts. */
#include <stdlib.h>

#include "strategy/plan/verify/verify.h"

struct parts {
	const struct verify *v;
	enum status (*part)(const struct verify *v, const void *context, int i);
	const void *context;
	struct refusal *why; /* by part; rule 0: it has not refused */
};

static enum status verify_part(void *parts, int i)
{
	const struct parts *x = parts;
	struct verify v = *x->v;
	v.why = &x->why[i];
	return x->part(&v, x->context, i);
}

enum status verify_parts(const struct verify *v,
                         enum status (*part)(const struct verify *v, const void *context, int i), const void *context,
                         int count)
{
	struct parts x = {v, part, context, array_make((size_t)count, sizeof *x.why)};
	enum status s = work_run(verify_part, &x, count, plan_operations(v->p));
	for (int i = 0; s && i < count; i++)
		if (x.why[i].rule) {
			*v->why = x.why[i];
			break;
		}
	free(x.why);
	return s;
}

struct each {
	enum status (*check)(const struct at *a);
};

enum status verify_each_of(const struct verify *v, int role, enum status (*check)(const struct at *a))
{
	enum status s = STATUS_OK;
	for (int k = 0; k < SECTION_KINDS; k++) {
		struct at a = {.v = v, .p = v->p, .r = &v->p->roles[role], .section = (enum section_kind)k};
		const struct section *section = section_of(a.r, a.section);
		for (a.number = section->begin; a.number < section->end && !s; a.number++) {
			a.op = &a.r->ops[a.number];
			s = check(&a);
		}
	}
	return s;
}

static enum status check_role(const struct verify *v, const void *context, int role)
{
	const struct each *each = context;
	return verify_each_of(v, role, each->check);
}

enum status verify_each(const struct verify *v, enum status (*check)(const struct at *a))
{
	struct each each = {check};
	return verify_parts(v, check_role, &each, v->p->role_count);
}
