/* Drawing on a cairo context, for the scenes: text, filled boxes with patterns, arrows. Lengths are units of the
 * picture, of which the shorter side of a 1280 × 720 picture has 720; a larger picture is the same one with more
 * pixels.
 *
 *     struct canvas c;
 *     struct fonts f = {0};
 *     status = fonts_open(&f);
 *     canvas_begin(&c, cr, width, height, 1.0, theme_of(THEME_LIGHT), &f);    // in device units of cr
 *     draw_text(&c, x, y, 14, c.theme->ink, ALIGN_LEFT, "rank %d", 3);
 *     canvas_end(&c);
 */
#ifndef SHARDLAB_VIZ_DRAW_H
#define SHARDLAB_VIZ_DRAW_H

#include <cairo.h>
#include <stdbool.h>

#include "strategy/base/status.h"
#include "viz/draw/theme.h"

/* One family, DejaVu Sans, found through fontconfig: cairo's own choice of a font could differ from machine to machine.
 * It has no Chinese characters. These come from another, beside it. */
struct fonts {
	void *library; /* FreeType's */
	cairo_font_face_t *plain, *bold, *mono;
	cairo_font_face_t *han, *han_bold; /* NULL: not opened */
};

/* STATUS_INPUT: it is not installed. */
enum status fonts_open(struct fonts *f);
/* Opens the first font with Chinese characters that is installed, into fonts that are open; false: there is none. */
bool fonts_open_han(struct fonts *f);
#define HAN_PACKAGE "fonts-wqy-microhei"
void fonts_release(struct fonts *f); /* accepts NULL and a zeroed struct */

enum { TILES = 24, ADVANCES = 512 };

struct canvas {
	cairo_t *cr;
	const struct theme *theme;
	const struct fonts *fonts;
	double width, height;  /* units */
	double pixel;          /* of the device, in units: nothing smaller can be seen */
	double least;          /* units: no text is smaller; 0: as small as it is asked for */
	bool verbatim;         /* text is of the user or of the plan: it stays as it is in every language */
	bool raster;           /* pixels, not lines: patterns are tiles */
	struct record *record; /* drawing is written down there instead (viz/draw/record.h); NULL: it is drawn */
	struct tile {          /* tiles made for this picture */
		cairo_pattern_t *source;
		enum pattern pattern;
		colour ink, ground;
		bool opaque; /* on its ground */
	} tiles[TILES];
	int tile_count;
	struct advance { /* widths that were measured, by hash */
		double size, pixel, advance;
		int weight;
		char character[5];
	} advances[ADVANCES];
};

/* A box in a picture. */
struct box {
	double x, y, width, height;
};

/* Clears the picture. text: factor on the size of everything (a larger one leaves less room). */
void canvas_begin(struct canvas *c, cairo_t *cr, double width, double height, double text, const struct theme *theme,
                  const struct fonts *fonts);
/* Units of the device for one of a picture of this size, where text is of normal size. */
double canvas_scale(double width, double height);
/* In the presenter no text is smaller than this share of the height, so that the last row of an audience can read it.
 */
#define LEGIBLE 0.0202
/* The factor for canvas_begin(). The presenter's factor makes the least size as many units as the scenes' lines are
 * made for. A 4:3 screen then gives a narrow picture, not text that is too large for its lines. */
enum { LEGIBLE_UNITS = 13 };
double canvas_text(double width, double height, double text, bool presenter);
void canvas_end(struct canvas *c);

enum align { ALIGN_LEFT, ALIGN_CENTRE, ALIGN_RIGHT };
enum weight { WEIGHT_PLAIN, WEIGHT_BOLD, WEIGHT_MONO };

double text_length(struct canvas *c, double size, enum weight w, const char *text);
/* Removes bytes that are not UTF-8, such as half a character at the end of a name that was cut. All text that is drawn
 * goes through it: at an invalid byte cairo stops drawing. */
void text_mend(char *text);
/* Text that is drawn or measured is in the language that was chosen (strategy/base/language.h): the format is looked up
 * there, and so is the whole text once it is put together, which finds names that came as arguments. Text in
 * WEIGHT_MONO stays: plans, commands. */
/* On one line with its baseline at y. Longer than `room` (0: any), it is cut and ends in "…". */
void draw_text(struct canvas *c, double x, double y, double size, enum weight w, colour ink, enum align a, double room,
               const char *format, ...) __attribute__((format(printf, 9, 10)));
/* In the largest size from `size` down to `least` that fits in `room`; cut if none does. */
void draw_fitting(struct canvas *c, double x, double y, double size, double least, enum weight w, colour ink,
                  enum align a, double room, const char *text);
/* Broken at spaces into lines of at most `width`, at most so many. Returns how many lines there are. */
int draw_paragraph(struct canvas *c, double x, double y, double width, double size, int lines, colour ink,
                   const char *text);
int draw_bold_paragraph(struct canvas *c, double x, double y, double width, double size, int lines, colour ink,
                        const char *text);
/* How many lines it takes. */
int paragraph_lines(struct canvas *c, double width, double size, enum weight w, const char *text);
/* True if none of its words is longer than a line. */
bool paragraph_fits(struct canvas *c, double width, double size, enum weight w, const char *text);

void draw_colour(struct canvas *c, colour colour);
/* cairo_fill() and cairo_stroke() of the current path. Scenes call these, so that what they draw can be recorded. */
void draw_fill_path(struct canvas *c);
void draw_stroke_path(struct canvas *c);
void draw_fill(struct canvas *c, struct box b, colour fill);
void draw_frame(struct canvas *c, struct box b, colour line, double width);
void draw_card(struct canvas *c, struct box b, colour fill, colour line, double width);
void draw_line(struct canvas *c, double x0, double y0, double x1, double y1, colour line, double width);
/* A category's box: colour, pattern and outline. */
void draw_category(struct canvas *c, struct box b, enum category category);
void draw_pattern(struct canvas *c, struct box b, enum pattern pattern, colour ink);
/* The same on the current path, which lies within b and is kept; and with a colour below. */
void draw_pattern_on_path(struct canvas *c, struct box b, enum pattern pattern, colour ink);
void draw_patterned_path(struct canvas *c, struct box b, colour fill, enum pattern pattern, colour ink);
/* True if a box is smaller than the pitch of a pattern. Many such beside each other flicker. */
bool pattern_is_too_dense(const struct canvas *c, struct box b);
/* The pattern, or flat the colour that it has from afar. */
void draw_tinted_path(struct canvas *c, struct box b, colour fill, enum pattern pattern, colour ink, bool flat);
/* A head at the end of a line that comes from (x0, y0). */
void draw_arrow_head(struct canvas *c, double x0, double y0, double x1, double y1, double size, colour fill);

/* The ticks of an axis from 0 to `top`: 1, 2 or 5 times a power of ten apart, at most about `count` of them. */
double tick_of(double top, double count);

/* "0", "0–2", "0, 2–3", "all 4" of a set of ranks. */
void text_of_ranks(char *out, int size, uint64_t set, int64_t of);

#endif
