/* GIF 89a, with one palette for all frames; of each frame only the part that changes is stored.
 *
 * The palette is what the pictures use most: colours are counted in 32 × 32 × 32 cells, the 256 fullest give the mean
 * of what fell into them, and every other cell takes the nearest of those.
 *
 * LZW as in the specification's appendix F: codes grow from 9 to 12 bits, then the table is cleared.
 */
#include <stdlib.h>
#include <string.h>

#include "strategy/base/arena.h"
#include "strategy/base/memory.h"
#include "viz/export/export.h"

enum { CELLS = 32 * 32 * 32, COLOURS = 256, CLEAR = 256, FINISH = 257, CODES = 4096, PIXELS = 1 << 26 };

/* A cell of colours, and what fell into it. */
struct cell {
	uint64_t count, sum[3];
	int number;
};

struct palette {
	struct cell cell[CELLS];
	unsigned char nearest[CELLS];
	unsigned char colour[COLOURS][3];
	int colours;
};

static int cell_of(uint32_t pixel)
{
	return (int)((pixel >> 19 & 31) << 10 | (pixel >> 11 & 31) << 5 | (pixel >> 3 & 31));
}

/* Rows of RGB24 follow each other without a gap. */
static const uint32_t *pixels_of(cairo_surface_t *surface, size_t *count)
{
	*count = (size_t)cairo_image_surface_get_width(surface) * (size_t)cairo_image_surface_get_height(surface);
	return (const uint32_t *)(const void *)cairo_image_surface_get_data(surface);
}

static void count_colours(struct palette *p, cairo_surface_t *surface)
{
	size_t count;
	const uint32_t *pixel = pixels_of(surface, &count);
	for (size_t i = 0; i < count; i++) {
		struct cell *c = &p->cell[cell_of(pixel[i])];
		c->count++;
		for (int k = 0; k < 3; k++)
			c->sum[k] += pixel[i] >> (16 - 8 * k) & 255;
	}
}

static int mean(const struct cell *c, int k)
{
	return (int)(c->sum[k] / c->count);
}

static int by_count(const void *a, const void *b)
{
	const struct cell *x = a, *y = b;
	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return x->number - y->number;
}

static int nearest(const struct palette *p, const struct cell *c)
{
	const int own[] = {mean(c, 0), mean(c, 1), mean(c, 2)};
	int best = 0, distance = 1 << 30;
	for (int i = 0; i < p->colours; i++) {
		int d = 0;
		for (int k = 0; k < 3; k++)
			d += (own[k] - p->colour[i][k]) * (own[k] - p->colour[i][k]);
		if (d < distance) {
			distance = d;
			best = i;
		}
	}
	return best;
}

static void choose_colours(struct palette *p)
{
	for (int i = 0; i < CELLS; i++)
		p->cell[i].number = i;
	qsort(p->cell, CELLS, sizeof *p->cell, by_count);
	for (; p->colours < COLOURS && p->cell[p->colours].count; p->colours++)
		for (int k = 0; k < 3; k++)
			p->colour[p->colours][k] = (unsigned char)mean(&p->cell[p->colours], k);
	for (const struct cell *c = p->cell; c < p->cell + CELLS && c->count; c++)
		p->nearest[c->number] = (unsigned char)nearest(p, c);
}

/* ---- LZW ---- */

struct bits {
	FILE *out;
	unsigned char block[255];
	int used, count;
	uint32_t pending;
};

static void flush_block(struct bits *b)
{
	if (b->used) {
		fputc(b->used, b->out);
		fwrite(b->block, 1, (size_t)b->used, b->out);
	}
	b->used = 0;
}

static void put_byte(struct bits *b)
{
	b->block[b->used++] = (unsigned char)b->pending;
	b->pending >>= 8;
	b->count -= 8;
	if (b->used == 255)
		flush_block(b);
}

static void put_code(struct bits *b, int code, int width)
{
	b->pending |= (uint32_t)code << b->count;
	b->count += width;
	while (b->count >= 8)
		put_byte(b);
}

/* The strings known so far: the one of `prefix` and `last` has a code, found by open addressing. */
struct strings {
	int32_t key[8192];
	int16_t code[8192];
	int next, width;
};

static void forget(struct strings *s)
{
	memset(s->key, 0xFF, sizeof s->key);
	s->next = FINISH + 1;
	s->width = 9;
}

static int slot_of(const struct strings *s, int32_t key)
{
	unsigned at = (unsigned)key * 2654435761U >> 19;
	while (s->key[at] != -1 && s->key[at] != key)
		at = (at + 1) & 8191;
	return (int)at;
}

static void encode(FILE *out, const unsigned char *pixels, int pitch, int width, int height)
{
	struct bits b = {.out = out};
	struct strings *s = array_make(1, sizeof *s);
	int prefix = -1;
	forget(s);
	fputc(8, out);
	put_code(&b, CLEAR, s->width);
	for (int y = 0; y < height; y++)
		for (int x = 0; x < width; x++) {
			int last = pixels[(ptrdiff_t)y * pitch + x];
			if (prefix < 0) {
				prefix = last;
				continue;
			}
			int32_t key = prefix << 8 | last;
			int slot = slot_of(s, key);
			if (s->key[slot] == key) {
				prefix = s->code[slot];
				continue;
			}
			put_code(&b, prefix, s->width);
			prefix = last;
			if (s->next == CODES) {
				put_code(&b, CLEAR, s->width);
				forget(s);
				continue;
			}
			s->key[slot] = key;
			s->code[slot] = (int16_t)s->next;
			if (s->next == 1 << s->width)
				s->width++;
			s->next++;
		}
	put_code(&b, prefix, s->width);
	put_code(&b, FINISH, s->width);
	if (b.count > 0)
		put_byte(&b);
	flush_block(&b);
	fputc(0, out);
	free(s);
}

/* ---- the file ---- */

static void put_short(FILE *out, int v)
{
	fputc(v & 255, out);
	fputc(v >> 8 & 255, out);
}

static void put_head(FILE *out, const struct palette *p, int width, int height)
{
	fwrite("GIF89a", 1, 6, out);
	put_short(out, width);
	put_short(out, height);
	fwrite("\xF7\0\0", 1, 3, out); /* 256 colours of 8 bits, ground 0 */
	fwrite(p->colour, 3, COLOURS, out);
	fwrite("\x21\xFF\x0BNETSCAPE2.0\x03\x01\0\0", 1, 19, out); /* for ever */
}

static void put_frame(FILE *out, const unsigned char *now, const unsigned char *before, int width, int height,
                      int delay)
{
	int x0 = 0, y0 = 0, x1 = width, y1 = height;
	if (before) { /* the part that changes, at least one pixel */
		x0 = width;
		y0 = height;
		x1 = y1 = 0;
		for (int y = 0; y < height; y++)
			for (int x = 0; x < width; x++)
				if (now[(ptrdiff_t)y * width + x] != before[(ptrdiff_t)y * width + x]) {
					x0 = x < x0 ? x : x0;
					x1 = x + 1 > x1 ? x + 1 : x1;
					y0 = y < y0 ? y : y0;
					y1 = y + 1;
				}
		if (x0 >= x1) {
			x0 = y0 = 0;
			x1 = y1 = 1;
		}
	}
	fwrite("\x21\xF9\x04\x04", 1, 4, out); /* leave it in place */
	put_short(out, delay);
	fwrite("\0\0", 1, 2, out);
	fputc(0x2C, out);
	put_short(out, x0);
	put_short(out, y0);
	put_short(out, x1 - x0);
	put_short(out, y1 - y0);
	fputc(0, out);
	encode(out, now + (ptrdiff_t)y0 * width + x0, width, x1 - x0, y1 - y0);
}

static void to_indices(const struct palette *p, cairo_surface_t *surface, unsigned char *out)
{
	size_t count;
	const uint32_t *pixel = pixels_of(surface, &count);
	for (size_t i = 0; i < count; i++)
		out[i] = p->nearest[cell_of(pixel[i])];
}

enum status export_gif(struct playback *p, const struct picture *size, FILE *out)
{
	size_t steps = export_steps(p);
	struct palette *palette = calloc(1, sizeof *palette);
	unsigned char *frames[2] = {NULL};
	int width = 1, height = 1;
	enum status s = STATUS_OK;
	if (!palette)
		memory_exhausted();
	if (size->width * size->scale * size->height * size->scale > PIXELS || size->width * size->scale > 65535 ||
	    size->height * size->scale > 65535)
		s = status_fail(STATUS_INPUT, "{size}: too large for a GIF");
	for (int pass = 0; pass < 2 && !s; pass++) {
		for (size_t k = 0; k < steps && !s; k++) {
			export_go(p, k);
			cairo_surface_t *surface;
			if ((s = export_surface(p, size, &surface)))
				break;
			if (!pass) {
				width = cairo_image_surface_get_width(surface);
				height = cairo_image_surface_get_height(surface);
				count_colours(palette, surface);
			} else {
				to_indices(palette, surface, frames[k % 2]);
				put_frame(out, frames[k % 2], k ? frames[(k + 1) % 2] : NULL, width, height,
				          k + 1 == steps ? 3 * size->delay : size->delay);
			}
			cairo_surface_destroy(surface);
		}
		if (pass || s)
			break;
		choose_colours(palette);
		put_head(out, palette, width, height);
		for (int i = 0; i < 2; i++)
			if (!(frames[i] = calloc((size_t)width, (size_t)height)))
				memory_exhausted();
	}
	if (!s)
		fputc(0x3B, out);
	if (!s && ferror(out))
		s = status_fail(STATUS_RUN, "the picture cannot be written");
	free(frames[0]);
	free(frames[1]);
	free(palette);
	return s;
}
