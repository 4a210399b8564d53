/* shardlab view: a step in a window, or as pictures. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command/command.h"
#include "cli/command/view_load.h"
#include "cli/command/view_open.h"
#include "strategy/base/file.h"
#include "strategy/base/number.h"
#include "viz/export/export.h"

/* ---- options ---- */

static enum status read_size(const char *text, struct picture *out)
{
	const char *x = strchr(text, 'x');
	char width[16];
	int64_t w = 0, h = 0;
	if (!x || x - text >= (ptrdiff_t)sizeof width)
		return status_fail(STATUS_INPUT, "--size: '%.40s' is not WIDTHxHEIGHT, such as 1920x1080", text);
	snprintf(width, sizeof width, "%.*s", (int)(x - text), text);
	enum status s = number_whole(width, "--size: width", 64, 16384, &w);
	if (!s)
		s = number_whole(x + 1, "--size: height", 64, 16384, &h);
	out->width = (int)w;
	out->height = (int)h;
	return s;
}

/* "FROM:TO" of an option, in nanoseconds; text NULL: it was not given. */
static enum status read_range(const char *option, const char *text, const struct trace_view *shown, int64_t *from,
                              int64_t *to)
{
	const char *colon = text ? strchr(text, ':') : NULL;
	char first[32], name[48];
	if (!text)
		return STATUS_OK;
	if (!colon || colon - text >= (ptrdiff_t)sizeof first)
		return status_fail(STATUS_INPUT, "--%s: '%.40s' is not FROM:TO in nanoseconds, such as 0:1000000",
		                   option, text);
	snprintf(first, sizeof first, "%.*s", (int)(colon - text), text);
	snprintf(name, sizeof name, "--%s: from", option);
	enum status s = number_whole(first, name, 0, INT64_MAX, from);
	snprintf(name, sizeof name, "--%s: to", option);
	if (!s)
		s = number_whole(colon + 1, name, 1, INT64_MAX, to);
	if (!s && *to <= *from)
		s = status_fail(STATUS_INPUT, "--%s: '%.40s' ends before it begins", option, text);
	int64_t end = shown->lanes.end;
	if (shown->has_other && shown->other_lanes.end > end)
		end = shown->other_lanes.end;
	if (!s && *from >= end)
		s = status_fail(STATUS_INPUT, "--%s: '%.40s' is behind the end, at %" PRId64 " ns", option, text, end);
	return s;
}

/* What the timeline shows, and what of it is measured. */
static enum status read_ranges(struct playback *p, const struct options *o)
{
	enum status s = read_range("range", option_text(o, OPTION_RANGE), p->shown, &p->from, &p->to);
	return s ? s
	         : read_range("measure", option_text(o, OPTION_MEASURE), p->shown, &p->measured_from, &p->measured_to);
}

static enum status place(struct playback *p, const struct options *o)
{
	const struct timeline *s = &p->shown->timeline;
	int64_t at = option_whole(o, OPTION_AT);
	if (p->shown->foreign) {
		static const enum option of_plans[] = {OPTION_STEP, OPTION_FOCUS};
		for (size_t i = 0; i < sizeof of_plans / sizeof of_plans[0]; i++)
			if (option_given(o, of_plans[i]))
				return status_fail(STATUS_INPUT,
				                   "--%s is for plans: a trace of another program has none",
				                   option_name(of_plans[i]));
		p->cursor = at;
		return STATUS_OK;
	}
	if ((size_t)at >= s->stop_count[p->step_size])
		return status_fail(STATUS_INPUT, "--at %" PRId64 ": the last %s of this step is %zu", at,
		                   step_size_name(p->step_size), s->stop_count[p->step_size] - 1);
	size_t position = timeline_stop(s, p->step_size, (size_t)at) + (size_t)option_whole(o, OPTION_PAST);
	if (position > s->instant_count)
		return status_fail(STATUS_INPUT,
		                   "--past %" PRId64 ": the step ends before that; leave it out, or give less",
		                   option_whole(o, OPTION_PAST));
	playback_go(p, position);
	if (!option_given(o, OPTION_FOCUS))
		return STATUS_OK;
	if (timeline_index_of(s, option_whole(o, OPTION_FOCUS)) < 0)
		return status_fail(STATUS_INPUT, "--focus %" PRId64 ": the trace does not show it",
		                   option_whole(o, OPTION_FOCUS));
	p->focus_rank = option_whole(o, OPTION_FOCUS);
	return STATUS_OK;
}

/* In another program's trace: a row of the timeline, and a span of it. */
static enum status select_span(struct playback *p, const char *row, const char *number)
{
	const struct lanes *l = &p->shown->lanes;
	int64_t lane = 0, span = 0;
	enum status s = number_whole(row, "--select: row", 0, l->lane_count - 1, &lane);
	if (!s && !l->lanes[lane].span_count)
		s = status_fail(STATUS_INPUT, "--select: row %" PRId64 " of the timeline has no spans", lane);
	if (!s)
		s = number_whole(number, "--select: span", 0, (int64_t)l->lanes[lane].span_count - 1, &span);
	if (s)
		return s;
	p->selected_rank = p->focus_rank = lane;
	p->selected_op = (int)span;
	return STATUS_OK;
}

/* What is selected and scrolled to. */
static enum status look(struct playback *p, const struct options *o)
{
	const char *text = option_text(o, OPTION_SELECT), *colon = text ? strchr(text, ':') : NULL;
	int64_t rank = 0, op = 0;
	char number[32];
	if (option_given(o, OPTION_SCROLL) && p->scene == SCENE_PLAN)
		p->plan_scroll = (int)option_whole(o, OPTION_SCROLL);
	else if (option_given(o, OPTION_SCROLL))
		p->first_lane = option_whole(o, OPTION_SCROLL) > 0 ? (int)option_whole(o, OPTION_SCROLL) : 0;
	if (!text)
		return STATUS_OK;
	if (!colon || colon - text >= (ptrdiff_t)sizeof number)
		return status_fail(STATUS_INPUT, "--select: '%.40s' is not RANK:OP, such as 0:17", text);
	snprintf(number, sizeof number, "%.*s", (int)(colon - text), text);
	if (p->shown->foreign)
		return select_span(p, number, colon + 1);
	enum status s = number_whole(number, "--select: rank", 0, INT64_MAX, &rank);
	int index = s ? -1 : timeline_index_of(&p->shown->timeline, rank);
	if (!s && index < 0)
		return status_fail(STATUS_INPUT, "--select: the trace does not show rank %" PRId64, rank);
	if (s)
		return s;
	const struct section *step = &timeline_role_of(&p->shown->timeline, index)->step;
	if ((s = number_whole(colon + 1, "--select: operation", step->begin, step->end - 1, &op)))
		return s;
	p->selected_rank = rank;
	p->selected_op = (int)op;
	return STATUS_OK;
}

static enum status set_playback(struct playback *p, const struct options *o)
{
	scene_parse(option_text(o, OPTION_SCENE), &p->scene);
	if (option_given(o, OPTION_COLLECTIVE) && !option_given(o, OPTION_SCENE))
		p->scene = SCENE_RING;
	theme_parse(option_text(o, OPTION_THEME), &p->theme);
	step_size_parse(option_text(o, OPTION_STEP), &p->step_size);
	p->text = o->value[OPTION_TEXT].real;
	p->over_steps = !strcmp(option_text(o, OPTION_OVER), "steps");
	p->values = !option_given(o, OPTION_NO_VALUES);
	p->presenter = option_given(o, OPTION_PRESENTER);
	p->beside = option_given(o, OPTION_PREDICT);
	enum status s = place(p, o);
	if (s || (s = read_ranges(p, o)))
		return s;
	if (p->shown->foreign && option_given(o, OPTION_SCENE) && p->scene != SCENE_TIMELINE)
		return status_fail(STATUS_INPUT, "--scene %s: a trace of another program has only a timeline",
		                   scene_name(p->scene));
	if (p->beside && !p->shown->has_other)
		return status_fail(STATUS_INPUT,
		                   "--predict is for a measured run: give one that train wrote with --trace");
	if (p->beside && !option_given(o, OPTION_SCENE))
		p->scene = SCENE_TIMELINE;
	return look(p, o);
}

/* ---- pictures ---- */

struct exporting {
	struct viewer *viewer;
	enum export_format format;
};

static enum status write_export(void *context, FILE *out)
{
	struct exporting *e = context;
	const struct options *o = e->viewer->options;
	if (option_given(o, OPTION_RACE))
		return export_drawing(viewer_race_draw, e->viewer, e->format, &e->viewer->size, out);
	return export_write(&e->viewer->playback, e->format, &e->viewer->size,
	                    !strcmp(option_text(o, OPTION_PAGES), "all"), out);
}

static enum status check_options(struct viewer *v, struct exporting *e)
{
	const struct options *o = v->options;
	const char *path = option_text(o, OPTION_EXPORT);
	enum status s = read_size(option_text(o, OPTION_SIZE), &v->size);
	v->size.scale = o->value[OPTION_SCALE].real;
	v->size.delay = (int)option_whole(o, OPTION_DELAY);
	if (s)
		return s;
	if (option_given(o, OPTION_VALUES) && option_given(o, OPTION_NO_VALUES))
		return status_fail(STATUS_INPUT, "--values and --no-values: leave one of them out");
	if (path && option_given(o, OPTION_DESCRIBE))
		return status_fail(STATUS_INPUT, "--describe prints text: leave out --%s", option_name(OPTION_EXPORT));
	if (!path) {
		static const enum option of_files[] = {OPTION_PAGES, OPTION_DELAY, OPTION_SCALE};
		for (size_t i = 0; i < sizeof of_files / sizeof of_files[0]; i++)
			if (option_given(o, of_files[i]))
				return status_fail(STATUS_INPUT, "--%s is for pictures: give --export FILE too",
				                   option_name(of_files[i]));
		return STATUS_OK;
	}
	if (!export_parse(path, &e->format))
		return status_fail(STATUS_INPUT, "--export %.60s: the name must end in .png, .svg, .pdf, .gif or .html",
		                   path);
	if (v->size.width * v->size.scale > 32767 || v->size.height * v->size.scale > 32767)
		return status_fail(STATUS_INPUT, "--size times --scale: more than 32767 pixels");
	if (option_given(o, OPTION_RACE) && (e->format == EXPORT_GIF || e->format == EXPORT_HTML))
		return status_fail(STATUS_INPUT, "--export %.60s: a race is written as .png, .svg or .pdf", path);
	if (option_given(o, OPTION_PAGES) && e->format != EXPORT_PDF)
		return status_fail(STATUS_INPUT, "--pages is for .pdf files; .gif and .html have all steps");
	return STATUS_OK;
}

static enum status pair(struct viewer *v, const char *with)
{
	if (strcmp(with, PAIR_BEFORE) != 0)
		return viewer_pair(v, with);
	if (!v->playback.whatif)
		return status_fail(STATUS_INPUT, "--pair " PAIR_BEFORE " is for --what-if: give it too");
	v->together = true;
	viewer_fill(v);
	return STATUS_OK;
}

/* Strategies beside the one that was asked for. */
static enum status set_others(struct viewer *v)
{
	static const enum option beside[] = {OPTION_COMPARE, OPTION_PAIR};
	const struct options *o = v->options;
	if (option_given(o, OPTION_PAIR) && !option_given(o, OPTION_COMPARE) && v->loaded[0].read)
		return viewer_pair_traces(v, option_text(o, OPTION_PAIR));
	for (size_t i = 0; i < sizeof beside / sizeof beside[0]; i++)
		if (option_given(o, beside[i]) && viewer_alone(v))
			return status_fail(STATUS_INPUT, "--%s makes a plan of each strategy: leave out --%s",
			                   option_name(beside[i]),
			                   option_name(v->loaded[0].read                    ? OPTION_TRACE
			                               : option_given(o, OPTION_COLLECTIVE) ? OPTION_COLLECTIVE
			                                                                    : OPTION_PLAN_FILE));
	if (option_given(o, OPTION_PAIR)) {
		if (option_given(o, OPTION_COMPARE))
			return status_fail(STATUS_INPUT, "--pair shows two strategies in every scene, --compare the "
			                                 "memory of several: leave out one of them");
		return pair(v, option_text(o, OPTION_PAIR));
	}
	if (!option_given(o, OPTION_COMPARE))
		return STATUS_OK;
	if (option_given(o, OPTION_SCENE) && v->playback.scene != SCENE_MEMORY)
		return status_fail(STATUS_INPUT, "--compare shows the memory of each strategy: leave out --scene %s",
		                   scene_name(v->playback.scene));
	return viewer_compare(v, option_text(o, OPTION_COMPARE));
}

/* What would fit is looked for first, where there is no window that could be shown meanwhile. */
static void find_changes(struct viewer *v)
{
	for (int i = 0; i < VIEWS; i++)
		while (load_search(&v->loaded[i]))
			;
}

static enum status what_if(struct viewer *v)
{
	const struct options *o = v->options;
	if (!option_given(o, OPTION_WHAT_IF))
		return STATUS_OK;
	if (viewer_alone(v))
		return status_fail(STATUS_INPUT, "--what-if makes a plan of other settings: leave out --%s",
		                   option_name(viewer_source(v)));
	return viewer_what_if(v, option_text(o, OPTION_WHAT_IF));
}

/* Questions are about one plan. */
static enum status check_ask(const struct viewer *v, const struct exporting *e)
{
	const struct options *o = v->options;
	bool pages = !strcmp(option_text(o, OPTION_PAGES), "all");
	if (option_given(o, OPTION_RACE))
		return status_fail(STATUS_INPUT, "--ask is about a plan: leave out --race");
	if (v->playback.shown->foreign)
		return status_fail(STATUS_INPUT, "--ask is about plans: a trace of another program has none");
	static const enum option of_several[] = {OPTION_COMPARE, OPTION_PAIR};
	for (size_t i = 0; i < sizeof of_several / sizeof of_several[0]; i++)
		if (option_given(o, of_several[i]))
			return status_fail(STATUS_INPUT, "--ask is about one strategy: leave out --%s",
			                   option_name(of_several[i]));
	if (option_given(o, OPTION_EXPORT) && option_given(o, OPTION_WHAT_IF))
		return status_fail(STATUS_INPUT,
		                   "--ask and --what-if have one place beside the picture: leave out one");
	if (option_given(o, OPTION_EXPORT) && (e->format == EXPORT_GIF || pages))
		return status_fail(STATUS_INPUT,
		                   "--ask draws one question, the next from --at on: give a .png, .svg or .pdf; "
		                   ".html has all of them");
	return STATUS_OK;
}

/* The first question from where the playback stands. */
static enum status ask_from_here(struct viewer *v)
{
	struct playback *p = &v->playback;
	enum scene scene = p->scene;
	if (!asking_begin(&v->asking, &p->shown->timeline, p->position))
		return status_fail(STATUS_INPUT, "--ask: there is nothing to ask about this step");
	playback_ask(p, &v->asking);
	if (option_given(v->options, OPTION_SCENE))
		p->scene = scene;
	return STATUS_OK;
}

enum status command_view(const struct options *o)
{
	struct viewer *v = calloc(1, sizeof *v);
	struct fonts fonts = {0};
	struct exporting exporting = {.viewer = v};
	if (!v)
		return status_fail(STATUS_MEMORY, "out of memory");
	v->options = o;
	enum status s = check_options(v, &exporting);
	if (!s)
		s = viewer_build_check(o);
	if (!s && !option_given(o, OPTION_DESCRIBE))
		s = fonts_open(&fonts);
	playback_init(&v->playback, &fonts);
	if (!s && !(s = viewer_begin(v, o)))
		s = what_if(v);
	if (!s)
		s = set_playback(&v->playback, o);
	if (!s)
		s = set_others(v);
	if (!s && (option_given(o, OPTION_DESCRIBE) || option_given(o, OPTION_EXPORT)))
		find_changes(v);
	if (!s && option_given(o, OPTION_ASK))
		s = check_ask(v, &exporting);
	if (!s && option_given(o, OPTION_ASK) && !option_given(o, OPTION_DESCRIBE))
		s = ask_from_here(v);
	if (!s && option_given(o, OPTION_RACE))
		s = viewer_race(v);
	if (!s && option_given(o, OPTION_RACE) && option_given(o, OPTION_DESCRIBE))
		race_describe(&v->race, stdout);
	else if (!s && option_given(o, OPTION_DESCRIBE) && option_given(o, OPTION_ASK))
		export_questions(&v->playback, stdout);
	else if (!s && option_given(o, OPTION_BUILD) &&
	         (option_given(o, OPTION_DESCRIBE) || option_given(o, OPTION_EXPORT)))
		s = viewer_build(v);
	else if (!s && option_given(o, OPTION_DESCRIBE))
		export_describe(&v->playback, !option_given(o, OPTION_AT), stdout);
	else if (!s && option_given(o, OPTION_EXPORT))
		s = file_write(option_text(o, OPTION_EXPORT), "{export}", write_export, &exporting);
	else if (!s)
		s = viewer_window(v);
	race_release(&v->race);
	viewer_release(v);
	job_release(&v->built);
	fonts_release(&fonts);
	free(v);
	return s;
}
