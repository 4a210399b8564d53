#include "viz/draw/draw.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "strategy/base/language.h"
#include "viz/draw/record.h"

/* A line of text is cut there. */
enum { TEXT_BYTES = 1024 };

double canvas_scale(double width, double height)
{
	double across = width / 1280, down = height / 720;
	return fmax(fmin(across, down), fmax(across, down) / 5); /* a strip shows the beginning, legibly */
}

double canvas_text(double width, double height, double text, bool presenter)
{
	double larger = LEGIBLE * height / (LEGIBLE_UNITS * canvas_scale(width, height));
	return presenter ? text * fmin(1.6, fmax(1.12, larger)) : text;
}

void canvas_begin(struct canvas *c, cairo_t *cr, double width, double height, double text, const struct theme *theme,
                  const struct fonts *fonts)
{
	double scale = canvas_scale(width, height) * text;
	if (scale < 0.02)
		scale = 0.02;
	*c = (struct canvas){.cr = cr,
	                     .theme = theme,
	                     .fonts = fonts,
	                     .width = width / scale,
	                     .height = height / scale,
	                     .pixel = 1 / scale,
	                     .raster = cairo_surface_get_type(cairo_get_target(cr)) == CAIRO_SURFACE_TYPE_IMAGE};
	cairo_save(cr);
	cairo_scale(cr, scale, scale);
	draw_fill(c, (struct box){0, 0, c->width, c->height}, theme->ground);
}

void canvas_end(struct canvas *c)
{
	cairo_restore(c->cr);
	for (int i = 0; i < c->tile_count; i++)
		cairo_pattern_destroy(c->tiles[i].source);
	c->tile_count = 0;
}

void draw_colour(struct canvas *c, colour v)
{
	cairo_set_source_rgb(c->cr, (v >> 16 & 255) / 255.0, (v >> 8 & 255) / 255.0, (v & 255) / 255.0);
}

/* ---- text ---- */

/* Bytes of the character at `p`; 0: they are none (RFC 3629: as short as can be, no surrogates, up to U+10FFFF). */
static int character(const unsigned char *p)
{
	int n = p[0] < 0x80 ? 1 : p[0] < 0xC2 ? 0 : p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : p[0] < 0xF5 ? 4 : 0;
	for (int i = 1; i < n; i++)
		if ((p[i] & 0xC0) != 0x80)
			return 0;
	if ((p[0] == 0xE0 && p[1] < 0xA0) || (p[0] == 0xED && p[1] > 0x9F) || (p[0] == 0xF0 && p[1] < 0x90) ||
	    (p[0] == 0xF4 && p[1] > 0x8F))
		return 0;
	return n;
}

void text_mend(char *text)
{
	unsigned char *from = (unsigned char *)text, *to = from;
	while (*from) {
		int n = character(from);
		from += n ? 0 : 1;
		for (int i = 0; i < n; i++)
			*to++ = *from++;
	}
	*to = 0;
}

/* In the presenter no text is smaller than the last row can read. */
static double legible(const struct canvas *c, double size)
{
	return fmax(size, c->least);
}

/* True if the Han font has the character at `p`: Han, their punctuation, full-width forms: U+3000 on. */
static bool is_han(const char *p)
{
	return (unsigned char)*p >= 0xE3 && (unsigned char)*p < 0xF0;
}

static cairo_font_face_t *face_of(const struct fonts *f, enum weight w, bool han)
{
	if (han && f->han)
		return w == WEIGHT_BOLD ? f->han_bold : f->han;
	return w == WEIGHT_BOLD ? f->bold : w == WEIGHT_MONO ? f->mono : f->plain;
}

static void set_font(struct canvas *c, double size, enum weight w, bool han)
{
	cairo_set_font_face(c->cr, face_of(c->fonts, w, han));
	cairo_set_font_size(c->cr, size);
}

/* Shows text from the current point on: Latin and Han characters by turns, each in its font. */
static void show_text(struct canvas *c, double size, enum weight w, char *text)
{
	while (*text) {
		bool han = is_han(text);
		char *end = text;
		while (*end && is_han(end) == han)
			end += character((const unsigned char *)end);
		char next = *end;
		*end = 0;
		set_font(c, size, w, han);
		cairo_show_text(c->cr, text);
		*end = next;
		text = end;
	}
}

/* Replaces a text by its translation, in the chosen language. */
static void put_in_language(const struct canvas *c, enum weight w, char *text, size_t size)
{
	if (w == WEIGHT_MONO || c->verbatim || !text[0] || !text[1]) /* a sign alone is a key */
		return;
	const char *own = tr(text);
	if (own != text)
		snprintf(text, size, "%s", own);
	language_space(text, size);
}

/* The width of one character of n bytes. A picture measures thousands of texts in a few fonts. */
static double advance_of(struct canvas *c, double size, enum weight w, const char *character, int n)
{
	struct advance key = {.size = size, .pixel = c->pixel, .weight = (int)w};
	uint32_t slot = (uint32_t)(size * 64) * 31 + (uint32_t)w;
	memcpy(key.character, character, (size_t)n);
	for (int i = 0; i < n; i++)
		slot = slot * 31 + (unsigned char)character[i];
	struct advance *known = &c->advances[slot % ADVANCES];
	if (known->size == size && known->pixel == c->pixel && known->weight == key.weight &&
	    !memcmp(known->character, key.character, sizeof key.character))
		return known->advance;
	cairo_text_extents_t e;
	set_font(c, size, w, is_han(character));
	cairo_text_extents(c->cr, key.character, &e);
	key.advance = e.x_advance;
	*known = key;
	return e.x_advance;
}

/* The width of text that has been mended. */
static double advance(struct canvas *c, double size, enum weight w, const char *text)
{
	double sum = 0;
	for (int n; *text; text += n) {
		n = character((const unsigned char *)text);
		sum += advance_of(c, size, w, text, n);
	}
	return sum;
}

double text_length(struct canvas *c, double size, enum weight w, const char *text)
{
	char whole[TEXT_BYTES];
	snprintf(whole, sizeof whole, "%s", text);
	text_mend(whole);
	put_in_language(c, w, whole, sizeof whole);
	return advance(c, legible(c, size), w, whole);
}

/* Leaves out what would not fit, at the end, with "…" for it; characters stay whole. There is room for it: cut has one
 * for every byte of the text and the mark. */
static void shorten(struct canvas *c, double size, enum weight w, char *text, double room)
{
	enum { MARK = sizeof "…" };
	char cut[TEXT_BYTES + MARK];
	size_t low = 0, high = strlen(text);
	if (room <= 0 || advance(c, size, w, text) <= room)
		return;
	while (low < high) { /* the longest that fits */
		size_t middle = (low + high + 1) / 2, whole = middle;
		while (whole && (text[whole] & 0xC0) == 0x80)
			whole--;
		memcpy(cut, text, whole);
		memcpy(cut + whole, "…", MARK);
		if (advance(c, size, w, cut) <= room)
			low = middle;
		else
			high = middle - 1;
	}
	if (low > TEXT_BYTES - MARK)
		low = TEXT_BYTES - MARK;
	while (low && (text[low] & 0xC0) == 0x80)
		low--;
	memcpy(text + low, low ? "…" : "", low ? MARK : 1);
}

void draw_text(struct canvas *c, double x, double y, double size, enum weight w, colour ink, enum align a, double room,
               const char *format, ...)
{
	char text[TEXT_BYTES];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, w == WEIGHT_MONO || c->verbatim ? format : tr(format), args);
	va_end(args);
	size = legible(c, size);
	text_mend(text);
	put_in_language(c, w, text, sizeof text);
	shorten(c, size, w, text, room);
	double length = a == ALIGN_LEFT && !c->record ? 0 : advance(c, size, w, text);
	double left = a == ALIGN_LEFT ? x : a == ALIGN_RIGHT ? x - length : x - length / 2;
	draw_colour(c, ink);
	if (c->record) {
		record_text(c, left, y, length, size, w, text);
		return;
	}
	cairo_move_to(c->cr, left, y);
	show_text(c, size, w, text);
}

void draw_fitting(struct canvas *c, double x, double y, double size, double least, enum weight w, colour ink,
                  enum align a, double room, const char *text)
{
	size = legible(c, size);
	least = legible(c, least);
	for (double length; (length = text_length(c, size, w, text)) > room && size > least;)
		size = fmax(least, fmin(size - 0.25, size * room / length));
	draw_text(c, x, y, size, w, ink, a, room, "%s", text);
}

/* Signs that end what is before them do not begin a line. */
static bool ends_before(const char *p)
{
	static const char *const signs[] = {"，", "。", "、", "：", "；", "？", "！", "）", "》", "」"};
	for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++)
		if (!strncmp(p, signs[i], strlen(signs[i])))
			return true;
	return false;
}

/* Does a space part a number from its unit? They stay on one line. */
static bool before_unit(const char *text, size_t space)
{
	static const char *const units[] = {"B",   "kB",  "MB", "GB", "TB", "KiB", "MiB",
	                                    "GiB", "TiB", "µs", "ms", "s",  "ns",  "%"};
	const char *unit = text + space + 1;
	size_t n = strcspn(unit, " ,.;:)");
	bool number = space && text[space - 1] >= '0' && text[space - 1] <= '9';
	for (size_t i = 0; number && i < sizeof units / sizeof units[0]; i++) {
		size_t length = strlen(units[i]);
		if (!strncmp(unit, units[i], length) && (length == n || is_han(unit + length)))
			return true;
	}
	return false;
}

/* The bytes of the word at `text`: up to a space, or of Han text a character, with what belongs on its line. */
static size_t word_length(const char *text)
{
	size_t n = 0;
	do {
		bool opens = !strncmp(text + n, "（", strlen("（"));
		bool han = is_han(text + n);
		n += (size_t)character((const unsigned char *)text + n);
		if (text[n] && text[n] != ' ' && !opens && (han || is_han(text + n)) && !ends_before(text + n))
			break;
	} while (text[n] && (text[n] != ' ' || before_unit(text, n)));
	return n;
}

/* How many bytes of a text stand on its first line: whole words. */
static size_t first_line(struct canvas *c, double width, double size, enum weight w, const char *text)
{
	char cut[TEXT_BYTES];
	size_t fits = 0;
	for (size_t end = 0; text[end];) {
		size_t word = end + strspn(text + end, " ");
		word += text[word] ? word_length(text + word) : 0;
		snprintf(cut, sizeof cut, "%.*s", (int)word, text);
		if (fits && advance(c, size, w, cut) > width)
			break;
		fits = end = word;
	}
	return fits;
}

/* Draws at most so many lines, if `draws`. */
static int paragraph(struct canvas *c, double x, double y, double width, double size, enum weight w, int lines,
                     colour ink, const char *text, bool draws)
{
	int line = 0;
	char whole[TEXT_BYTES];
	snprintf(whole, sizeof whole, "%s", text);
	text_mend(whole);
	put_in_language(c, w, whole, sizeof whole);
	size = legible(c, size);
	for (const char *rest = whole; *rest && line < lines; line++) {
		size_t fits = first_line(c, width, size, w, rest);
		bool last = line == lines - 1;
		if (draws)
			draw_text(c, x, y + 1.35 * size * line, size, w, ink, ALIGN_LEFT, width, "%.*s",
			          last ? (int)strlen(rest) : (int)fits, rest);
		rest += fits + strspn(rest + fits, " ");
	}
	return line;
}

int paragraph_lines(struct canvas *c, double width, double size, enum weight w, const char *text)
{
	return paragraph(c, 0, 0, width, size, w, TEXT_BYTES, 0, text, false);
}

bool paragraph_fits(struct canvas *c, double width, double size, enum weight w, const char *text)
{
	char word[TEXT_BYTES];
	size = legible(c, size);
	for (size_t n; *(text += strspn(text, " ")); text += n) {
		n = word_length(text);
		snprintf(word, sizeof word, "%.*s", (int)n, text);
		if (advance(c, size, w, word) > width)
			return false;
	}
	return true;
}

int draw_paragraph(struct canvas *c, double x, double y, double width, double size, int lines, colour ink,
                   const char *text)
{
	return paragraph(c, x, y, width, size, WEIGHT_PLAIN, lines, ink, text, true);
}

int draw_bold_paragraph(struct canvas *c, double x, double y, double width, double size, int lines, colour ink,
                        const char *text)
{
	return paragraph(c, x, y, width, size, WEIGHT_BOLD, lines, ink, text, true);
}

double tick_of(double top, double count)
{
	double power = pow(10, floor(log10(top / count))), f = top / count / power;
	return power * (f > 5 ? 10 : f > 2 ? 5 : f > 1 ? 2 : 1);
}

void text_of_ranks(char *out, int size, uint64_t set, int64_t of)
{
	int at = 0;
	uint64_t all = of >= 64 ? UINT64_MAX : (UINT64_C(1) << of) - 1;
	out[0] = 0;
	if (set == all && of > 1) {
		snprintf(out, (size_t)size, "all %" PRId64, of);
		return;
	}
	for (int r = 0; r < 64 && at < size; r++) {
		int first = r;
		if (!(set >> r & 1))
			continue;
		while (r < 63 && set >> (r + 1) & 1)
			r++;
		at += snprintf(out + at, (size_t)(size - at),
		               r == first       ? "%s%d"
		               : r == first + 1 ? "%s%d, %d"
		                                : "%s%d–%d",
		               at ? ", " : "", first, r);
	}
}

/* ---- shapes ---- */

static void fill_path(struct canvas *c) /* and keep it */
{
	if (c->record)
		record_fill(c);
	else
		cairo_fill_preserve(c->cr);
}

void draw_fill_path(struct canvas *c)
{
	fill_path(c);
	cairo_new_path(c->cr);
}

void draw_stroke_path(struct canvas *c)
{
	if (c->record)
		record_stroke(c);
	else
		cairo_stroke(c->cr);
	cairo_new_path(c->cr);
}

void draw_fill(struct canvas *c, struct box b, colour fill)
{
	draw_colour(c, fill);
	cairo_rectangle(c->cr, b.x, b.y, b.width, b.height);
	draw_fill_path(c);
}

void draw_frame(struct canvas *c, struct box b, colour line, double width)
{
	draw_colour(c, line);
	cairo_set_line_width(c->cr, width * c->theme->stroke);
	cairo_rectangle(c->cr, b.x, b.y, b.width, b.height);
	draw_stroke_path(c);
}

static void draw_round(struct canvas *c, struct box b, double radius)
{
	double r = fmin(radius, fmin(b.width, b.height) / 2);
	cairo_new_sub_path(c->cr);
	cairo_arc(c->cr, b.x + b.width - r, b.y + r, r, -M_PI / 2, 0);
	cairo_arc(c->cr, b.x + b.width - r, b.y + b.height - r, r, 0, M_PI / 2);
	cairo_arc(c->cr, b.x + r, b.y + b.height - r, r, M_PI / 2, M_PI);
	cairo_arc(c->cr, b.x + r, b.y + r, r, M_PI, 3 * M_PI / 2);
	cairo_close_path(c->cr);
}

void draw_card(struct canvas *c, struct box b, colour fill, colour line, double width)
{
	draw_round(c, b, 6);
	draw_colour(c, fill);
	fill_path(c);
	draw_colour(c, line);
	cairo_set_line_width(c->cr, width * c->theme->stroke);
	draw_stroke_path(c);
}

void draw_line(struct canvas *c, double x0, double y0, double x1, double y1, colour line, double width)
{
	draw_colour(c, line);
	cairo_set_line_width(c->cr, width * c->theme->stroke);
	cairo_move_to(c->cr, x0, y0);
	cairo_line_to(c->cr, x1, y1);
	draw_stroke_path(c);
}

void draw_arrow_head(struct canvas *c, double x0, double y0, double x1, double y1, double size, colour fill)
{
	double length = hypot(x1 - x0, y1 - y0);
	if (length < 1e-6)
		return;
	double ux = (x1 - x0) / length, uy = (y1 - y0) / length;
	draw_colour(c, fill);
	cairo_move_to(c->cr, x1, y1);
	cairo_line_to(c->cr, x1 - size * ux - size * 0.45 * uy, y1 - size * uy + size * 0.45 * ux);
	cairo_line_to(c->cr, x1 - size * ux + size * 0.45 * uy, y1 - size * uy - size * 0.45 * ux);
	cairo_close_path(c->cr);
	draw_fill_path(c);
}
