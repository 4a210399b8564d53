/* GPU memory beside the arena, by the stage that took it, from the free memory before and after each stage. */
#include "real/cuda/device.h"

static int64_t at_least_0(int64_t bytes)
{
	return bytes > 0 ? bytes : 0;
}

/* A rank's share of the memory that is not free; -1 if the device does not answer. */
static int64_t used(struct cuda_device *c)
{
	int64_t available, total;
	if (c->api->memory(c->context, &available, &total))
		return -1;
	int64_t bytes = (total - available) / c->sharing;
	c->overhead.in_use_bytes = bytes > c->overhead.in_use_bytes ? bytes : c->overhead.in_use_bytes;
	return bytes;
}

void cuda_overhead_opened(struct cuda_device *c)
{
	struct cuda_opening o;
	c->api->opening(c->context, &o);
	c->overhead.part[OVERHEAD_CONTEXT] = at_least_0(o.total_bytes - o.after_context);
	c->overhead.part[OVERHEAD_WORKSPACE] = at_least_0(o.after_context - o.after_workspace);
	c->overhead.part[OVERHEAD_CUBLASLT] = at_least_0(o.after_workspace - o.after_cublaslt);
}

void cuda_overhead_begin(struct cuda_device *c)
{
	c->used_before = used(c);
}

void cuda_overhead_end(struct cuda_device *c, enum overhead_part part)
{
	int64_t after = used(c);
	if (c->used_before >= 0 && after >= 0)
		c->overhead.part[part] += at_least_0(after - c->used_before);
}

/* Ranks that share a GPU open it at the same time, so none of them can tell which of them took the memory. */
int64_t cuda_overhead(const struct device *d, struct report_overhead *out)
{
	struct cuda_device *c = d->own;
	int64_t now = used(c), bytes = at_least_0(now - c->rank.layout.arena_bytes[SPACE_DEVICE]), left = bytes;
	*out = (struct report_overhead){.measured = now >= 0, .in_use_bytes = c->overhead.in_use_bytes};
	for (int i = 0; i < OVERHEAD_OTHER && c->sharing == 1; i++) {
		/* Memory that another program gave back meanwhile belongs to no part. */
		out->part[i] = c->overhead.part[i] < left ? c->overhead.part[i] : left;
		left -= out->part[i];
	}
	out->part[OVERHEAD_OTHER] = left;
	return bytes;
}
