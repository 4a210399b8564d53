#include "viz/scene/pair.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "strategy/base/language.h"
#include "viz/scene/memory_parts.h"
#include "viz/scene/scene_parts.h"

/* ---- names ---- */

/* A part of a heading, from one " · " or ", " to the next, so that "simulated on a cluster, grain operation" has two.
 */
struct piece {
	const char *text;
	size_t length;
};

static const char middle[] = " · ", comma[] = ", ";

/* The part that begins at `at`; where the next one begins; NULL: there is none at all. */
static const char *next_part(const char *at, struct piece *part)
{
	const char *dot = strstr(at, middle), *list = strstr(at, comma);
	const char *end = dot && (!list || dot < list) ? dot : list;
	part->text = at;
	part->length = end ? (size_t)(end - at) : strlen(at);
	if (!*at)
		return NULL;
	return !end ? at + part->length : end + strlen(end == dot ? middle : comma);
}

static bool has_part(const char *heading, const struct piece *part)
{
	struct piece own;
	const char *next;
	for (const char *at = heading; (next = next_part(at, &own)) != NULL; at = next)
		if (own.length == part->length && !strncmp(own.text, part->text, part->length))
			return true;
	return false;
}

/* The parts that the other heading has, too, or those that it has not. Behind a comma stays what was behind one, if
 * what was before it stays, too. */
static void put_parts(const char *heading, const char *other, bool common, char *out, size_t size)
{
	struct piece part;
	const char *next, *kept = NULL; /* where what comes behind the last one that was put begins */
	size_t used = 0;
	*out = 0;
	for (const char *at = heading; (next = next_part(at, &part)) != NULL; at = next) {
		if (has_part(other, &part) != common || used >= size)
			continue;
		bool listed = kept == at && at[-2] == ',';
		used += (size_t)snprintf(out + used, size - used, "%s%.*s",
		                         !used    ? ""
		                         : listed ? comma
		                                  : middle,
		                         (int)part.length, part.text);
		kept = next;
	}
}

void pair_name(const char *heading, const char *other, const char *label, char *out, size_t size)
{
	put_parts(heading, other, false, out, size);
	if (!*out)
		snprintf(out, size, "%s", label);
}

void pair_common(const char *heading, const char *other, char *out, size_t size)
{
	put_parts(heading, other, true, out, size);
}

/* ---- places ---- */

enum { STRIP = 82, NAME = 22, GAP = 18 };

/* How large the scene is drawn in a box, where 1 is its size. */
static double scale_in(const struct view *v, struct box b)
{
	return scene_fit(v, b).scale;
}

static struct box part_box(struct box b, bool beside, int i)
{
	double width = beside ? (b.width - GAP) / 2 : b.width, height = beside ? b.height : (b.height - 8) / 2;
	return (struct box){b.x + (beside ? (width + GAP) * i : 0), b.y + (beside ? 0 : (height + 8) * i), width,
	                    fmax(1, height)};
}

static struct box below_name(struct box b)
{
	return (struct box){b.x, b.y + NAME, b.width, fmax(1, b.height - NAME)};
}

/* Timelines stand one above the other, on one axis. */
static bool stands_beside(const struct view *v, struct box b)
{
	if (v->scene == SCENE_TIMELINE)
		return false;
	return scale_in(v, below_name(part_box(b, true, 0))) >= scale_in(v, below_name(part_box(b, false, 0)));
}

void pair_order(const struct view *v, const struct view *out[2])
{
	out[v->second_first] = v;
	out[!v->second_first] = v->second;
}

void pair_lay(struct pair *out, const struct view *v, struct box b)
{
	enum { READABLE = 90 }; /* per cent */
	const struct view *views[2];
	pair_order(v, views);
	struct view one = *v;
	out->strip = (struct box){b.x, b.y, b.width, STRIP - 8};
	b = (struct box){b.x, b.y + STRIP, b.width, fmax(1, b.height - STRIP)};
	one.second = NULL;
	one.upright = v->scene == SCENE_RING; /* the strip has the bytes */
	bool beside = stands_beside(&one, b);
	if (v->scene == SCENE_OVERVIEW && 100 * scale_in(&one, below_name(part_box(b, beside, 0))) < READABLE) {
		one.upright = true;
		beside = stands_beside(&one, b);
	}
	for (int i = 0; i < 2; i++) {
		struct pair_part *part = &out->part[i];
		struct box all = part_box(b, beside, i);
		part->view = *views[i];
		part->view.second = NULL;
		part->view.upright = one.upright;
		part->view.peak = (int64_t)fmax((double)memory_highest(views[0]->state->timeline, SPACE_DEVICE),
		                                (double)memory_highest(views[1]->state->timeline, SPACE_DEVICE));
		part->view.end = views[1 - i]->lanes->end;
		part->name = (struct box){all.x, all.y, all.width, NAME};
		part->box = below_name(all);
	}
}

const struct view *pair_at(struct pair *store, const struct view *v, struct box *b, double x, double y)
{
	if (!v->second)
		return v;
	pair_lay(store, v, *b);
	for (int i = 0; i < 2; i++)
		if (box_has(store->part[i].box, x, y)) {
			*b = store->part[i].box;
			return &store->part[i].view;
		}
	return NULL;
}

/* ---- drawing ---- */

/* Draws as many figures as there are columns for. All words of a row have one size, which fits the longest. */
struct columns {
	double names, width;
	enum figure figure[FIGURE_COUNT];
	int count;
};

static void lay_columns(struct columns *out, struct canvas *c, double width)
{
	static const enum figure most[] = {FIGURE_NOW, FIGURE_HIGHEST, FIGURE_TO_SEND, FIGURE_STEP};
	double bytes = text_length(c, 11, WEIGHT_PLAIN, "744.2 MB") + 18;
	out->names = fmax(fmin(170, width * 0.13), text_length(c, 12, WEIGHT_BOLD, "difference") + 18);
	bool all = (width - out->names) / FIGURE_COUNT > bytes;
	out->count = all ? FIGURE_COUNT : (int)(sizeof most / sizeof most[0]);
	for (int f = 0; f < out->count; f++)
		out->figure[f] = all ? (enum figure)f : most[f];
	out->width = (width - out->names) / out->count;
}

static double longest_of(struct canvas *c, const struct columns *k, double size, enum weight w,
                         char words[][DIFFERENCE])
{
	double longest = 1;
	for (int f = 0; f < k->count; f++)
		longest = fmax(longest, text_length(c, size, w, words[f]));
	return longest;
}

static void draw_row(struct canvas *c, struct box b, const struct columns *k, const char *name,
                     char words[][DIFFERENCE], enum weight w, colour ink)
{
	double size = fmax(8, fmin(13, 13 * (k->width - 12) / longest_of(c, k, 13, w, words)));
	draw_fitting(c, b.x + 10, b.y, 13, 9, WEIGHT_BOLD, ink, ALIGN_LEFT, k->names - 16, name);
	for (int f = 0; f < k->count; f++)
		draw_text(c, b.x + k->names + k->width * (f + 1) - 10, b.y, size, w, ink, ALIGN_RIGHT, k->width - 8,
		          "%s", words[f]);
}

/* If the differences are too long to be read whole, only the share stays: "−38 %" of "−253.4 MB (−38 %)". */
static void shorten(struct canvas *c, const struct columns *k, char words[][DIFFERENCE])
{
	double longest = longest_of(c, k, fmax(9.5, c->least), WEIGHT_BOLD, words);
	for (int f = 0; f < k->count && longest > k->width - 8; f++) {
		char *share = strchr(words[f], '(');
		if (!share)
			continue;
		memmove(words[f], share + 1, strlen(share));
		words[f][strcspn(words[f], ")")] = 0;
	}
}

static void draw_heads(struct canvas *c, struct box b, const struct columns *k)
{
	char words[FIGURE_COUNT][DIFFERENCE];
	for (int brief = 0; brief < 2; brief++) {
		for (int f = 0; f < k->count; f++)
			snprintf(words[f], sizeof words[f], "%s", (brief ? figure_brief : figure_name)(k->figure[f]));
		if (longest_of(c, k, fmax(9.5, c->least), WEIGHT_PLAIN, words) <= k->width - 12)
			break;
	}
	draw_row(c, b, k, "", words, WEIGHT_PLAIN, c->theme->soft);
}

static void draw_strip(struct canvas *c, const struct view *v, struct box b)
{
	const struct theme *t = c->theme;
	struct figures figures[2];
	char words[FIGURE_COUNT][DIFFERENCE];
	const struct view *views[2];
	struct columns k;
	lay_columns(&k, c, b.width);
	pair_order(v, views);
	figures_make(views[0]->state, &figures[0]);
	figures_make(views[1]->state, &figures[1]);
	draw_card(c, b, t->panel, t->line, 1);
	b.y += 17;
	draw_heads(c, b, &k);
	for (int i = 0; i < 2; i++) {
		for (int f = 0; f < k.count; f++)
			figure_word(words[f], k.figure[f], figures[i].of[k.figure[f]]);
		b.y += 17.5;
		draw_row(c, b, &k, views[i]->label, words, WEIGHT_PLAIN, t->ink);
	}
	for (int f = 0; f < k.count; f++)
		figure_difference(words[f], k.figure[f], figures[0].of[k.figure[f]], figures[1].of[k.figure[f]]);
	b.y += 17.5;
	shorten(c, &k, words);
	draw_row(c, b, &k, tr("difference"), words, WEIGHT_BOLD, t->ink);
}

/* Its name, and if it does not fit, that. */
static void draw_name(struct canvas *c, const struct view *v, struct box b)
{
	const struct theme *t = c->theme;
	const struct limits *l = &v->state->timeline->limits;
	char what[160], needed[WORD], there[WORD];
	double right = 0;
	if (l->overflows) {
		snprintf(what, sizeof what, tr("does not fit: needs %s, has %s"),
		         bytes_word(needed, l->tightest.needed_bytes), bytes_word(there, l->tightest.capacity_bytes));
		right = fmin(b.width * 0.6, text_length(c, 12, WEIGHT_BOLD, what) + 8);
		draw_fitting(c, b.x + b.width, b.y + 14, 12, 9, WEIGHT_BOLD, t->warning, ALIGN_RIGHT, right, what);
	}
	draw_fitting(c, b.x, b.y + 14, 15, 10, WEIGHT_BOLD, t->accent, ALIGN_LEFT, b.width - right - 8, v->name);
}

void draw_pair(struct canvas *c, const struct view *v, struct box b)
{
	struct pair pair;
	pair_lay(&pair, v, b);
	draw_strip(c, v, pair.strip);
	for (int i = 0; i < 2; i++) {
		const struct pair_part *part = &pair.part[i];
		draw_name(c, &part->view, part->name);
		draw_fitted(c, &part->view, part->box);
	}
	struct box line = pair.part[1].name;
	if (line.x > b.x)
		draw_line(c, line.x - GAP / 2.0, line.y, line.x - GAP / 2.0, b.y + b.height, c->theme->line, 1);
}
