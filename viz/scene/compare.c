/* Memory of strategies side by side, on one scale. */
#include <math.h>
#include <stdio.h>

#include "viz/scene/memory_parts.h"
#include "viz/scene/scene_parts.h"

void compare_grid(int n, int *columns, int *rows)
{
	*rows = n <= 4 ? 1 : n <= 8 ? 2 : n <= 12 ? 3 : 4;
	*columns = (n + *rows - 1) / *rows;
}

/* Indices of the roles that a card shows: all, or where they would be too narrow the first, the fullest, the last. */
static int choose_roles(const struct timeline *s, double width, int *chosen)
{
	int n = 0, fullest = 0;
	for (int r = 0; r < s->plan->role_count; r++)
		if (timeline_index_of(s, s->plan->roles[r].first_rank) >= 0)
			chosen[n++] = r;
	if (n <= 3 || width / n >= 44)
		return n;
	for (int i = 1; i < n - 1; i++)
		if (!fullest || s->roles[chosen[i]].peak[SPACE_DEVICE] > s->roles[chosen[fullest]].peak[SPACE_DEVICE])
			fullest = i;
	chosen[1] = chosen[fullest];
	chosen[2] = chosen[n - 1];
	return 3;
}

static void draw_contender(struct canvas *c, const struct view *v, int i, double bytes, struct box card)
{
	const struct theme *t = c->theme;
	const struct state *st = v->contender[i].state;
	const struct timeline *s = st->timeline;
	double capacity = (double)memory_capacity(s);
	struct memory_scale scale = {.bytes = bytes, .capacity = capacity, .line = capacity > 0 && capacity < bytes};
	struct box plot = {card.x + 66, card.y + 32, card.width - 74, fmax(1, card.height - 32 - 76)};
	int chosen[PLAN_ROLES], roles = choose_roles(s, plot.width, chosen);
	double x = card.x + 12, room = card.width - 20;
	int64_t worst = memory_highest(s, SPACE_DEVICE), sent = 0;
	char text[160], word[WORD], most[WORD], step[WORD];
	draw_card(c, card, t->panel, t->line, 1);
	draw_fitting(c, x, card.y + 21, 15, 11, WEIGHT_BOLD, t->ink, ALIGN_LEFT, room, v->contender[i].label);
	memory_axis(c, plot, &scale);
	for (int k = 0; k < roles; k++) {
		const struct role *role = &s->plan->roles[chosen[k]];
		int index = timeline_index_of(s, role->first_rank);
		double part = plot.width / roles, bar = fmin(90, part * 0.66), middle = plot.x + part * (k + 0.5);
		memory_bar(c, &scale, (struct box){middle - bar / 2, plot.y, bar, plot.height},
		           timeline_live(s, index, SPACE_DEVICE, st->ranks[index].issued),
		           s->roles[chosen[k]].peak[SPACE_DEVICE], true);
		snprintf(text, sizeof text, "%s%s", role->ranks > 1 ? "each " : "", role->name);
		draw_fitting(c, middle, plot.y + plot.height + 15, 12, 9, WEIGHT_PLAIN, t->soft, ALIGN_CENTRE, part - 3,
		             text);
		draw_fitting(c, middle, plot.y + plot.height + 31, 12, 9, WEIGHT_BOLD, t->ink, ALIGN_CENTRE, part - 3,
		             bytes_word(word, st->ranks[index].live[SPACE_DEVICE]));
	}
	for (int index = 0; index < s->rank_count; index++)
		sent = ledger_step_bytes(s, index) > sent ? ledger_step_bytes(s, index) : sent;
	if (scale.line || !i || memory_capacity(s) != memory_capacity(v->contender[i - 1].state->timeline))
		memory_capacity_line(c, plot, &scale, worst,
		                     text_length(c, 15, WEIGHT_BOLD, v->contender[i].label) - 44);
	snprintf(text, sizeof text, "peak %s, a step %s%s", bytes_word(most, worst), time_word(step, s->step_ns),
	         roles < s->plan->role_count ? "; first, fullest, last" : "");
	draw_fitting(c, x, card.y + card.height - 26, 12, 9.5, WEIGHT_PLAIN, t->soft, ALIGN_LEFT, room, text);
	snprintf(text, sizeof text, sent ? "sends up to %s a rank" : "sends nothing", bytes_word(word, sent));
	draw_fitting(c, x, card.y + card.height - 10, 12, 9.5, WEIGHT_PLAIN, t->soft, ALIGN_LEFT, room, text);
}

void draw_compare(struct canvas *c, const struct view *v, struct box b)
{
	int n = v->contender_count, columns, rows;
	int64_t peak = 0;
	double bytes = 0;
	compare_grid(n, &columns, &rows);
	for (int i = 0; i < n; i++) {
		int64_t one = memory_highest(v->contender[i].state->timeline, SPACE_DEVICE);
		peak = one > peak ? one : peak;
	}
	/* One scale, but a rank alone may have more to itself. */
	for (int i = 0; i < n; i++)
		bytes = fmax(bytes, memory_scale_for(peak, memory_capacity(v->contender[i].state->timeline)).bytes);
	double legend = 26, width = (b.width - 16 * (columns - 1)) / columns,
	       height = (b.height - legend - 12 * (rows - 1)) / rows;
	for (int i = 0; i < n; i++) {
		int row = i / columns;
		struct box card = {b.x + (width + 16) * (i % columns), b.y + (height + 12) * row, width, height};
		draw_contender(c, v, i, bytes, card);
	}
	legend_categories(c, b.x, b.y + b.height - legend + 6, b.width, GATHERED_IS_PARAMETERS);
}
