/* A question beside the picture: its text, the choices or what is typed, and behind the answer the reason.
 *
 *     Question 3 of 12   ✓ ✗ □ ·          one sign for each question: right, wrong, this one, to come
 *     Which of the 4 chunks does …?
 *     ┌ 1  chunk 0 ───────────┐          ✓ before the right one and ✗ before a wrong answer, once it is answered
 *     └────────────────────────┘
 *     Right. What arrives is added …
 *     1 – 5 answer · → skips · Esc ends
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "strategy/base/language.h"
#include "viz/scene/scene_parts.h"

/* No text is smaller than this part of the height, so that it is read from the last row. */
enum { PAD = 18, KEY = 24, LEAST = 52, PROGRESS = 42 /* the middle of its signs */ };

double question_width(double width)
{
	return fmin(440, width * 0.36);
}

/* ---- places ---- */

static struct box card_of(struct box b)
{
	return (struct box){b.x + 2, b.y + 8, b.width - 10, b.height - 16};
}

/* The places of everything on the card, with text so many times the normal size. */
struct places {
	double part; /* of normal size */
	double text, choice, small;
	double x, width;
	double question, input, verdict, end; /* y */
	struct box choices[QUESTION_CHOICES];
};

static double height_of(struct canvas *c, double width, double size, const char *text)
{
	return 1.35 * size * paragraph_lines(c, width, size, WEIGHT_PLAIN, text);
}

enum { LOOK = 160 };
static const char *look_words(const struct question *q, char out[LOOK])
{
	snprintf(out, LOOK, tr("See %s: %s."), tr(scene_row(q->scene)->title), tr(q->look));
	return out;
}

static struct places places_at(struct canvas *c, const struct asking *a, struct box b, double part)
{
	const struct question *q = asking_now(a);
	double least = b.height / LEAST;
	struct places p = {.part = part,
	                   .text = fmax(19 * part, least),
	                   .choice = fmax(16.5 * part, least),
	                   .small = fmax(14.5 * part, least)};
	char look[LOOK];
	p.x = b.x + PAD;
	p.width = b.width - 2 * PAD;
	p.question = b.y + fmax(78 * part, PROGRESS + 14 + 0.95 * p.text);
	double y = p.question + height_of(c, p.width, p.text, q->text) + 4 * part;
	for (int i = 0; i < q->choice_count; i++) {
		double room = p.width - KEY * part - KEY - 20,
		       height = height_of(c, room, p.choice, q->choice[i]) + 14 * part;
		p.choices[i] = (struct box){p.x, y, p.width, height};
		y += height + 7 * part;
	}
	p.input = y;
	y += q->choice_count ? 0 : 50 * part;
	if (*a->why)
		y += height_of(c, p.width, p.small, a->why) + 8 * part;
	p.verdict = y + 28 * part;
	p.end = p.verdict;
	if (a->stage == ANSWERED)
		p.end += (34 + 10) * part + height_of(c, p.width, p.choice, q->reason) +
		         height_of(c, p.width, p.small, look_words(q, look));
	return p;
}

/* The largest size that there is room for. */
static struct places places_of(struct canvas *c, const struct asking *a, struct box b)
{
	static const double parts[] = {1.3, 1.2, 1.1, 1, 0.94, 0.88, 0.82, 0.76, 0.7, 0.64};
	struct places p = {0};
	for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
		p = places_at(c, a, b, parts[i]);
		if (p.end < b.y + b.height - 44 &&
		    paragraph_fits(c, p.width, p.text, WEIGHT_PLAIN, asking_now(a)->text))
			break;
	}
	return p;
}

struct box question_choice_box(struct canvas *c, const struct asking *a, struct box b, int choice)
{
	double least = c->least;
	c->least = 0; /* as the scene's text is not drawn yet */
	struct box out = places_of(c, a, card_of(b)).choices[choice];
	c->least = least;
	return out;
}

/* ---- signs ---- */

static void draw_check(struct canvas *c, double x, double y, double size, colour ink)
{
	draw_colour(c, ink);
	cairo_set_line_width(c->cr, size * 0.2);
	cairo_move_to(c->cr, x - size * 0.42, y);
	cairo_line_to(c->cr, x - size * 0.1, y + size * 0.34);
	cairo_line_to(c->cr, x + size * 0.46, y - size * 0.4);
	draw_stroke_path(c);
}

static void draw_cross(struct canvas *c, double x, double y, double size, colour ink)
{
	draw_line(c, x - size * 0.36, y - size * 0.36, x + size * 0.36, y + size * 0.36, ink, size * 0.2);
	draw_line(c, x - size * 0.36, y + size * 0.36, x + size * 0.36, y - size * 0.36, ink, size * 0.2);
}

static void draw_sign(struct canvas *c, const struct asking *a, int i, double x, double y)
{
	const struct theme *t = c->theme;
	switch (a->result[i]) {
	case ASKING_RIGHT:
		draw_check(c, x, y, 13, t->ink);
		break;
	case ASKING_WRONG:
		draw_cross(c, x, y, 13, t->warning);
		break;
	case ASKING_SKIPPED:
		draw_line(c, x - 5, y, x + 5, y, t->soft, 2);
		break;
	default:
		draw_fill(c, (struct box){x - 2, y - 2, 4, 4}, t->soft);
	}
	if (i == a->now)
		draw_frame(c, (struct box){x - 9, y - 9, 18, 18}, t->accent, 2);
}

static void draw_progress(struct canvas *c, const struct asking *a, double x, double y, double width)
{
	double step = fmin(24, width / a->set.count);
	for (int i = 0; i < a->set.count; i++)
		draw_sign(c, a, i, x + 9 + step * i, y);
}

/* ---- parts ---- */

static void draw_choice(struct canvas *c, const struct asking *a, const struct places *p, int i)
{
	const struct theme *t = c->theme;
	const struct question *q = asking_now(a);
	struct box b = p->choices[i];
	bool open = a->stage == ASKED, right = !open && i == q->right, wrong = !open && i == a->chosen && !right;
	double middle = b.y + b.height / 2, size = 14 * p->part, key = KEY * p->part;
	draw_card(c, b, right ? colour_mix(t->panel, t->ink, 0.07) : t->panel,
	          right   ? t->ink
	          : wrong ? t->warning
	                  : t->line,
	          right || wrong ? 2.6 : 1.2);
	if (right)
		draw_check(c, b.x + b.width - KEY / 2.0 - 4, middle, 16 * p->part, t->ink);
	if (wrong)
		draw_cross(c, b.x + b.width - KEY / 2.0 - 4, middle, 16 * p->part, t->warning);
	draw_card(c, (struct box){b.x + 7, middle - key / 2, key, key}, open ? t->ink : t->panel, t->ink, 1);
	draw_text(c, b.x + 7 + key / 2, middle + size * 0.36, size, WEIGHT_BOLD, open ? t->panel : t->ink, ALIGN_CENTRE,
	          0, "%d", i + 1);
	draw_paragraph(c, b.x + key + 16, b.y + 7 * p->part + p->choice, b.width - key - KEY - 20, p->choice, 6,
	               open || right || wrong ? t->ink : t->soft, q->choice[i]);
}

static const char *unit_hint(enum answer_unit u)
{
	static const char *const hints[] = {
	        [ANSWER_NUMBER] = "a number, then Enter",
	        [ANSWER_BYTES] = "such as 1.5 GB, then Enter",
	        [ANSWER_PERCENT] = "per cent, then Enter",
	};
	return hints[u];
}

static void draw_input(struct canvas *c, const struct asking *a, const struct places *p)
{
	const struct theme *t = c->theme;
	struct box b = {p->x, p->input, p->width, 40 * p->part};
	double y = b.y + 26 * p->part;
	char answer[QUESTION_CHOICE];
	if (a->stage == ASKED) {
		draw_card(c, b, t->panel, t->accent, 2);
		draw_text(c, b.x + 12, y, p->text, WEIGHT_BOLD, t->ink, ALIGN_LEFT, b.width - 24, "%s_", a->typed);
		if (!*a->typed)
			draw_fitting(c, b.x + b.width - 12, y, p->small, 8, WEIGHT_PLAIN, t->soft, ALIGN_RIGHT,
			             b.width - 50, unit_hint(asking_now(a)->unit));
		return;
	}
	draw_card(c, b, colour_mix(t->panel, t->ink, 0.07), t->ink, 2.6);
	draw_text(c, b.x + 12, y, p->text, WEIGHT_BOLD, t->ink, ALIGN_LEFT, b.width / 2, "%s",
	          question_answer(asking_now(a), answer));
	if (*a->typed)
		draw_text(c, b.x + b.width - 12, y, p->small, WEIGHT_PLAIN, t->soft, ALIGN_RIGHT, b.width / 2 - 24,
		          "yours: %s", a->typed);
}

static void draw_verdict(struct canvas *c, const struct asking *a, const struct places *p)
{
	static const char *const words[] = {"", "Right.", "Not so.", "Skipped."};
	const struct theme *t = c->theme;
	const struct question *q = asking_now(a);
	enum asking_result result = a->result[a->now];
	double x = p->x, y = p->verdict;
	if (result == ASKING_RIGHT)
		draw_check(c, x + 9, y - 7 * p->part, 18 * p->part, t->ink);
	if (result == ASKING_WRONG)
		draw_cross(c, x + 9, y - 7 * p->part, 18 * p->part, t->warning);
	draw_text(c, x + (result == ASKING_SKIPPED ? 0 : 26), y, p->text, WEIGHT_BOLD,
	          result == ASKING_WRONG ? t->warning : t->ink, ALIGN_LEFT, 0, "%s", words[result]);
	y += 28 * p->part;
	y += 1.35 * p->choice * draw_paragraph(c, x, y, p->width, p->choice, 12, t->ink, q->reason);
	char look[LOOK];
	draw_paragraph(c, x, y + 6 * p->part, p->width, p->small, 3, t->soft, look_words(q, look));
}

static void draw_keys(struct canvas *c, const struct asking *a, struct box b)
{
	const struct question *q = asking_now(a);
	char keys[96];
	if (a->stage == ANSWERED)
		snprintf(keys, sizeof keys, tr("→ %s · Esc ends"),
		         a->now + 1 < a->set.count ? tr("the next question") : tr("the count"));
	else if (a->stage == ASKING_OVER)
		snprintf(keys, sizeof keys, tr("Esc: back to the step · Enter: once more"));
	else if (q->choice_count)
		snprintf(keys, sizeof keys, tr("1 – %d answer · → skips · Esc ends"), q->choice_count);
	else
		snprintf(keys, sizeof keys, tr("Enter answers · → skips · Esc ends"));
	draw_fitting(c, b.x + PAD, b.y + b.height - 18, 14.5, 9, WEIGHT_BOLD, c->theme->soft, ALIGN_LEFT,
	             b.width - 2 * PAD, keys);
}

static void draw_over(struct canvas *c, const struct asking *a, struct box b)
{
	char words[TALLY_WORDS];
	const struct theme *t = c->theme;
	draw_fitting(c, b.x + PAD, b.y + 110, 28, 14, WEIGHT_BOLD, t->ink, ALIGN_LEFT, b.width - 2 * PAD,
	             tally_words(&a->tally, words));
	draw_paragraph(c, b.x + PAD, b.y + 146, b.width - 2 * PAD, 16.5, 3, t->soft,
	               "These were the questions of this step.");
}

static void draw_card_of(struct canvas *c, const struct asking *a, struct box b)
{
	const struct theme *t = c->theme;
	struct box card = card_of(b);
	const struct question *q = asking_now(a);
	draw_card(c, card, t->panel, t->line, 1.5);
	draw_fill(c, (struct box){card.x + 1, card.y + 6, 4, card.height - 12}, t->accent);
	if (q)
		draw_text(c, card.x + PAD, card.y + 24, 15, WEIGHT_BOLD, t->soft, ALIGN_LEFT, 0, "Question %d of %d",
		          a->now + 1, a->set.count);
	else
		draw_text(c, card.x + PAD, card.y + 24, 15, WEIGHT_BOLD, t->soft, ALIGN_LEFT, 0, "%d questions",
		          a->set.count);
	draw_progress(c, a, card.x + PAD, card.y + PROGRESS, card.width - 2 * PAD);
	draw_keys(c, a, card);
	if (!q) {
		draw_over(c, a, card);
		return;
	}
	struct places p = places_of(c, a, card);
	draw_paragraph(c, p.x, p.question + 4 * p.part, p.width, p.text, 14, t->ink, q->text);
	for (int i = 0; i < q->choice_count; i++)
		draw_choice(c, a, &p, i);
	if (!q->choice_count)
		draw_input(c, a, &p);
	if (*a->why)
		draw_paragraph(c, p.x, p.verdict - 24 * p.part, p.width, p.small, 3, t->warning, a->why);
	if (a->stage == ANSWERED)
		draw_verdict(c, a, &p);
}

void draw_question(struct canvas *c, const struct asking *a, struct box b)
{
	double least = c->least;
	c->least = 0;
	draw_card_of(c, a, b);
	c->least = least;
}
