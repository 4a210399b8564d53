#include "strategy/step/turns.h"

/* ---- the order ---- */

static void add_turn(struct turns *t, int kernel, enum pass pass)
{
	t->list[t->count++] = (struct turn){.kernel = kernel, .pass = pass};
}

/* Makes the values again that the backward pass of kernel i reads: the segment that they are of, unless it was. */
static void add_recompute(struct turns *t, const struct model *m, const struct checkpoints *c, bool *done, int i)
{
	const struct kernel *k = &m->kernels[i];
	int reads[4] = {kernel_backward_reads_x(k) ? k->x : -1, k->second, kernel_backward_reads_y(k) ? k->y : -1,
	                k->saved};
	for (int r = 0; r < 4; r++) {
		if (reads[r] < 0 || !c->again[reads[r]])
			continue;
		int segment = c->segment[m->values[reads[r]].producer];
		if (done[segment])
			continue;
		done[segment] = true;
		int n = m->values[reads[r]].producer; /* a segment's kernels are neighbours */
		while (n > 0 && c->segment[n - 1] == segment)
			n--;
		for (; n < m->kernel_count && c->segment[n] == segment; n++)
			if (c->recomputed[n])
				add_turn(t, n, PASS_RECOMPUTE);
	}
}

/* ---- visits ---- */

/* Turns [begin, end) of one pass. A unit whose kernels are not neighbours is visited from the first to the last; one of
 * which something is made again, for each run of its turns. */
static void add_visits(struct turns *t, const struct model *m, const bool *by_run, int *open, int begin, int end)
{
	for (int u = 0; u < m->unit_count; u++)
		open[u] = -1;
	for (int i = begin; i < end; i++) {
		struct turn *turn = &t->list[i];
		int unit = m->kernels[turn->kernel].unit;
		bool new_run = i == begin || m->kernels[t->list[i - 1].kernel].unit != unit;
		if (open[unit] < 0 || (by_run && by_run[unit] && new_run)) {
			open[unit] = t->visit_count;
			t->visits[t->visit_count++] = (struct visit){.unit = unit, .pass = turn->pass, .first = i};
		}
		turn->visit = open[unit];
		struct visit *v = &t->visits[turn->visit];
		v->last = i;
		v->pass = turn->pass == PASS_BACKWARD ? PASS_BACKWARD : v->pass;
	}
}

void turns_make(struct turns *t, struct arena *a, const struct model *m, const struct checkpoints *c, int begin,
                int end)
{
	size_t most = (size_t)m->kernel_count * 3 + 1;
	bool *done = arena_alloc(a, most * sizeof *done),
	     *by_run = arena_alloc(a, ((size_t)m->unit_count + 1) * sizeof *by_run);
	int *open = arena_alloc(a, ((size_t)m->unit_count + 1) * sizeof *open);
	*t = (struct turns){.list = arena_alloc(a, most * sizeof *t->list),
	                    .visits = arena_alloc(a, most * sizeof *t->visits)};
	for (int i = begin; i < end; i++)
		add_turn(t, i, PASS_FORWARD);
	t->forward = t->count;
	for (int i = end - 1; i >= begin; i--) {
		add_recompute(t, m, c, done, i);
		add_turn(t, i, PASS_BACKWARD);
	}
	for (int i = 0; i < m->kernel_count; i++)
		by_run[m->kernels[i].unit] |= c->recomputed[i];
	add_visits(t, m, NULL, open, 0, t->forward);
	t->forward_visits = t->visit_count;
	add_visits(t, m, by_run, open, t->forward, t->count);
}
