#include "sim/own.h"

#include <math.h>
#include <string.h>

#include "sim/sim.h"
#include "strategy/base/number.h"
#include "strategy/cluster/effective.h"
#include "strategy/cluster/stack_fields.h"
#include "strategy/model/model.h"

static const struct own_row {
	int first, count;
} rows[OWN_CONSTANTS] = {
#define X(constant, first, count) {STACK_##first, count},
        OWN_LIST(X)
#undef X
};

/* ---- constants as numbers: the logarithms of factors ---- */

static int64_t bounded(int value, double v)
{
	const struct field *f = stack_field(value);
	double scale = field_scale(f->kind);
	return llround(fmin(fmax(v, f->low * scale), f->high * scale));
}

/* The number of the parameter that a constant shares. */
static int number_of(int constant, int freed)
{
	return constant < freed ? constant : OWN_PRODUCTS;
}

static void put(struct stack *s, const struct stack *base, const double *x, int freed)
{
	for (int i = 0; i < OWN_CONSTANTS; i++)
		for (int k = rows[i].first; k < rows[i].first + rows[i].count; k++)
			s->value[k] = bounded(k, (double)base->value[k] * exp(x[number_of(i, freed)]));
}

/* The bounds of a parameter: with all of its constants at theirs, a further step changes nothing. */
static void bounds_of(const struct stack *base, int number, int freed, double *low, double *high)
{
	*low = INFINITY;
	*high = -INFINITY;
	for (int i = 0; i < OWN_CONSTANTS; i++)
		for (int k = rows[i].first; number_of(i, freed) == number && k < rows[i].first + rows[i].count; k++) {
			const struct field *f = stack_field(k);
			double v = (double)base->value[k] / field_scale(f->kind);
			*low = fmin(*low, log(f->low / v));
			*high = fmax(*high, log(f->high / v));
		}
}

/* ---- steps ---- */

static enum status predict(const struct own_step *step, const struct stack *s, int64_t *ns)
{
	struct cluster c = *step->ceilings; /* what it owns stays the ceilings' */
	enum status status = cluster_take_stack(&c, s);
	return status ? status : sim_time(step->plan, &c, ns, NULL);
}

struct fit {
	const struct stack *base;
	struct own_step *steps;
	int count, freed;
};

/* The logarithm of predicted over measured, of each step. */
static enum status residuals(const struct fit *f, const double *x, double *out)
{
	struct stack s = *f->base;
	put(&s, f->base, x, f->freed);
	for (int i = 0; i < f->count; i++) {
		int64_t ns;
		TRY(predict(&f->steps[i], &s, &ns));
		out[i] = log((double)ns / (double)f->steps[i].measured);
	}
	return STATUS_OK;
}

static double squares(const double *r, int count)
{
	double sum = 0;
	for (int i = 0; i < count; i++)
		sum += r[i] * r[i];
	return sum;
}

/* a x = b, symmetric and positive, of few unknowns. */
static void solve(double a[OWN_CONSTANTS][OWN_CONSTANTS], double *b, int n)
{
	for (int i = 0; i < n; i++)
		for (int k = 0; k < n; k++) {
			double factor = k == i ? 0 : a[k][i] / a[i][i];
			for (int c = i; c < n; c++)
				a[k][c] -= factor * a[i][c];
			b[k] -= factor * b[i];
		}
	for (int i = 0; i < n; i++)
		b[i] /= a[i][i];
}

enum { ROUNDS = 40 };
#define APART 0.02      /* of a constant, for the slope */
#define ENOUGH 1e-4     /* off by so little is met */
#define DAMPED 1e-6     /* a constant without effect stays */
#define LONGEST 1.0     /* of a round */
#define DAMPED_MOST 1e3 /* no further step helps */

static enum status slopes(const struct fit *f, const double *x, const double *r, double slope[OWN_STEPS][OWN_CONSTANTS])
{
	for (int i = 0; i < f->freed; i++) {
		double moved[OWN_CONSTANTS], there[OWN_STEPS], low, high;
		memcpy(moved, x, sizeof moved);
		bounds_of(f->base, i, f->freed, &low, &high);
		double apart = x[i] + APART <= high ? APART : -APART;
		moved[i] += apart;
		TRY(residuals(f, moved, there));
		for (int k = 0; k < f->count; k++)
			slope[k][i] = (there[k] - r[k]) / apart;
	}
	return STATUS_OK;
}

/* The direction of a damped Gauss-Newton step; parameters held at a bound stay out of it. */
static void direction(const struct fit *f, double slope[OWN_STEPS][OWN_CONSTANTS], const double *r, const bool *held,
                      double damping, double *out)
{
	double a[OWN_CONSTANTS][OWN_CONSTANTS] = {{0}};
	memset(out, 0, OWN_CONSTANTS * sizeof *out);
	for (int i = 0; i < f->freed; i++) {
		a[i][i] = damping;
		for (int k = 0; k < f->count && !held[i]; k++) {
			out[i] -= slope[k][i] * r[k];
			for (int j = 0; j < f->freed; j++)
				a[i][j] += held[j] ? 0 : slope[k][i] * slope[k][j];
		}
	}
	solve(a, out, f->freed);
}

/* x after such a step, within the bounds. A constant that would leave them is held there, and the others go again. */
static void move(const struct fit *f, double slope[OWN_STEPS][OWN_CONSTANTS], const double *r, double damping,
                 const double *x, double *out)
{
	bool held[OWN_CONSTANTS] = {false}, again = true;
	double d[OWN_CONSTANTS], low, high;
	for (int pass = 0; again && pass <= OWN_CONSTANTS; pass++) {
		again = false;
		direction(f, slope, r, held, damping, d);
		for (int i = 0; i < f->freed; i++) {
			bounds_of(f->base, i, f->freed, &low, &high);
			out[i] = held[i] ? out[i] : x[i] + fmin(fmax(d[i], -LONGEST), LONGEST);
			if (!held[i] && (out[i] < low || out[i] > high)) {
				out[i] = out[i] < low ? low : high;
				held[i] = (x[i] <= low && d[i] < 0) || (x[i] >= high && d[i] > 0);
				again |= held[i];
			}
		}
	}
}

static enum status minimise(const struct fit *f, double *x, double *r)
{
	double damping = DAMPED, slope[OWN_STEPS][OWN_CONSTANTS];
	enum status s = residuals(f, x, r);
	for (int round = 0; !s && round < ROUNDS && squares(r, f->count) > ENOUGH * ENOUGH; round++) {
		double next[OWN_CONSTANTS] = {0}, there[OWN_STEPS];
		if ((s = slopes(f, x, r, slope)))
			return s;
		bool better = false;
		while (!better && damping < DAMPED_MOST && !s) {
			move(f, slope, r, damping, x, next);
			s = residuals(f, next, there);
			better = !s && squares(there, f->count) < squares(r, f->count);
			damping *= better ? 0.1 : 10;
		}
		if (!better)
			return s;
		damping = fmax(damping, DAMPED);
		memcpy(x, next, sizeof next);
		memcpy(r, there, (size_t)f->count * sizeof *r);
	}
	return s;
}

/* ---- what contradicts ---- */

static enum status contradiction(const struct fit *f, const double *r, int worst)
{
	char given[32], nearest[32];
	const struct own_step *step = &f->steps[worst];
	number_format_time(given, sizeof given, step->measured);
	number_format_time(nearest, sizeof nearest, (int64_t)((double)step->measured * exp(r[worst])));
	if (f->count == 1 && r[worst] > 0)
		return status_fail(
		        STATUS_INPUT,
		        "{step} %s: with all rates at the ceilings of {cluster} %.60s it would take %s; is it "
		        "this model, batch, precision and card?",
		        given, step->ceilings->name, nearest);
	if (f->count == 1)
		return status_fail(STATUS_INPUT,
		                   "{step} %s: with all rates at their lowest it would take %s; is it this "
		                   "model, batch, precision and card?",
		                   given, nearest);
	return status_fail(
	        STATUS_INPUT,
	        "{step} %s (%d of %d): beside the others, no rates within the ceilings of {cluster} %.60s give "
	        "it, the nearest %s; leave one out, or check its {ranks} and {micro_batch}",
	        given, worst + 1, f->count, step->ceilings->name, nearest);
}

static enum status check(const struct fit *f, const double *r)
{
	int worst = 0;
	for (int i = 1; i < f->count; i++)
		worst = fabs(r[i]) > fabs(r[worst]) ? i : worst;
	return fabs(r[worst]) > log1p(OWN_TOLERANCE) ? contradiction(f, r, worst) : STATUS_OK;
}

/* ---- the stack ---- */

static void widen(struct stack *s, int least, int most, int64_t value)
{
	if (value <= 0)
		return;
	if (s->value[least] == STACK_MISSING || value < s->value[least])
		s->value[least] = value;
	if (s->value[most] == STACK_MISSING || value > s->value[most])
		s->value[most] = value;
}

void own_say_fitted(struct stack *s, const struct own_step *steps, int count)
{
	for (int i = STACK_FIT_ROWS; i < STACK_VALUES; i++)
		s->value[i] = STACK_MISSING;
	s->value[STACK_FIT_ROWS] = count;
	s->value[STACK_RANGE_LOW] = OWN_RANGE_LOW;
	s->value[STACK_RANGE_HIGH] = OWN_RANGE_HIGH;
	for (int i = 0; i < count; i++) {
		const struct plan *p = steps[i].plan;
		widen(s, STACK_FIT_WIDTH_LEAST, STACK_FIT_WIDTH_MOST, model_width(p->model));
		widen(s, STACK_FIT_RANKS_LEAST, STACK_FIT_RANKS_MOST, p->ranks);
		widen(s, STACK_FIT_TOKENS_LEAST, STACK_FIT_TOKENS_MOST, p->settings.micro_batch * p->model->tokens);
	}
}

static enum status predict_all(struct own_step *steps, int count, const struct stack *s, size_t offset)
{
	enum status status = STATUS_OK;
	for (int i = 0; !status && i < count; i++)
		status = predict(&steps[i], s, (int64_t *)((char *)&steps[i] + offset));
	return status;
}

/* The same step, measured again, says nothing of a second constant. */
static bool is_again(const struct own_step *a, const struct own_step *b)
{
	return a->before == b->before && a->plan->ranks == b->plan->ranks &&
	       !strcmp(a->plan->settings.strategy, b->plan->settings.strategy);
}

static int count_to_free(const struct own_step *steps, int count)
{
	int different = 0;
	for (int i = 0; i < count; i++) {
		int k = 0;
		while (k < i && !is_again(&steps[k], &steps[i]))
			k++;
		different += k == i;
	}
	return different < OWN_CONSTANTS ? different : OWN_CONSTANTS;
}

enum status own_fit_steps(struct stack *s, struct own_step *steps, int count)
{
	struct stack base = *s;
	struct fit f = {&base, steps, count, 0};
	double x[OWN_CONSTANTS] = {0}, r[OWN_STEPS] = {0};
	if (count > OWN_STEPS)
		return status_fail(STATUS_INPUT, "{step}: more than %d steps", OWN_STEPS);
	enum status status = predict_all(steps, count, s, offsetof(struct own_step, before));
	f.freed = count_to_free(steps, count);
	if (!status)
		status = minimise(&f, x, r);
	if (status || (status = check(&f, r)))
		return status;
	put(s, &base, x, f.freed);
	own_say_fitted(s, steps, count);
	return predict_all(steps, count, s, offsetof(struct own_step, after));
}
