#include "strategy/step/execution.h"

struct kernel_reads kernel_reads(const struct kernel *k, enum pass pass)
{
	if (pass != PASS_BACKWARD)
		return (struct kernel_reads){{k->x, k->residual, k->second, -1}};
	return (struct kernel_reads){
	        {kernel_backward_reads_x(k) ? k->x : -1, kernel_backward_reads_y(k) ? k->y : -1, k->saved, k->second}};
}

/* ---- the order ---- */

static void add_launch(struct execution *e, const struct model *m, int kernel, enum pass pass)
{
	e->launches[e->count++] =
	        (struct launch){.kernel = kernel, .pass = pass, .reads = kernel_reads(&m->kernels[kernel], pass)};
}

/* Recomputes the values that the backward pass of kernel i reads: whole segments, each once. */
static void add_recompute(struct execution *e, const struct model *m, const struct checkpoints *c, bool *done, int i)
{
	struct kernel_reads reads = kernel_reads(&m->kernels[i], PASS_BACKWARD);
	for (int r = 0; r < 4; r++) {
		if (reads.value[r] < 0 || !c->again[reads.value[r]])
			continue;
		int n = m->values[reads.value[r]].producer, segment = c->segment[n];
		if (done[segment])
			continue;
		done[segment] = true; /* a segment's kernels are neighbours */
		while (n > 0 && c->segment[n - 1] == segment)
			n--;
		for (; n < m->kernel_count && c->segment[n] == segment; n++)
			if (c->recomputed[n])
				add_launch(e, m, n, PASS_RECOMPUTE);
	}
}

/* ---- spans ---- */

/* Makes the spans of launches [begin, end), which are of one pass. The span of a unit whose kernels are not neighbours
 * reaches from the first to the last. A unit that is partly recomputed has a span for each run of its launches. */
static void add_spans(struct execution *e, const struct gather_units *units, const bool *by_run, int *open, int begin,
                      int end)
{
	for (int u = 0; u < units->count; u++)
		open[u] = -1;
	for (int i = begin; i < end; i++) {
		struct launch *launch = &e->launches[i];
		int unit = units->of_kernel[launch->kernel];
		bool new_run = i == begin || units->of_kernel[e->launches[i - 1].kernel] != unit;
		if (open[unit] < 0 || (by_run && by_run[unit] && new_run)) {
			open[unit] = e->span_count;
			e->spans[e->span_count++] = (struct unit_span){.unit = unit, .pass = launch->pass, .first = i};
		}
		launch->span = open[unit];
		struct unit_span *v = &e->spans[launch->span];
		v->last = i;
		v->pass = launch->pass == PASS_BACKWARD ? PASS_BACKWARD : v->pass;
	}
}

void execution_make(struct execution *e, struct arena *a, const struct model *m, const struct checkpoints *c,
                    const struct gather_units *units, int begin, int end)
{
	size_t most = (size_t)m->kernel_count * 3 + 1;
	bool *done = arena_alloc(a, most * sizeof *done),
	     *by_run = arena_alloc(a, ((size_t)units->count + 1) * sizeof *by_run);
	int *open = arena_alloc(a, ((size_t)units->count + 1) * sizeof *open);
	*e = (struct execution){.launches = arena_alloc(a, most * sizeof *e->launches),
	                        .spans = arena_alloc(a, most * sizeof *e->spans)};
	for (int i = begin; i < end; i++)
		add_launch(e, m, i, PASS_FORWARD);
	e->forward = e->count;
	for (int i = end - 1; i >= begin; i--) {
		add_recompute(e, m, c, done, i);
		add_launch(e, m, i, PASS_BACKWARD);
	}
	for (int i = 0; i < m->kernel_count; i++)
		by_run[units->of_kernel[i]] |= c->recomputed[i];
	add_spans(e, units, NULL, open, 0, e->forward);
	e->forward_spans = e->span_count;
	add_spans(e, units, by_run, open, e->forward, e->count);
}
