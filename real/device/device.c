#include "real/device/device.h"

#include <string.h>

#include "real/cpu/device.h"
#include "real/cuda/device.h"

static const struct device_table *const tables[] = {&cpu_device_table, &cuda_device_table, NULL};

enum status device_find(const char *name, const struct device_table **out)
{
	const struct device_table *const *t = tables;
	while (*t && strcmp((*t)->name, name ? name : "cpu") != 0)
		t++;
	*out = *t;
	return *t ? STATUS_OK : status_fail(STATUS_INPUT, "{device}: unknown device '%s'; known: cpu, cuda", name);
}

enum status device_check(const struct device_choice *c, const struct plan *p)
{
	const struct device_table *table;
	enum status s = device_find(c->name, &table);
	return table ? table->check(c, p) : s;
}

enum status device_open(struct device *d, const struct plan *p, int64_t rank, const struct input_source *input,
                        const struct device_choice *c)
{
	*d = (struct device){.own = NULL};
	enum status s = device_find(c->name, &d->table);
	return d->table ? d->table->open(d, p, rank, input, c) : s;
}

enum status device_start(struct device *d, const struct device_choice *c, struct communicator *communicator)
{
	return d->table->start(d, c, communicator);
}

void device_release(struct device *d)
{
	executor_close(d->executor);
	if (d->own)
		d->table->release(d);
	*d = (struct device){.own = NULL};
}

int64_t device_overhead(const struct device *d, struct report_overhead *out)
{
	*out = (struct report_overhead){.measured = false};
	return d->own && d->table->overhead ? d->table->overhead(d, out) : 0;
}

void device_slowed(const struct device *d, struct report_slowed *out)
{
	*out = (struct report_slowed){.plain_products = 0};
	if (d->own && d->table->slowed)
		d->table->slowed(d, out);
}
