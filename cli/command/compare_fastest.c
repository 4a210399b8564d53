#include "cli/command/compare_fastest.h"

#include "strategy/base/number.h"
#include "strategy/trace/ratio.h"

static void show_name(const struct report *r, bool several, FILE *out)
{
	fputs(r->strategy, out);
	if (several) /* by which one combination is told from another */
		fprintf(out, " (%s, checkpointing %s, offload %s)", type_name(r->precision), r->checkpointing.setting,
		        r->offload);
}

static bool is_tied(const struct report *r, int64_t best)
{
	return r->fits && *r->basis && r->time.step != best && ratio_of(r->time.step, best, true).tied;
}

/* The other columns that fit and may be as fast. */
static void show_ties(const struct column *columns, int count, int64_t best, bool several, FILE *out)
{
	enum { NAMED = 4 };
	int ties = 0;
	for (int i = 0; i < count; i++) {
		if (!is_tied(columns[i].report, best) || ties++ >= NAMED)
			continue;
		if (ties == 1)
			fprintf(out, "as fast, within the %g %% by which ratios are off: ", 100 * ratio_spread(true));
		else
			fputs(", ", out);
		show_name(columns[i].report, several, out);
	}
	if (ties > NAMED)
		fprintf(out, " and %d more", ties - NAMED);
	if (ties)
		fputc('\n', out);
}

void fastest_show(const struct column *columns, int count, bool several, FILE *out)
{
	int64_t best = show_fastest_step(columns, count);
	char time[32];
	const char *before = "";
	number_format_time(time, sizeof time, best);
	fprintf(out, "fastest that fits, %s a step: ", time);
	for (int i = 0; i < count; i++) {
		const struct report *r = columns[i].report;
		if (!r->fits || r->time.step != best)
			continue;
		fputs(before, out);
		before = ", ";
		show_name(r, several, out);
	}
	fputc('\n', out);
	show_ties(columns, count, best, several, out);
}

void fastest_add_ratio(json_t *object, const struct report *r, int64_t best)
{
	const struct ratio ratio = ratio_of(r->time.step, best, *r->basis != 0);
	if (best == INT64_MAX)
		return;
	ratio_to_json(object, &ratio, *r->basis != 0);
	json_object_set_new(object, "tied", json_boolean(ratio.tied));
}
