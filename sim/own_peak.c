/* The constants of a stack's memory, from what was measured: own_fit_peaks. */
#include <math.h>

#include "sim/own.h"
#include "sim/sim.h"
#include "strategy/base/number.h"
#include "strategy/cluster/effective.h"
#include "strategy/cluster/stack_fields.h"

/* The constants of a plan's memory that are free, and the value of each when nothing was measured. A plan made as other
 * software's has its bytes and its allocator: constants of its own say how far a program differs from them. */
static const struct freed {
	int activations, held;
	double beyond; /* of a held byte, what the constant does not count: a share begins behind 1 */
} freed[] = {{STACK_ACTIVATIONS_FACTOR, STACK_RESERVED_SHARE, 1}, {STACK_AS_ACTIVATIONS, STACK_AS_HELD, 0}};
enum { KINDS = sizeof freed / sizeof *freed };

static int kind_of(const struct own_peak *p)
{
	return p->plan->software.does[SOFTWARE_ALLOCATOR] == ALLOCATOR_CACHING;
}

static int64_t bounded(int value, double v)
{
	const struct field *f = stack_field(value);
	double scale = field_scale(f->kind);
	return llround(fmin(fmax(v * scale, f->low * scale), f->high * scale));
}

/* Memory under a stack, of the fullest device, since max_memory_allocated speaks of one. */
static enum status memory_of(const struct own_peak *p, const struct stack *s, struct report_memory *out)
{
	static struct report r; /* large */
	struct cluster c = *p->ceilings;
	TRY(cluster_take_stack(&c, s));
	sim_memory(p->plan, &c, &r);
	*out = r.roles[0].memory[SPACE_DEVICE];
	for (int i = 1; i < r.role_count; i++)
		if (r.roles[i].memory[SPACE_DEVICE].peak_bytes > out->peak_bytes)
			*out = r.roles[i].memory[SPACE_DEVICE];
	return STATUS_OK;
}

/* ---- fitting ---- */

struct sums {
	double activations, measured_activations, holds, held, workspace;
	int devices;
};

/* Adds a step that peaks at m when nothing is changed. Of what the allocator holds, the measured bytes are the start.
 */
static void add(struct sums *sum, const struct own_peak *p, const struct report_memory *m)
{
	double rest = (double)(m->peak_bytes - m->at_peak[CATEGORY_ACTIVATIONS]);
	sum->activations += (double)m->at_peak[CATEGORY_ACTIVATIONS];
	sum->measured_activations += (double)p->peak - rest;
	if (!p->reserved)
		return;
	sum->holds += (double)(p->peak + (kind_of(p) ? m->reserved_bytes - m->peak_bytes : 0));
	sum->held += (double)p->reserved;
	if (!p->device)
		return;
	sum->workspace += (double)(p->device - p->reserved - m->overhead_bytes + m->workspace_bytes);
	sum->devices++;
}

static void take(struct stack *s, const struct sums *sum, const struct freed *f)
{
	if (sum->activations > 0)
		s->value[f->activations] = bounded(f->activations, sum->measured_activations / sum->activations);
	if (sum->holds > 0)
		s->value[f->held] = bounded(f->held, sum->held / sum->holds - f->beyond);
}

/* The stack under which plans made as other software's are as they say. */
static struct stack unchanged(const struct stack *s)
{
	struct stack out = *s;
	out.value[STACK_AS_ACTIVATIONS] = out.value[STACK_AS_HELD] = MILLION;
	return out;
}

static enum status fit(struct stack *s, const struct own_peak *peaks, int count)
{
	struct sums sums[KINDS] = {{0}};
	const struct stack plain = unchanged(s);
	for (int i = 0; i < count; i++) {
		struct report_memory m;
		TRY(peaks[i].peak ? memory_of(&peaks[i], &plain, &m) : STATUS_OK);
		if (peaks[i].peak)
			add(&sums[kind_of(&peaks[i])], &peaks[i], &m);
	}
	double workspace = 0;
	int devices = 0;
	for (int i = 0; i < KINDS; i++) {
		take(s, &sums[i], &freed[i]);
		workspace += sums[i].workspace;
		devices += sums[i].devices;
	}
	if (devices)
		s->value[STACK_LIBRARIES_WORKSPACE] = bounded(STACK_LIBRARIES_WORKSPACE, workspace / devices);
	return STATUS_OK;
}

/* ---- what no constant gives ---- */

static enum status refuse_peak(const struct own_peak *p, const struct report_memory *m)
{
	char given[32], least[32], most[32];
	const struct field *f = stack_field(freed[kind_of(p)].activations);
	int64_t activations = m->at_peak[CATEGORY_ACTIVATIONS], rest = m->peak_bytes - activations;
	number_format_bytes(given, sizeof given, p->peak);
	number_format_bytes(least, sizeof least, rest + (int64_t)(f->low * (double)activations));
	number_format_bytes(most, sizeof most, rest + (int64_t)(f->high * (double)activations));
	return status_fail(STATUS_INPUT,
	                   "{peak} %s: beside the others no factor of activations gives it; this plan alone would "
	                   "allocate between %s and %s; is it this model, strategy, batch and checkpointing?",
	                   given, least, most);
}

static enum status refuse(const char *where, int64_t measured, int64_t nearest, const char *beside)
{
	char given[32], most[32];
	number_format_bytes(given, sizeof given, measured);
	number_format_bytes(most, sizeof most, nearest);
	return status_fail(STATUS_INPUT, "{peak}: of %s %s, a stack can have %s at the nearest %s", given, where, most,
	                   beside);
}

static bool is_off(int64_t predicted, int64_t measured)
{
	return measured && fabs((double)predicted / (double)measured - 1) > OWN_TOLERANCE;
}

static enum status check(const struct own_peak *p, const struct stack *s)
{
	struct report_memory m;
	TRY(memory_of(p, s, &m));
	int64_t device = m.reserved_bytes + m.overhead_bytes;
	if (is_off(m.allocated_bytes, p->peak))
		return refuse_peak(p, &m);
	if (is_off(m.reserved_bytes, p->reserved))
		return refuse("held", p->reserved, m.reserved_bytes, "beside what is allocated");
	if (is_off(device, p->device))
		return refuse("on the device", p->device, device, "with the cluster's overhead");
	return STATUS_OK;
}

enum status own_fit_peaks(struct stack *s, const struct own_peak *peaks, int count)
{
	enum status status = fit(s, peaks, count);
	for (int i = 0; !status && i < count; i++)
		if (peaks[i].peak)
			status = check(&peaks[i], s);
	return status;
}
