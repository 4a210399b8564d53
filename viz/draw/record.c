#include "viz/draw/record.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void record_release(struct record *r)
{
	if (!r)
		return;
	strings_release(&r->commands);
	strings_release(&r->texts);
	free(r->colours);
	free(r->now);
	*r = (struct record){0};
}

void record_begin(struct record *r, double width, double height)
{
	r->width = width;
	r->height = height;
	r->now_count = 0;
	r->clip = (struct box){0, 0, width, height};
}

/* ---- a command is written ---- */

static void put(struct record *r, char byte)
{
	strings_put(&r->commands, byte);
}

static void put_next(struct record *r, int64_t v)
{
	put(r, ',');
	strings_put_whole(&r->commands, v);
}

static int64_t tenths(double v)
{
	return llround(fmax(-1e9, fmin(v * 10, 1e9)));
}

static int64_t colour_number(struct record *r, uint32_t rgba)
{
	for (size_t i = 0; i < r->colour_count; i++)
		if (r->colours[i] == rgba)
			return (int64_t)i;
	if (!array_grow((void **)&r->colours, &r->colour_capacity, r->colour_count, sizeof *r->colours)) {
		r->failed = true;
		return 0;
	}
	r->colours[r->colour_count] = rgba;
	return (int64_t)r->colour_count++;
}

static void begin(struct record *r, int kind)
{
	r->commands.written = r->commands.length;
	put(r, '[');
	strings_put_whole(&r->commands, kind);
}

static void finish(struct record *r)
{
	put(r, ']');
	int number = strings_finish(&r->commands);
	bool kept = number >= 0 && array_grow((void **)&r->now, &r->now_capacity, r->now_count, sizeof *r->now);
	if (kept)
		r->now[r->now_count++] = number;
	r->failed = r->failed || !kept || r->texts.failed;
}

/* ---- the context's state ---- */

static uint32_t source_of(cairo_t *cr)
{
	double red = 0, green = 0, blue = 0, alpha = 1;
	cairo_pattern_get_rgba(cairo_get_source(cr), &red, &green, &blue, &alpha);
	return (uint32_t)lround(red * 255) << 24 | (uint32_t)lround(green * 255) << 16 |
	       (uint32_t)lround(blue * 255) << 8 | (uint32_t)lround(alpha * 255);
}

static double scale_of(cairo_t *cr)
{
	cairo_matrix_t m;
	cairo_get_matrix(cr, &m);
	return m.xx;
}

/* Says where drawing is cut off, if that has changed. False: nothing could be seen. */
static bool set_clip(struct canvas *c)
{
	struct record *r = c->record;
	double x0, y0, x1, y1;
	cairo_clip_extents(c->cr, &x0, &y0, &x1, &y1);
	cairo_user_to_device(c->cr, &x0, &y0);
	cairo_user_to_device(c->cr, &x1, &y1);
	struct box b = {round(x0), round(y0), round(x1) - round(x0), round(y1) - round(y0)};
	if (b.width <= 0 || b.height <= 0)
		return false;
	if (b.x <= 0 && b.y <= 0 && b.x + b.width >= r->width && b.y + b.height >= r->height)
		b = (struct box){0, 0, r->width, r->height};
	if (!memcmp(&b, &r->clip, sizeof b))
		return true;
	bool all = b.width >= r->width && b.height >= r->height;
	r->clip = b;
	begin(r, 4);
	put_next(r, all ? 0 : tenths(b.x));
	put_next(r, all ? 0 : tenths(b.y));
	put_next(r, all ? 0 : tenths(b.width));
	put_next(r, all ? 0 : tenths(b.height));
	finish(r);
	return true;
}

/* ---- paths ---- */

struct pen { /* in tenths; SVG's small letters go on from here */
	int64_t x, y;
	char last;
};

static void put_pair(struct record *r, int64_t x, int64_t y)
{
	strings_put_whole(&r->commands, x);
	if (y >= 0)
		put(r, ' ');
	strings_put_whole(&r->commands, y);
}

static void pen_go(struct record *r, struct pen *pen, const cairo_path_data_t *to)
{
	int64_t x = tenths(to->point.x) - pen->x, y = tenths(to->point.y) - pen->y;
	if (!x && !y)
		return;
	put(r, !y ? 'h' : !x ? 'v' : 'l');
	if (x && y)
		put_pair(r, x, y);
	else
		strings_put_whole(&r->commands, x ? x : y);
	pen->x += x;
	pen->y += y;
}

static void pen_bend(struct record *r, struct pen *pen, const cairo_path_data_t *points)
{
	put(r, 'c');
	for (int i = 0; i < 3; i++) {
		int64_t x = tenths(points[i].point.x) - pen->x, y = tenths(points[i].point.y) - pen->y;
		if (i && x >= 0)
			put(r, ' ');
		put_pair(r, x, y);
	}
	pen->x = tenths(points[2].point.x);
	pen->y = tenths(points[2].point.y);
}

/* The part of a path from `i` to where the next begins; returns where. */
static int put_part(struct record *r, const cairo_path_t *path, int i)
{
	struct pen pen = {0};
	for (int first = i; i < path->num_data; i += path->data[i].header.length) {
		const cairo_path_data_t *d = &path->data[i];
		if (d->header.type == CAIRO_PATH_MOVE_TO) {
			if (i > first)
				break;
			pen = (struct pen){tenths(d[1].point.x), tenths(d[1].point.y), 'M'};
			put(r, 'M');
			put_pair(r, pen.x, pen.y);
		} else if (d->header.type == CAIRO_PATH_LINE_TO) {
			pen_go(r, &pen, d + 1);
		} else if (d->header.type == CAIRO_PATH_CURVE_TO) {
			pen_bend(r, &pen, d + 1);
		} else {
			put(r, 'z');
		}
	}
	return i;
}

/* Boxes, each for itself: a path of one part is always one. */
static bool is_boxes(const cairo_path_t *path)
{
	int lines = 0;
	for (int i = 0; i < path->num_data; i += path->data[i].header.length) {
		cairo_path_data_type_t type = path->data[i].header.type;
		if (type == CAIRO_PATH_CURVE_TO || (type == CAIRO_PATH_CLOSE_PATH && lines != 3))
			return false;
		lines = type == CAIRO_PATH_LINE_TO ? lines + 1 : 0;
	}
	return !lines;
}

static bool empty(const cairo_path_t *path, int i)
{
	return path->data[i].header.type == CAIRO_PATH_MOVE_TO && i + path->data[i].header.length >= path->num_data;
}

/* Writes a command for each part of the current path, or one for all where the parts belong together. */
static void each_part(struct canvas *c, bool together, void (*head)(struct canvas *, const void *),
                      void (*tail)(struct canvas *, const void *), const void *context)
{
	struct record *r = c->record;
	cairo_matrix_t m;
	if (!set_clip(c))
		return;
	cairo_get_matrix(c->cr, &m);
	cairo_identity_matrix(c->cr);
	cairo_path_t *path = cairo_copy_path(c->cr);
	cairo_set_matrix(c->cr, &m);
	together = together && !is_boxes(path);
	for (int i = 0; i < path->num_data && !empty(path, i);) {
		head(c, context);
		strings_put_all(&r->commands, ",\"");
		do
			i = put_part(r, path, i);
		while (together && i < path->num_data && !empty(path, i));
		put(r, '"');
		tail(c, context);
		finish(r);
	}
	r->failed = r->failed || path->status;
	cairo_path_destroy(path);
}

/* ---- commands ---- */

static void fill_head(struct canvas *c, const void *unused)
{
	(void)unused;
	begin(c->record, 0);
	put_next(c->record, colour_number(c->record, source_of(c->cr)));
}

static void fill_tail(struct canvas *c, const void *unused)
{
	(void)c;
	(void)unused;
}

void record_fill(struct canvas *c)
{
	each_part(c, true, fill_head, fill_tail, NULL);
}

static void stroke_head(struct canvas *c, const void *unused)
{
	(void)unused;
	begin(c->record, 2);
	put_next(c->record, colour_number(c->record, source_of(c->cr)));
}

static void stroke_tail(struct canvas *c, const void *unused)
{
	double dashes[2] = {0}, offset;
	(void)unused;
	put_next(c->record, tenths(cairo_get_line_width(c->cr) * scale_of(c->cr)));
	if (cairo_get_dash_count(c->cr) != 2)
		return;
	cairo_get_dash(c->cr, dashes, &offset);
	put_next(c->record, tenths(dashes[0] * scale_of(c->cr)));
	put_next(c->record, tenths(dashes[1] * scale_of(c->cr)));
}

void record_stroke(struct canvas *c)
{
	each_part(c, false, stroke_head, stroke_tail, NULL);
}

struct patterned {
	const colour *ground;
	enum pattern pattern;
	colour ink;
};

static void pattern_head(struct canvas *c, const void *context)
{
	const struct patterned *p = context;
	begin(c->record, 1);
	put_next(c->record, p->ground ? colour_number(c->record, *p->ground << 8 | 255) : -1);
}

static void pattern_tail(struct canvas *c, const void *context)
{
	const struct patterned *p = context;
	put_next(c->record, p->pattern);
	put_next(c->record, colour_number(c->record, p->ink << 8 | 255));
}

void record_pattern(struct canvas *c, const colour *ground, enum pattern pattern, colour ink)
{
	struct patterned p = {ground, pattern, ink};
	each_part(c, true, pattern_head, pattern_tail, &p);
}

/* Wide as it was measured, in tenths. */
static int text_number(struct record *r, double length, double size, enum weight w, const char *text)
{
	struct strings *s = &r->texts;
	const int64_t numbers[] = {tenths(length), tenths(size), w};
	s->written = s->length;
	strings_put(s, '[');
	strings_put_quoted(s, text, strlen(text));
	for (int i = 0; i < 3; i++) {
		strings_put(s, ',');
		strings_put_whole(s, numbers[i]);
	}
	strings_put(s, ']');
	return strings_finish(s);
}

void record_text(struct canvas *c, double x, double y, double length, double size, enum weight w, const char *text)
{
	struct record *r = c->record;
	double scale = scale_of(c->cr);
	if (!*text || !set_clip(c))
		return;
	cairo_user_to_device(c->cr, &x, &y);
	begin(r, 3);
	put_next(r, colour_number(r, source_of(c->cr)));
	put_next(r, text_number(r, length * scale, size * scale, w, text));
	put_next(r, tenths(x));
	put_next(r, tenths(y));
	finish(r);
}

void record_line(struct record *r, const char *text, size_t length)
{
	r->texts.written = r->texts.length;
	strings_put_quoted(&r->texts, text, length);
	begin(r, 5);
	put_next(r, strings_finish(&r->texts));
	put_next(r, 0);
	finish(r);
}
