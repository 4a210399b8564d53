#include "cli/lesson/export/paper.h"

#include <math.h>
#include <string.h>

#include "cli/show/text.h"

/* Sums of lengths are not exact, and nobody sees half a point. */
static const double slack = 0.5;

void paper_fail(struct paper *p, enum status s)
{
	if (p->status)
		return;
	p->status = s;
	snprintf(p->message, sizeof p->message, "%s", status_message());
}

enum status paper_check(const struct paper *p)
{
	return p->status ? status_fail(p->status, "%s", p->message) : STATUS_OK;
}

/* ---- beginning and end ---- */

/* True if this very font is installed. Otherwise another would be drawn in its place. */
static bool has_font(struct paper *p, const char *family)
{
	PangoFontDescription *wanted = pango_font_description_new(), *found = NULL;
	pango_font_description_set_family(wanted, family);
	pango_font_description_set_size(wanted, 10 * PANGO_SCALE);
	PangoFont *font = pango_context_load_font(p->context, wanted);
	found = font ? pango_font_describe(font) : NULL;
	bool same = found && !strcmp(pango_font_description_get_family(found), family);
	if (found)
		pango_font_description_free(found);
	if (font)
		g_object_unref(font);
	pango_font_description_free(wanted);
	return same;
}

static enum status check_fonts(struct paper *p)
{
	static const char *const families[] = {"DejaVu Sans", "DejaVu Sans Mono"};
	for (size_t i = 0; i < sizeof families / sizeof families[0]; i++)
		if (!has_font(p, families[i]))
			return status_fail(STATUS_INPUT,
			                   "the font %s is missing; on Debian: apt-get install fonts-dejavu-core",
			                   families[i]);
	return STATUS_OK;
}

enum status paper_init(struct paper *p, const struct paper_form *form, const struct course *course)
{
	*p = (struct paper){.form = form, .course = course, .title = ""};
	p->fonts = pango_cairo_font_map_new();
	pango_cairo_font_map_set_resolution(PANGO_CAIRO_FONT_MAP(p->fonts), 72);
	p->context = pango_font_map_create_context(p->fonts);
	pango_context_set_language(p->context, pango_language_from_string(course->language));
	pango_context_set_round_glyph_positions(p->context, FALSE);
	cairo_font_options_t *o = cairo_font_options_create();
	cairo_font_options_set_hint_style(o, CAIRO_HINT_STYLE_NONE);
	cairo_font_options_set_hint_metrics(o, CAIRO_HINT_METRICS_OFF);
	pango_cairo_context_set_font_options(p->context, o);
	cairo_font_options_destroy(o);
	return check_fonts(p);
}

void paper_release(struct paper *p)
{
	for (int i = 0; i < p->item_count; i++) {
		struct paper_item *item = &p->items[i];
		if (item->layout)
			g_object_unref(item->layout);
		if (item->picture)
			cairo_surface_destroy(item->picture);
	}
	if (p->context)
		g_object_unref(p->context);
	if (p->fonts)
		g_object_unref(p->fonts);
	arena_release(&p->arena);
	*p = (struct paper){0};
}

/* ---- sheets ---- */

double paper_width(const struct paper *p)
{
	return p->form->width - p->form->left - p->form->right;
}

double paper_height(const struct paper *p)
{
	return p->form->height - p->form->top - p->form->bottom;
}

double paper_room(const struct paper *p)
{
	return p->form->height - p->form->bottom - p->y;
}

void paper_sheet(struct paper *p)
{
	p->titles = arena_grow(&p->arena, p->titles, p->sheet_count, &p->title_capacity, sizeof *p->titles);
	p->titles[p->sheet_count++] = p->lesson ? p->lesson->title : "";
	p->y = p->form->top;
	if (p->form->begin)
		p->form->begin(p);
}

void paper_mark(struct paper *p, const char *text)
{
	p->marks = arena_grow(&p->arena, p->marks, p->mark_count, &p->mark_capacity, sizeof *p->marks);
	p->marks[p->mark_count++] = (struct paper_mark){text, p->sheet_count - 1};
}

static struct paper_item *add(struct paper *p, int sheet, double x, double y, double width, double height)
{
	p->items = arena_grow(&p->arena, p->items, p->item_count, &p->item_capacity, sizeof *p->items);
	struct paper_item *item = &p->items[p->item_count++];
	*item = (struct paper_item){.sheet = sheet, .x = x, .y = y, .width = width, .height = height};
	return item;
}

/* ---- text ---- */

PangoLayout *paper_layout(struct paper *p, const struct paper_style *style, double width, const char *markup)
{
	PangoLayout *layout = pango_layout_new(p->context);
	PangoFontDescription *font = pango_font_description_new();
	pango_font_description_set_family(font, style->font);
	pango_font_description_set_size(font, (int)lround(style->size * PANGO_SCALE));
	pango_font_description_set_weight(font, style->bold ? PANGO_WEIGHT_BOLD : PANGO_WEIGHT_NORMAL);
	pango_layout_set_font_description(layout, font);
	pango_font_description_free(font);
	pango_layout_set_width(layout, (int)lround(width * PANGO_SCALE));
	pango_layout_set_line_spacing(layout, (float)style->spacing);
	pango_layout_set_wrap(layout, style->breaks_words ? PANGO_WRAP_CHAR : PANGO_WRAP_WORD_CHAR);
	if (style->hangs)
		pango_layout_set_indent(layout, (int)lround(-2 * style->size * PANGO_SCALE));
	pango_layout_set_markup(layout, markup, -1);
	if (pango_layout_get_unknown_glyphs_count(layout))
		paper_fail(p,
		           status_fail(
		                   STATUS_INPUT,
		                   "{export}: no installed font has all characters of '%.90s'; for Chinese, on Debian: "
		                   "apt-get install fonts-wqy-microhei",
		                   pango_layout_get_text(layout)));
	return layout;
}

/* The upper and lower end of a line in its layout. */
static void line_range(PangoLayoutIter *at, double *top, double *bottom)
{
	int y0, y1;
	pango_layout_iter_get_line_yrange(at, &y0, &y1);
	*top = (double)y0 / PANGO_SCALE;
	*bottom = (double)y1 / PANGO_SCALE;
}

/* The height of the lines [first, end). */
static double lines_height(PangoLayout *layout, int first, int end)
{
	double top, bottom, from = 0, to = 0;
	PangoLayoutIter *at = pango_layout_get_iter(layout);
	for (int k = 0; k < end; k++) {
		line_range(at, &top, &bottom);
		from = k == first ? top : from;
		to = bottom;
		pango_layout_iter_next_line(at);
	}
	pango_layout_iter_free(at);
	return end > first ? to - from : 0;
}

double paper_layout_height(PangoLayout *layout)
{
	return lines_height(layout, 0, pango_layout_get_line_count(layout));
}

static void put_lines(struct paper *p, PangoLayout *layout, int first, int end, double x, unsigned ink)
{
	double width = (double)pango_layout_get_width(layout) / PANGO_SCALE, height = lines_height(layout, first, end);
	struct paper_item *item = add(p, p->sheet_count - 1, p->form->left + x, p->y, width, height);
	item->layout = g_object_ref(layout);
	item->first = first;
	item->end = end;
	item->ink = ink;
	p->y += height;
}

void paper_put(struct paper *p, int sheet, PangoLayout *layout, double x, double y, unsigned ink)
{
	double width = (double)pango_layout_get_width(layout) / PANGO_SCALE;
	struct paper_item *item = add(p, sheet, x, y, width, paper_layout_height(layout));
	item->layout = layout;
	item->end = pango_layout_get_line_count(layout);
	item->ink = ink;
}

/* How many lines from `first` on fit into the room that is left, less `less`. */
static int lines_that_fit(const struct paper *p, PangoLayout *layout, int first, double less)
{
	int count = pango_layout_get_line_count(layout), end = first;
	while (end < count && lines_height(layout, first, end + 1) <= paper_room(p) - less + slack)
		end++;
	return end;
}

/* Neither one line at the bottom of a sheet nor one at the top of the next. */
static int mend_break(PangoLayout *layout, int first, int end)
{
	int count = pango_layout_get_line_count(layout);
	if (end == count || count - first < 4)
		return end == count ? end : first;
	if (end == count - 1)
		end--;
	return end - first < 2 ? first : end;
}

void paper_text(struct paper *p, PangoLayout *layout, double x, unsigned ink)
{
	int count = pango_layout_get_line_count(layout);
	for (int first = 0; first < count;) {
		bool fresh = p->y <= p->form->top + slack;
		int fit = lines_that_fit(p, layout, first, 0), end = fresh ? fit : mend_break(layout, first, fit);
		if (fresh && end == first)
			end++;
		if (end > first)
			put_lines(p, layout, first, end, x, ink);
		first = end;
		if (first < count)
			paper_sheet(p);
	}
	g_object_unref(layout);
}

void paper_count(const char *text, int most, int *columns, int *lines)
{
	char line[512];
	for (; *text; text += strcspn(text, "\n") + (text[strcspn(text, "\n")] == '\n')) {
		snprintf(line, sizeof line, "%.*s", (int)strcspn(text, "\n"), text);
		int width = text_width(line);
		if (width > *columns && width <= most)
			*columns = width;
		*lines += 1 + width / (most + 1);
	}
}

static bool is_empty(PangoLayout *layout, int line)
{
	return pango_layout_get_line_readonly(layout, line)->length == 0;
}

/* The last empty line in the second half of what fits; else all that fits. */
static int part_end(PangoLayout *layout, int first, int end)
{
	if (end == pango_layout_get_line_count(layout))
		return end;
	for (int k = end; k > (first + end) / 2; k--)
		if (is_empty(layout, k))
			return k;
	return end;
}

static int skip_empty(PangoLayout *layout, int line)
{
	while (line < pango_layout_get_line_count(layout) && is_empty(layout, line))
		line++;
	return line;
}

enum { CODE_MARGIN = 8 };

void paper_code(struct paper *p, PangoLayout *layout, unsigned ink, unsigned ground, double below)
{
	int count = pango_layout_get_line_count(layout);
	for (int first = 0; first < count;) {
		bool fresh = p->y <= p->form->top + slack;
		int end = part_end(layout, first, lines_that_fit(p, layout, first, 2 * CODE_MARGIN));
		if (end == count)
			end = part_end(layout, first, lines_that_fit(p, layout, first, 2 * CODE_MARGIN + below));
		if (end < count && count - end < 3 && end - first > 6)
			end -= 3;
		if (!fresh && end < count && end - first < 4)
			end = first;
		if (fresh && end == first)
			end++;
		if (end > first) {
			double height = lines_height(layout, first, end) + 2 * CODE_MARGIN;
			paper_box(p, p->form->left, p->y, paper_width(p), height, ground, false);
			p->y += CODE_MARGIN;
			put_lines(p, layout, first, end, CODE_MARGIN, ink);
			p->y += CODE_MARGIN;
		}
		first = skip_empty(layout, end);
		if (first < count)
			paper_sheet(p);
	}
	g_object_unref(layout);
}

/* ---- the rest ---- */

void paper_space(struct paper *p, double height)
{
	if (p->y > p->form->top + slack)
		p->y += height;
}

void paper_box(struct paper *p, double x, double y, double width, double height, unsigned ink, bool outline)
{
	struct paper_item *item = add(p, p->sheet_count - 1, x, y, width, height);
	item->ink = ink;
	item->outline = outline;
}

void paper_rule(struct paper *p, double x, double y, double width, unsigned ink)
{
	paper_box(p, x, y, width, 0.5, ink, false);
}

static cairo_surface_t *open_picture(struct paper *p, int line, const char *url)
{
	char path[1024];
	enum status s = lesson_picture_path(p->lesson, line, url, path, sizeof path);
	if (s) {
		paper_fail(p, s);
		return NULL;
	}
	cairo_surface_t *picture = cairo_image_surface_create_from_png(path);
	cairo_status_t read = cairo_surface_status(picture);
	if (!read)
		return picture;
	paper_fail(p, status_fail(STATUS_INPUT, "%.300s: this picture cannot be read: %s", path,
	                          cairo_status_to_string(read)));
	cairo_surface_destroy(picture);
	return NULL;
}

void paper_picture(struct paper *p, int line, const char *url, double least, double most)
{
	cairo_surface_t *picture = open_picture(p, line, url);
	if (!picture)
		return;
	double across = cairo_image_surface_get_width(picture), down = cairo_image_surface_get_height(picture);
	double height = fmin(most, paper_width(p) * down / across);
	if (paper_room(p) < fmin(least, height))
		paper_sheet(p);
	height = fmin(height, paper_room(p));
	double width = height * across / down, x = p->form->left + (paper_width(p) - width) / 2;
	add(p, p->sheet_count - 1, x, p->y, width, height)->picture = picture;
	p->y += height;
}

/* ---- drawing ---- */

static void draw_lines(cairo_t *cr, const struct paper_item *item)
{
	PangoLayoutIter *at = pango_layout_get_iter(item->layout);
	double top, bottom, from = 0;
	for (int k = 0; k < item->end; k++, pango_layout_iter_next_line(at)) {
		PangoRectangle logical;
		line_range(at, &top, &bottom);
		if (k < item->first)
			continue;
		from = k == item->first ? top : from;
		pango_layout_iter_get_line_extents(at, NULL, &logical);
		cairo_move_to(cr, item->x + (double)logical.x / PANGO_SCALE,
		              item->y - from + (double)pango_layout_iter_get_baseline(at) / PANGO_SCALE);
		pango_cairo_show_layout_line(cr, pango_layout_iter_get_line_readonly(at));
	}
	pango_layout_iter_free(at);
}

static void draw_picture(cairo_t *cr, const struct paper_item *item)
{
	cairo_save(cr);
	cairo_translate(cr, item->x, item->y);
	cairo_scale(cr, item->width / cairo_image_surface_get_width(item->picture),
	            item->height / cairo_image_surface_get_height(item->picture));
	cairo_set_source_surface(cr, item->picture, 0, 0);
	cairo_paint(cr);
	cairo_restore(cr);
}

static void draw_item(cairo_t *cr, const struct paper_item *item)
{
	if (item->picture) {
		draw_picture(cr, item);
		return;
	}
	cairo_set_source_rgb(cr, (item->ink >> 16) / 255.0, (item->ink >> 8 & 255) / 255.0, (item->ink & 255) / 255.0);
	if (item->layout) {
		draw_lines(cr, item);
		return;
	}
	cairo_rectangle(cr, item->x, item->y, item->width, item->height);
	cairo_set_line_width(cr, 1);
	if (item->outline)
		cairo_stroke(cr);
	else
		cairo_fill(cr);
}

void paper_draw_all(struct paper *p, cairo_surface_t *surface)
{
	cairo_t *cr = cairo_create(surface);
	for (int sheet = 0; sheet < p->sheet_count; sheet++) {
		for (int i = 0; i < p->item_count; i++)
			if (p->items[i].sheet == sheet)
				draw_item(cr, &p->items[i]);
		cairo_show_page(cr);
	}
	if (cairo_status(cr))
		paper_fail(p, status_fail(STATUS_RUN, "{export}: %s", cairo_status_to_string(cairo_status(cr))));
	cairo_destroy(cr);
}
