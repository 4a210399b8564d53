#include "strategy/plan/verify/verify.h"

#include <stdlib.h>
#include <string.h>

#include "strategy/base/memory.h"

/* Work that a caller has done meanwhile. A refusal goes before what it fails with, so it never fails as a part. */
struct companion {
	enum status (*run)(void *context);
	void *context;
	enum status status;
	char *message;
};

struct issued {
	const struct layout *layouts;        /* by role; NULL: to be made */
	int64_t (*arena_bytes)[SPACE_COUNT]; /* by role: gets what they need; NULL */
	struct companion *companion;         /* NULL: there is none */
};

/* These checks rest on the same earlier ones and not on each other. They are in the order of their rules, so that the
 * first that is broken is told. */
static enum status verify_first(const struct verify *v, const void *context, int i)
{
	const int roles = v->p->role_count;
	(void)context;
	if (!i)
		return verify_end(v);
	return i <= roles ? verify_issue_order(v, i - 1) : verify_shapes(v, i - roles - 1);
}

static enum status verify_second(const struct verify *v, const void *context, int i)
{
	(void)context;
	return i ? verify_lifetimes(v, i - 1) : verify_matching(v);
}

static enum status run_companion(struct companion *c)
{
	c->status = c->run(c->context);
	if (c->status)
		c->message = memory_text(status_message());
	return STATUS_OK;
}

/* Races and layouts role by role, and between them what is carried out on all roles together, and the companion: the
 * long parts begin before the many short ones. */
static enum status verify_apart(const struct verify *v, const void *context, int i)
{
	const struct issued *x = context;
	const int roles = v->p->role_count;
	enum status s;
	if (i < roles)
		return verify_races(v, i);
	if (i == roles)
		return (s = verify_replicas(v)) ? s : verify_meaning(v);
	if (x->companion && i == roles + 1)
		return run_companion(x->companion);
	int role = i - roles - (x->companion ? 2 : 1);
	return verify_layout(v, role, x->layouts ? &x->layouts[role] : NULL,
	                     x->arena_bytes ? x->arena_bytes[role] : NULL);
}

static enum status verify_issued(const struct verify *v, const struct issued *x)
{
	const int roles = v->p->role_count;
	enum status s;
	if ((s = verify_waits(v)) || (s = verify_parts(v, verify_first, NULL, 1 + 2 * roles)) ||
	    (s = verify_parts(v, verify_second, NULL, 1 + roles)))
		return s;
	return verify_parts(v, verify_apart, x, 2 * roles + (x->companion ? 2 : 1));
}

static enum status verify(const struct plan *p, const struct issued *x, struct refusal *out)
{
	struct verify v = {.p = p, .why = out};
	*out = (struct refusal){.role = -1, .op = -1, .buffer = -1};
	TRY(verify_structure(&v));
	for (int k = 0; k < SECTION_KINDS; k++)
		rendezvous_init(&v.rendezvous[k], p, (enum section_kind)k);
	enum status s = verify_issued(&v, x);
	for (int k = 0; k < SECTION_KINDS; k++)
		rendezvous_release(&v.rendezvous[k]);
	return s;
}

enum status plan_verify_why(const struct plan *p, const struct layout *layouts, struct refusal *out)
{
	return verify(p, &(struct issued){.layouts = layouts}, out);
}

enum status plan_verify(const struct plan *p, const struct layout *layouts)
{
	struct refusal why;
	return plan_verify_why(p, layouts, &why);
}

static enum status verify_and_keep(struct plan *p, struct companion *companion)
{
	int64_t bytes[PLAN_ROLES][SPACE_COUNT];
	struct refusal why;
	enum status s = verify(p, &(struct issued){.arena_bytes = bytes, .companion = companion}, &why);
	for (int i = 0; i < p->role_count && !s; i++) {
		memcpy(p->roles[i].arena_bytes, bytes[i], sizeof bytes[i]);
		p->roles[i].laid_out = true;
	}
	return s;
}

enum status plan_verify_and_keep(struct plan *p)
{
	return verify_and_keep(p, NULL);
}

enum status plan_verify_beside(struct plan *p, enum status (*companion)(void *context), void *context)
{
	struct companion c = {.run = companion, .context = context};
	enum status s = verify_and_keep(p, &c);
	if (!s && c.status)
		s = status_fail(c.status, "%s", c.message);
	free(c.message);
	return s;
}
