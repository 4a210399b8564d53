/* What a collective is about: its name, its size and algorithm, and how far it is. */
#include <math.h>
#include <stdio.h>

#include "viz/scene/op_words.h"
#include "viz/scene/ring_parts.h"
#include "viz/scene/scene_parts.h"

/* Nothing of it has happened yet: it waits for what ends last of all that the lead's operation waits for. */
static void say_next(const struct state *st, const struct collective *c, char *out, size_t size)
{
	const struct timeline *s = st->timeline;
	int index = timeline_index_of(s, c->lead);
	const struct op *cause = caption_cause(s, index, &timeline_role_of(s, index)->ops[c->op]);
	char words[OP_WORDS];
	snprintf(out, size, "next");
	if (cause)
		snprintf(out, size, "next, after %s", op_words(words, s, timeline_role_of(s, index), cause));
}

/* The chunks' numbers are a run's; "" where they are examples. */
static void say_values(const struct ring *r, char *out, size_t size)
{
	const struct timeline *s = r->v->state->timeline;
	char power[POWER_WORD];
	*out = 0;
	if (r->values && values_recorded(s))
		snprintf(out, size, "values of the run%s", power_word(power, r->values->power));
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
	bool ring = c->kind != OP_SEND && c->schedule.algorithm == SCHEDULE_RING_ALL_REDUCE;
	bool done = g->done || (!st->held && st->done); /* whose rounds are no events */
	int round = g->round ? g->round : 1;            /* the one that was last over, or that runs first */
	const char *part = !ring ? "" : round <= c->rounds / 2 ? ": reduce-scatter" : ": all-gather";
	collective_words(st->timeline, c, what, sizeof what);
	if (st->group_count > RING_GROUPS)
		snprintf(groups, sizeof groups, ", one of %d groups", st->group_count);
	snprintf(amount, sizeof amount, "S = %s%s%s%s", bytes_word(bytes, c->schedule.elements * c->element_bytes),
	         c->kind == OP_SEND ? "" : ", by ", c->kind == OP_SEND ? "" : schedule_row(c->schedule.algorithm)->name,
	         groups);
	if (!st->begun && is_veiled(r->v))
		snprintf(progress, sizeof progress, "next");
	else if (!st->begun)
		say_next(st, c, progress, sizeof progress);
	else if (done)
		snprintf(progress, sizeof progress, "done in %d round%s", c->rounds, c->rounds == 1 ? "" : "s");
	else
		snprintf(progress, sizeof progress, "%d of %d rounds%s", g->round, c->rounds, part);
	say_values(r, values, sizeof values);
	if (!r->title_inside) {
		double y = b.y + fmax(15, r->c->least), line = fmax(20, 1.25 * r->c->least);
		draw_fitting(r->c, b.x, y, 16, 11, WEIGHT_BOLD, t->ink, ALIGN_LEFT, room, what);
		draw_text(r->c, b.x, y + line, 13, WEIGHT_PLAIN, t->soft, ALIGN_LEFT, room, "%s · %s%s%s", amount,
		          progress, *values ? " · " : "", values);
		return;
	}
	double x = b.x + b.width / 2, y = b.y + b.height / 2 - 24, line = fmax(15, 1.25 * r->c->least);
	draw_fitting(r->c, x, y, 16, 11, WEIGHT_BOLD, t->ink, ALIGN_CENTRE, room, what);
	draw_text(r->c, x, y + 20, 13, WEIGHT_PLAIN, t->soft, ALIGN_CENTRE, room, "%s", amount);
	draw_fitting(r->c, x, y + 39, 13, 9, done && st->begun ? WEIGHT_BOLD : WEIGHT_PLAIN,
	             st->begun ? t->ink : t->soft, ALIGN_CENTRE, room, progress);
	static const char *const legends[] = {
	        "a column is a chunk, a row of it a rank:", "filled where its sum holds that rank's part",
	        "filled where its sum holds that rank's part; below, how many it holds"};
	const char *second = legends[r->n > 8 && r->card[0].height > 56 ? 2 : 1];
	bool legend = r->n > 4 && r->area.height - 2 * r->card[0].height > 2 * (49 + 2 * line) - 10 &&
	              collective_adds(c) && text_length(r->c, 11, WEIGHT_PLAIN, second) <= room &&
	              text_length(r->c, 11, WEIGHT_PLAIN, legends[0]) <= room;
	if (*values)
		draw_text(r->c, x, y + (legend ? 68 + 2 * line : 58), 12, WEIGHT_BOLD, t->ink, ALIGN_CENTRE, room, "%s",
		          values);
	if (legend) {
		draw_text(r->c, x, y + 49 + line, 11, WEIGHT_PLAIN, t->soft, ALIGN_CENTRE, room, "%s", legends[0]);
		draw_text(r->c, x, y + 49 + 2 * line, 11, WEIGHT_PLAIN, t->soft, ALIGN_CENTRE, room, "%s", second);
	}
}
