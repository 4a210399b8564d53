/* The caption below a scene: what the last step did, in lines that are never cut off, and where the cursor is. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "strategy/base/language.h"
#include "viz/scene/lane_foreign.h"
#include "viz/scene/pair.h"
#include "viz/scene/scene_parts.h"

/* LONGEST: the longest caption of any plan, in the size of its text.
 * LINE: from line to line, in that size.
 * NARROW: a card of less width has all of it for the caption. */
enum { LEFT = 18, PADDING = 32, NARROW = 600 };
static const double LONGEST = 112, LINE = 1.35;

/* Seen from the last row. */
double frame_least(const struct view *v, struct box all)
{
	return v->presenter ? LEGIBLE * all.height : 0;
}

/* The least size of a caption. */
static double least_size(const struct view *v, double height)
{
	return v->presenter ? 0.0303 * height : 14;
}

/* The number of the step and its time stand at the right. */
static double side_room(const struct view *v, double height)
{
	return fmax(178, 13.2 * frame_least(v, (struct box){.height = height}));
}

/* If the names take too much of the width, they stand on a line above the caption. */
static double place_height(const struct view *v, double width, double height)
{
	return width < NARROW ? 12 + fmax(14, frame_least(v, (struct box){.height = height})) : 0;
}

static double caption_room(const struct view *v, double width, double height)
{
	return fmax(width - (width < NARROW ? 0 : side_room(v, height)) - 50, 40);
}

double caption_height(const struct view *v, struct box all)
{
	double size = least_size(v, all.height),
	       lines = ceil(LONGEST * size / caption_room(v, all.width - 40, all.height));
	return fmin(fmax(78, lines * LINE * size + PADDING + place_height(v, all.width - 40, all.height)),
	            0.4 * all.height + 20);
}

/* Does it stand on so many lines, in this size? */
static bool fits(struct canvas *c, double size, double width, double height, const char *text)
{
	int lines = paragraph_lines(c, width, size, WEIGHT_PLAIN, text);
	return (lines - 1) * LINE * size + size <= height;
}

/* One line in large, several smaller, as it fits; in the middle, or above a hint. */
static void write_caption(struct canvas *c, const struct view *v, struct box card, const char *caption, double hint)
{
	double least = fmax(c->least * 1.5, hint > 0 ? 11 : 14), most = v->presenter ? 1.25 * least : 18,
	       width = caption_room(v, card.width, c->height), place = place_height(v, card.width, c->height),
	       size = most;
	card.y += place;
	card.height -= place;
	double height = card.height - 14 - hint;
	while (size > most - 2 && size > least && text_length(c, size, WEIGHT_PLAIN, caption) > width)
		size = fmax(size - 1, least);
	while (size > least && !fits(c, size, width, height, caption))
		size = fmax(size - 1, least);
	int lines = paragraph_lines(c, width, size, WEIGHT_PLAIN, caption);
	double text = (lines - 1) * LINE * size, middle = card.y + (card.height - hint) / 2;
	draw_paragraph(c, card.x + LEFT, middle - text / 2 + size * 0.36, width, size, lines, c->theme->ink, caption);
}

/* ---- of two strategies ---- */

struct both {
	const char *name[2];
	char caption[2][CAPTION_SIZE];
	double names; /* the width of their column */
};

static bool both_fit(struct canvas *c, const struct both *b, double size, double width, double height)
{
	int lines = 0;
	for (int i = 0; i < 2; i++)
		lines += paragraph_lines(c, width - b->names, size, WEIGHT_PLAIN, b->caption[i]);
	return (lines - 1) * LINE * size + size <= height;
}

/* Keeps what the step does and drops the reason. */
static void keep_first_sentence(char *caption)
{
	char *end = strstr(caption, ". "), *full = strstr(caption, "。");
	if (end)
		end[1] = 0;
	else if (full)
		full[strlen("。")] = 0;
}

/* The strip above has the bytes. */
static void drop_numbers(char *caption)
{
	static const char *const pairs[][2] = {{" (", ")"}, {"（", "）"}};
	for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
		char *begin = strstr(caption, pairs[i][0]), *end = begin ? strstr(begin, pairs[i][1]) : NULL;
		size_t length = strlen(pairs[i][1]);
		if (end)
			memmove(begin, end + length, strlen(end + length) + 1);
	}
}

/* Writes each with its name, in the largest size in which both fit. If they fit in none, only the first sentence of
 * each is kept, and at last that sentence without its numbers. */
static void write_both(struct canvas *c, const struct view *v, struct box card, double hint)
{
	const struct view *views[2];
	struct both b = {.names = 0};
	double least = fmax(c->least * 1.5, 11), most = fmax(least, 14), size = most, y;
	double width = caption_room(v, card.width, c->height), place = place_height(v, card.width, c->height);
	double height = card.height - place - 14 - hint;
	pair_order(v, views);
	for (int i = 0; i < 2; i++) {
		b.name[i] = views[i]->label;
		caption_make(views[i]->state, b.caption[i], sizeof b.caption[i]);
		b.names = fmax(b.names, text_length(c, most, WEIGHT_BOLD, b.name[i]) + 10);
	}
	if (!strcmp(b.caption[0], b.caption[1])) { /* once, if both do the same */
		write_caption(c, v, card, b.caption[0], hint);
		return;
	}
	card.y += place;
	card.height -= place;
	b.names = fmin(b.names, 0.25 * width);
	while (size > least && !both_fit(c, &b, size, width, height))
		size = fmax(size - 0.5, least);
	for (int i = 0; i < 4 && !both_fit(c, &b, size, width, height); i++)
		(i < 2 ? keep_first_sentence : drop_numbers)(b.caption[i % 2]);
	int room = (int)fmax(2, (height - size) / (LINE * size) + 1), half = room / 2, lines[2], all;
	for (int i = 0; i < 2; i++)
		lines[i] = paragraph_lines(c, width - b.names, size, WEIGHT_PLAIN, b.caption[i]);
	lines[0] = (int)fmin(lines[0], fmax(room - lines[1], half)); /* what does not fit ends with … */
	lines[1] = (int)fmin(lines[1], room - lines[0]);
	all = lines[0] + lines[1];
	y = card.y + (card.height - hint) / 2 - (all - 1) * LINE * size / 2 + size * 0.36;
	for (int i = 0; i < 2; i++) {
		draw_fitting(c, card.x + LEFT, y, size, 8, WEIGHT_BOLD, c->theme->accent, ALIGN_LEFT, b.names - 8,
		             b.name[i]);
		draw_paragraph(c, card.x + LEFT + b.names, y, width - b.names, size, lines[i], c->theme->ink,
		               b.caption[i]);
		y += lines[i] * LINE * size;
	}
}

static void write_place(struct canvas *c, const struct view *v, struct box card)
{
	const struct theme *t = c->theme;
	char time[WORD];
	double room = side_room(v, c->height), right = card.x + card.width - 12, y = card.y;
	if (!v->state) {
		draw_text(c, right, y + 27, 14, WEIGHT_BOLD, t->ink, ALIGN_RIGHT, room, "%s",
		          time_word(time, v->cursor));
		return;
	}
	const struct state *st = v->state;
	const struct timeline *s = st->timeline;
	char place[64], when[96];
	double size = fmax(16, c->least);
	snprintf(place, sizeof place, tr("%s %zu of %zu"),
	         st->step_size == STEP_SIZE_ROUND ? tr("step") : tr(step_size_name(st->step_size)),
	         timeline_stop_of(s, st->step_size, st->position), s->stop_count[st->step_size] - 1);
	snprintf(when, sizeof when, tr("%s at %s"), s->trace->measured ? tr("measured") : tr("simulated"),
	         time_word(time, st->time));
	if (card.width < NARROW) {
		char all[sizeof place + sizeof when + 8];
		snprintf(all, sizeof all, "%s · %s", place, when);
		draw_fitting(c, right, y + 8 + fmax(14, c->least), 14, 9, WEIGHT_BOLD, t->ink, ALIGN_RIGHT,
		             card.width - 36, all);
		return;
	}
	draw_fitting(c, right, y + 11 + size, size, 11, WEIGHT_BOLD, t->ink, ALIGN_RIGHT, room, place);
	draw_fitting(c, right, y + 18 + 2 * size, 13, 9, WEIGHT_PLAIN, t->soft, ALIGN_RIGHT, room, when);
}

void draw_caption(struct canvas *c, const struct view *v, struct box b)
{
	const struct theme *t = c->theme;
	char caption[CAPTION_SIZE];
	struct box card = {b.x, b.y, b.width, b.height - 8};
	bool hint = v->hint && v->state && !v->state->position && !v->presenter && !is_veiled(v);
	draw_card(c, card, t->panel, t->line, 1);
	draw_fill(c, (struct box){card.x + 1, card.y + 6, 4, card.height - 12}, t->accent);
	if (v->state)
		caption_make(v->state, caption, sizeof caption);
	else
		foreign_caption(v->lanes, v->selected_rank, v->selected_op, caption, sizeof caption);
	if (v->note && *v->note)
		snprintf(caption, sizeof caption, "%s", v->note);
	else if (is_veiled(v))
		snprintf(caption, sizeof caption, "%s",
		         asking_now(v->asking)->choice_count ? QUESTION_OF_CHOICES : QUESTION_OF_A_NUMBER);
	write_place(c, v, card);
	if (v->second && v->state && !(v->note && *v->note))
		write_both(c, v, card, hint ? 18 : 0);
	else
		write_caption(c, v, card, caption, hint ? 18 : 0);
	if (hint)
		draw_fitting(c, card.x + LEFT, card.y + card.height - 9, 13, 8, WEIGHT_BOLD, t->soft, ALIGN_LEFT,
		             card.width - 36, v->hint);
}
