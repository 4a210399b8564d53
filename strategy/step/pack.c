/* Packing: in which groups the tensors of a model stand, and where. A group is what a strategy sends as one. */
#include "strategy/base/number.h"
#include "strategy/step/groups.h"
#include "strategy/step/step.h"

/* PyTorch's Reducer: a first bucket of 1 MiB, so that communication begins early, then 25 MiB
 * (kDefaultFirstBucketBytes, kDefaultBucketBytesCap of torch/csrc/distributed/c10d/reducer.hpp). */
enum { FIRST_BUCKET_BYTES = 1 << 20, BUCKET_BYTES = 25 << 20, FIXED_BUCKET_ELEMENTS = 500000000 };

static struct group *add_group(struct plan *p, const char *name)
{
	struct group *g = &p->groups[p->group_count++];
	g->name = name;
	g->base = p->group_elements;
	g->tensors = arena_alloc(&p->arena, (size_t)p->model->tensor_count * sizeof *g->tensors);
	return g;
}

static void add_tensor(struct plan *p, struct group *g, int tensor)
{
	p->tensor_group[tensor] = (int)(g - p->groups);
	p->tensor_offset[tensor] = g->elements;
	g->tensors[g->tensor_count++] = tensor;
	g->elements += p->model->tensors[tensor].elements;
}

static void close_group(struct plan *p, struct group *g, int64_t slices)
{
	g->padded = round_up(g->elements, slices);
	p->group_elements += g->padded;
}

static void begin(struct plan *p, int most_groups)
{
	int tensors = p->model->tensor_count;
	p->groups = arena_alloc(&p->arena, (size_t)most_groups * sizeof *p->groups);
	p->tensor_group = arena_alloc(&p->arena, (size_t)tensors * sizeof *p->tensor_group);
	p->tensor_offset = arena_alloc(&p->arena, (size_t)tensors * sizeof *p->tensor_offset);
}

/* ---- by a number for each tensor ---- */

struct packing packing_begin(struct plan *p, int groups)
{
	struct packing k = {.groups = groups};
	k.group = arena_alloc(&p->arena, (size_t)p->model->tensor_count * sizeof *k.group);
	k.name = arena_alloc(&p->arena, (size_t)groups * sizeof *k.name);
	k.slices = arena_alloc(&p->arena, (size_t)groups * sizeof *k.slices);
	for (int i = 0; i < groups; i++) {
		k.name[i] = i < p->model->unit_count ? p->model->units[i].name : NULL;
		k.slices[i] = p->ranks;
	}
	return k;
}

void packing_end(struct plan *p, const struct packing *k)
{
	begin(p, k->groups);
	for (int i = 0; i < k->groups; i++) {
		struct group *g = NULL;
		for (int t = 0; t < p->model->tensor_count; t++) {
			if (k->group[t] != i)
				continue;
			if (!g)
				g = add_group(p, k->name[i]);
			add_tensor(p, g, t);
		}
		if (g)
			close_group(p, g, k->slices[i]);
	}
}

void pack_all(struct plan *p)
{
	struct packing k = packing_begin(p, 1);
	k.name[0] = "all";
	packing_end(p, &k);
}

void pack_units(struct plan *p)
{
	struct packing k = packing_begin(p, p->model->unit_count);
	for (int t = 0; t < p->model->tensor_count; t++)
		k.group[t] = p->model->tensors[t].unit;
	packing_end(p, &k);
}

void pack_modules(struct plan *p)
{
	const struct model *m = p->model;
	struct packing k = packing_begin(p, 2 * m->kernel_count);
	for (int i = m->kernel_count - 1; i >= 0; i--) { /* a tied table belongs to the first that uses it */
		const struct kernel *kernel = &m->kernels[i];
		int apart = kernel->kind == KERNEL_EMBEDDING;
		if (kernel->bias >= 0)
			k.group[kernel->bias] = 2 * i + apart;
		if (kernel->weight >= 0)
			k.group[kernel->weight] = 2 * i;
		k.name[2 * i] = apart ? m->tensors[kernel->weight].name : kernel->name;
		k.name[2 * i + 1] = apart && kernel->bias >= 0 ? m->tensors[kernel->bias].name : kernel->name;
	}
	packing_end(p, &k);
}

/* A group for each unit's slices; then one for norms whose gradients are summed over the ranks, and one for the rest.
 */
void pack_slices(struct plan *p)
{
	int units = p->model->unit_count;
	struct packing k = packing_begin(p, units + 2);
	k.name[units] = "norms";
	k.name[units + 1] = "whole";
	for (int t = 0; t < p->model->tensor_count; t++) {
		const struct tensor *tensor = &p->model->tensors[t];
		k.group[t] = tensor->partition != PARTITION_NONE ? tensor->unit : units + !tensor->sequence_parallel;
	}
	packing_end(p, &k);
}

/* ---- by size ---- */

/* DeepSpeed's are counted in elements (reduce_bucket_size, 5e8). */
int64_t step_bucket_bytes(const struct plan *p)
{
	bool fixed = p->software.does[SOFTWARE_BUCKET] == BUCKET_FIXED;
	return p->settings.bucket ? p->settings.bucket
	       : fixed            ? FIXED_BUCKET_ELEMENTS * type_bytes(plan_gradient_type(p))
	                          : BUCKET_BYTES;
}

static int64_t first_bucket_bytes(const struct plan *p)
{
	int64_t bytes = step_bucket_bytes(p);
	return bytes == BUCKET_BYTES && !p->settings.bucket ? FIRST_BUCKET_BYTES : bytes;
}

void pack_buckets(struct plan *p)
{
	const struct model *m = p->model;
	int64_t bytes = type_bytes(plan_gradient_type(p));
	int64_t limit = first_bucket_bytes(p);
	struct group *g = NULL;
	begin(p, m->tensor_count);
	for (int t = m->tensor_count - 1; t >= 0; t--) {
		if (!g)
			g = add_group(p, arena_print(&p->arena, "bucket.%d", p->group_count));
		add_tensor(p, g, t);
		if (g->elements * bytes >= limit) {
			close_group(p, g, p->ranks);
			g = NULL;
			limit = step_bucket_bytes(p);
		}
	}
	if (g)
		close_group(p, g, p->ranks);
}
