#include "cli/command/compare_trace.h"

#include <inttypes.h>

#include "cli/show/show_profile.h"

static void take_ranks(const struct profile *p, struct options *o)
{
	struct option_value *v = &o->value[OPTION_RANKS];
	if (v->given)
		return;
	v->whole = p->world;
	v->text = arena_print(&o->arena, "%" PRId64, p->world);
}

enum status recorded_open(struct profile *p, struct options *o)
{
	if (o->recorded) { /* as it was opened for its ranks */
		*p = *o->recorded;
		*o->recorded = (struct profile){0};
		return STATUS_OK;
	}
	enum status s = profile_open_list(p, option_text(o, OPTION_TRACE));
	if (!s)
		take_ranks(p, o);
	return s;
}

enum status recorded_predict(const struct settings *settings, const char *cluster, enum grain grain, struct report *out,
                             struct profile_step *step)
{
	struct job j;
	struct trace trace = {0};
	struct profile p = {0};
	enum status s = job_open(&j, settings);
	if (s)
		return s;
	if (!(s = job_predict(&j, cluster, grain, 0, &trace, out))) {
		profile_of_trace(&p, &trace);
		*step = profile_slowest(&p)->mean;
	}
	profile_release(&p);
	trace_release(&trace);
	job_release(&j);
	return s;
}

void recorded_show(const struct profile *p, const struct column *columns, const struct profile_step *const *predicted,
                   int count, FILE *out)
{
	struct profile_column all[1 + MEMBERS];
	struct profile_step mean = profile_mean(p);
	all[0] = (struct profile_column){"recorded", &mean};
	for (int i = 0; i < count && i < MEMBERS; i++) {
		all[1 + i].step = predicted[i];
		snprintf(all[1 + i].heading, sizeof all[1 + i].heading, "%s%s", columns[i].heading,
		         columns[i].report->rates_measured ? "" : " *");
	}
	show_profile_columns(all, 1 + count, true, out);
	fputs("\nrecorded: ", out);
	show_profile_notes(p, out);
	if (columns[count - 1].report->ranks != p->world)
		fprintf(out, "recorded on %" PRId64 " ranks, predicted for %" PRId64 "\n", p->world,
		        columns[count - 1].report->ranks);
}
