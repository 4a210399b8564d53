/* The card of a selected span of another program's trace: what it is, when and where, how fast, and what it waited for.
 */
#include <stdio.h>
#include <string.h>

#include "strategy/base/language.h"
#include "viz/scene/lane_cards.h"
#include "viz/scene/lane_foreign.h"

enum { ROW = 16 };

/* The lines of a card, from the top. */
struct card {
	struct canvas *c;
	struct box b;
	double y;
};

static void put(struct card *d, colour ink, const char *words)
{
	d->y += ROW;
	if (d->y < d->b.y + d->b.height - 4)
		draw_fitting(d->c, d->b.x + 12, d->y, 12, 9, WEIGHT_PLAIN, ink, ALIGN_LEFT, d->b.width - 24, words);
}

static void put_place(struct card *d, const struct lanes *l, const struct lane *lane, const struct lane_span *s)
{
	char words[400], time[WORD], begin[WORD], end[WORD], exposed[64];
	exposed_phrase(l, lane, s, exposed, sizeof exposed);
	snprintf(words, sizeof words, tr("%s, %s: %s, from %s to %s%s%s"), lane->process, lane->name,
	         time_word(time, s->end - s->begin), time_word(begin, s->begin), time_word(end, s->end),
	         *exposed ? "; " : "", exposed);
	put(d, d->c->theme->ink, words);
}

static void put_speed(struct card *d, const struct lanes *l, const struct lane_span *s)
{
	char words[SPEED_WORDS + 64], speed[SPEED_WORDS];
	struct speed x;
	if (!speed_of_span(l->file, s->number, &x))
		return;
	snprintf(words, sizeof words, "%s%s", speed_words(speed, &x),
	         x.ranks != 1 ? tr("; in that time it waits for other ranks, too") : "");
	put(d, d->c->theme->ink, words);
}

/* Leaves out the device and the stream, which stand beside the process. */
static void put_arguments(struct card *d, const char *args)
{
	while (args && (!strncmp(args, "device ", 7) || !strncmp(args, "stream ", 7))) {
		const char *next = strstr(args, ", ");
		args = next ? next + 2 : NULL;
	}
	if (args)
		put(d, d->c->theme->ink, args);
}

/* The call that launched it, and how long it then lay in the queue. */
static void put_launch(struct card *d, const struct lanes *l, const struct lane_span *s)
{
	const struct trace_file *f = l->file;
	char words[400], name[FOREIGN_NAME], at[WORD], later[WORD];
	for (size_t i = 0; i < f->flow_count; i++) {
		const struct foreign_span *from = &f->spans[f->flows[i].from];
		if (f->flows[i].to != s->number)
			continue;
		foreign_name(name, from);
		snprintf(words, sizeof words, tr("launched by %s at %s"), name, time_word(at, from->begin));
		if (s->begin > from->end)
			snprintf(words + strlen(words), sizeof words - strlen(words), tr("; waited %s in the queue"),
			         time_word(later, s->begin - from->end));
		put(d, d->c->theme->ink, words);
		return;
	}
}

static void put_what_follows(struct card *d, const struct lanes *l, const struct lane_span *s)
{
	const struct trace_file *f = l->file;
	char words[400], name[FOREIGN_NAME], at[WORD];
	size_t count = 0, first = 0;
	for (size_t i = 0; i < f->flow_count; i++)
		if (f->flows[i].from == s->number && !count++)
			first = f->flows[i].to;
	if (!count)
		return;
	foreign_name(name, &f->spans[first]);
	snprintf(words, sizeof words, tr("leads to %s at %s"), name, time_word(at, f->spans[first].begin));
	if (count > 1)
		snprintf(words + strlen(words), sizeof words - strlen(words), tr(" and %zu others"), count - 1);
	put(d, d->c->theme->ink, words);
}

/* Says what the stream was busy with before this span, and how long it then idled. */
static void put_before(struct card *d, const struct lanes *l, const struct lane *lane, const struct lane_span *s)
{
	char words[400], name[FOREIGN_NAME], end[WORD], gap[WORD];
	size_t i = (size_t)(s - lane->spans);
	if (i == lane->row[s->depth])
		return;
	const struct lane_span *before = s - 1;
	foreign_name(name, &l->file->spans[before->number]);
	snprintf(words, sizeof words, tr("before it: %s, ended at %s, %s earlier"), name, time_word(end, before->end),
	         time_word(gap, s->begin - before->end));
	put(d, d->c->theme->soft, words);
}

void foreign_card_draw(struct canvas *c, const struct lanes *l, int64_t lane, int64_t span, struct box b)
{
	const struct theme *t = c->theme;
	const struct lane *in = &l->lanes[lane];
	const struct lane_span *s = &in->spans[span];
	const struct foreign_span *f = &l->file->spans[s->number];
	struct card d = {c, b, b.y + 18};
	char title[FOREIGN_TITLE];
	foreign_title(title, l->file, f);
	draw_card(c, b, t->panel, t->ink, 1.4);
	draw_fitting(c, b.x + 12, d.y, 13, 9, WEIGHT_BOLD, t->ink, ALIGN_LEFT, b.width - 24, title);
	put_place(&d, l, in, s);
	put_speed(&d, l, s);
	put_arguments(&d, f->args);
	put_launch(&d, l, s);
	put_what_follows(&d, l, s);
	put_before(&d, l, in, s);
}
