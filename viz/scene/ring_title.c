/* The title of a collective: its name, its size and algorithm, and its progress. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "strategy/base/language.h"
#include "viz/scene/ring_parts.h"
#include "viz/scene/scene_parts.h"
#include "viz/timeline/op_words.h"

/* Nothing of it has happened yet: it waits for what ends last of all that the lead's operation waits for. */
static void say_next(const struct state *st, const struct collective *c, char *out, size_t size)
{
	const struct timeline *s = st->timeline;
	int index = timeline_index_of(s, c->lead);
	const struct op *cause = caption_cause(s, index, &timeline_role_of(s, index)->ops[c->op]);
	char words[OP_WORDS];
	snprintf(out, size, tr("next"));
	if (cause)
		snprintf(out, size, tr("next, after %s"), op_words(words, s, timeline_role_of(s, index), cause));
}

/* The chunks' numbers are a run's; "" where they are examples. */
static void say_values(const struct ring *r, char *out, size_t size)
{
	const struct timeline *s = r->v->state->timeline;
	char power[POWER_WORD];
	*out = 0;
	if (r->values && values_recorded(s))
		snprintf(out, size, tr("values of the run%s"), power_word(power, r->values->power));
}

enum { LEGEND_LINES = 5 };

/* The lines that explain a card, the most important first. Returns how many there are. */
static int legend_lines(const struct ring *r, const char *out[LEGEND_LINES])
{
	const struct collective *c = r->collective;
	bool adds = collective_adds(c), several = c->chunk_count > 1;
	int n = 0;
	if (several)
		out[n++] = ring_is_numbered(r, r->card[0]) ? tr("above a box: the number of its chunk")
		                                           : tr("a box: a chunk; the first is chunk 0");
	if (ring_is_labelled(r, r->card[0]))
		out[n++] = !adds      ? tr("below a box: the rank it comes from")
		           : r->n > 8 ? tr("below a box: how many ranks are in its sum")
		                      : tr("below a box: the ranks in its sum");
	if (r->values && several)
		out[n++] = tr("on an arrow: chunk: value");
	if (adds)
		out[n++] = tr("a stripe in a box: a rank in its sum");
	if (r->values && several)
		out[n++] = values_recorded(r->v->state->timeline) ? tr("the number in a box: its value")
		                                                  : tr("the number in a box: an example value");
	return n;
}

static bool overlap(struct box a, struct box b)
{
	return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

/* Does it keep clear of the cards, the links round the circle, and what messages on them say? */
static bool is_clear(const struct ring *r, struct box line)
{
	bool few = r->n <= 8;
	double wide = text_length(r->c, few ? 12 : 9, WEIGHT_BOLD, few ? "chunk 0: 88 · 88.88 MB" : "88") + 20;
	for (int64_t k = 0; k < r->n; k++) {
		double x0, y0, x1, y1;
		ring_link(r, k, (k + 1) % r->n, 0, &x0, &y0, &x1, &y1);
		double room = fmax(44, hypot(x1 - x0, y1 - y0) - 20),
		       here = fabs(x1 - x0) > fabs(y1 - y0) ? fmin(wide, room) : wide;
		struct box plate = {(x0 + x1 - here) / 2, (y0 + y1) / 2 - 13, here, 26};
		if (overlap(line, r->card[k]) || overlap(line, plate))
			return false;
		for (int i = 0; i <= 16; i++) {
			double part = i / 16.0;
			struct box dot = {x0 + (x1 - x0) * part - 3, y0 + (y1 - y0) * part - 3, 6, 6};
			if (overlap(line, dot))
				return false;
		}
	}
	return true;
}

/* Writes as much as fits into the middle of the circle, from y to `below`. Returns the place of the last line. */
static double draw_legend(const struct ring *r, double x, double y, double below, double room)
{
	const char *lines[LEGEND_LINES];
	int count = legend_lines(r, lines);
	double line = fmax(15, 1.25 * r->c->least);
	for (int i = 0; i < count && y + line <= below; i++) {
		double length = text_length(r->c, 11, WEIGHT_PLAIN, lines[i]);
		if (length > room || !is_clear(r, (struct box){x - length / 2 - 4, y + line - 12, length + 8, 16}))
			continue;
		draw_text(r->c, x, y += line, 11, WEIGHT_PLAIN, r->c->theme->soft, ALIGN_CENTRE, 0, "%s", lines[i]);
	}
	return y;
}

/* Writes as much as fits after the progress, if the title stands above the cards. */
static void say_legend(const struct ring *r, double room, char *line, size_t size)
{
	const char *lines[LEGEND_LINES];
	int count = legend_lines(r, lines);
	char longer[384];
	for (int i = 0; i < count; i++) {
		int length = snprintf(longer, sizeof longer, "%s%s%s", line, i ? ", " : " · ", lines[i]);
		if (length >= (int)size || text_length(r->c, 13, WEIGHT_PLAIN, longer) > room)
			return;
		memcpy(line, longer, (size_t)length + 1);
	}
}

/* The shift upwards that centres title and legend together. */
static double rise(const struct ring *r, struct box b, const char *what)
{
	const char *lines[LEGEND_LINES];
	double by = 4 * legend_lines(r, lines), length = text_length(r->c, 16, WEIGHT_BOLD, what) + 24;
	struct box title = {b.x + (b.width - length) / 2, b.y + b.height / 2 - 24 - by - 18, length, 26};
	return is_clear(r, title) ? by : 0;
}

double ring_title_height(const struct canvas *c)
{
	return fmax(46, 2.6 * c->least + 6);
}

void ring_title(const struct ring *r, struct box b, double room)
{
	const struct theme *t = r->c->theme;
	const struct collective *c = r->collective;
	const struct state *st = r->v->state;
	const struct state_group *g = r->group;
	char what[COLLECTIVE_WORDS], bytes[WORD], amount[128], progress[160], groups[40] = "", values[64];
	const struct algorithm *a = schedule_row(c->schedule.algorithm);
	bool done = g->done || (!st->held && st->done); /* whose rounds are no events */
	int round = g->round ? g->round : 1;            /* the one that was last over, or that runs first */
	const char *part = !a->half ? "" : round <= a->half(&c->schedule) ? tr(": reduce-scatter") : tr(": all-gather");
	collective_words(st->timeline, c, what, sizeof what);
	if (st->group_count > RING_GROUPS)
		snprintf(groups, sizeof groups, tr(", one of %d groups"), st->group_count);
	snprintf(amount, sizeof amount, "S = %s%s%s%s", bytes_word(bytes, c->schedule.elements * c->element_bytes),
	         c->kind == OP_SEND ? "" : tr(", by "), c->kind == OP_SEND ? "" : a->name, groups);
	if (!st->begun && is_veiled(r->v))
		snprintf(progress, sizeof progress, tr("next"));
	else if (!st->begun)
		say_next(st, c, progress, sizeof progress);
	else if (done)
		snprintf(progress, sizeof progress, tr("done in %d round%s"), c->rounds, c->rounds == 1 ? "" : "s");
	else
		snprintf(progress, sizeof progress, tr("%d of %d rounds%s"), g->round, c->rounds, part);
	say_values(r, values, sizeof values);
	if (!r->title_inside) {
		double y = b.y + fmax(15, r->c->least), below = fmax(20, 1.25 * r->c->least);
		char line[384];
		snprintf(line, sizeof line, "%s · %s%s%s", amount, progress, *values ? " · " : "", values);
		say_legend(r, room, line, sizeof line);
		draw_fitting(r->c, b.x, y, 16, 11, WEIGHT_BOLD, t->ink, ALIGN_LEFT, room, what);
		draw_text(r->c, b.x, y + below, 13, WEIGHT_PLAIN, t->soft, ALIGN_LEFT, room, "%s", line);
		return;
	}
	double x = b.x + b.width / 2, y = b.y + b.height / 2 - 24 - rise(r, b, what);
	draw_fitting(r->c, x, y, 16, 11, WEIGHT_BOLD, t->ink, ALIGN_CENTRE, room, what);
	draw_text(r->c, x, y + 20, 13, WEIGHT_PLAIN, t->soft, ALIGN_CENTRE, room, "%s", amount);
	draw_fitting(r->c, x, y + 39, 13, 9, done && st->begun ? WEIGHT_BOLD : WEIGHT_PLAIN,
	             st->begun ? t->ink : t->soft, ALIGN_CENTRE, room, progress);
	double last = draw_legend(r, x, y + 49, b.y + b.height - r->card[0].height - (*values ? 26 : 8), room);
	if (*values)
		draw_text(r->c, x, last + (last > y + 49 ? 19 : 9), 12, WEIGHT_BOLD, t->ink, ALIGN_CENTRE, room, "%s",
		          values);
}
