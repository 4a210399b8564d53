/* Prints the results of compare: JSON, the table, and the sentences below it. */
#include "cli/command/comparison.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "cli/command/compare_fastest.h"
#include "cli/command/emit.h"

/* ---- JSON ---- */

static json_t *skipped_to_json(const struct comparison *c, const struct entry *e)
{
	const struct options *v = e->variant;
	if (c->variant_count == 1)
		return json_pack("{s:s, s:s}", "strategy", e->strategy, "skipped", e->skipped);
	return json_pack("{s:s, s:s, s:{s:s}, s:s, s:s}", "strategy", e->strategy, "precision",
	                 option_text(v, OPTION_PRECISION), "activation_checkpointing", "setting",
	                 option_text(v, OPTION_CHECKPOINTING), "offload", option_text(v, OPTION_OFFLOAD), "skipped",
	                 e->skipped);
}

json_t *comparison_to_json(const struct comparison *c)
{
	int64_t best = show_fastest_step(c->columns, c->column_count);
	json_t *results = json_array(), *o = json_pack("{s:o}", "results", results);
	for (int i = 0; i < c->count; i++) {
		const struct entry *e = &c->entries[i];
		json_t *one = *e->skipped ? skipped_to_json(c, e) : report_to_json(&e->report);
		if (!*e->skipped)
			fastest_add_ratio(one, &e->report, best);
		if (interval_is_asked(e->variant) && !*e->skipped)
			json_object_set_new(one, "checkpoint", interval_to_json(&e->interval));
		if (comparison_is_recorded(c) && !*e->skipped)
			json_object_set_new(one, "profile", profile_step_to_json(&e->step));
		json_array_append_new(results, one);
	}
	if (comparison_is_recorded(c))
		json_object_set_new(o, "recorded", profile_to_json(&c->recorded));
	emit_add_said(o, json_incref(c->emitted));
	return o;
}

/* ---- text ---- */

static bool is_first(const struct comparison *c, int i, bool by_strategy)
{
	for (int k = 0; k < i; k++)
		if (!strcmp(c->entries[k].skipped, c->entries[i].skipped) &&
		    (!by_strategy || !strcmp(c->entries[k].strategy, c->entries[i].strategy)))
			return false;
	return true;
}

/* A line for each reason. */
static void show_skipped(const struct comparison *c)
{
	for (int i = 0; i < c->count; i++) {
		int count = 0;
		if (!*c->entries[i].skipped || !is_first(c, i, false))
			continue;
		fputs("skipped ", stdout);
		for (int k = i; k < c->count; k++) {
			if (strcmp(c->entries[k].skipped, c->entries[i].skipped) != 0)
				continue;
			if (is_first(c, k, true))
				printf("%s%s", count ? ", " : "", c->entries[k].strategy);
			count++;
		}
		if (c->variant_count > 1)
			printf(" (%d combination%s)", count, count == 1 ? "" : "s");
		printf(": %s\n", c->entries[i].skipped);
	}
}

/* The change that would make the nearest column fit. */
static void show_way_out(const struct comparison *c)
{
	if (c->column_count > 1)
		printf("none of them fits; the nearest is %s\n", c->nearest->strategy);
	else
		puts("it does not fit");
	show_change(c->nearest, stdout);
}

static bool has_single(const struct comparison *c)
{
	return c->count > 1 && !strcmp(c->entries[0].strategy, "single") && !*c->entries[0].skipped;
}

/* The last report stands for all: `single`, which comes first, has one rank. */
static void show_head(const struct comparison *c)
{
	struct report heading = *c->columns[c->column_count - 1].report;
	bool differ = show_micros_differ(c->columns, c->column_count);
	snprintf(heading.strategy, sizeof heading.strategy, "%d strateg%s", c->column_count,
	         c->column_count == 1 ? "y" : "ies");
	show_heading(&heading, differ ? SHOW_ALL & ~(unsigned)SHOW_MICRO : SHOW_ALL, stdout);
}

static void show_recorded(const struct comparison *c)
{
	const struct profile_step *steps[MEMBERS];
	const struct report *last = c->columns[c->column_count - 1].report;
	int count = 0;
	for (int i = 0; i < c->count; i++)
		if (!*c->entries[i].skipped)
			steps[count++] = &c->entries[i].step;
	show_head(c);
	recorded_show(&c->recorded, c->columns, steps, count, stdout);
	show_rates(last, stdout);
	show_model_note(last, stdout);
	show_skipped(c);
}

static void show_intervals(const struct comparison *c)
{
	const char *names[MEMBERS];
	struct interval_figures figures[MEMBERS];
	int count = 0;
	for (int i = 0; i < c->count; i++)
		if (!*c->entries[i].skipped && interval_is_asked(c->entries[i].variant)) {
			names[count] = c->entries[i].strategy;
			figures[count++] = c->entries[i].interval;
		}
	if (count)
		interval_compare(names, figures, count, stdout);
}

static void show_predicted(const struct comparison *c)
{
	const struct report *last = c->columns[c->column_count - 1].report;
	assert(last);
	if (c->variant_count > 1) {
		struct report heading = *last;
		snprintf(heading.strategy, sizeof heading.strategy, "%d combinations", c->column_count);
		show_grid(&heading, c->columns, c->column_count, stdout);
	} else {
		show_head(c);
		fputc('\n', stdout);
		show_columns(c->columns, c->column_count, stdout);
		show_intervals(c);
	}
	if (c->nearest)
		show_way_out(c);
	else if (c->column_count > 1 && !show_is_states_only(last))
		fastest_show(c->columns, c->column_count, c->variant_count > 1, stdout);
	if (c->variant_count == 1)
		show_departure(c->columns, c->column_count, stdout);
	if (has_single(c))
		puts("single is one rank, with the whole batch");
	show_model_note(last, stdout);
	show_skipped(c);
}

void comparison_show(const struct comparison *c)
{
	(comparison_is_recorded(c) ? show_recorded : show_predicted)(c);
}
