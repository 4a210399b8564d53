/* The banner of a plan that does not fit: what it needs, what there is, where it runs out, and what would help. */
#include "strategy/base/number.h"
#include "strategy/plan/ops.h"
#include "viz/scene/scene_parts.h"
#include "viz/timeline/op_words.h"

#include <math.h>
#include <stdio.h>

#include "strategy/base/language.h"

bool banner_shows(const struct view *v)
{
	return v->state && !v->second && !is_veiled(v) && v->state->timeline->limits.overflows;
}

static int64_t live_bytes(const struct timeline_role *r, int issued)
{
	int64_t total = 0;
	for (int c = 0; r->live[SPACE_DEVICE] && c < HELD_COUNT; c++)
		total += r->live[SPACE_DEVICE][(size_t)issued * HELD_COUNT + (size_t)c];
	return total;
}

/* The allocation that comes first beyond the room, by its place in the step, from 1; 0: what lasts is too much already;
 * -1: none, so that it is the layout or all ranks of a node together. */
static int first_beyond(const struct timeline_role *r, int64_t room)
{
	int ops = r->role->step.end - r->role->step.begin;
	for (int k = 0; k <= ops; k++)
		if (live_bytes(r, k) > room)
			return k;
	return -1;
}

/* The operation that the allocation is for: the next that is none. */
static const struct op *user_of(const struct role *r, int op)
{
	while (op + 1 < r->step.end && op_class(r->ops[op].kind) == OP_CLASS_M)
		op++;
	return &r->ops[op];
}

static void say_where(const struct timeline *s, char *out, size_t size)
{
	char words[OP_WORDS], held[WORD];
	*out = 0;
	for (int i = 0; i < s->plan->role_count; i++) {
		const struct timeline_role *r = &s->roles[i];
		int k = first_beyond(r, s->limits.device_bytes - s->limits.overhead_bytes);
		if (k < 0)
			continue;
		if (k == 0)
			snprintf(out, size, tr("; before the step begins a rank already holds %s"),
			         bytes_word(held, live_bytes(r, 0) + s->limits.overhead_bytes));
		else
			snprintf(out, size, tr("; the first that finds no room is %s"),
			         op_words(words, s, r->role, user_of(r->role, r->role->step.begin + k - 1)));
		return;
	}
}

void banner_words(const struct timeline *s, char *what, char *change, size_t size)
{
	static const char *const places[SPACE_COUNT] = {
	        [SPACE_DEVICE] = "A rank needs %s with libraries, and its device has %s",
	        [SPACE_HOST] = "The ranks of a node need %s, and it has %s",
	        [SPACE_DISK] = "The ranks of a node need %s, and its disk has %s"};
	const struct limits *l = &s->limits;
	char needed[WORD], there[64], missing[WORD], step[WORD], both[200], where[OP_WORDS + 32];
	number_format_capacity(there, sizeof there, l->tightest.capacity_bytes);
	snprintf(both, sizeof both, tr(places[l->tightest.space]), bytes_word(needed, l->tightest.needed_bytes), there);
	say_where(s, where, sizeof where);
	snprintf(what, size, tr("Does not fit. %s: %s are missing at the peak%s."), both,
	         bytes_word(missing, l->tightest.needed_bytes - l->tightest.capacity_bytes), where);
	if (*l->change.words)
		snprintf(change, size,
		         tr(l->change.close ? "Would just fit with %s, in %s a step."
		                            : "Would fit with %s, in %s a step."),
		         l->change.words, time_word(step, l->change.step));
	else if (l->searching)
		snprintf(change, size, tr("What would fit is being looked for."));
	else if (l->change.cut)
		snprintf(change, size, tr("What would fit is not known: the search ended at its limit."));
	else
		snprintf(change, size, tr("No change of one or a few settings makes it fit, nor 64 times the ranks."));
	language_space(what, size);
	language_space(change, size);
}

/* ---- its place ---- */

enum { SENTENCE = 400 };

/* How many lines a sentence takes, by the width of a letter, which is never too small. */
static int lines_of(const char *text, double size, double width)
{
	double letters = 0;
	for (; *text; text++)
		letters += (*text & 0xC0) != 0x80;
	return (int)ceil(0.68 * size * letters / fmax(width, 40));
}

/* The size of its text, and the lines of both sentences. */
struct banner {
	double size;
	int what, change;
};

static struct banner lay(const struct view *v, double width, double least, char *what, char *change)
{
	struct banner b = {.size = fmax(13, least)};
	banner_words(v->state->timeline, what, change, SENTENCE);
	b.what = lines_of(what, fmax(11, least), width - 28); /* on one line it may be a little smaller */
	b.change = lines_of(change, fmax(11, least), width - 28);
	return b;
}

double banner_height(const struct view *v, double width, double least)
{
	char what[SENTENCE], change[SENTENCE];
	if (!banner_shows(v))
		return 0;
	struct banner b = lay(v, width, least, what, change);
	return 1.35 * b.size * (b.what + b.change) + 11;
}

static void draw_sentence(struct canvas *c, struct box b, double y, double size, int lines, bool bold, colour ink,
                          const char *text)
{
	enum weight w = bold ? WEIGHT_BOLD : WEIGHT_PLAIN;
	if (lines < 2)
		draw_fitting(c, b.x + 16, y, size, 8, w, ink, ALIGN_LEFT, b.width - 28, text);
	else if (bold)
		draw_bold_paragraph(c, b.x + 16, y, b.width - 28, size, lines, ink, text);
	else
		draw_paragraph(c, b.x + 16, y, b.width - 28, size, lines, ink, text);
}

void draw_banner(struct canvas *c, const struct view *v, struct box b)
{
	const struct theme *t = c->theme;
	char what[SENTENCE], change[SENTENCE];
	if (!banner_shows(v))
		return;
	struct banner text = lay(v, b.width, c->least, what, change);
	double y = b.y + 4 + text.size, height = b.height - 6;
	draw_card(c, (struct box){b.x, b.y, b.width, height}, t->panel, t->warning, 2);
	draw_fill(c, (struct box){b.x + 1, b.y + 1, 6, height - 2}, t->warning);
	draw_sentence(c, b, y, text.size, text.what, true, t->warning, what);
	draw_sentence(c, b, y + 1.35 * text.size * text.what, text.size, text.change, false, t->ink, change);
}
