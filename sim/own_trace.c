/* A stack from a recorded step: each kind's time beside the predicted one. */
#include <math.h>

#include "sim/own.h"
#include "sim/sim.h"
#include "strategy/base/number.h"
#include "strategy/cluster/effective.h"
#include "strategy/cluster/stack_fields.h"

/* ns, of the four kinds that have constants. */
struct kinds {
	int64_t products, attention, rest, network, step, bubble;
};

/* A collective's kernel begins when its own rank comes: the rank that waits least shows what the network takes. */
static int64_t least_communication(const struct profile *p)
{
	int64_t least = p->ranks->mean.communication;
	for (int i = 1; i < p->rank_count; i++)
		least = p->ranks[i].mean.communication < least ? p->ranks[i].mean.communication : least;
	return least;
}

static struct kinds kinds_of(const struct profile *p, const struct profile_step *s)
{
	return (struct kinds){s->kinds[PROFILE_PRODUCTS].time,
	                      s->kinds[PROFILE_ATTENTION].time,
	                      s->kinds[PROFILE_REST].time + s->kinds[PROFILE_WITHIN].time,
	                      least_communication(p),
	                      s->step,
	                      s->idle};
}

static enum status predict(const struct own_step *step, const struct stack *s, struct kinds *out)
{
	struct cluster c = *step->ceilings;
	struct trace t = {0};
	struct report r = {0};
	struct profile p = {0};
	enum status status = cluster_take_stack(&c, s);
	if (!status && !(status = sim_run(step->plan, &c, GRAIN_OPERATION, &t, &r))) {
		profile_of_trace(&p, &t);
		*out = kinds_of(&p, &profile_slowest(&p)->mean);
		out->step = r.time.step;
	}
	profile_release(&p);
	trace_release(&t);
	report_release(&r);
	return status;
}

/* A share that took `predicted` and should take `recorded`. */
static void scale(struct stack *s, int value, int64_t predicted, int64_t recorded)
{
	const struct field *f = stack_field(value);
	double v = (double)s->value[value] * (double)predicted / (double)recorded;
	if (predicted && recorded)
		s->value[value] = llround(fmin(fmax(v, f->low * field_scale(f->kind)), f->high * field_scale(f->kind)));
}

/* Kinds that are bound by something else than their share do not follow it at once. */
enum { ROUNDS = 8 };

static void take_kinds(struct stack *s, const struct kinds *p, const struct kinds *r)
{
	scale(s, STACK_PRODUCT_SHARE, p->products, r->products);
	scale(s, STACK_ATTENTION_FORWARD, p->attention, r->attention);
	scale(s, STACK_ATTENTION_BACKWARD, p->attention, r->attention);
	scale(s, STACK_NETWORK_INSIDE, p->network, r->network);
	scale(s, STACK_NETWORK_BETWEEN, p->network, r->network);
	if (p->rest > r->rest) /* else bytes moved besides make up for it */
		scale(s, STACK_MEMORY_BANDWIDTH, p->rest, r->rest);
}

static int64_t computing(const struct kinds *k)
{
	return k->products + k->attention + k->rest;
}

/* Fits the share of unfused kernels' extra bytes. Their time is added to the plan's fused kernels, whatever their
 * kind. */
static enum status take_unfused(struct stack *s, const struct own_step *step, const struct kinds *p,
                                const struct kinds *r)
{
	const struct field *f = stack_field(STACK_MEMORY_UNFUSED);
	struct kinds with = {0};
	s->value[STACK_MEMORY_UNFUSED] = MILLION;
	enum status status = predict(step, s, &with);
	double each = (double)(computing(&with) - computing(p)), missing = (double)(computing(r) - computing(p));
	s->value[STACK_MEMORY_UNFUSED] =
	        each > 0 ? llround(fmin(fmax(missing / each, 0), f->high) * (double)MILLION) : 0;
	return status;
}

static enum status check(const struct own_step *step, const struct kinds *p, const struct kinds *r, const char *name)
{
	char recorded[32], least[32];
	if ((double)p->products <= (double)r->products * (1 + OWN_TOLERANCE))
		return STATUS_OK;
	number_format_time(recorded, sizeof recorded, r->products);
	number_format_time(least, sizeof least, p->products);
	return status_fail(
	        STATUS_INPUT,
	        "%.200s: matrix products take %s of its step, and at the ceiling of {cluster} %.60s this plan's "
	        "would take %s; is it this model, batch, precision and card?",
	        name, recorded, step->ceilings->name, least);
}

/* The step's time beside its kernels, communication and copies. */
static enum status take_constant(struct stack *s, const struct own_step *step, const struct kinds *r)
{
	struct kinds p = {0};
	s->value[STACK_STEP_CONSTANT] = 0;
	enum status status = predict(step, s, &p);
	if (r->step > p.step)
		s->value[STACK_STEP_CONSTANT] = r->step - p.step;
	return status;
}

enum status own_fit_trace(struct stack *s, struct own_step *step, const struct profile *recorded, const char *name)
{
	const struct profile_step mean = profile_mean(recorded);
	const struct kinds r = kinds_of(recorded, &mean);
	struct kinds p = {0};
	enum status status = predict(step, s, &p);
	step->measured = r.step;
	step->before = p.step;
	s->value[STACK_MEMORY_UNFUSED] = 0;
	for (int i = 0; !status && i < ROUNDS; i++)
		if (!(status = predict(step, s, &p)))
			take_kinds(s, &p, &r);
	if (status || (status = predict(step, s, &p)) || (status = check(step, &p, &r, name)) ||
	    (status = take_unfused(s, step, &p, &r)) || (status = take_constant(s, step, &r)))
		return status;
	own_say_fitted(s, step, 1);
	if (!(status = predict(step, s, &p)))
		step->after = p.step;
	return status;
}
