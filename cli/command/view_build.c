/* Build it yourself, in `view`: plans that are small enough to put together by hand, and lists of moves without a
 * window. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command/view_open.h"
#include "strategy/base/file.h"
#include "strategy/base/language.h"
#include "strategy/base/memory.h"
#include "viz/build/board.h"
#include "viz/build/describe.h"

/* Two blocks, whose parameters are most of the memory. A bucket is the last block's gradients and the final norm's. */
#define SMALL_MODEL "gpt:layers=2,width=1024,heads=16"
enum { SMALL_BUCKET = 12598272 }; /* elements */

/* The user's options stay, except those that make more moves. */
static enum status small_settings(struct settings *out, const struct settings *asked, const char *strategy)
{
	struct settings base = *asked, fresh = settings_default();
	snprintf(base.model, sizeof base.model, "%s", SMALL_MODEL);
	snprintf(base.checkpointing, sizeof base.checkpointing, "%s", fresh.checkpointing);
	base.offload = fresh.offload;
	base.sequence = 0;
	base.bucket = SMALL_BUCKET * (int64_t)type_bytes(base.precision);
	base.ranks = base.ranks < 2 ? 4 : base.ranks;
	base.batch = 4 * base.ranks;
	base.micro_batch = 4;
	base.accumulate = 1;
	return settings_beside(out, &base, strategy);
}

static enum status compile(struct viewer *v, const struct settings *settings)
{
	struct job job;
	TRY(job_open(&job, settings));
	job_release(&v->built);
	job_move(&v->built, &job);
	return STATUS_OK;
}

/* The model that was asked for, if its step has few moves. */
static bool few_moves(struct viewer *v)
{
	struct exercise e;
	bool few = !exercise_open(&e, &v->built.plan);
	if (few)
		exercise_release(&e);
	return few;
}

/* The model that the user named under another strategy, if that is few moves; or in any case where it is all that was
 * asked for: then the reason is said. */
static bool compile_asked(struct viewer *v, const char *strategy)
{
	struct settings s;
	bool asked = option_given(v->options, OPTION_MODEL) || changes_any(viewer_changes(v));
	if (!asked || settings_beside(&s, &v->built_from->job.settings, strategy) || compile(v, &s))
		return false;
	return few_moves(v) || option_given(v->options, OPTION_BUILD);
}

static enum status plan_to_build(void *context, const char *strategy, const struct plan **out)
{
	struct viewer *v = context;
	struct settings s;
	v->built_from = viewer_shown(v);
	*out = &v->built.plan;
	if (compile_asked(v, strategy))
		return STATUS_OK;
	enum status status = small_settings(&s, &v->built_from->job.settings, strategy);
	return status ? status : compile(v, &s);
}

static enum status simulate_built(void *context, const struct plan *plan, struct trace *trace, struct limits *limits,
                                  struct report *report)
{
	const struct viewer *v = context;
	return load_simulate(plan, v->options, v->built_from->cluster, trace, limits, report);
}

struct build_host viewer_build_host(struct viewer *v)
{
	return (struct build_host){v, plan_to_build, simulate_built};
}

/* ---- without a window ---- */

enum { MOST_BYTES = 1 << 20 };

enum status viewer_moves(const struct options *o, char **out)
{
	const char *text = option_text(o, OPTION_MOVES);
	size_t size = 0;
	*out = NULL;
	if (!option_given(o, OPTION_MOVES))
		return STATUS_OK;
	if (!strpbrk(text, " ,") && *text && strcmp(text, "...") != 0 && strcmp(text, "…") != 0)
		return file_read(text, "{moves}", MOST_BYTES, out, &size);
	*out = memory_text(text);
	return STATUS_OK;
}

static enum status play(struct board *b, const struct options *o)
{
	char *list;
	enum status s = viewer_moves(o, &list);
	if (!s && list)
		s = exercise_play(&b->exercise, list);
	if (!s && b->exercise.said.accepted && b->exercise.placed_count)
		exercise_done(&b->exercise);
	if (!s)
		board_refresh(b);
	free(list);
	return s;
}

static enum status describe(struct viewer *v, FILE *out)
{
	const struct exercise *e = &v->board->exercise;
	bool both = e->done && v->board->mine.there;
	if (!e->placed_count && !*e->said.text)
		build_describe_drawer(e, out);
	else
		build_describe(e, both ? &v->board->own.outcome : NULL, both ? &v->board->mine.outcome : NULL, out);
	return STATUS_OK;
}

static void draw(void *viewer, cairo_t *cr, double width, double height)
{
	const struct viewer *v = viewer;
	const struct playback *at = &v->playback;
	struct canvas c;
	canvas_begin(&c, cr, width, height, at->text, theme_of(at->theme), at->fonts);
	struct box all = {0, 0, c.width, c.height};
	board_lay(&c, v->board, all);
	board_draw(&c, v->board, all);
	canvas_end(&c);
}

static enum status check(const struct options *o)
{
	static const enum option others[] = {OPTION_SCENE,     OPTION_AT,     OPTION_PAST,    OPTION_STEP,
	                                     OPTION_COMPARE,   OPTION_PAIR,   OPTION_PREDICT, OPTION_FOCUS,
	                                     OPTION_RANGE,     OPTION_SELECT, OPTION_PAGES,   OPTION_SCROLL,
	                                     OPTION_PLAN_FILE, OPTION_TRACE};
	for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
		if (option_given(o, others[i]))
			return status_fail(STATUS_INPUT, "--%s is for a step that is there: leave it out, or --%s",
			                   option_name(others[i]), option_name(OPTION_BUILD));
	return STATUS_OK;
}

enum status viewer_build_check(const struct options *o)
{
	if (option_given(o, OPTION_MOVES) && !option_given(o, OPTION_BUILD))
		return status_fail(STATUS_INPUT, "--%s is a list of what one builds: give --%s too",
		                   option_name(OPTION_MOVES), option_name(OPTION_BUILD));
	return option_given(o, OPTION_BUILD) ? check(o) : STATUS_OK;
}

/* A list that ends before the step does is not an error. */
static enum status refused_move(const struct exercise *e)
{
	if (e->said.accepted || e->said.move < 0)
		return STATUS_OK;
	char said[sizeof e->said.text];
	snprintf(said, sizeof said, "%s", e->said.text);
	language_space(said, sizeof said);
	return status_fail(STATUS_INPUT, tr("--%s: '%s' is refused. %s"), option_name(OPTION_MOVES),
	                   e->moves[e->said.move].name, said);
}

/* A window opens a board of its own. */
static enum status begin(struct viewer *v)
{
	struct build_host host = viewer_build_host(v);
	enum status s = STATUS_OK;
	if (!viewer_windowless(v))
		return STATUS_OK;
	if ((s = board_open(&v->board, &host, v->playback.shown->label, v->playback.fonts)))
		return s;
	v->board->chosen = -1;
	s = play(v->board, v->options);
	return s ? s : refused_move(&v->board->exercise);
}

const struct way way_build = {
        .option = OPTION_BUILD, .name = "what one builds", .begin = begin, .describe = describe, .draw = draw};
