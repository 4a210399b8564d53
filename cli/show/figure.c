#include "cli/show/figure.h"

#include <assert.h>
#include <stddef.h>

/* Where a figure stands: an int64_t of the role, or of the report. */
#define ROLE(total, field) offsetof(struct report_role, field), 1, total, false
#define REPORT(total, field) offsetof(struct report, field), 1, total, true
/* The sum of the first categories between steps. */
#define STEADY(total, count) offsetof(struct report_role, memory[SPACE_DEVICE].steady), count, total, false
static_assert(CATEGORY_PARAMETERS == 0 && CATEGORY_GRADIENTS == 1 && CATEGORY_OPTIMIZER == 2,
              "model states come first");

const struct figure figures[] = {
#define X(constant, name)                                                                                              \
	{GROUP_PEAK, name, "peak_" name "_bytes", ROLE(false, memory[SPACE_DEVICE].at_peak[CATEGORY_##constant])},
        CATEGORY_LIST(X)
#undef X
                {GROUP_PEAK, "total", "peak_bytes", ROLE(true, memory[SPACE_DEVICE].peak_bytes)},
        {GROUP_PEAK, "as laid out", "arena_bytes", ROLE(true, memory[SPACE_DEVICE].arena_bytes)},
        {GROUP_STEADY, "model states", "steady_model_states_bytes", STEADY(false, 3)},
        {GROUP_STEADY, "total", "steady_bytes", STEADY(true, CATEGORY_COUNT)},
        {GROUP_AWAY, "host, at the peak", "host_peak_bytes", ROLE(false, memory[SPACE_HOST].peak_bytes)},
        {GROUP_AWAY, "disk, at the peak", "disk_peak_bytes", ROLE(false, memory[SPACE_DISK].peak_bytes)},
        {GROUP_AWAY, "to the host, a step", "device_to_host_bytes",
         ROLE(false, transfer[TRANSFER_DEVICE_TO_HOST].bytes)},
        {GROUP_AWAY, "from the host", "host_to_device_bytes", ROLE(false, transfer[TRANSFER_HOST_TO_DEVICE].bytes)},
        {GROUP_TRAFFIC, "sends", "sent_bytes", ROLE(false, sent_bytes)},
        {GROUP_TRAFFIC, "receives", "received_bytes", ROLE(false, received_bytes)},
        {GROUP_TIME, "computing", "compute_ns", REPORT(false, time.compute)},
        {GROUP_TIME, "exposed comm.", "exposed_ns", REPORT(false, time.exposed)},
        {GROUP_TIME, "bubble", "bubble_ns", REPORT(false, time.bubble)},
        {GROUP_TIME, "step", "step_ns", REPORT(true, time.step)},
        {GROUP_TIGHTEST, "needed", "needed_bytes", REPORT(false, tightest.needed_bytes)},
        {GROUP_TIGHTEST, "there", "capacity_bytes", REPORT(false, tightest.capacity_bytes)},
        {.name = NULL},
};

const char *const group_titles[GROUP_COUNT] = {
#define X(constant, title) title,
        GROUP_LIST(X)
#undef X
};

int64_t figure_value(const struct figure *f, const struct report *r, int role)
{
	const char *base = f->whole_run ? (const char *)r : (const char *)&r->roles[role];
	const int64_t *at = (const int64_t *)(const void *)(base + f->offset);
	int64_t sum = 0;
	if (f->group == GROUP_TIGHTEST && !r->tightest.capacity_bytes)
		return -1;
	for (int k = 0; k < f->count; k++)
		sum += at[k];
	return sum;
}

static bool is_memory_of_device(enum figure_group g)
{
	return g == GROUP_PEAK || g == GROUP_STEADY;
}

/* Memory at the peak and between steps are compared with each other as well. */
static bool same_scale(enum figure_group a, enum figure_group b)
{
	return a == b || (is_memory_of_device(a) && is_memory_of_device(b));
}

struct scale group_scale(enum figure_group g, const struct report *const *reports, int count)
{
	int64_t largest = 0;
	for (const struct figure *f = figures; f->name; f++)
		for (int n = 0; same_scale(f->group, g) && n < count; n++)
			for (int role = 0; role < reports[n]->role_count; role++)
				if (figure_value(f, reports[n], role) > largest)
					largest = figure_value(f, reports[n], role);
	return g == GROUP_TIME ? scale_of_time(largest) : scale_of_bytes(largest);
}
