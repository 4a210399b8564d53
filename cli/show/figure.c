#include "cli/show/figure.h"

const char *const group_titles[GROUP_COUNT] = {
#define X(constant, title) title,
        GROUP_LIST(X)
#undef X
};

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
	for (const struct figure *f = report_figures(); f->name; f++)
		for (int n = 0; same_scale(f->group, g) && n < count; n++)
			for (int role = 0; role < reports[n]->role_count; role++)
				if (figure_value(f, reports[n], role) > largest)
					largest = figure_value(f, reports[n], role);
	return g == GROUP_TIME ? scale_of_time(largest) : scale_of_bytes(largest);
}
