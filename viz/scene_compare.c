/* Memory of strategies side by side, on one scale. */
#include <math.h>

#include "viz/memory_parts.h"
#include "viz/scene_parts.h"

/* Up to eight in two rows at most; more where cards would be narrower than their figures. */
void compare_grid(int n, struct box b, int *columns, int *rows)
{
	int abreast = (int)fmax(1, floor((b.width + 16) / 206));
	*rows = n <= 4 ? 1 : 2;
	*columns = (n + *rows - 1) / *rows;
	if (*columns > abreast && n > 8) {
		*rows = (n + abreast - 1) / abreast;
		*columns = (n + *rows - 1) / *rows;
	}
}

void scene_compare(struct canvas *c, const struct view *v, struct box b)
{
	const struct theme *t = c->theme;
	int n = v->contender_count, columns, rows;
	int64_t peak = 0, capacity = 0;
	compare_grid(n, b, &columns, &rows);
	for (int i = 0; i < n; i++) {
		int64_t one = memory_highest(v->contender[i].state->score, SPACE_DEVICE);
		peak = one > peak ? one : peak;
		capacity = memory_capacity(v->contender[i].state->score);
	}
	struct memory_scale scale = memory_scale_for(peak, capacity);
	double legend = 26, width = (b.width - 16 * (columns - 1)) / columns,
	       height = (b.height - legend - 12 * (rows - 1)) / rows;
	for (int i = 0; i < n; i++) {
		const struct state *st = v->contender[i].state;
		const struct score *s = st->score;
		int row = i / columns;
		struct box card = {b.x + (width + 16) * (i % columns), b.y + (height + 12) * row, width, height};
		struct box plot = {card.x + 66, card.y + 32, card.width - 74, card.height - 32 - 76};
		int roles = 0, at = 0;
		char word[WORD], most[WORD], sends[WORD], step[WORD];
		for (int r = 0; r < s->plan->role_count; r++)
			roles += score_index_of(s, s->plan->roles[r].first_rank) >= 0;
		draw_card(c, card, t->panel, t->line, 1);
		draw_text(c, card.x + 12, card.y + 21, 15, WEIGHT_BOLD, t->ink, ALIGN_LEFT, width - 20, "%s",
		          v->contender[i].label);
		memory_axis(c, plot, &scale);
		int64_t worst = 0, sent = 0;
		for (int r = 0; r < s->plan->role_count; r++) {
			const struct role *role = &s->plan->roles[r];
			int index = score_index_of(s, role->first_rank);
			if (index < 0)
				continue;
			double part = plot.width / roles, bar = fmin(90, part * 0.66), x = plot.x + part * (at++ + 0.5);
			memory_bar(c, &scale, (struct box){x - bar / 2, plot.y, bar, plot.height},
			           score_live(s, index, SPACE_DEVICE, st->ranks[index].issued),
			           s->roles[r].peak[SPACE_DEVICE], true);
			draw_text(c, x, plot.y + plot.height + 15, 12, WEIGHT_PLAIN, t->soft, ALIGN_CENTRE, part - 4,
			          "%s%s", role->ranks > 1 ? "each " : "", role->name);
			draw_text(c, x, plot.y + plot.height + 31, 12, WEIGHT_BOLD, t->ink, ALIGN_CENTRE, part - 4,
			          "%s", bytes_word(word, st->ranks[index].live[SPACE_DEVICE]));
			worst = s->roles[r].peak[SPACE_DEVICE] > worst ? s->roles[r].peak[SPACE_DEVICE] : worst;
			sent = ledger_step_bytes(s, index) > sent ? ledger_step_bytes(s, index) : sent;
		}
		if (scale.line || !i)
			memory_capacity_line(c, plot, &scale, worst,
			                     text_length(c, 15, WEIGHT_BOLD, v->contender[i].label) - 44);
		draw_text(c, card.x + 12, card.y + card.height - 26, 12, WEIGHT_PLAIN, t->soft, ALIGN_LEFT, width - 20,
		          "peak %s, a step %s", bytes_word(most, worst), time_word(step, s->step_ns));
		draw_text(c, card.x + 12, card.y + card.height - 10, 12, WEIGHT_PLAIN, t->soft, ALIGN_LEFT, width - 20,
		          "sends up to %s a rank", bytes_word(sends, sent));
	}
	legend_categories(c, b.x, b.y + b.height - legend + 6, b.width);
}
