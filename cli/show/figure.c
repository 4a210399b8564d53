#include "cli/show/figure.h"

#include <assert.h>
#include <stddef.h>

/* The place of a figure: an int64_t of the role, or of the report. */
struct place {
	bool of_report;
	size_t offset;
	int count; /* the sum of so many in a row */
};

#define ROLE(field)                                                                                                    \
	{                                                                                                              \
		false, offsetof(struct report_role, field), 1                                                          \
	}
#define REPORT(field)                                                                                                  \
	{                                                                                                              \
		true, offsetof(struct report, field), 1                                                                \
	}
/* The sum of the first categories between steps. */
#define STEADY(count)                                                                                                  \
	{                                                                                                              \
		false, offsetof(struct report_role, memory[SPACE_DEVICE].steady), count                                \
	}
static_assert(CATEGORY_PARAMETERS == 0 && CATEGORY_GRADIENTS == 1 && CATEGORY_OPTIMIZER == 2,
              "model states come first");

static const struct {
	struct figure figure;
	struct place place;
} figures[] = {
#define X(constant, name)                                                                                              \
	{{GROUP_PEAK, name, "peak_" name "_bytes", false, false},                                                      \
	 ROLE(memory[SPACE_DEVICE].at_peak[CATEGORY_##constant])},
        CATEGORY_LIST(X)
#undef X
                {{GROUP_PEAK, "total", "peak_bytes", false, true}, ROLE(memory[SPACE_DEVICE].peak_bytes)},
        {{GROUP_PEAK, "as laid out", "arena_bytes", false, true}, ROLE(memory[SPACE_DEVICE].arena_bytes)},
        {{GROUP_STEADY, "model states", "steady_model_states_bytes", false, false}, STEADY(3)},
        {{GROUP_STEADY, "total", "steady_bytes", false, true}, STEADY(CATEGORY_COUNT)},
        {{GROUP_AWAY, "host, at the peak", "host_peak_bytes", false, false}, ROLE(memory[SPACE_HOST].peak_bytes)},
        {{GROUP_AWAY, "disk, at the peak", "disk_peak_bytes", false, false}, ROLE(memory[SPACE_DISK].peak_bytes)},
        {{GROUP_AWAY, "to the host, a step", "device_to_host_bytes", false, false},
         ROLE(transfer[TRANSFER_DEVICE_TO_HOST].bytes)},
        {{GROUP_AWAY, "from the host", "host_to_device_bytes", false, false},
         ROLE(transfer[TRANSFER_HOST_TO_DEVICE].bytes)},
        {{GROUP_TRAFFIC, "sends", "sent_bytes", false, false}, ROLE(sent_bytes)},
        {{GROUP_TRAFFIC, "receives", "received_bytes", false, false}, ROLE(received_bytes)},
        {{GROUP_TIME, "computing", "compute_ns", true, false}, REPORT(time.compute)},
        {{GROUP_TIME, "exposed comm.", "exposed_ns", true, false}, REPORT(time.exposed)},
        {{GROUP_TIME, "bubble", "bubble_ns", true, false}, REPORT(time.bubble)},
        {{GROUP_TIME, "step", "step_ns", true, true}, REPORT(time.step)},
        {{GROUP_TIGHTEST, "needed", "needed_bytes", true, false}, REPORT(tightest.needed_bytes)},
        {{GROUP_TIGHTEST, "there", "capacity_bytes", true, false}, REPORT(tightest.capacity_bytes)},
};

enum { FIGURES = sizeof figures / sizeof figures[0] };

static const struct {
	const char *title;
	bool time;
} groups[] = {
#define BYTES false
#define TIME true
#define X(constant, title, in) {title, in},
        GROUP_LIST(X)
#undef X
#undef TIME
#undef BYTES
};

const struct figure *figure_at(int i)
{
	return i >= 0 && i < FIGURES ? &figures[i].figure : NULL;
}

int64_t figure_value(int i, const struct report *r, int role)
{
	const struct place *p = &figures[i].place;
	const char *base = p->of_report ? (const char *)r : (const char *)&r->roles[role];
	const int64_t *at = (const int64_t *)(const void *)(base + p->offset);
	int64_t sum = 0;
	if (figures[i].figure.group == GROUP_TIGHTEST && !r->tightest.capacity_bytes)
		return -1;
	for (int k = 0; k < p->count; k++)
		sum += at[k];
	return sum;
}

const char *group_title(enum figure_group g)
{
	return groups[g].title;
}

/* Memory at the peak and between steps are compared with each other as well. */
static bool same_scale(enum figure_group a, enum figure_group b)
{
	return a == b || (a <= GROUP_STEADY && b <= GROUP_STEADY);
}

struct scale group_scale(enum figure_group g, const struct report *const *reports, int count)
{
	int64_t largest = 0;
	for (int i = 0; i < FIGURES; i++)
		for (int n = 0; same_scale(figures[i].figure.group, g) && n < count; n++)
			for (int role = 0; role < reports[n]->role_count; role++)
				if (figure_value(i, reports[n], role) > largest)
					largest = figure_value(i, reports[n], role);
	return groups[g].time ? scale_of_time(largest) : scale_of_bytes(largest);
}
