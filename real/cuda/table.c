/* A GPU as a device. */
#include <stdio.h>

#include "real/cuda/executor.h"

static enum status open_device(struct device *d, const struct plan *p, int64_t rank, const struct input_source *input,
                               const struct device_choice *c)
{
	struct cuda_device *own = NULL;
	enum status s = cuda_device_open(&own, p, rank, input, c);
	d->own = own;
	d->rank = own ? &own->rank : NULL;
	return s;
}

static enum status start(struct device *d, const struct device_choice *c, struct communicator *communicator)
{
	return cuda_executor_open(&d->executor, d->own, communicator, c);
}

static void release(struct device *d)
{
	cuda_device_close(d->own);
}

static void slowed(const struct device *d, struct report_slowed *out)
{
	const struct cuda_device *c = d->own;
	struct cuda_products p;
	c->api->products(c->context, &p);
	out->gelu_passes = p.gelu_passes;
	out->plain_products = p.plain;
	snprintf(out->not_captured, sizeof out->not_captured, "%s", c->not_captured);
	if (p.plain)
		snprintf(out->plain_why, sizeof out->plain_why, "%s: %s", p.first, c->api->error_text(p.why));
}

const struct device_table cuda_device_table = {.name = "cuda",
                                               .kind = DEVICE_GPU,
                                               .check = cuda_device_check,
                                               .open = open_device,
                                               .start = start,
                                               .release = release,
                                               .overhead = cuda_overhead,
                                               .slowed = slowed};
