#include "viz/build/board.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "strategy/base/arena.h"
#include "strategy/base/language.h"

/* ---- simulated steps ---- */

static void step_release(struct built_step *s)
{
	playback_release(&s->playback);
	trace_view_release(&s->shown);
	trace_release(&s->trace);
	plan_release(&s->plan);
	*s = (struct built_step){0};
}

/* The step's name in the scenes. */
static void name_step(struct trace_view *v, const struct plan *p, bool own)
{
	const char *ranks = p->ranks == 1 ? tr("rank") : tr("ranks");
	snprintf(v->label, sizeof v->label, own ? tr("%.50s's own") : tr("yours"), p->strategy);
	snprintf(v->heading, sizeof v->heading, "%s%.50s%s on %lld %s · %.100s", own ? "" : tr("your "), p->strategy,
	         own ? tr("'s own") : "", (long long)p->ranks, ranks, p->model->name);
}

static enum status step_simulate(struct built_step *s, const struct board *b, const struct plan *p,
                                 const struct fonts *fonts)
{
	struct report report = {0};
	struct limits limits = {0};
	enum status status = b->host.simulate(b->host.context, p, &s->trace, &limits, &report);
	if (!status)
		status = trace_view_open(&s->shown, &s->trace, &limits, NULL);
	if (!status) {
		outcome_make(&s->outcome, p, &report);
		name_step(&s->shown, p, s == &b->own);
		playback_init(&s->playback, fonts);
		playback_show(&s->playback, &s->shown);
		playback_go(&s->playback, s->shown.timeline.instant_count);
		s->there = true;
	}
	report_release(&report);
	return status;
}

void board_refresh(struct board *b)
{
	const struct fonts *fonts = b->own.playback.fonts;
	step_release(&b->mine);
	b->failure[0] = 0;
	if (!b->exercise.placed_count)
		return;
	exercise_plan(&b->exercise, &b->mine.plan);
	if (step_simulate(&b->mine, b, &b->mine.plan, fonts))
		snprintf(b->failure, sizeof b->failure, "%.250s", status_message());
}

enum status board_open(struct board **out, const struct build_host *host, const char *strategy,
                       const struct fonts *fonts)
{
	struct board *b = array_make(1, sizeof *b);
	const struct plan *plan = NULL;
	*out = NULL;
	b->host = *host;
	enum status s = host->plan(host->context, strategy, &plan);
	if (!s)
		s = exercise_open(&b->exercise, plan);
	if (!s)
		s = step_simulate(&b->own, b, plan, fonts);
	if (s)
		board_close(b);
	else
		*out = b;
	return s;
}

void board_close(struct board *b)
{
	if (!b)
		return;
	step_release(&b->mine);
	step_release(&b->own);
	exercise_release(&b->exercise);
	free(b);
}

/* ---- choosing ---- */

void board_choose(struct board *b, int by)
{
	int order[EXERCISE_MOVES], count = exercise_drawer(&b->exercise, order), at = 0;
	while (at < count && order[at] != b->chosen)
		at++;
	b->chosen = order[(at + by + count) % count];
}

void board_choose_row(struct board *b, int by)
{
	const struct box *from = &b->chips[b->chosen];
	double best = 1e9;
	int found = b->chosen;
	for (int i = 0; i < b->exercise.move_count; i++) {
		const struct box *to = &b->chips[i];
		double down = (to->y - from->y) * by;
		double across = fabs(to->x + to->width / 2 - from->x - from->width / 2);
		if (down > 1 && down * 20 + across < best) {
			best = down * 20 + across;
			found = i;
		}
	}
	b->chosen = found;
}
