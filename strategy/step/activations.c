/* Activations, once for all strategies: a value is allocated when its kernel makes it, and freed when the last kernel
 * that needs it (forward or backward) has read it. The gradient of a residual connection is the same buffer handed on,
 * so it is never copied.
 */
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

/* The elements of the value's buffer: a sum over ranks is padded to equal slices. */
static int64_t padded_elements(const struct step *s, int value)
{
	int64_t n = step_value_elements(s, value);
	return is_summed(s->model, value) ? round_up(n, s->model->slices) : n;
}

/* ---- values ---- */

static struct region alloc_like(struct step *s, int value, const char *name)
{
	int64_t n = step_value_elements(s, value), padded = padded_elements(s, value);
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

/* ---- checkpoints in one buffer ---- */

/* With contiguous_memory_optimization, the checkpoints that this role's kernels make and read share one buffer, which
 * lives from the first to the last of them. A checkpoint that goes to the next stage has a buffer of its own. */
static bool in_block(const struct step *s, int value)
{
	return s->checkpointing.contiguous && !s->evaluating && s->block.place[value] >= 0;
}

static bool is_read_after(const struct model *m, int value, int kernel)
{
	for (int i = kernel; i < m->kernel_count; i++) {
		struct kernel_reads reads = kernel_reads(&m->kernels[i], PASS_FORWARD);
		for (int r = 0; r < 4; r++)
			if (reads.value[r] == value)
				return true;
	}
	return false;
}

void step_place_checkpoints(struct step *s)
{
	const struct model *m = s->model;
	struct arena *a = &s->b->plan->arena;
	struct checkpoint_block *b = &s->block;
	b->place = arena_alloc(a, (size_t)m->value_count * sizeof *b->place);
	b->micro = arena_alloc(a, (size_t)s->settings->accumulate * sizeof *b->micro);
	for (int v = 0; v < m->value_count; v++) {
		int producer = m->values[v].producer;
		b->place[v] = -1;
		if (!s->checkpoints.checkpoint[v] || producer < s->kernel_begin || producer >= s->kernel_end ||
		    is_read_after(m, v, s->kernel_end) || padded_elements(s, v) != step_value_elements(s, v))
			continue;
		b->place[v] = b->elements;
		b->elements += step_value_elements(s, v);
		b->count++;
	}
}

static void place_in_block(struct step *s, int value)
{
	struct checkpoint_block *b = &s->block;
	if (!b->micro[s->micro].left) {
		b->micro[s->micro].buffer = build_alloc(s->b, step_name(s, "checkpoints"), CATEGORY_ACTIVATIONS,
		                                        step_value_type(s, value), b->elements);
		b->micro[s->micro].left = b->count;
	}
	step_move_value(s, value, region_of(b->micro[s->micro].buffer, b->place[value], step_value_elements(s, value)));
}

static void leave_block(struct step *s)
{
	if (!--s->block.micro[s->micro].left)
		build_free(s->b, s->block.micro[s->micro].buffer);
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
	if (!s->value[value].data.owned && in_block(s, value))
		leave_block(s);
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
	if (s->value[value].data.at.buffer >= 0)
		return;
	if (in_block(s, value) && !s->recomputing)
		place_in_block(s, value);
	else
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
	for (int v = 0; v < m->value_count; v++)
		s->value[v].readers = 0;
	for (int i = s->kernel_begin; i < s->kernel_end; i++) {
		const struct kernel *k = &m->kernels[i];
		count_readers(s, k, PASS_FORWARD);
		if (!s->evaluating)
			count_readers(s, k, PASS_BACKWARD);
		if (!s->evaluating && s->checkpoints.recomputed[i])
			count_readers(s, k, PASS_RECOMPUTE);
	}
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
