/* shardlab compare: strategies side by side. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/chart.h"
#include "cli/command.h"
#include "cli/job.h"
#include "cli/show.h"

struct comparison {
	struct members members;
	struct report report[MEMBERS];
	char skipped[MEMBERS][512]; /* why; "": it was not */
	struct column columns[MEMBERS];
	int column_count;
};

static enum status simulate(const struct options *o, enum grain grain, const struct settings *settings,
                            struct report *out)
{
	struct job j;
	enum status s = job_open(&j, settings);
	if (s)
		return s;
	s = job_predict(&j, option_text(o, OPTION_CLUSTER), grain, 0, NULL, out);
	job_release(&j);
	return s;
}

/* What makes no sense with the other options is left out, with the reason; if nothing is left, that is the error. */
static enum status simulate_all(struct comparison *c, const struct options *o, enum grain grain)
{
	enum status first = STATUS_OK;
	for (int i = 0; i < c->members.count; i++) {
		struct member *m = &c->members.member[i];
		enum status s = simulate(o, grain, &m->settings, &c->report[i]);
		if (s && s != STATUS_INPUT)
			return status_prefix(s, "%s", m->strategy);
		if (s) {
			first = first ? first : s;
			snprintf(c->skipped[i], sizeof c->skipped[i], "%s", status_message());
			continue;
		}
		snprintf(c->report[i].strategy, sizeof c->report[i].strategy, "%s", m->strategy);
		c->columns[c->column_count++] = (struct column){m->strategy, &c->report[i]};
	}
	return c->column_count ? STATUS_OK : status_fail(first, "%s", c->skipped[0]);
}

static json_t *to_json(const struct comparison *c)
{
	json_t *o = json_object(), *results = json_array();
	for (int i = 0; i < c->members.count; i++) {
		json_t *one = *c->skipped[i] ? json_object() : report_to_json(&c->report[i]);
		if (*c->skipped[i]) {
			json_object_set_new(one, "strategy", json_string(c->members.member[i].strategy));
			json_object_set_new(one, "skipped", json_string(c->skipped[i]));
		}
		json_array_append_new(results, one);
	}
	json_object_set_new(o, "results", results);
	return o;
}

static void show(const struct comparison *c)
{
	struct report heading = *c->columns[c->column_count - 1].report;
	snprintf(heading.strategy, sizeof heading.strategy, "%d strateg%s", c->column_count,
	         c->column_count == 1 ? "y" : "ies");
	show_heading(&heading, stdout);
	fputc('\n', stdout);
	show_columns(c->columns, c->column_count, stdout);
	for (int i = 0; i < c->members.count; i++)
		if (*c->skipped[i])
			printf("skipped %s: %s\n", c->members.member[i].strategy, c->skipped[i]);
}

static enum status write_csv(void *context, FILE *out)
{
	const struct comparison *c = context;
	show_csv(c->columns, c->column_count, out);
	return STATUS_OK;
}

static bool ends_in(const char *path, const char *ending)
{
	size_t n = strlen(path), k = strlen(ending);
	return n > k && !strcmp(path + n - k, ending);
}

static enum status check_export(const struct options *o)
{
	const char *path = option_text(o, OPTION_EXPORT);
	bool csv = path && ends_in(path, ".csv");
	if (path && !csv && !ends_in(path, ".svg") && !ends_in(path, ".pdf") && !ends_in(path, ".png"))
		return status_fail(STATUS_INPUT, "--export %.60s: give a name that ends in .csv, .svg, .pdf or .png",
		                   path);
	if (option_given(o, OPTION_CHART) && (!path || csv))
		return status_fail(STATUS_INPUT, "--chart is for pictures: give --export FILE.svg too (or .pdf, .png)");
	return STATUS_OK;
}

static enum status export(struct comparison *c, const struct options *o, const char *path) {
	if (ends_in(path, ".csv")) return write_file(path, "export", write_csv, c);
	return chart_export(o, &c->members, c->columns, c->column_count, path);
}

static enum status require_fit(const struct comparison *c)
{
	for (int i = 0; i < c->column_count; i++)
		if (!c->columns[i].report->fits)
			return status_fail(STATUS_CHECK, "%s does not fit in the memory of %s", c->columns[i].heading,
			                   c->columns[i].report->cluster);
	return STATUS_OK;
}

static enum status output(struct comparison *c, const struct options *o)
{
	const char *path = option_text(o, OPTION_EXPORT);
	enum status s = path ? export(c, o, path) : STATUS_OK;
	if (s)
		return s;
	if (option_given(o, OPTION_JSON))
		print_json(to_json(c), false);
	else
		show(c);
	return option_given(o, OPTION_REQUIRE_FIT) ? require_fit(c) : STATUS_OK;
}

enum status command_compare(const struct options *o)
{
	struct comparison *c = calloc(1, sizeof *c);
	enum grain grain = GRAIN_OPERATION;
	if (!c)
		return status_fail(STATUS_MEMORY, "out of memory");
	enum status s = grain_parse(option_text(o, OPTION_GRAIN), &grain);
	if (!s)
		s = check_export(o);
	if (!s)
		s = members_from_options(&c->members, o);
	if (!s)
		s = simulate_all(c, o, grain);
	if (!s)
		s = output(c, o);
	for (int i = 0; i < MEMBERS; i++)
		report_release(&c->report[i]);
	free(c);
	return s;
}
