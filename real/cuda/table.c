/* A GPU as a device. */
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

static int64_t overhead(const struct device *d, struct report_overhead *out)
{
	return cuda_overhead(d->own, out);
}

static int64_t gelu_passes(const struct device *d)
{
	return cuda_device_gelu_passes(d->own);
}

const struct device_table cuda_device_table = {.name = "cuda",
                                               .check = cuda_device_check,
                                               .open = open_device,
                                               .start = start,
                                               .release = release,
                                               .overhead = overhead,
                                               .gelu_passes = gelu_passes};
