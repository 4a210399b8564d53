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
#include <stdio.h>
#include <string.h>

#include "viz/export/playback.h"

static char drawn_words[1 << 16];
static size_t drawn_length;
static double drawn_least; /* size of the smallest text, in pixels */

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
	if (drawn_length < sizeof drawn_words)
		drawn_length +=
		        (size_t)snprintf(drawn_words + drawn_length, sizeof drawn_words - drawn_length, "%s\n", text);
	show(cr, text);
}

static inline void words_begin(void)
{
	drawn_length = 1;
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

/* What the playback draws, in 1280 × 720. */
static inline void words_of(struct playback *p)
{
	cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, 1280, 720);
	cairo_t *cr = cairo_create(surface);
	words_begin();
	playback_draw(p, cr, 1280, 720);
	cairo_destroy(cr);
	cairo_surface_destroy(surface);
}

#endif
