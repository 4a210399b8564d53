/* Patterns. On pixels they are a small tile that repeats, which costs little more than a plain colour; in files of
 * lines they are lines.
 */
#include <math.h>

#include "viz/draw.h"

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
		for (double d = floor((b.x + b.y) / gap) * gap; d < x1 + y1; d += gap) {
			cairo_move_to(c->cr, d - b.y, b.y);
			cairo_line_to(c->cr, d - y1, y1);
		}
	if (pattern == PATTERN_FALLING || pattern == PATTERN_CROSS)
		for (double d = floor((b.x - y1) / gap) * gap; d < x1 - b.y; d += gap) {
			cairo_move_to(c->cr, d + b.y, b.y);
			cairo_line_to(c->cr, d + y1, y1);
		}
	if (pattern == PATTERN_LEVEL)
		for (double y = ceil(b.y / gap) * gap; y < y1; y += gap) {
			cairo_move_to(c->cr, b.x, y);
			cairo_line_to(c->cr, x1, y);
		}
	cairo_stroke(c->cr);
	if (pattern != PATTERN_DOTS)
		return;
	for (double y = floor(b.y / gap) * gap; y < y1 + width; y += gap)
		for (double x = floor(b.x / gap) * gap; x < x1 + width; x += gap)
			cairo_rectangle(c->cr, x - width, y - width, 2 * width, 2 * width);
	cairo_fill(c->cr);
}

/* A tile of whole pixels, in the pixels of the device. */
static cairo_pattern_t *make_tile(const struct canvas *c, enum pattern pattern, colour ink)
{
	int side = (int)fmax(4, round(gap_of(c) / c->pixel));
	cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, side, side);
	struct canvas t = {.cr = cairo_create(surface), .pixel = 1};
	cairo_matrix_t to_pixels;
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

static cairo_pattern_t *tile_of(struct canvas *c, enum pattern pattern, colour ink)
{
	for (int i = 0; i < c->tile_count; i++)
		if (c->tiles[i].pattern == pattern && c->tiles[i].ink == ink)
			return c->tiles[i].source;
	if (c->tile_count == TILES) /* more than a picture has kinds: the first makes room */
		cairo_pattern_destroy(c->tiles[--c->tile_count].source);
	struct tile *t = &c->tiles[c->tile_count++];
	*t = (struct tile){make_tile(c, pattern, ink), pattern, ink};
	return t->source;
}

void draw_pattern_on_path(struct canvas *c, struct box b, enum pattern pattern, colour ink)
{
	if (pattern == PATTERN_PLAIN || b.width < 3 * c->pixel || b.height < 3 * c->pixel)
		return;
	if (c->raster) {
		cairo_set_source(c->cr, tile_of(c, pattern, ink));
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

void draw_pattern(struct canvas *c, struct box b, enum pattern pattern, colour ink)
{
	cairo_new_path(c->cr);
	cairo_rectangle(c->cr, b.x, b.y, b.width, b.height);
	draw_pattern_on_path(c, b, pattern, ink);
	cairo_new_path(c->cr);
}
