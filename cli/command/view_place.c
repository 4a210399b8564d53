/* The options of `view` that place the playback: scene, place in the step, rank, range, selection. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/command/view_open.h"
#include "strategy/base/number.h"

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
		s = status_fail(STATUS_INPUT, "--%s: '%.40s' %s", option, text,
		                *to == *from ? "is empty" : "ends before it begins");
	int64_t end = shown->lanes.end;
	if (shown->has_other && shown->other_lanes.end > end)
		end = shown->other_lanes.end;
	if (!s && *from >= end)
		s = status_fail(STATUS_INPUT, "--%s: '%.40s' is behind the end, at %" PRId64 " ns", option, text, end);
	return s;
}

/* Sets the timeline's range and the part of it that is measured. */
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

/* Selects an operation and scrolls to it. */
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

enum status viewer_place(struct viewer *v)
{
	struct playback *p = &v->playback;
	const struct options *o = v->options;
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
