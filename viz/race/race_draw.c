/* The picture of a race: a lane for an algorithm, its rounds as long as they take, and a clock that runs over all. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "viz/race/race.h"
#include "viz/scene/scene.h"

enum { HEAD = 58, AXIS = 20 };

colour race_colour(const struct racer *one)
{
	static const colour of_shape[] = {[SHAPE_RING] = 0x0072B2,
	                                  [SHAPE_CHAIN] = 0x56B4E9,
	                                  [SHAPE_TREE] = 0x009E73,
	                                  [SHAPE_STAR] = 0xE69F00,
	                                  [SHAPE_PAIRS] = 0xCC79A7};
	if (one->part[0].algorithm >= SCHEDULE_COUNT) /* one's own stands out */
		return 0xD55E00;
	return of_shape[schedule_row(one->part[0].algorithm)->shape];
}

struct track {
	struct box box;
	double unit; /* of a ns */
};

static double x_of(const struct track *t, int64_t ns)
{
	return t->box.x + t->unit * (double)ns;
}

/* ---- one lane ---- */

static void draw_rounds(struct canvas *c, const struct racer *one, const struct track *t, int64_t now, colour ink)
{
	const struct theme *th = c->theme;
	int64_t begin = 0;
	for (int k = 0; k < one->rounds; k++) {
		double x0 = x_of(t, begin), x1 = x_of(t, one->ends[k]), done = fmin(x1, x_of(t, now));
		colour shade = colour_mix(ink, th->panel, k % 2 ? 0.22 : 0);
		struct box b = {x0, t->box.y, x1 - x0, t->box.height};
		draw_fill(c, b, colour_mix(ink, th->panel, k % 2 ? 0.86 : 0.78));
		if (done > x0)
			draw_fill(c, (struct box){x0, b.y, done - x0, b.height}, shade);
		if (b.width > 4)
			draw_line(c, x1, b.y, x1, b.y + b.height, th->outline, 0.6);
		if (b.width > 20)
			draw_text(c, x0 + b.width / 2, b.y + b.height / 2 + 4, 11, WEIGHT_BOLD,
			          x0 + b.width / 2 < done ? ink_on(shade) : th->soft, ALIGN_CENTRE, b.width, "%d",
			          k + 1);
		begin = one->ends[k];
	}
	struct box all = {t->box.x, t->box.y, t->unit * (double)one->ns, t->box.height};
	draw_frame(c, all, th->outline, now >= one->ns ? 2 : 1);
}

/* A row for a rank, a column for a chunk: the fuller, the more of the sum is there. */
static void draw_grid(struct canvas *c, const struct race *r, const struct racer *one, int rounds, colour ink,
                      struct box b)
{
	struct race_held held;
	race_held_make(&held, r, one, rounds);
	double width = held.chunks ? b.width / held.chunks : 0, height = b.height / (double)r->ranks;
	for (int64_t rank = 0; rank < r->ranks && held.chunks; rank++)
		for (int k = 0; k < held.chunks; k++) {
			double part = held.part[rank * held.chunks + k];
			struct box cell = {b.x + width * k, b.y + height * (double)rank, width, height};
			draw_fill(c, cell, colour_mix(c->theme->empty, ink, part));
			if (width > 5 && height > 4)
				draw_frame(c, cell, c->theme->panel, 0.5);
		}
	if (held.chunks)
		draw_frame(c, b, c->theme->outline, 1);
	free(held.part);
}

static const char *place_word(int place)
{
	static const char *const words[] = {"", "1st", "2nd", "3rd", "4th", "5th", "6th"};
	return words[place];
}

static void draw_result(struct canvas *c, const struct race *r, const struct racer *one, bool done, struct box b)
{
	const struct theme *t = c->theme;
	char time[WORD], text[96];
	double best = 1;
	for (int i = 0; i < r->count; i++)
		best = r->racer[i].place == 1 ? (double)r->racer[i].ns : best;
	double middle = b.y + b.height / 2;
	snprintf(text, sizeof text, "%s  %s", place_word(one->place), time_word(time, one->ns));
	draw_text(c, b.x, middle - 1, 15, done ? WEIGHT_BOLD : WEIGHT_PLAIN, done ? t->ink : t->soft, ALIGN_LEFT,
	          b.width, "%s", text);
	if (one->place > 1)
		draw_text(c, b.x, middle + 14, 11, WEIGHT_PLAIN, t->soft, ALIGN_LEFT, b.width,
		          "%.3g times as long as the first", (double)one->ns / best);
	else
		draw_text(c, b.x, middle + 14, 11, WEIGHT_PLAIN, t->soft, ALIGN_LEFT, b.width, "the fastest");
}

/* name: the column of names; grid: a side of it. */
static void draw_lane(struct canvas *c, const struct race *r, int number, int64_t now, const struct track *all,
                      double name, double grid, struct box b)
{
	const struct theme *t = c->theme;
	const struct racer *one = &r->racer[number];
	int over = race_rounds_over(one, now);
	char form[RACE_FORM], bytes[RACE_FORM], out[WORD], in[WORD], line[320];
	double bar = fmin(34, b.height - 30);
	struct track track = *all;
	track.box.y = b.y + 4;
	track.box.height = bar;
	draw_fill(c, (struct box){b.x, b.y + 6, 12, 12}, race_colour(one));
	draw_frame(c, (struct box){b.x, b.y + 6, 12, 12}, t->outline, 0.8);
	draw_fitting(c, b.x + 18, b.y + 17, 15, 10, WEIGHT_BOLD, t->ink, ALIGN_LEFT, name - 26, one->name);
	draw_text(c, b.x + 18, b.y + 34, 12, WEIGHT_PLAIN, over == one->rounds ? t->soft : t->ink, ALIGN_LEFT,
	          name - 26, "%d of %d rounds", over, one->rounds);
	if (grid > 0)
		draw_grid(c, r, one, over, race_colour(one), (struct box){b.x + name, b.y + 2, grid, grid});
	draw_rounds(c, one, &track, now, race_colour(one));
	double clock = x_of(&track, now < r->longest ? now : r->longest);
	draw_line(c, clock, b.y - 2, clock, track.box.y + bar + 3, t->ink, 2.5);
	draw_result(c, r, one, now >= one->ns,
	            (struct box){all->box.x + all->box.width + 14, track.box.y,
	                         b.x + b.width - all->box.x - all->box.width - 14, bar});
	snprintf(line, sizeof line, "time %s · %s · the busiest rank: %s out, %s in",
	         race_time_form(form, one, r->ranks), race_bytes_form(bytes, one), bytes_word(out, one->out),
	         bytes_word(in, one->in));
	draw_fitting(c, track.box.x, track.box.y + bar + 15, 12, 8, WEIGHT_PLAIN, t->soft, ALIGN_LEFT, all->box.width,
	             line);
}

/* ---- the whole ---- */

static void draw_axis(struct canvas *c, const struct race *r, const struct track *t, double top, double bottom)
{
	double tick = tick_of((double)r->longest, fmax(2, t->box.width / 110));
	for (int i = 0; i * tick <= (double)r->longest; i++) {
		char word[WORD];
		double x = x_of(t, (int64_t)(i * tick));
		time_word(word, (int64_t)(i * tick));
		draw_line(c, x, top, x, bottom, c->theme->line, 0.6);
		draw_text(c, x + 3, top - 4, 11, WEIGHT_PLAIN, c->theme->soft, ALIGN_LEFT, 0, "%s", short_word(word));
	}
}

static void draw_heading(struct canvas *c, const struct race *r, int64_t now, struct box b)
{
	const struct theme *t = c->theme;
	char bytes[WORD], time[WORD], title[160];
	snprintf(title, sizeof title, "A race: %s of %s on %" PRId64 " ranks of %s", operation_name(r->operation),
	         bytes_word(bytes, r->bytes), r->ranks, r->cluster);
	draw_fitting(c, b.x, b.y + 24, 20, 12, WEIGHT_BOLD, t->ink, ALIGN_LEFT, b.width - 190, title);
	draw_text(c, b.x, b.y + 44, 12, WEIGHT_PLAIN, t->soft, ALIGN_LEFT, b.width - 190,
	          r->by_message ? "Every message is simulated over the links that it shares. hop(x) = latency + x / "
	                          "bandwidth; S the bytes, n the ranks, p the largest power of two in n"
	                        : "Above 64 ranks times are by formula, and rounds share them equally. hop(x) = "
	                          "latency + x / bandwidth");
	if (!*r->refused)
		draw_text(c, b.x + b.width, b.y + 26, 20, WEIGHT_BOLD, t->accent, ALIGN_RIGHT, 180, "%s",
		          time_word(time, now));
}

void race_draw(struct canvas *c, const struct race *r, int64_t now, struct box b)
{
	draw_heading(c, r, now, b);
	if (*r->refused) {
		draw_paragraph(c, b.x, b.y + HEAD + 40, b.width, 18, 3, c->theme->warning, r->refused);
		return;
	}
	double chart = b.height > 420 ? fmin(260, b.height * 0.4) : 0, top = b.y + HEAD + AXIS,
	       bottom = b.y + b.height - chart - 6, lane = fmin(110, (bottom - top) / r->count);
	double grid = r->ranks <= RACE_GRID && lane > 52 ? fmin(56, lane - 12) : 0, name = fmin(160, b.width * 0.15),
	       left = name + grid + (grid > 0 ? 14 : 0);
	struct track t = {.box = {b.x + left, top, fmax(40, b.width - left - 214), 0}};
	t.unit = t.box.width / (double)(r->longest ? r->longest : 1);
	draw_axis(c, r, &t, top, top + lane * r->count);
	for (int i = 0; i < r->count; i++)
		draw_lane(c, r, i, now, &t, name, grid, (struct box){b.x, top + lane * i, b.width, lane - 4});
	if (chart > 0)
		race_draw_chart(c, r, (struct box){b.x, b.y + b.height - chart, b.width, chart});
}

void race_describe(const struct race *r, FILE *out)
{
	char bytes[WORD], time[WORD], form[RACE_FORM], sent[RACE_FORM], busy[WORD], in[WORD], words[RACE_WORDS];
	fprintf(out, "race     %s of %s on %" PRId64 " ranks of %s, %s\n", operation_name(r->operation),
	        bytes_word(bytes, r->bytes), r->ranks, r->cluster, r->by_message ? "by message" : "by formula");
	for (int place = 1; place <= r->count; place++)
		for (int i = 0; i < r->count; i++) {
			const struct racer *one = &r->racer[i];
			if (one->place != place)
				continue;
			fprintf(out, "%s      %s: %s in %d rounds; time %s; %s; the busiest rank: %s out, %s in\n",
			        place_word(place), one->name, time_word(time, one->ns), one->rounds,
			        race_time_form(form, one, r->ranks), race_bytes_form(sent, one),
			        bytes_word(busy, one->out), bytes_word(in, one->in));
		}
	fprintf(out, "sizes    %s\n", race_words(words, r));
	for (int k = 0; k < r->curve.points; k++) {
		fprintf(out, "at       %s:", bytes_word(bytes, r->curve.bytes[k]));
		for (int i = 0; i < r->count; i++)
			fprintf(out, "%s %s %s", i ? "," : "", r->racer[i].name, time_word(time, r->curve.ns[i][k]));
		fputc('\n', out);
	}
}
