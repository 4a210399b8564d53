/* Packing: in which groups the tensors of a model stand, and where. A group is what a strategy sends as one. */
#include <inttypes.h>
#include <string.h>

#include "strategy/base/number.h"
#include "strategy/step/step.h"

/* PyTorch's Reducer: a first bucket of 1 MiB, so that communication begins early, then 25 MiB
 * (kDefaultFirstBucketBytes, kDefaultBucketBytesCap of torch/csrc/distributed/c10d/reducer.hpp). */
enum { FIRST_BUCKET_BYTES = 1 << 20, BUCKET_BYTES = 25 << 20 };

struct group *pack_add_group(struct plan *p, const char *name)
{
	struct group *g = &p->groups[p->group_count++];
	g->name = name;
	g->base = p->group_elements;
	g->tensors = arena_alloc(&p->arena, (size_t)p->model->tensor_count * sizeof *g->tensors);
	return g;
}

void pack_add_tensor(struct plan *p, struct group *g, int tensor)
{
	p->tensor_group[tensor] = (int)(g - p->groups);
	p->tensor_offset[tensor] = g->elements;
	g->tensors[g->tensor_count++] = tensor;
	g->elements += p->model->tensors[tensor].elements;
}

void pack_close_group(struct plan *p, struct group *g, int64_t slices)
{
	g->padded = round_up(g->elements, slices);
	p->group_elements += g->padded;
}

void pack_begin(struct plan *p, int most_groups)
{
	int tensors = p->model->tensor_count;
	p->groups = arena_alloc(&p->arena, (size_t)most_groups * sizeof *p->groups);
	p->tensor_group = arena_alloc(&p->arena, (size_t)tensors * sizeof *p->tensor_group);
	p->tensor_offset = arena_alloc(&p->arena, (size_t)tensors * sizeof *p->tensor_offset);
}

void pack_all(struct plan *p)
{
	pack_begin(p, 1);
	struct group *g = pack_add_group(p, "all");
	for (int t = 0; t < p->model->tensor_count; t++)
		pack_add_tensor(p, g, t);
	pack_close_group(p, g, p->ranks);
}

void pack_units(struct plan *p)
{
	const struct model *m = p->model;
	pack_begin(p, m->unit_count);
	for (int u = 0; u < m->unit_count; u++) {
		struct group *g = pack_add_group(p, m->units[u].name);
		for (int t = 0; t < m->tensor_count; t++)
			if (m->tensors[t].unit == u)
				pack_add_tensor(p, g, t);
		pack_close_group(p, g, p->ranks);
	}
}

void pack_buckets(struct plan *p)
{
	const struct model *m = p->model;
	int64_t bytes = type_bytes(p->settings.precision);
	int64_t limit = p->settings.bucket ? p->settings.bucket : FIRST_BUCKET_BYTES;
	struct group *g = NULL;
	pack_begin(p, m->tensor_count);
	for (int t = m->tensor_count - 1; t >= 0; t--) {
		if (!g)
			g = pack_add_group(p, arena_print(&p->arena, "bucket.%d", p->group_count));
		pack_add_tensor(p, g, t);
		if (g->elements * bytes >= limit) {
			pack_close_group(p, g, p->ranks);
			g = NULL;
			limit = p->settings.bucket ? p->settings.bucket : BUCKET_BYTES;
		}
	}
	if (g)
		pack_close_group(p, g, p->ranks);
}

/* Does the tensor belong to the group? Groups are the units' slices, then what is whole: norms whose gradients are sums
 * over the ranks, and the rest. */
static bool is_packed_in(const struct model *m, const struct tensor *t, int group)
{
	if (group < m->unit_count)
		return t->cut != CUT_NONE && t->unit == group;
	return t->cut == CUT_NONE && t->spread == (group == m->unit_count);
}

void pack_slices(struct plan *p)
{
	const struct model *m = p->model;
	pack_begin(p, m->unit_count + 2);
	for (int i = 0; i < m->unit_count + 2; i++) {
		struct group *g = NULL;
		for (int t = 0; t < m->tensor_count; t++) {
			if (!is_packed_in(m, &m->tensors[t], i))
				continue;
			if (!g)
				g = pack_add_group(p, i < m->unit_count    ? m->units[i].name
				                      : i == m->unit_count ? "norms"
				                                           : "whole");
			pack_add_tensor(p, g, t);
		}
		if (g)
			pack_close_group(p, g, p->ranks);
	}
}
