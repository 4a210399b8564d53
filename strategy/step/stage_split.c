/* The kernels of each stage. A segment is a run of kernels of one unit: a block, the embedding, the head with the loss
 * (of the root unit of a GPT, both are). Segments go to stages in order. */
#include <stdlib.h>

#include "strategy/step/groups.h"
#include "strategy/step/stage.h"
#include "strategy/step/step.h"

struct best {
	int64_t longest; /* the work of the longest stage up to here */
	double squares;  /* the sum of the squares of their work, which is least when they are even */
	int begin;       /* the first segment of the last of them */
};

static bool better(const struct best *a, const struct best *b)
{
	return a->longest < b->longest || (a->longest == b->longest && a->squares < b->squares);
}

int stage_segments(const struct model *m)
{
	int n = 0;
	for (int i = 0; i < m->kernel_count; i++)
		n += !i || m->kernels[i].unit != m->kernels[i - 1].unit;
	return n;
}

static int list_segments(const struct model *m, int *end, int64_t *cost_before)
{
	int n = 0;
	int64_t cost = 0;
	for (int i = 0; i < m->kernel_count; i++) {
		if (!i || m->kernels[i].unit != m->kernels[i - 1].unit)
			cost_before[n++] = cost;
		cost += kernel_flops(m, &m->kernels[i], PASS_FORWARD, 1) +
		        kernel_flops(m, &m->kernels[i], PASS_BACKWARD, 1);
		end[n - 1] = i + 1;
	}
	cost_before[n] = cost;
	return n;
}

void stage_split(const struct model *m, int stages, int *end)
{
	size_t most = (size_t)m->kernel_count + 1;
	int *segment_end = array_make(most, sizeof *segment_end);
	int64_t *before = array_make(most, sizeof *before);
	struct best *best = array_make(most * (size_t)stages, sizeof *best); /* [stage · most + segments up to here] */
	int n = list_segments(m, segment_end, before);
	for (int i = 0; i < stages; i++)
		for (int k = i + 1; k <= n - (stages - 1 - i); k++) {
			struct best *here = &best[(size_t)i * most + (size_t)k];
			here->begin = -1;
			for (int from = i ? i : 0; from <= (i ? k - 1 : 0); from++) {
				int64_t cost = before[k] - before[from];
				struct best one = {cost, (double)cost * (double)cost, from};
				if (i) {
					const struct best *rest = &best[(size_t)(i - 1) * most + (size_t)from];
					one.longest = rest->longest > cost ? rest->longest : cost;
					one.squares += rest->squares;
				}
				if (here->begin < 0 || better(&one, here))
					*here = one;
			}
		}
	for (int i = stages - 1, k = n; i >= 0; i--) {
		end[i] = segment_end[k - 1];
		k = best[(size_t)i * most + (size_t)k].begin;
	}
	free(segment_end);
	free(before);
	free(best);
}

/* ---- groups ---- */

/* The stages that use a tensor, first and last; -1: none. */
struct users {
	int first, last;
};

static void add_user(struct users *all, int tensor, int stage)
{
	if (tensor < 0)
		return;
	if (all[tensor].first < 0)
		all[tensor].first = stage;
	all[tensor].last = stage;
}

static struct users *find_users(struct plan *p)
{
	const struct model *m = p->model;
	struct users *all = arena_alloc(&p->arena, (size_t)m->tensor_count * sizeof *all);
	for (int t = 0; t < m->tensor_count; t++)
		all[t] = (struct users){-1, -1};
	for (int i = 0, stage = 0; i < m->kernel_count; i++) {
		stage += i == p->stage_end[stage];
		add_user(all, m->kernels[i].weight, stage);
		add_user(all, m->kernels[i].bias, stage);
	}
	return all;
}

void stage_pack(struct plan *p)
{
	const struct users *users = find_users(p);
	int stages = (int)p->ranks;
	struct packing k = packing_begin(p, stages + 1);
	for (int i = 0; i < stages; i++) {
		k.name[i] = arena_print(&p->arena, "stage.%d", i);
		k.slices[i] = 1;
	}
	k.name[stages] = "tied"; /* tensors that two stages use */
	k.slices[stages] = 2;
	for (int t = 0; t < p->model->tensor_count; t++)
		k.group[t] = users[t].first == users[t].last ? users[t].first : stages;
	packing_end(p, &k);
}

/* ---- groups of a stage ---- */

static bool is_used(const struct plan *p, int group, int begin, int end)
{
	int tensor = p->groups[group].tensors[0];
	for (int i = begin; i < end; i++)
		if (p->model->kernels[i].weight == tensor || p->model->kernels[i].bias == tensor)
			return true;
	return false;
}

struct stage_use stage_use(const struct plan *p, int group, int begin, int end)
{
	bool before = is_used(p, group, 0, begin), after = is_used(p, group, end, p->model->kernel_count);
	bool holds = is_used(p, group, begin, end);
	return (struct stage_use){.holds = holds, .owner = holds && !before, .tied = holds && (before || after)};
}
