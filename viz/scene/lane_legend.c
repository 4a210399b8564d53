/* The legend of the lanes' colours and hatchings. */

#include "strategy/base/language.h"
#include "viz/scene/lane_spans.h"

enum key {
	KEY_FORWARD,
	KEY_BACKWARD,
	KEY_RECOMPUTE,
	KEY_UPDATE,
	KEY_COMMUNICATION,
	KEY_EXPOSED,
	KEY_WAITING,
	KEY_BESIDE,
	KEY_COUNT
};

static const struct {
	const char *words;
	enum pass pass; /* PASS_NONE: none of them */
} keys[KEY_COUNT] = {
        [KEY_FORWARD] = {"forward", PASS_FORWARD},
        [KEY_BACKWARD] = {"backward", PASS_BACKWARD},
        [KEY_RECOMPUTE] = {"recompute", PASS_RECOMPUTE},
        [KEY_UPDATE] = {"update", PASS_UPDATE},
        [KEY_COMMUNICATION] = {"communication", PASS_NONE},
        [KEY_EXPOSED] = {"exposed: computing waits for it", PASS_NONE},
        [KEY_WAITING] = {"bubble: waiting for another rank or nothing to do", PASS_NONE},
        [KEY_BESIDE] = {"what the stack takes beside operations", PASS_NONE},
};

/* Shorter, where there is less room. */
static const char *const short_words[KEY_COUNT] = {
        [KEY_EXPOSED] = "exposed",
        [KEY_WAITING] = "bubble",
        [KEY_BESIDE] = "stack",
};

double lane_legend_height(const struct view *v)
{
	return v->presenter ? 18 : 15;
}

static void find_keys(const struct lanes *lanes, bool *has)
{
	for (int i = 0; i < lanes->lane_count; i++) {
		const struct lane *lane = &lanes->lanes[i];
		for (int k = 0; k < lane->unit_count; k++)
			for (int key = 0; key <= KEY_UPDATE; key++)
				has[key] |= lane->units[k].pass == keys[key].pass;
		has[KEY_COMMUNICATION] |= lane->queue == QUEUE_COMMUNICATION;
		for (size_t k = 0; k < lane->gap_count; k++)
			has[lane->gaps[k].exposed  ? KEY_EXPOSED
			    : lane->gaps[k].beside ? KEY_BESIDE
			                           : KEY_WAITING] = true;
	}
}

static void draw_swatch(struct canvas *c, enum key key, struct box b)
{
	const struct theme *t = c->theme;
	bool hatched = key >= KEY_EXPOSED;
	cairo_new_path(c->cr);
	cairo_rectangle(c->cr, b.x, b.y, b.width, b.height);
	if (key == KEY_EXPOSED)
		draw_patterned_path(c, b, LANE_EXPOSED(t), PATTERN_RISING, t->warning);
	else if (key == KEY_WAITING)
		draw_patterned_path(c, b, LANE_WAITS(t), PATTERN_FALLING, colour_mix(t->panel, t->soft, 0.6));
	else if (key == KEY_BESIDE)
		draw_patterned_path(c, b, LANE_WAITS(t), PATTERN_DOTS, colour_mix(t->panel, t->soft, 0.6));
	cairo_new_path(c->cr);
	if (!hatched)
		draw_fill(c, b, key == KEY_COMMUNICATION ? communication_colour() : pass_colour(keys[key].pass));
	draw_frame(c, b, t->outline, 0.6);
}

static const char *words_of(enum key key, bool brief)
{
	return brief && short_words[key] ? short_words[key] : keys[key].words;
}

/* From a key to the next. */
static double step_of(struct canvas *c, double size, enum key key, bool brief)
{
	return 2 * size + 5 + text_length(c, size, WEIGHT_PLAIN, words_of(key, brief)) + 16;
}

void lane_legend_draw(struct canvas *c, const struct lane_area *l, double y)
{
	bool has[KEY_COUNT] = {false};
	double size = l->small, whole = 0, x = l->plot.x, width = l->plot.width + l->sums;
	find_keys(l->lanes, has);
	for (int k = 0; k < KEY_COUNT; k++)
		whole += has[k] ? step_of(c, size, (enum key)k, false) : 0;
	bool brief = whole > width;
	for (int k = 0; k < KEY_COUNT; k++) {
		double step = has[k] ? step_of(c, size, (enum key)k, brief) : 0;
		if (!has[k] || x + step - 16 > l->plot.x + width)
			continue;
		draw_swatch(c, (enum key)k, (struct box){x, y - size * 0.85, 2 * size, size});
		draw_text(c, x + 2 * size + 5, y, size, WEIGHT_PLAIN, c->theme->soft, ALIGN_LEFT, 0, "%s",
		          words_of((enum key)k, brief));
		x += step;
	}
	const char *pale = tr("pale: still to come");
	if (l->current && x + text_length(c, size, WEIGHT_PLAIN, pale) <= l->plot.x + width)
		draw_text(c, x, y, size, WEIGHT_PLAIN, c->theme->soft, ALIGN_LEFT, 0, "%s", pale);
}
