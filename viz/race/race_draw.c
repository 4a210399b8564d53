/* The picture of a race: a lane for an algorithm, its rounds as long as they take, and a clock that runs over all. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "strategy/base/language.h"
#include "viz/race/race.h"
#include "viz/scene/scene.h"

enum { HEAD = 58, AXIS = 20, RACE_DETAIL = 192 };

colour race_colour(const struct racer *one)
{
	static const colour of_shape[] = {[SHAPE_RING] = 0x0072B2,
	                                  [SHAPE_CHAIN] = 0x56B4E9,
	                                  [SHAPE_TREE] = 0x009E73,
	                                  [SHAPE_STAR] = 0xE69F00,
	                                  [SHAPE_PAIRS] = 0xCC79A7};
	if (schedule_is_own(one->part[0].algorithm)) /* one's own stands out */
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
	return tr(words[place]);
}

enum { RESULT_SIZE = 15, FACTOR_SIZE = 11, RESULT = 96 };

static void result_words(const struct race *r, const struct racer *one, char result[RESULT], char factor[RESULT])
{
	char time[WORD], times[WORD];
	double best = 1;
	for (int i = 0; i < r->count; i++)
		best = r->racer[i].place == 1 ? (double)r->racer[i].ns : best;
	snprintf(result, RESULT, "%s  %s", place_word(one->place), time_word(time, one->ns));
	if (one->place > 1)
		snprintf(factor, RESULT, tr("%s the first's time"), factor_word(times, (double)one->ns / best));
	else
		snprintf(factor, RESULT, "%s", tr("the fastest"));
}

/* The room that the longest result takes. */
static double result_width(struct canvas *c, const struct race *r)
{
	char result[RESULT], factor[RESULT];
	double width = 0;
	for (int i = 0; i < r->count; i++) {
		result_words(r, &r->racer[i], result, factor);
		width = fmax(width, text_length(c, RESULT_SIZE, WEIGHT_BOLD, result));
		width = fmax(width, text_length(c, FACTOR_SIZE, WEIGHT_PLAIN, factor));
	}
	return width;
}

static void draw_result(struct canvas *c, const struct race *r, const struct racer *one, bool done, struct box b)
{
	const struct theme *t = c->theme;
	char result[RESULT], factor[RESULT];
	double middle = b.y + b.height / 2;
	result_words(r, one, result, factor);
	double second = fmax(15, 1.15 * c->least);
	draw_fitting(c, b.x, middle - 1, RESULT_SIZE, 10, done ? WEIGHT_BOLD : WEIGHT_PLAIN, done ? t->ink : t->soft,
	             ALIGN_LEFT, b.width, result);
	draw_fitting(c, b.x, middle - 1 + second, FACTOR_SIZE, 9, WEIGHT_PLAIN, t->soft, ALIGN_LEFT, b.width, factor);
}

/* The layout of a lane. */
struct columns {
	double name, grid; /* the column of names; a side of the grid, 0: none */
	struct track track;
	double result;     /* how wide is what stands behind the track */
	int lines;         /* of words below the bar */
	double line, lane; /* from line to line, from lane to lane */
};

/* In symbols, and in bytes. */
static void detail_words(const struct race *r, const struct racer *one, char time[RACE_DETAIL], char bytes[RACE_DETAIL])
{
	char form[RACE_FORM], out[WORD], in[WORD];
	snprintf(time, RACE_DETAIL, tr("time %s"), race_time_form(form, one, r->ranks));
	snprintf(bytes, RACE_DETAIL, tr("%s; the busiest rank: %s out, %s in"), race_bytes_form(form, one),
	         bytes_word(out, one->out), bytes_word(in, one->in));
}

static void draw_details(struct canvas *c, const struct race *r, const struct racer *one, const struct columns *k,
                         double y, double room)
{
	char time[RACE_DETAIL], bytes[RACE_DETAIL], line[2 * RACE_DETAIL + 8];
	detail_words(r, one, time, bytes);
	snprintf(line, sizeof line, "%s · %s", time, bytes);
	const char *const lines[] = {k->lines == 1 ? line : time, bytes};
	for (int i = 0; i < k->lines; i++)
		draw_fitting(c, k->track.box.x, y + k->line * i, 12, 8, WEIGHT_PLAIN, c->theme->soft, ALIGN_LEFT, room,
		             lines[i]);
}

static void draw_lane(struct canvas *c, const struct race *r, int number, int64_t now, const struct columns *k,
                      struct box b)
{
	const struct theme *t = c->theme;
	const struct racer *one = &r->racer[number];
	int over = race_rounds_over(one, now);
	double bar = fmax(fmin(34, b.height - k->lines * k->line - 8), 8), second = fmax(17, 1.25 * c->least);
	struct track track = k->track;
	track.box.y = b.y + 4;
	track.box.height = bar;
	draw_fill(c, (struct box){b.x, b.y + 6, 12, 12}, race_colour(one));
	draw_frame(c, (struct box){b.x, b.y + 6, 12, 12}, t->outline, 0.8);
	draw_fitting(c, b.x + 18, b.y + 17, 15, 10, WEIGHT_BOLD, t->ink, ALIGN_LEFT, k->name - 22, one->name);
	draw_text(c, b.x + 18, b.y + 17 + second, 12, WEIGHT_PLAIN, over == one->rounds ? t->soft : t->ink, ALIGN_LEFT,
	          k->name - 22, "%d of %d rounds", over, one->rounds);
	if (k->grid > 0)
		draw_grid(c, r, one, over, race_colour(one), (struct box){b.x + k->name, b.y + 2, k->grid, k->grid});
	draw_rounds(c, one, &track, now, race_colour(one));
	double clock = x_of(&track, now < r->longest ? now : r->longest);
	draw_line(c, clock, b.y - 2, clock, track.box.y + bar + 3, t->ink, 2.5);
	draw_result(c, r, one, now >= one->ns,
	            (struct box){track.box.x + track.box.width + 14, track.box.y, k->result - 14, bar});
	draw_details(c, r, one, k, track.box.y + bar + 3 + k->line * 0.8, b.x + b.width - track.box.x);
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

static const char *rules(const struct race *r)
{
	return r->by_message
	               ? tr("Every message is simulated over the links that it shares. launch: to begin a "
	                    "collective; hop(x) = "
	                    "latency + x / bandwidth; S the bytes, n the ranks, p the largest power of two in n")
	               : tr("Above 64 ranks times are by formula, and rounds share them equally. launch: to begin a "
	                    "collective; "
	                    "hop(x) = latency + x / bandwidth");
}

/* Returns its height. */
static double draw_heading(struct canvas *c, const struct race *r, int64_t now, struct box b)
{
	const struct theme *t = c->theme;
	char bytes[WORD], time[WORD], title[160];
	double clock = fmin(180, b.width * 0.2), size = fmax(12, c->least);
	snprintf(title, sizeof title, tr("A race: %s of %s on %" PRId64 " ranks of %s"),
	         tr(operation_name(r->operation)), bytes_word(bytes, r->bytes), r->ranks, r->cluster);
	draw_fitting(c, b.x, b.y + 24, 20, 12, WEIGHT_BOLD, t->ink, ALIGN_LEFT, b.width - clock - 10, title);
	if (*r->refused)
		return HEAD;
	draw_fitting(c, b.x + b.width, b.y + 26, 20, 12, WEIGHT_BOLD, t->accent, ALIGN_RIGHT, clock,
	             time_word(time, now));
	int lines = draw_paragraph(c, b.x, b.y + 46, b.width, size, 2, t->soft, rules(r));
	return HEAD - 8 + 1.35 * size * (lines - 1) + fmax(8, 0.5 * c->least);
}

static void lay_columns(struct columns *k, struct canvas *c, const struct race *r, struct box b)
{
	double longest = 0, details = 0;
	char time[RACE_DETAIL], bytes[RACE_DETAIL];
	for (int i = 0; i < r->count; i++) {
		snprintf(time, sizeof time, tr("%d of %d rounds"), r->racer[i].rounds, r->racer[i].rounds);
		longest = fmax(longest, text_length(c, 12, WEIGHT_PLAIN, time) + 1);
		longest = fmax(longest, text_length(c, 13, WEIGHT_BOLD, r->racer[i].name));
		detail_words(r, &r->racer[i], time, bytes);
		details =
		        fmax(details, text_length(c, 12, WEIGHT_PLAIN, time) + text_length(c, 12, WEIGHT_PLAIN, bytes));
	}
	k->name = fmin(longest + 26, b.width * 0.25);
	k->line = fmax(15, 1.2 * c->least);
	k->result = result_width(c, r) + 16;
	k->grid = r->ranks <= RACE_GRID && b.height > 360 ? 56 : 0;
	double left = k->name + k->grid + (k->grid > 0 ? 14 : 0);
	k->track = (struct track){.box = {b.x + left, 0, fmax(40, b.width - left - k->result), 0}};
	k->track.unit = k->track.box.width / (double)(r->longest ? r->longest : 1);
	k->lines = details + 20 <= b.width - left ? 1 : 2;
}

void race_draw(struct canvas *c, const struct race *r, int64_t now, struct box b)
{
	struct columns k;
	double head = draw_heading(c, r, now, b);
	if (*r->refused) {
		draw_paragraph(c, b.x, b.y + HEAD + 40, b.width, 18, 3, c->theme->warning, r->refused);
		return;
	}
	lay_columns(&k, c, r, b);
	double axis = fmax(AXIS, 1.3 * c->least), top = b.y + head + axis, room = b.y + b.height - top,
	       least = fmax(k.grid, 34) + k.lines * k.line - (k.lines > 1 ? 12 : 0) + 12;
	double chart = room - r->count * least > 130 ? fmin(fmax(260, 0.4 * b.height), room - r->count * least - 6) : 0;
	k.lane = fmin(110, (room - chart - 6) / r->count);
	if (k.lane < k.grid + 6)
		k.grid = 0;
	draw_axis(c, r, &k.track, top, top + k.lane * r->count);
	for (int i = 0; i < r->count; i++)
		draw_lane(c, r, i, now, &k, (struct box){b.x, top + k.lane * i, b.width, k.lane - 4});
	if (chart > 0)
		race_draw_chart(c, r, (struct box){b.x, b.y + b.height - chart, b.width, chart});
}

void race_describe(const struct race *r, FILE *out)
{
	char bytes[WORD], time[WORD], form[RACE_FORM], sent[RACE_FORM], busy[WORD], in[WORD], words[RACE_WORDS];
	fprintf(out, tr("race     %s of %s on %" PRId64 " ranks of %s, %s\n"), tr(operation_name(r->operation)),
	        bytes_word(bytes, r->bytes), r->ranks, r->cluster, r->by_message ? tr("by message") : tr("by formula"));
	for (int place = 1; place <= r->count; place++)
		for (int i = 0; i < r->count; i++) {
			const struct racer *one = &r->racer[i];
			if (one->place != place)
				continue;
			fprintf(out, tr("%s      %s: %s in %d rounds; time %s; %s; the busiest rank: %s out, %s in\n"),
			        place_word(place), one->name, time_word(time, one->ns), one->rounds,
			        race_time_form(form, one, r->ranks), race_bytes_form(sent, one),
			        bytes_word(busy, one->out), bytes_word(in, one->in));
		}
	fprintf(out, "%s    %s\n", r->curve.over == RACE_OVER_RANKS ? tr("ranks") : tr("sizes"), race_words(words, r));
	for (int k = 0; k < r->curve.points; k++) {
		fprintf(out, "at       %s:", race_point_word(bytes, &r->curve, r->curve.at[k]));
		for (int i = 0; i < r->count; i++)
			fprintf(out, "%s %s %s", i ? "," : "", r->racer[i].name, time_word(time, r->curve.ns[i][k]));
		fputc('\n', out);
	}
}
