#include "cli/show/figure.h"

enum source {
	AT_PEAK,
	PEAK,
	ARENA,
	STATES,
	STEADY_TOTAL,
	SENT,
	RECEIVED,
	STEP,
	COMPUTE,
	EXPOSED,
	BUBBLE,
	NEEDED,
	CAPACITY,
	HOST,
	DISK,
	TO_HOST,
	FROM_HOST
};

static const struct {
	struct figure figure;
	enum source source;
	enum category category;
} figures[] = {
#define X(constant, name) {{GROUP_PEAK, name, "peak_" name "_bytes", false, false}, AT_PEAK, CATEGORY_##constant},
        CATEGORY_LIST(X)
#undef X
                {{GROUP_PEAK, "total", "peak_bytes", false, true}, PEAK, CATEGORY_COUNT},
        {{GROUP_PEAK, "as laid out", "arena_bytes", false, true}, ARENA, CATEGORY_COUNT},
        {{GROUP_STEADY, "model states", "steady_model_states_bytes", false, false}, STATES, CATEGORY_COUNT},
        {{GROUP_STEADY, "total", "steady_bytes", false, true}, STEADY_TOTAL, CATEGORY_COUNT},
        {{GROUP_AWAY, "host, at the peak", "host_peak_bytes", false, false}, HOST, CATEGORY_COUNT},
        {{GROUP_AWAY, "disk, at the peak", "disk_peak_bytes", false, false}, DISK, CATEGORY_COUNT},
        {{GROUP_AWAY, "to the host, a step", "device_to_host_bytes", false, false}, TO_HOST, CATEGORY_COUNT},
        {{GROUP_AWAY, "from the host", "host_to_device_bytes", false, false}, FROM_HOST, CATEGORY_COUNT},
        {{GROUP_TRAFFIC, "sends", "sent_bytes", false, false}, SENT, CATEGORY_COUNT},
        {{GROUP_TRAFFIC, "receives", "received_bytes", false, false}, RECEIVED, CATEGORY_COUNT},
        {{GROUP_TIME, "computing", "compute_ns", true, false}, COMPUTE, CATEGORY_COUNT},
        {{GROUP_TIME, "exposed comm.", "exposed_ns", true, false}, EXPOSED, CATEGORY_COUNT},
        {{GROUP_TIME, "bubble", "bubble_ns", true, false}, BUBBLE, CATEGORY_COUNT},
        {{GROUP_TIME, "step", "step_ns", true, true}, STEP, CATEGORY_COUNT},
        {{GROUP_TIGHTEST, "needed", "needed_bytes", true, false}, NEEDED, CATEGORY_COUNT},
        {{GROUP_TIGHTEST, "there", "capacity_bytes", true, false}, CAPACITY, CATEGORY_COUNT},
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

static int64_t sum(const int64_t *bytes, int count)
{
	int64_t total = 0;
	for (int c = 0; c < count; c++)
		total += bytes[c];
	return total;
}

int64_t figure_value(int i, const struct report *r, int role)
{
	const struct report_role *o = &r->roles[role];
	const struct report_memory *m = &o->memory[SPACE_DEVICE];
	switch (figures[i].source) {
	case AT_PEAK:
		return m->at_peak[figures[i].category];
	case PEAK:
		return m->peak_bytes;
	case ARENA:
		return m->arena_bytes;
	case STATES:
		return m->steady[CATEGORY_PARAMETERS] + m->steady[CATEGORY_GRADIENTS] + m->steady[CATEGORY_OPTIMIZER];
	case STEADY_TOTAL:
		return sum(m->steady, CATEGORY_COUNT);
	case SENT:
		return o->sent_bytes;
	case RECEIVED:
		return o->received_bytes;
	case NEEDED:
		return r->tightest.capacity_bytes ? r->tightest.needed_bytes : -1;
	case CAPACITY:
		return r->tightest.capacity_bytes ? r->tightest.capacity_bytes : -1;
	case HOST:
		return o->memory[SPACE_HOST].peak_bytes;
	case DISK:
		return o->memory[SPACE_DISK].peak_bytes;
	case TO_HOST:
		return o->transfer[TRANSFER_DEVICE_TO_HOST].bytes;
	case FROM_HOST:
		return o->transfer[TRANSFER_HOST_TO_DEVICE].bytes;
	case STEP:
		return r->time.step;
	case COMPUTE:
		return r->time.compute;
	case EXPOSED:
		return r->time.exposed;
	case BUBBLE:
		return r->time.bubble;
	}
	return -1;
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
