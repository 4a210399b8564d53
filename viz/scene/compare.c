/* Memory of strategies side by side, on one scale. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "strategy/base/language.h"
#include "viz/scene/memory_parts.h"
#include "viz/scene/scene_parts.h"
#include "viz/timeline/op_words.h"

void compare_grid(int n, double width, int *columns, int *rows)
{
	enum { ROOMY = 230 }; /* of a card: bars of three roles have their names */
	*rows = n <= 4 ? 1 : n <= 8 ? 2 : n <= 12 ? 3 : 4;
	if (n == 4 && width / n < ROOMY)
		*rows = 2;
	*columns = (n + *rows - 1) / *rows;
}

/* The roles that a card shows: all of them or, if their names would not fit, the first, the fullest and the last, or
 * the fullest alone. */
static int choose_roles(struct canvas *c, const struct timeline *s, double width, int *chosen)
{
	int n = 0, fullest = 0;
	double least = fmax(44, text_length(c, 9, WEIGHT_BOLD, "888 MB") + 4);
	for (int r = 0; r < s->plan->role_count; r++)
		if (timeline_index_of(s, s->plan->roles[r].first_rank) >= 0)
			chosen[n++] = r;
	if (n < 2 || width / n >= least)
		return n;
	for (int i = 1; i < n; i++)
		if (s->roles[chosen[i]].peak[SPACE_DEVICE] > s->roles[chosen[fullest]].peak[SPACE_DEVICE])
			fullest = i;
	if (n > 3 && width / 3 >= least) {
		int inner = fullest > 0 && fullest < n - 1 ? fullest : 1;
		chosen[1] = chosen[inner];
		chosen[2] = chosen[n - 1];
		return 3;
	}
	chosen[0] = chosen[fullest];
	return 1;
}

/* ---- words below the bars ---- */

enum { WORDS = 4, LINES = 4, LINE_WORDS = 160, BARS = 56 };

static double line_of(const struct canvas *c)
{
	return fmax(16, 1.2 * c->least);
}

static int64_t most_sent(const struct timeline *s)
{
	int64_t sent = 0;
	for (int index = 0; index < s->rank_count; index++)
		sent = ledger_step_bytes(s, index) > sent ? ledger_step_bytes(s, index) : sent;
	return sent;
}

/* Draws peak, time and bytes. bars: the roles to draw. */
static int words_of(const struct timeline *s, int bars, bool brief, char words[WORDS][64])
{
	char word[WORD];
	int64_t sent = most_sent(s);
	snprintf(words[0], sizeof words[0], tr("peak %s"), bytes_word(word, memory_highest(s, SPACE_DEVICE)));
	snprintf(words[1], sizeof words[1], tr("a step %s"), time_word(word, s->step_ns));
	bool some = bars < s->plan->role_count;
	snprintf(words[2], sizeof words[2], bars == 1 ? tr("the fullest") : tr("first, fullest, last"));
	snprintf(words[2 + some], sizeof words[0],
	         !sent   ? tr("sends nothing")
	         : brief ? tr("sends %s")
	                 : tr("sends up to %s a rank"),
	         bytes_word(word, sent));
	return 3 + some;
}

/* Puts as many on a line as fit. Returns the number of lines. */
static int break_words(struct canvas *c, char words[WORDS][64], int count, double room, char lines[LINES][LINE_WORDS])
{
	int n = 0;
	for (int i = 0; i < count; i++) {
		char longer[2 * LINE_WORDS];
		snprintf(longer, sizeof longer, "%s, %s", n ? lines[n - 1] : "", words[i]);
		if (n && strlen(longer) < LINE_WORDS && text_length(c, 12, WEIGHT_PLAIN, longer) <= room)
			memcpy(lines[n - 1], longer, strlen(longer) + 1);
		else
			snprintf(lines[n++], LINE_WORDS, "%.63s", words[i]);
	}
	return n;
}

static int lines_of(struct canvas *c, const struct timeline *s, int bars, double room, char lines[LINES][LINE_WORDS])
{
	char words[WORDS][64];
	int n = words_of(s, bars, false, words);
	if (text_length(c, 12, WEIGHT_PLAIN, words[n - 1]) > room)
		n = words_of(s, bars, true, words);
	return break_words(c, words, n, room, lines);
}

/* "163.0 MB" becomes "163 MB" where it is too long. */
static void shorten_number(struct canvas *c, double size, double room, char *word)
{
	char *end = strchr(word, ' ');
	while (end && strchr(word, '.') && text_length(c, size, WEIGHT_BOLD, word) > room) {
		int digits = end[-2] == '.' ? 2 : 1;
		memmove(end - digits, end, strlen(end) + 1);
		end -= digits;
	}
}

/* ---- a card ---- */

/* The measures that all cards share. */
struct cards {
	double bytes, width, height; /* of the scale; of a card */
	int lines;                   /* of words */
};

static struct box plot_of(struct canvas *c, const struct cards *all, struct box card)
{
	double left = fmax(60, text_length(c, 11, WEIGHT_PLAIN, "500 MB") + 12),
	       below = memory_second_line(c) + 2 + all->lines * line_of(c) + 8;
	return (struct box){card.x + left + 6, card.y + 32, card.width - left - 12, fmax(1, card.height - 32 - below)};
}

static void draw_role(struct canvas *c, const struct state *st, const struct memory_scale *scale, int number,
                      struct box part, double top)
{
	const struct theme *t = c->theme;
	const struct timeline *s = st->timeline;
	const struct role *role = &s->plan->roles[number];
	int index = timeline_index_of(s, role->first_rank);
	double bar = fmin(90, part.width * 0.66), middle = part.x + part.width / 2;
	char text[160], word[WORD];
	memory_bar(c, scale, (struct box){middle - bar / 2, top, bar, part.y - top},
	           timeline_live(s, index, SPACE_DEVICE, st->ranks[index].issued), s->roles[number].peak[SPACE_DEVICE],
	           true);
	snprintf(text, sizeof text, "%s%s", role->ranks > 1 ? tr("each ") : "", role_word(role));
	bool brief = text_length(c, 9, WEIGHT_PLAIN, text) > part.width - 3;
	draw_fitting(c, middle, part.y + memory_first_line(c), 12, 9, WEIGHT_PLAIN, t->soft, ALIGN_CENTRE,
	             part.width - 3, brief ? role_word(role) : text);
	bytes_word(word, st->ranks[index].live[SPACE_DEVICE]);
	shorten_number(c, 9, part.width - 1, word);
	draw_fitting(c, middle, part.y + memory_second_line(c), 12, 9, WEIGHT_BOLD, t->ink, ALIGN_CENTRE,
	             part.width - 1, word);
}

static void draw_contender(struct canvas *c, const struct view *v, int i, const struct cards *all, struct box card)
{
	const struct theme *t = c->theme;
	const struct state *st = v->contender[i].state;
	const struct timeline *s = st->timeline;
	double capacity = (double)memory_capacity(s);
	struct memory_scale scale = {
	        .bytes = all->bytes, .capacity = capacity, .line = capacity > 0 && capacity < all->bytes};
	struct box plot = plot_of(c, all, card);
	int chosen[PLAN_ROLES], roles = choose_roles(c, s, plot.width, chosen);
	double x = card.x + 12, room = card.width - 20, below = plot.y + plot.height;
	char lines[LINES][LINE_WORDS];
	draw_card(c, card, t->panel, t->line, 1);
	draw_fitting(c, x, card.y + 21, 15, 11, WEIGHT_BOLD, t->ink, ALIGN_LEFT, room, v->contender[i].label);
	memory_axis(c, plot, &scale);
	for (int k = 0; k < roles; k++)
		draw_role(c, st, &scale, chosen[k],
		          (struct box){plot.x + plot.width / roles * k, below, plot.width / roles, 0}, plot.y);
	if (scale.line || !i || memory_capacity(s) != memory_capacity(v->contender[i - 1].state->timeline))
		memory_capacity_line(c, plot, &scale, memory_highest(s, SPACE_DEVICE),
		                     text_length(c, 15, WEIGHT_BOLD, v->contender[i].label) - 44);
	int count = lines_of(c, s, roles, room, lines);
	for (int k = 0; k < count && k < all->lines; k++)
		draw_fitting(c, x, below + memory_second_line(c) + 2 + line_of(c) * (k + 1), 12, 9.5, WEIGHT_PLAIN,
		             t->soft, ALIGN_LEFT, room, lines[k]);
}

/* ---- all ---- */

static void measure_cards(struct cards *out, struct canvas *c, const struct view *v)
{
	int n = v->contender_count;
	int64_t peak = 0;
	out->bytes = 0;
	out->lines = 0;
	for (int i = 0; i < n; i++) {
		int64_t one = memory_highest(v->contender[i].state->timeline, SPACE_DEVICE);
		peak = one > peak ? one : peak;
	}
	for (int i = 0; i < n; i++) {
		const struct timeline *s = v->contender[i].state->timeline;
		char lines[LINES][LINE_WORDS];
		int chosen[PLAN_ROLES];
		int bars = choose_roles(c, s, out->width - 74, chosen),
		    count = lines_of(c, s, bars, out->width - 20, lines);
		/* All cards have one scale, except that a rank alone may exceed it. */
		out->bytes = fmax(out->bytes, memory_scale_for(peak, memory_capacity(s)).bytes);
		out->lines = count > out->lines ? count : out->lines;
	}
	/* Bars come first if there is no room for everything. */
	double room = out->height - 32 - memory_second_line(c) - 14 - BARS;
	out->lines = (int)fmax(1, fmin(out->lines, floor(room / line_of(c))));
}

/* Explains the bars and the dashed boxes above them. */
static double draw_title(struct canvas *c, struct box b)
{
	static const char title[] = "Memory of a device now", ghost[] = "dashed: up to the step's peak";
	const struct theme *t = c->theme;
	double size = fmax(14, c->least), length = text_length(c, 12, WEIGHT_PLAIN, ghost);
	draw_text(c, b.x, b.y + size, 14, WEIGHT_BOLD, t->ink, ALIGN_LEFT, b.width - length - 40, "%s", title);
	draw_text(c, b.x + b.width, b.y + size, 12, WEIGHT_PLAIN, t->soft, ALIGN_RIGHT, 0, "%s", ghost);
	memory_ghost(c, (struct box){b.x + b.width - length - 24, b.y + size - 12, 16, 14});
	return size + 9;
}

void draw_compare(struct canvas *c, const struct view *v, struct box b)
{
	int n = v->contender_count, columns, rows;
	compare_grid(n, b.width, &columns, &rows);
	double title = draw_title(c, b), legend = legend_height(c, b.width),
	       width = (b.width - 16 * (columns - 1)) / columns,
	       height = (b.height - title - legend - 12 * (rows - 1)) / rows;
	struct cards all = {.width = width, .height = height};
	measure_cards(&all, c, v);
	for (int i = 0; i < n; i++) {
		int row = i / columns, column = i % columns;
		draw_contender(
		        c, v, i, &all,
		        (struct box){b.x + (width + 16) * column, b.y + title + (height + 12) * row, width, height});
	}
	legend_categories(c, b.x, b.y + b.height - legend + 6, b.width, GATHERED_IS_PARAMETERS);
}
