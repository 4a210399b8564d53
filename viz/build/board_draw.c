/* How the board looks.
 *
 *     Build it yourself: zero3 on 4 ranks                                   12 of 31 moves
 *     ┌ Gather ──────────┐  ┌ lanes: compute, communication ───────────────────────────┐
 *     │ ✓ root  block.0  │  │                                                            │
 *     │ Forward          │  ├ memory, growing to the right ──────────────────────────────┤
 *     │ ✓ embedding  …   │  │                                                            │
 *     │ buttons          │  ├ what the verifier says, or what came of it ────────────────┤
 *     └──────────────────┘  └────────────────────────────────────────────────────────────┘
 */
#include <math.h>
#include <stdio.h>

#include "strategy/base/language.h"
#include "viz/build/board.h"

enum { MARGIN = 16, HEAD = 34, BUTTONS = 70, GAP = 8, LANES = 96 };

/* ---- places ---- */

struct places {
	struct box drawer, buttons, lanes, memory, message;
};

static struct places places_of(struct box b, bool done)
{
	struct places p;
	double left = fmin(330, fmax(236, 0.27 * b.width)), top = b.y + HEAD, height = b.height - HEAD - 6;
	double x = b.x + MARGIN + left + GAP, width = b.width - 2 * MARGIN - left - GAP;
	double message = done ? fmin(190, fmax(118, 0.27 * height)) : fmin(150, fmax(118, 0.22 * height)),
	       rest = height - message - 2 * GAP;
	p.drawer = (struct box){b.x + MARGIN, top, left, height - BUTTONS - GAP};
	p.buttons = (struct box){b.x + MARGIN, top + height - BUTTONS, left, BUTTONS};
	double lanes = done ? 0.54 * rest : fmin(136, 0.4 * rest);
	p.lanes = (struct box){x, top, width, lanes};
	p.memory = (struct box){x, top + lanes + GAP, width, rest - lanes};
	p.message = (struct box){x, top + height - message, width, message};
	return p;
}

void board_step_boxes(const struct board *b, struct box box, struct box *lanes, struct box *memory)
{
	struct places p = places_of(box, b->exercise.done);
	*lanes = p.lanes;
	*memory = p.memory;
	if (b->exercise.done && b->mine.there)
		memory->width = (p.memory.width - GAP) / 2; /* beside it is the strategy's own */
}

/* Rows of chips in a size of text; returns how high they are. Places are kept if `chips` is not NULL. */
static double lay_chips(struct canvas *c, const struct exercise *e, struct box in, double size, struct box *chips)
{
	int order[EXERCISE_MOVES], count = exercise_drawer(e, order);
	double x = in.x + 10, y = in.y + 6, pad = 0.55 * size, row = 1.75 * size;
	for (int k = 0; k < count; k++) {
		const struct move *m = &e->moves[order[k]];
		double mark = text_length(c, size, WEIGHT_PLAIN, "✓ ");
		double length = text_length(c, size, WEIGHT_PLAIN, m->said_object) + mark + 2 * pad;
		bool heading = !k || m->kind != e->moves[order[k - 1]].kind, wraps = x + length > in.x + in.width - 8;
		if (heading || wraps) {
			x = in.x + 10;
			y += !k ? 0 : heading ? row + 0.45 * size : row + 3;
		}
		y += heading ? 1.5 * size : 0;
		if (chips)
			chips[order[k]] = (struct box){x, y, fmin(length, in.width - 20), row};
		x += length + 4;
	}
	return y + (count ? row + 0.45 * size : 0) - in.y;
}

struct box board_lay(struct canvas *c, struct board *b, struct box box)
{
	struct places p = places_of(box, b->exercise.done);
	double size = 16;
	while (size > 7 && lay_chips(c, &b->exercise, p.drawer, size, NULL) > p.drawer.height)
		size -= 0.5;
	b->chip_text = size;
	lay_chips(c, &b->exercise, p.drawer, size, b->chips);
	return p.buttons;
}

/* ---- the drawer ---- */

static colour kind_colour(const struct theme *t, enum move_kind k)
{
	switch (k) {
	case MOVE_GATHER:
	case MOVE_ALL_REDUCE:
	case MOVE_REDUCE_SCATTER:
		return communication_colour();
	case MOVE_FORWARD:
	case MOVE_LOAD:
		return pass_colour(PASS_FORWARD);
	case MOVE_BACKWARD:
		return pass_colour(PASS_BACKWARD);
	case MOVE_FREE:
	case MOVE_FREE_GRADIENTS:
		return t->line;
	default:
		return pass_colour(PASS_UPDATE);
	}
}

static void draw_chip(struct canvas *c, const struct board *b, int i)
{
	const struct theme *t = c->theme;
	const struct exercise *e = &b->exercise;
	struct box k = b->chips[i];
	int times = exercise_times(e, i);
	bool advised = e->said.move == i && !e->done;
	colour ink = times ? t->soft : t->ink, fill = times ? t->ground : t->panel;
	double size = b->chip_text;
	draw_card(c, k, fill,
	          i == b->chosen ? t->accent
	          : advised      ? t->ink
	                         : t->line,
	          i == b->chosen ? 3
	          : advised      ? 2
	                         : 1);
	draw_fill(c, (struct box){k.x + 1.5, k.y + 3, 4, k.height - 6}, kind_colour(t, e->moves[i].kind));
	draw_text(c, k.x + 0.55 * size + 3, k.y + k.height / 2 + 0.36 * size, size, WEIGHT_PLAIN, ink, ALIGN_LEFT,
	          k.width - size, "%s%s", times ? "✓ " : "", e->moves[i].said_object);
}

static void draw_drawer(struct canvas *c, const struct board *b, struct box in)
{
	const struct theme *t = c->theme;
	const struct exercise *e = &b->exercise;
	draw_card(c, in, t->panel, t->line, 1);
	int order[EXERCISE_MOVES], count = exercise_drawer(e, order);
	for (int k = 0; k < count; k++) {
		enum move_kind kind = e->moves[order[k]].kind;
		if (!k || kind != e->moves[order[k - 1]].kind)
			draw_text(c, in.x + 10, b->chips[order[k]].y - 0.4 * b->chip_text, b->chip_text, WEIGHT_BOLD,
			          t->ink, ALIGN_LEFT, in.width - 20, "%s", move_heading(kind));
		draw_chip(c, b, order[k]);
	}
}

/* ---- the step ---- */

static void draw_nothing(struct canvas *c, struct box in, const char *what)
{
	draw_card(c, in, c->theme->panel, c->theme->line, 1);
	draw_fitting(c, in.x + in.width / 2, in.y + in.height / 2 + 5, 15, 8, WEIGHT_PLAIN, c->theme->soft,
	             ALIGN_CENTRE, in.width - 20, what);
}

static void draw_lanes(struct canvas *c, struct board *b, struct built_step *s, struct box in)
{
	struct playback *p = &s->playback;
	int64_t end = b->own.shown.lanes.end;
	if (b->mine.there && b->mine.shown.lanes.end > end)
		end = b->mine.shown.lanes.end;
	for (int i = 0; i < THEME_COUNT; i++) /* the view asks for it by name */
		if (theme_of((enum theme_name)i) == c->theme)
			p->theme = (enum theme_name)i;
	p->from = 0;
	p->to = end > 0 ? end : 1;
	scene_row(SCENE_TIMELINE)->draw(c, playback_view(p), in, true);
}

static void draw_titled_lanes(struct canvas *c, struct board *b, struct built_step *s, struct box in, const char *title)
{
	struct box below = {in.x, in.y + 18, in.width, in.height - 18};
	draw_text(c, in.x + 4, in.y + 13, 13, WEIGHT_BOLD, c->theme->ink, ALIGN_LEFT, in.width, "%s", title);
	draw_lanes(c, b, s, below);
}

static void draw_building(struct canvas *c, struct board *b, const struct places *p)
{
	const struct section *all = &b->exercise.plan->roles[0].step;
	int64_t own = b->own.outcome.peak_bytes, mine = b->mine.there ? b->mine.outcome.peak_bytes : 0;
	if (b->mine.there && b->mine.shown.lanes.lane_count)
		draw_lanes(c, b, &b->mine, p->lanes);
	else if (*b->failure)
		draw_nothing(c, p->lanes, b->failure);
	else
		draw_nothing(c, p->lanes,
		             tr("An empty step. What you place runs here, as the simulator would run it."));
	if (b->mine.there)
		board_draw_memory(c, &b->mine.plan, p->memory, tr("Memory of a rank, operation by operation"),
		                  all->end - all->begin, own > mine ? own : mine, own);
	else
		draw_nothing(c, p->memory, tr("Memory grows here as operations are placed."));
}

static void draw_both(struct canvas *c, struct board *b, const struct places *p)
{
	struct box upper = p->lanes, lower = p->lanes, left = p->memory, right = p->memory;
	const struct section *all = &b->exercise.plan->roles[0].step;
	const struct outcome *own = &b->own.outcome, *mine = &b->mine.outcome;
	int64_t most = own->peak_bytes > mine->peak_bytes ? own->peak_bytes : mine->peak_bytes;
	int ops = all->end - all->begin;
	char title[96];
	upper.height = lower.height = (p->lanes.height - GAP) / 2;
	lower.y += upper.height + GAP;
	left.width = right.width = (p->memory.width - GAP) / 2;
	right.x += left.width + GAP;
	snprintf(title, sizeof title, tr("%s's own plan"), b->exercise.plan->strategy);
	if (upper.height < LANES) { /* there is room for one */
		draw_titled_lanes(c, b, &b->mine, p->lanes, tr("Your step"));
	} else {
		draw_titled_lanes(c, b, &b->mine, upper, tr("Your step"));
		draw_titled_lanes(c, b, &b->own, lower, title);
	}
	board_draw_memory(c, &b->mine.plan, left, tr("Your step's memory"), ops, most, own->peak_bytes);
	board_draw_memory(c, b->exercise.plan, right, title, ops, most, own->peak_bytes);
}

/* ---- what is said ---- */

static void draw_said(struct canvas *c, const struct board *b, struct box in)
{
	const struct theme *t = c->theme;
	const struct exercise *e = &b->exercise;
	const struct verdict *v = &e->said;
	const char *text = v->text, *head = "";
	char refused[192], rule[RULE_WORDS];
	if (!*text)
		text = tr("Put the step together: choose an operation in the drawer with the arrow keys, and Enter "
		          "places "
		          "it (or click it, or drag it to its place). What breaks a rule is refused, with the reason. "
		          "Backspace takes the last one back, H gives a hint, D says that the step is done.");
	if (!v->accepted) {
		snprintf(refused, sizeof refused, tr("Refused%s%s"), v->move >= 0 ? ": " : "",
		         v->move >= 0 ? e->moves[v->move].said : "");
		head = refused;
	}
	draw_card(c, in, t->panel, v->accepted ? t->line : t->warning, v->accepted ? 1 : 3);
	double size = fmin(15, in.height / 8), y = in.y + 1.6 * size;
	if (*head) {
		draw_text(c, in.x + 12, y, size, WEIGHT_BOLD, t->warning, ALIGN_LEFT, in.width - 24, "%s", head);
		y += 1.5 * size;
	}
	int lines = draw_paragraph(c, in.x + 12, y, in.width - 24, size, *head ? 3 : 5, t->ink, text);
	if (v->rule)
		draw_paragraph(c, in.x + 12, y + 1.35 * size * lines + 0.3 * size, in.width - 24, 0.87 * size, 2,
		               t->soft, exercise_rule(rule, v->rule));
}

static void draw_outcome(struct canvas *c, const struct board *b, struct box in)
{
	const struct theme *t = c->theme;
	double size = fmin(14, in.height / 11.9), y = in.y + 1.5 * size, row = 1.4 * size;
	double name = in.x + 12, yours = in.x + fmin(380, 0.5 * in.width), own = yours + fmin(170, 0.24 * in.width);
	char words[512], a[WORD], o[WORD];
	draw_card(c, in, t->panel, t->accent, 2);
	draw_fitting(c, name, y, size, 8, WEIGHT_BOLD, t->ink, ALIGN_LEFT, yours - name - 60,
	             "Accepted: every rule holds");
	draw_text(c, yours, y, size, WEIGHT_BOLD, t->ink, ALIGN_RIGHT, 0, "yours");
	draw_text(c, own, y, size, WEIGHT_BOLD, t->ink, ALIGN_RIGHT, 0, "%s's own", b->exercise.plan->strategy);
	for (int i = 0; i < OUTCOME_ROWS; i++) {
		int64_t x = outcome_value(&b->mine.outcome, i), z = outcome_value(&b->own.outcome, i);
		bool bytes = outcome_is_bytes(i);
		y += row;
		draw_text(c, name, y, size, WEIGHT_PLAIN, t->ink, ALIGN_LEFT, 0, "%s", outcome_name(i));
		draw_text(c, yours, y, size, x > z ? WEIGHT_BOLD : WEIGHT_PLAIN, t->ink, ALIGN_RIGHT, 0, "%s",
		          bytes ? bytes_word(a, x) : time_word(a, x));
		draw_text(c, own, y, size, WEIGHT_PLAIN, t->ink, ALIGN_RIGHT, 0, "%s",
		          bytes ? bytes_word(o, z) : time_word(o, z));
	}
	if (in.x + in.width - own > 330)
		legend_categories(c, own + 30, in.y + 0.6 * size, in.x + in.width - own - 40, GATHERED_IS_PARAMETERS);
	outcome_words(&b->own.outcome, &b->mine.outcome, words, sizeof words);
	draw_paragraph(c, name, y + 1.5 * size, in.width - 24, size, 3, t->ink, words);
}

void board_draw(struct canvas *c, struct board *b, struct box box)
{
	const struct theme *t = c->theme;
	const struct exercise *e = &b->exercise;
	struct places p = places_of(box, b->exercise.done);
	draw_fill(c, box, t->ground);
	draw_text(c, box.x + MARGIN, box.y + 23, 18, WEIGHT_BOLD, t->ink, ALIGN_LEFT, box.width - 190,
	          "Build it yourself: %s on %lld rank%s", e->plan->strategy, (long long)e->plan->ranks,
	          e->plan->ranks == 1 ? "" : "s");
	draw_text(c, box.x + box.width - MARGIN, box.y + 23, 13, WEIGHT_PLAIN, t->soft, ALIGN_RIGHT, 180,
	          "%d of %d moves placed", e->placed_count, e->move_count);
	draw_drawer(c, b, p.drawer);
	if (e->done && b->mine.there) {
		draw_both(c, b, &p);
		draw_outcome(c, b, p.message);
	} else {
		draw_building(c, b, &p);
		draw_said(c, b, p.message);
	}
}
