/* Patterns. On pixels they are a small tile that repeats, which costs little more than a plain colour; in files of
 * lines they are lines.
 */
#include <math.h>

#include "viz/draw/draw.h"

static double gap_of(const struct canvas *c)
{
	return fmax(7, 4 * c->pixel);
}

/* Lines through b, `gap` apart and through the origin, so that neighbours fit. All strokes are one path. */
static void stroke_lines(struct canvas *c, struct box b, enum pattern pattern, double gap, double width)
{
	double x1 = b.x + b.width, y1 = b.y + b.height;
	cairo_new_path(c->cr);
	cairo_set_line_width(c->cr, width);
	if (pattern == PATTERN_RISING || pattern == PATTERN_CROSS)
		for (int i = (int)floor((b.x + b.y) / gap); i * gap < x1 + y1; i++) {
			cairo_move_to(c->cr, i * gap - b.y, b.y);
			cairo_line_to(c->cr, i * gap - y1, y1);
		}
	if (pattern == PATTERN_FALLING || pattern == PATTERN_CROSS)
		for (int i = (int)floor((b.x - y1) / gap); i * gap < x1 - b.y; i++) {
			cairo_move_to(c->cr, i * gap + b.y, b.y);
			cairo_line_to(c->cr, i * gap + y1, y1);
		}
	if (pattern == PATTERN_LEVEL)
		for (int i = (int)ceil(b.y / gap); i * gap < y1; i++) {
			cairo_move_to(c->cr, b.x, i * gap);
			cairo_line_to(c->cr, x1, i * gap);
		}
	cairo_stroke(c->cr);
	if (pattern != PATTERN_DOTS)
		return;
	for (int i = (int)floor(b.y / gap); i * gap < y1 + width; i++)
		for (int k = (int)floor(b.x / gap); k * gap < x1 + width; k++)
			cairo_rectangle(c->cr, k * gap - width, i * gap - width, 2 * width, 2 * width);
	cairo_fill(c->cr);
}

/* A tile of whole pixels, in the pixels of the device; its ground is transparent, or a colour. */
static cairo_pattern_t *make_tile(const struct canvas *c, enum pattern pattern, colour ink, const colour *ground)
{
	int side = (int)fmax(4, round(gap_of(c) / c->pixel));
	cairo_surface_t *surface =
	        cairo_image_surface_create(ground ? CAIRO_FORMAT_RGB24 : CAIRO_FORMAT_ARGB32, side, side);
	struct canvas t = {.cr = cairo_create(surface), .pixel = 1};
	cairo_matrix_t to_pixels;
	if (ground)
		draw_fill(&t, (struct box){0, 0, side, side}, *ground);
	draw_colour(&t, ink);
	/* Lines in the middle of the tile are whole lines of pixels. */
	if (pattern == PATTERN_LEVEL || pattern == PATTERN_DOTS)
		cairo_translate(t.cr, floor(side / 2.0) + 0.5, floor(side / 2.0) + 0.5);
	stroke_lines(&t, (struct box){-side, -side, 3.0 * side, 3.0 * side}, pattern, side,
	             fmax(1, round(1 / c->pixel)));
	cairo_destroy(t.cr);
	cairo_pattern_t *source = cairo_pattern_create_for_surface(surface);
	cairo_surface_destroy(surface);
	cairo_pattern_set_extend(source, CAIRO_EXTEND_REPEAT);
	cairo_pattern_set_filter(source, CAIRO_FILTER_NEAREST);
	cairo_matrix_init_scale(&to_pixels, 1 / c->pixel, 1 / c->pixel);
	cairo_pattern_set_matrix(source, &to_pixels);
	return source;
}

static cairo_pattern_t *tile_of(struct canvas *c, enum pattern pattern, colour ink, const colour *ground)
{
	for (int i = 0; i < c->tile_count; i++) {
		const struct tile *t = &c->tiles[i];
		if (t->pattern == pattern && t->ink == ink && t->opaque == (ground != NULL) &&
		    (!ground || t->ground == *ground))
			return t->source;
	}
	if (c->tile_count == TILES) /* more than a picture has kinds: the last makes room */
		cairo_pattern_destroy(c->tiles[--c->tile_count].source);
	struct tile *t = &c->tiles[c->tile_count++];
	*t = (struct tile){make_tile(c, pattern, ink, ground), pattern, ink, ground ? *ground : 0, ground != NULL};
	return t->source;
}

static bool too_small(const struct canvas *c, struct box b)
{
	return b.width < 3 * c->pixel || b.height < 3 * c->pixel;
}

void draw_pattern_on_path(struct canvas *c, struct box b, enum pattern pattern, colour ink)
{
	if (pattern == PATTERN_PLAIN || too_small(c, b))
		return;
	if (c->raster) {
		cairo_set_source(c->cr, tile_of(c, pattern, ink, NULL));
		cairo_fill_preserve(c->cr);
		return;
	}
	cairo_path_t *path = cairo_copy_path(c->cr);
	cairo_save(c->cr);
	cairo_clip(c->cr);
	draw_colour(c, ink);
	stroke_lines(c, b, pattern, gap_of(c), fmax(1, 0.7 * c->pixel));
	cairo_restore(c->cr);
	cairo_new_path(c->cr);
	cairo_append_path(c->cr, path);
	cairo_path_destroy(path);
}

void draw_patterned_path(struct canvas *c, struct box b, colour fill, enum pattern pattern, colour ink)
{
	if (c->raster && pattern != PATTERN_PLAIN && !too_small(c, b)) { /* both at once */
		cairo_set_source(c->cr, tile_of(c, pattern, ink, &fill));
		cairo_fill_preserve(c->cr);
		return;
	}
	draw_colour(c, fill);
	cairo_fill_preserve(c->cr);
	draw_pattern_on_path(c, b, pattern, ink);
}

bool pattern_is_too_dense(const struct canvas *c, struct box b)
{
	return b.width < gap_of(c) || b.height < 1.5 * gap_of(c);
}

void draw_tinted_path(struct canvas *c, struct box b, colour fill, enum pattern pattern, colour ink, bool flat)
{
	cairo_antialias_t before = cairo_get_antialias(c->cr);
	cairo_set_antialias(c->cr, CAIRO_ANTIALIAS_NONE); /* many boxes: between whole pixels they are quicker */
	if (flat) {
		draw_colour(c, colour_mix(fill, ink, 0.25));
		cairo_fill(c->cr);
	} else {
		draw_patterned_path(c, b, fill, pattern, ink);
	}
	cairo_set_antialias(c->cr, before);
}

void draw_pattern(struct canvas *c, struct box b, enum pattern pattern, colour ink)
{
	cairo_new_path(c->cr);
	cairo_rectangle(c->cr, b.x, b.y, b.width, b.height);
	draw_pattern_on_path(c, b, pattern, ink);
	cairo_new_path(c->cr);
}

/* The box between whole pixels: edges that are half of a pixel are soft, and slow to blend. */
static struct box snapped(const struct canvas *c, struct box b)
{
	double x0 = b.x, y0 = b.y, x1 = b.x + b.width, y1 = b.y + b.height;
	if (!c->raster)
		return b;
	cairo_user_to_device(c->cr, &x0, &y0);
	cairo_user_to_device(c->cr, &x1, &y1);
	x0 = round(x0);
	y0 = round(y0);
	x1 = round(x1);
	y1 = round(y1);
	cairo_device_to_user(c->cr, &x0, &y0);
	cairo_device_to_user(c->cr, &x1, &y1);
	return (struct box){x0, y0, x1 - x0, y1 - y0};
}

void draw_category(struct canvas *c, struct box at, enum category category)
{
	const struct box b = snapped(c, at);
	colour fill = c->theme->category[category];
	cairo_rectangle(c->cr, b.x, b.y, b.width, b.height);
	draw_patterned_path(c, b, fill, category_pattern(category), colour_mix(fill, ink_on(fill), 0.45));
	cairo_new_path(c->cr);
	if (b.width > 9 && b.height > 2.5) /* else there would be nothing but frame */
		draw_frame(c, b, c->theme->outline, 1);
}
