/* A race in `view`: --race. */
#include "cli/command/view_open.h"
#include "cli/command/view_race.h"
#include "strategy/cluster/links.h"

#include <string.h>

const char *viewer_cluster(struct viewer *v)
{
	const struct trace_view *shown = v->playback.shown;
	const char *name = shown->foreign ? "" : shown->timeline.trace->cluster;
	if (*v->loaded[0].cluster)
		return viewer_shown(v)->cluster;
	return links_known(name) ? name : option_text(v->options, OPTION_CLUSTER);
}

static enum status begin(struct viewer *v)
{
	const struct plan *p = v->playback.shown->timeline.plan;
	bool ranks = !strcmp(option_text(v->options, OPTION_OVER), "ranks");
	v->race = (struct race){.operation = race_operation(option_text(v->options, OPTION_RACE)),
	                        .over = ranks ? RACE_OVER_RANKS : RACE_OVER_SIZES,
	                        .ranks = p->ranks,
	                        .bytes = 4 * p->model->parameters};
	race_run(&v->race, viewer_cluster(v));
	return *v->race.refused ? status_fail(STATUS_INPUT, "%s", v->race.refused) : STATUS_OK;
}

/* The race at the position where its fastest is done. */
static void draw(void *viewer, cairo_t *cr, double width, double height)
{
	struct viewer *v = viewer;
	struct playback *p = &v->playback;
	struct canvas c;
	int64_t now = v->race.longest;
	for (int i = 0; i < v->race.count; i++)
		now = v->race.racer[i].ns < now ? v->race.racer[i].ns : now;
	canvas_begin(&c, cr, width, height, canvas_text(width, height, p->text, p->presenter), theme_of(p->theme),
	             p->fonts);
	c.least = p->presenter ? LEGIBLE * c.height : 0;
	race_draw(&c, &v->race, now, (struct box){20, 8, c.width - 40, c.height - 16});
	canvas_end(&c);
}

static enum status describe(struct viewer *v, FILE *out)
{
	race_describe(&v->race, out);
	return STATUS_OK;
}

const struct way way_race = {
        .option = OPTION_RACE, .name = "a race", .begin = begin, .describe = describe, .draw = draw};
