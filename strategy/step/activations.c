/* Activations, once for all strategies: a value is allocated when its kernel makes it, and freed when the last kernel
 * that needs it (forward or backward) has read it. The gradient of a residual connection is the same buffer handed on,
 * so it is never copied.
 */
#include "strategy/step/activations.h"
#include "strategy/base/number.h"
#include "strategy/model/slice.h"
#include "strategy/step/step.h"

enum type step_value_type(const struct step *s, int value)
{
	return plan_value_type(s->plan, value);
}

int64_t step_value_elements(const struct step *s, int value)
{
	int64_t elements = value_elements(&s->model->values[value], s->settings->micro_batch);
	/* Evaluation also counts the logits that are as large as the target's. */
	return s->evaluating && value == s->model->sums ? elements / 2 * 3 : elements;
}

/* True if the value or its gradient is summed over a tensor group. */
static bool is_summed(const struct model *m, int value)
{
	if (m->slices == 1)
		return false;
	for (int i = 0; i < m->kernel_count; i++) {
		const struct kernel *k = &m->kernels[i];
		if ((kernel_sums(m, k) && value == kernel_sum(k)) || (kernel_sums_backward(m, k) && value == k->x))
			return true;
	}
	return value == m->maxima || value == m->sums;
}

int64_t step_value_room(const struct step *s, int value)
{
	int64_t n = step_value_elements(s, value);
	return is_summed(s->model, value) ? round_up(n, s->model->slices) : n;
}

/* ---- values ---- */

static struct region alloc_like(struct step *s, int value, const char *name)
{
	int64_t n = step_value_elements(s, value), padded = step_value_room(s, value);
	int buffer = build_alloc(s->b, name, CATEGORY_ACTIVATIONS, step_value_type(s, value), padded);
	step_zero_padding(s, buffer, n, padded);
	return region_of(buffer, 0, n);
}

struct region step_value(const struct step *s, int value)
{
	return value < 0 ? region_none() : s->value[value].data.at;
}

void step_place_value(struct step *s, int value, struct region at)
{
	s->value[value].data = (struct held){at, true};
}

void step_move_value(struct step *s, int value, struct region at)
{
	s->value[value].data.at = at;
}

int step_alloc_value(struct step *s, int value)
{
	const char *format = s->recomputing ? "recomputed.%s" : "%s";
	step_place_value(s, value, alloc_like(s, value, step_name(s, format, s->model->values[value].name)));
	return s->value[value].data.at.buffer;
}

/* ---- how long they live ---- */

static void drop(struct step *s, struct held *h)
{
	if (h->owned)
		build_free(s->b, h->at.buffer);
	*h = not_held();
}

void step_free_value(struct step *s, int value)
{
	checkpoint_leave(s, value);
	drop(s, &s->value[value].data);
}

void step_value_used(struct step *s, int value)
{
	if (value >= 0 && --s->value[value].readers == 0)
		step_free_value(s, value);
}

void step_values_used(struct step *s, const struct kernel *k, enum pass pass)
{
	struct kernel_reads reads = kernel_reads(k, pass);
	for (int r = 0; r < 4; r++)
		step_value_used(s, reads.value[r]);
}

void step_alloc_made(struct step *s, int value)
{
	if (value < 0)
		return;
	if (s->recomputing)
		s->value[value].readers = s->checkpoints.reads[value];
	if (s->value[value].data.at.buffer < 0 && !checkpoint_place(s, value))
		step_alloc_value(s, value);
}

void step_drop_unread(struct step *s, int value)
{
	if (value >= 0 && !s->value[value].readers && s->value[value].data.at.buffer >= 0)
		step_free_value(s, value);
}

/* Counts what a kernel reads in a pass. After the forward pass, values that are made again have other copies. */
static void count_readers(struct step *s, const struct kernel *k, enum pass pass)
{
	struct kernel_reads reads = kernel_reads(k, pass);
	for (int r = 0; r < 4; r++)
		if (reads.value[r] >= 0 && (pass == PASS_FORWARD || !s->checkpoints.again[reads.value[r]]))
			s->value[reads.value[r]].readers++;
}

/* Counts how often each value is read from here on. For a value that is recomputed, only its first copy counts. */
void step_count_readers(struct step *s)
{
	const struct model *m = s->model;
	const struct execution *e = &s->execution;
	for (int i = 0; i < e->count; i++) { /* nothing else is ever counted: a stage has few of the model's values */
		struct kernel_reads reads = kernel_reads(&m->kernels[e->launches[i].kernel], e->launches[i].pass);
		for (int r = 0; r < 4; r++)
			if (reads.value[r] >= 0)
				s->value[reads.value[r]].readers = 0;
	}
	for (int i = 0; i < (s->evaluating ? e->forward : e->count); i++)
		count_readers(s, &m->kernels[e->launches[i].kernel], e->launches[i].pass);
	s->value[m->target].readers = 1;
}

/* ---- gradients ---- */

struct region step_alloc_gradient(struct step *s, int value)
{
	const char *name = step_name(s, "d.%s", s->model->values[value].name);
	s->value[value].gradient = (struct held){alloc_like(s, value, name), true};
	return s->value[value].gradient.at;
}

void step_free_gradient(struct step *s, int value)
{
	drop(s, &s->value[value].gradient);
}

void step_pass_gradient(struct step *s, int from, int to)
{
	s->value[to].gradient = s->value[from].gradient;
	s->value[from].gradient = not_held();
}
