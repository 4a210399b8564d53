/* The words of a picture, as they are drawn: a test program that includes this has its own cairo_show_text, which notes
 * each text on a line and then draws it.
 *
 *     words_begin();
 *     chart_draw(&chart, cr, 1280, 720);
 *     ck_words("capacity 750.0 kB\n");                  a whole text, or several drawn one after another
 */
#ifndef SHARDLAB_DRAWN_WORDS_H
#define SHARDLAB_DRAWN_WORDS_H

#include <cairo.h>
#include <check.h>
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/viewed.h"

static char drawn_words[1 << 16];
static size_t drawn_length;
static double drawn_least; /* size of the smallest text, in pixels */

/* The box of each text, in pixels, as high as its digits. */
static struct drawn {
	double x, y, width, height;
	size_t length; /* bytes */
	char text[48];
} drawn[4096];
static int drawn_count;

static inline void note_place(cairo_t *cr, const char *text, double size)
{
	struct drawn *d = &drawn[drawn_count];
	cairo_text_extents_t extents;
	cairo_matrix_t m;
	double x, y, scale = 1, zero = 0;
	cairo_get_matrix(cr, &m);
	if (drawn_count == (int)(sizeof drawn / sizeof *drawn) || m.xy != 0) /* what stands upright is left out */
		return;
	cairo_text_extents(cr, text, &extents);
	cairo_get_current_point(cr, &x, &y);
	cairo_user_to_device(cr, &x, &y);
	cairo_user_to_device_distance(cr, &scale, &zero);
	*d = (struct drawn){.x = x,
	                    .y = y - 0.72 * size,
	                    .width = extents.x_advance * scale,
	                    .height = 0.72 * size,
	                    .length = strlen(text)};
	snprintf(d->text, sizeof d->text, "%s", text);
	drawn_count += *text != 0;
}

void cairo_show_text(cairo_t *cr, const char *text)
{
	void (*show)(cairo_t *, const char *);
	void *symbol = dlsym(RTLD_NEXT, "cairo_show_text");
	memcpy(&show, &symbol, sizeof show);
	cairo_matrix_t font;
	double across = 0, size;
	cairo_get_font_matrix(cr, &font);
	size = font.yy;
	cairo_user_to_device_distance(cr, &across, &size);
	drawn_least = size < drawn_least ? size : drawn_least;
	note_place(cr, text, size);
	if (drawn_length < sizeof drawn_words)
		drawn_length +=
		        (size_t)snprintf(drawn_words + drawn_length, sizeof drawn_words - drawn_length, "%s\n", text);
	show(cr, text);
}

static inline void words_begin(void)
{
	drawn_length = 1;
	drawn_count = 0;
	drawn_least = 1e9;
	snprintf(drawn_words, sizeof drawn_words, "\n");
}

/* lines: "a\nb\n", drawn one after another. */
static inline void ck_words(const char *lines)
{
	char wanted[1024];
	snprintf(wanted, sizeof wanted, "\n%s", lines);
	ck_assert_msg(strstr(drawn_words, wanted) != NULL, "no\n%s\nin\n%s", lines, drawn_words);
}

/* Two texts that stand on each other, or one that leaves the picture; NULL: all can be read. */
static inline const char *words_collide(double width, double height)
{
	static char out[160];
	for (int i = 0; i < drawn_count; i++) {
		const struct drawn *a = &drawn[i];
		if (a->x < -1 || a->y < -1 || a->x + a->width > width + 1 || a->y + a->height > height + 1) {
			snprintf(out, sizeof out, "'%s' leaves the picture", a->text);
			return out;
		}
		for (int k = 0; k < i; k++) {
			const struct drawn *b = &drawn[k];
			double across = fmin(a->x + a->width, b->x + b->width) - fmax(a->x, b->x),
			       down = fmin(a->y + a->height, b->y + b->height) - fmax(a->y, b->y);
			if (across > 1.5 && down > 1.5) {
				snprintf(out, sizeof out, "'%s' stands on '%s'", a->text, b->text);
				return out;
			}
		}
	}
	return NULL;
}

/* Draws the playback on one pixel, since only the words count. */
static inline void words_in(struct playback *p, double width, double height)
{
	cairo_t *cr = sheet_open(1, 1);
	words_begin();
	playback_draw(p, cr, width, height);
	cairo_destroy(cr);
}

static inline void words_of(struct playback *p)
{
	words_in(p, 1280, 720);
}

#endif
