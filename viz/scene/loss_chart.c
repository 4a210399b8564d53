#include "viz/scene/loss_chart.h"

#include <inttypes.h>
#include <math.h>

#include "strategy/base/number.h"

static const colour training_colour = 0x0072B2, validation_colour = 0xD55E00;

enum { MARK = 5, TICKS_UP = 7, TICKS_ALONG = 9, MOST_MARKS = 60, MANY = 400 };

struct plot {
	struct box box;
	struct curve_range range; /* widened to whole ticks */
	double tick;
};

static double x_of(const struct plot *p, double step)
{
	double whole = (double)(p->range.last - p->range.first);
	return p->box.x + p->box.width * (whole > 0 ? (step - (double)p->range.first) / whole : 0.5);
}

static double y_of(const struct plot *p, double loss)
{
	return p->box.y + p->box.height * (p->range.high - loss) / (p->range.high - p->range.low);
}

/* ---- axes ---- */

static void widen(struct plot *p)
{
	p->tick = tick_of(p->range.high - p->range.low, TICKS_UP);
	p->range.low = floor(p->range.low / p->tick) * p->tick;
	p->range.high = ceil(p->range.high / p->tick) * p->tick;
}

static void draw_losses(struct canvas *c, const struct plot *p)
{
	int decimals = p->tick < 1 ? (int)ceil(-log10(p->tick) - 1e-9) : 0;
	int ticks = (int)((p->range.high - p->range.low) / p->tick + 0.5);
	for (int i = 0; i <= ticks; i++) {
		double v = p->range.low + i * p->tick, y = y_of(p, v);
		draw_line(c, p->box.x, y, p->box.x + p->box.width, y, c->theme->line, i ? 0.6 : 1.4);
		draw_text(c, p->box.x - 10, y + 5, 14, WEIGHT_PLAIN, c->theme->soft, ALIGN_RIGHT, 0, "%.*f", decimals,
		          v);
	}
	draw_text(c, p->box.x - 10, p->box.y - 16, 14, WEIGHT_PLAIN, c->theme->soft, ALIGN_LEFT, 0,
	          "loss (cross-entropy, nats)");
}

static void draw_steps(struct canvas *c, const struct plot *p)
{
	int64_t tick = (int64_t)fmax(1, tick_of((double)(p->range.last - p->range.first), TICKS_ALONG));
	double bottom = p->box.y + p->box.height;
	char word[32];
	for (int64_t at = round_up(p->range.first, tick); at <= p->range.last; at += tick) {
		double x = x_of(p, (double)at);
		draw_line(c, x, bottom, x, bottom + 6, c->theme->line, 1.4);
		draw_text(c, x, bottom + 24, 14, WEIGHT_PLAIN, c->theme->soft, ALIGN_CENTRE, 0, "%s",
		          number_format_count(word, at));
	}
	draw_text(c, p->box.x + p->box.width / 2, bottom + 48, 14, WEIGHT_PLAIN, c->theme->soft, ALIGN_CENTRE, 0,
	          "step");
}

/* ---- curves ---- */

struct line {
	const struct curves *curves;
	bool (*point)(const struct curves *c, int64_t i, struct curve_point *out);
	int64_t count;
	colour ink;
};

static void draw_path(struct canvas *c, const struct plot *p, const struct line *line)
{
	struct curve_point at;
	cairo_new_path(c->cr);
	for (int64_t i = 0; line->point(line->curves, i, &at); i++)
		cairo_line_to(c->cr, x_of(p, (double)at.step), y_of(p, at.loss));
	draw_colour(c, line->ink);
	cairo_set_line_width(c->cr, line->count > MANY ? 1.4 : 2.4);
	cairo_set_line_join(c->cr, CAIRO_LINE_JOIN_ROUND);
	draw_stroke_path(c);
}

static void draw_mark(struct canvas *c, double x, double y, colour ink)
{
	cairo_new_path(c->cr);
	cairo_arc(c->cr, x, y, MARK, 0, 2 * M_PI);
	draw_colour(c, ink);
	draw_fill_path(c);
}

/* Each point has a mark if there are few; many marks would run together. */
static void draw_line_of(struct canvas *c, const struct plot *p, const struct line *line)
{
	struct curve_point at;
	draw_path(c, p, line);
	for (int64_t i = 0; line->count <= MOST_MARKS && line->point(line->curves, i, &at); i++)
		draw_mark(c, x_of(p, (double)at.step), y_of(p, at.loss), line->ink);
}

static void draw_name(struct canvas *c, double x, double y, colour ink, const char *name)
{
	draw_line(c, x, y - 5, x + 34, y - 5, ink, 3);
	draw_mark(c, x + 17, y - 5, ink);
	draw_text(c, x + 44, y, 15, WEIGHT_BOLD, c->theme->ink, ALIGN_LEFT, 0, "%s", name);
}

/* Above the plot, where it hides nothing. */
static void draw_legend(struct canvas *c, const struct plot *p, bool validated)
{
	double right = p->box.x + p->box.width, y = p->box.y - 16;
	draw_name(c, right - (validated ? 270 : 130), y, training_colour, "training");
	if (validated)
		draw_name(c, right - 130, y, validation_colour, "validation");
}

static void draw_curves(struct canvas *c, struct plot *p, const struct curves *curves)
{
	widen(p);
	draw_losses(c, p);
	draw_steps(c, p);
	draw_legend(c, p, curves->validated > 0);
	draw_line_of(c, p, &(struct line){curves, curves_training, curves->added, training_colour});
	draw_line_of(c, p, &(struct line){curves, curves_validation, curves->validated, validation_colour});
}

void loss_chart_draw(void *context, cairo_t *cr, double width, double height)
{
	const struct loss_chart *chart = context;
	struct canvas c;
	canvas_begin(&c, cr, width, height, 1, theme_of(THEME_PAPER), chart->fonts);
	struct plot p = {.box = {110, 140, c.width - 160, c.height - 220}};
	draw_text(&c, 36, 44, 22, WEIGHT_BOLD, c.theme->ink, ALIGN_LEFT, c.width - 72, "%s", chart->title);
	draw_fitting(&c, 36, 70, 14, 9, WEIGHT_PLAIN, c.theme->soft, ALIGN_LEFT, c.width - 72, chart->subtitle);
	if (curves_range(chart->curves, &p.range))
		draw_curves(&c, &p, chart->curves);
	else
		draw_text(&c, c.width / 2, c.height / 2, 18, WEIGHT_PLAIN, c.theme->soft, ALIGN_CENTRE, 0,
		          "no step of this run has a finite loss");
	canvas_end(&c);
}
