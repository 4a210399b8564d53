/* shardlab compare: strategies side by side. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command/chart.h"
#include "cli/command/command.h"
#include "cli/command/comparison.h"
#include "cli/command/emit.h"
#include "cli/command/job.h"
#include "cli/command/mend.h"
#include "strategy/base/arena.h"
#include "strategy/base/file.h"
#include "strategy/base/path.h"

enum { VARIANTS = 64 };

/* ---- alternatives: --precision bf16/fp16 --activation-checkpointing none/full ---- */

static enum status make_variants(struct comparison *c, const struct options *o)
{
	c->variant_count = 1;
	for (int i = 0; i < OPTION_COUNT; i++) {
		c->variant_count *= option_alternatives(o, (enum option)i);
		if (c->variant_count > VARIANTS)
			return status_fail(STATUS_INPUT,
			                   "--%s %.60s: more than %d combinations; give fewer alternatives",
			                   option_name((enum option)i), option_text(o, (enum option)i), VARIANTS);
	}
	c->variants = array_make((size_t)c->variant_count, sizeof *c->variants);
	for (int k = 0; k < c->variant_count; k++) {
		int rest = k;
		c->variants[k] = *o;
		for (int i = OPTION_COUNT - 1; i >= 0; i--) {
			int n = option_alternatives(o, (enum option)i);
			TRY(n > 1 ? option_alternative(o, (enum option)i, rest % n, &c->arena,
			                               &c->variants[k].value[i].text)
			          : STATUS_OK);
			rest /= n;
		}
	}
	return STATUS_OK;
}

/* ---- simulating ---- */

static int64_t missing_bytes(const struct report *r)
{
	return r->tightest.needed_bytes - r->tightest.capacity_bytes;
}

static void note_nearest(struct comparison *c, struct report *r, const struct settings *settings)
{
	if (c->nearest && missing_bytes(r) > missing_bytes(c->nearest))
		return;
	c->nearest = r;
	c->nearest_settings = *settings;
}

/* If nothing fits, finds the change that would make the nearest column fit. */
static enum status find_change(struct comparison *c, const struct options *o)
{
	enum status s = STATUS_OK;
	for (int i = 0; i < c->column_count; i++)
		if (c->columns[i].report->fits)
			c->nearest = NULL;
	if (c->nearest) {
		s = job_find_change(&c->nearest_settings, option_text(o, OPTION_CLUSTER), &c->nearest->change);
		mend_spell(o, &c->nearest_settings, &c->nearest->change);
	}
	return s;
}

static enum status predict(const struct comparison *c, const struct settings *m, const char *cluster, enum grain grain,
                           struct entry *e)
{
	return comparison_is_recorded(c) ? recorded_predict(m, cluster, grain, &e->report, &e->step)
	                                 : job_simulate(m, cluster, grain, &e->report);
}

static enum status predict_interval(const struct options *o, const struct settings *m, struct entry *e)
{
	struct job j;
	if (!interval_is_asked(o))
		return STATUS_OK;
	TRY(job_open(&j, m));
	enum status s = interval_predict(&j, o, (double)e->report.time.step / 1e9, &e->interval);
	job_release(&j);
	return s;
}

static enum status simulate_members(struct comparison *c, const struct options *o, enum grain grain)
{
	struct members members;
	enum status s = members_from_options(&members, o);
	if (s)
		return s;
	for (int i = 0; i < members.count; i++) {
		struct settings *m = &members.member[i];
		struct entry *e = &c->entries[c->count++];
		e->variant = o;
		snprintf(e->strategy, sizeof e->strategy, "%s", m->strategy);
		s = predict(c, m, option_text(o, OPTION_CLUSTER), grain, e);
		if (!s)
			s = predict_interval(o, m, e);
		if (s && s != STATUS_INPUT)
			return status_prefix(s, "%s", m->strategy);
		if (s) {
			snprintf(e->skipped, sizeof e->skipped, "%s", status_message());
			continue;
		}
		snprintf(e->report.strategy, sizeof e->report.strategy, "%s", m->strategy);
		c->columns[c->column_count++] = (struct column){e->strategy, &e->report};
		note_nearest(c, &e->report, m);
	}
	return STATUS_OK;
}

/* Strategies that make no sense with the other options are skipped, with the reason. If all are, that is the error. */
static enum status simulate_all(struct comparison *c, enum grain grain)
{
	for (int i = 0; c->variants && i < c->variant_count; i++)
		TRY(simulate_members(c, &c->variants[i], grain));
	return c->column_count ? STATUS_OK : status_fail(STATUS_INPUT, "%s", c->entries[0].skipped);
}

static enum status write_csv(void *context, FILE *out)
{
	const struct comparison *c = context;
	show_csv(c->columns, c->column_count, out);
	return STATUS_OK;
}

static enum status check_export(const struct options *o)
{
	const char *path = option_text(o, OPTION_EXPORT);
	bool csv = path && path_ends_in(path, ".csv");
	if (path && !csv && !path_ends_in(path, ".svg") && !path_ends_in(path, ".pdf") && !path_ends_in(path, ".png"))
		return status_fail(STATUS_INPUT, "--export %.60s: the name must end in .csv, .svg, .pdf or .png", path);
	if (option_given(o, OPTION_CHART) && (!path || csv))
		return status_fail(STATUS_INPUT, "--chart is for pictures: give --export FILE.svg too (or .pdf, .png)");
	return STATUS_OK;
}

static enum status write_export(struct comparison *c, const struct options *o, const char *path)
{
	struct members members;
	if (path_ends_in(path, ".csv"))
		return file_write(path, "{export}", write_csv, c);
	if (c->variant_count > 1)
		return status_fail(
		        STATUS_INPUT,
		        "--export %.60s: a picture shows one combination of settings; leave the alternatives "
		        "out, or write .csv",
		        path);
	enum status s = members_from_options(&members, o);
	return s ? s : chart_export(o, &members, c->columns, c->column_count, path);
}

static enum status require_fit(const struct comparison *c)
{
	enum status s = STATUS_OK;
	for (int i = 0; i < c->column_count && !s; i++)
		s = job_require_fit(c->columns[i].report);
	return s;
}

static enum status output(struct comparison *c, const struct options *o)
{
	const char *path = option_text(o, OPTION_EXPORT);
	TRY(path ? write_export(c, o, path) : STATUS_OK);
	if (option_given(o, OPTION_JSON))
		print_json(comparison_to_json(c), false);
	else
		comparison_show(c);
	return option_given(o, OPTION_REQUIRE_FIT) ? require_fit(c) : STATUS_OK;
}

static enum status open_recorded(struct comparison *c, struct options *o)
{
	for (int i = 0; i < OPTION_COUNT; i++)
		if (option_alternatives(o, (enum option)i) > 1)
			return status_fail(
			        STATUS_INPUT,
			        "--trace is of one configuration, and --%s %.60s are several; give the one that ran",
			        option_name((enum option)i), option_text(o, (enum option)i));
	return recorded_open(&c->recorded, o);
}

static enum status comparison_open(struct comparison *c, struct options *o)
{
	*c = (struct comparison){0};
	enum status s = option_given(o, OPTION_TRACE) ? open_recorded(c, o) : STATUS_OK;
	if (!s)
		s = make_variants(c, o);
	if (s)
		return s;
	size_t most = (size_t)c->variant_count * MEMBERS;
	c->entries = array_make(most, sizeof *c->entries);
	c->columns = array_make(most, sizeof *c->columns);
	return STATUS_OK;
}

static void comparison_release(struct comparison *c)
{
	for (int i = 0; i < c->count; i++)
		report_release(&c->entries[i].report);
	free(c->entries);
	free(c->columns);
	free(c->variants);
	profile_release(&c->recorded);
	json_decref(c->emitted);
	arena_release(&c->arena);
}

/* A file says one strategy in one combination. */
static enum status emit_one(struct comparison *c, const struct options *o)
{
	struct members members;
	enum status s = emit_check_option(o);
	if (s || !option_given(o, OPTION_EMIT) || (s = members_from_options(&members, o)))
		return s;
	if (members.count != 1 || c->variant_count != 1)
		return status_fail(STATUS_INPUT,
		                   "{emit} writes one strategy in one combination, and these are %d; "
		                   "give one, or shardlab advise",
		                   members.count * c->variant_count);
	return emit_settings(o, &members.member[0], &c->emitted);
}

static enum status compare(struct comparison *c, const struct options *o)
{
	enum grain grain = GRAIN_OPERATION;
	enum status s = emit_one(c, o);
	if (s || emit_is_all(o))
		return s;
	s = grain_parse(option_text(o, OPTION_GRAIN), &grain);
	if (!s)
		s = check_export(o);
	if (!s)
		s = simulate_all(c, grain);
	if (!s)
		s = find_change(c, o);
	return s ? s : output(c, o);
}

enum status command_compare(const struct options *given)
{
	struct comparison c;
	struct options own = *given;
	own.arena = (struct arena){0};
	options_judge(&own, option_text(&own, OPTION_STRATEGY)); /* a file has one; a list is refused */
	enum status s = comparison_open(&c, &own);
	if (!s)
		s = compare(&c, &own);
	comparison_release(&c);
	arena_release(&own.arena);
	return s;
}
