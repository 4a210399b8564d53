/* Sheets of paper, or of slides: what stands where on them, worked out before anything is drawn. Lengths are points,
 * from the upper left corner.
 *
 *     struct paper p;
 *     paper_init(&p, &form, course);
 *     paper_sheet(&p);
 *     paper_text(&p, paper_layout(&p, &style, width, "Some <b>markup</b>"), 0, style.ink);
 *     status = paper_check(&p);
 *     paper_draw(&p, out);
 *     paper_release(&p);
 *
 * The first thing that fails sticks to the paper until paper_check() asks for it.
 */
#ifndef SHARDLAB_LESSON_PAPER_H
#define SHARDLAB_LESSON_PAPER_H

#include <pango/pangocairo.h>
#include <stdio.h>

#include "cli/lesson/export/blocks.h"
#include "cli/lesson/export/export.h"

struct paper;

/* The size of a sheet, its margins, and what stands on each before its text does. */
struct paper_form {
	double width, height, left, right, top, bottom;
	void (*begin)(struct paper *p);
};

struct paper_style {
	const char *font; /* "DejaVu Sans" */
	double size, spacing;
	unsigned ink; /* 0xRRGGBB */
	bool bold, breaks_words, hangs;
};

struct paper_item {
	int sheet;
	double x, y, width, height;
	PangoLayout *layout; /* its lines [first, end); NULL: no text */
	int first, end;
	unsigned ink;             /* of the text, of the box, of the line */
	cairo_surface_t *picture; /* NULL: none */
	bool outline;             /* a box that is not filled */
};

struct paper_mark {
	const char *text;
	int sheet;
};

struct paper {
	struct arena arena;
	const struct paper_form *form;
	const struct course *course;
	const struct lesson *lesson; /* at hand */
	const char *title;           /* of the slide at hand */
	int sheet_count;             /* the last is the one at hand */
	double y;                    /* where the next thing goes */
	struct paper_item *items;
	int item_count, item_capacity;
	struct paper_mark *marks; /* for the list beside the pages */
	int mark_count, mark_capacity;
	const char **titles; /* of each sheet */
	int title_capacity;
	PangoFontMap *fonts;
	PangoContext *context;
	enum status status;
	char message[600];
};

enum status paper_init(struct paper *p, const struct paper_form *form, const struct course *course);
void paper_release(struct paper *p);
void paper_fail(struct paper *p, enum status s); /* with the message of the last failure */
enum status paper_check(const struct paper *p);
void paper_draw_all(struct paper *p, cairo_surface_t *surface);

/* The width and height of the text on a sheet, and the room that is left below p->y. */
double paper_width(const struct paper *p);
double paper_height(const struct paper *p);
double paper_room(const struct paper *p);

void paper_sheet(struct paper *p); /* begins one */
void paper_mark(struct paper *p, const char *text);
PangoLayout *paper_layout(struct paper *p, const struct paper_style *style, double width, const char *markup);
double paper_layout_height(PangoLayout *layout);
/* Places a text at the given point, outside the flow. */
void paper_put(struct paper *p, int sheet, PangoLayout *layout, double x, double y, unsigned ink);
/* A character's width in the fixed-width font, as a share of its size. */
#define PAPER_ADVANCE 0.605
/* Adds the lines of a text, and raises `columns` to its longest. A line of more than `most` columns breaks anyway, and
 * does not count as long. */
void paper_count(const char *text, int most, int *columns, int *lines);
/* Appends text `x` from the left margin, on as many sheets as it takes. */
void paper_text(struct paper *p, PangoLayout *layout, double x, unsigned ink);
/* The same on a tinted ground. A sheet ends at an empty line if it can. `below`: the room that is left under the text's
 * end. */
void paper_code(struct paper *p, PangoLayout *layout, unsigned ink, unsigned ground, double below);
void paper_space(struct paper *p, double height); /* not at the top of a sheet */
void paper_rule(struct paper *p, double x, double y, double width, unsigned ink);
void paper_box(struct paper *p, double x, double y, double width, double height, unsigned ink, bool outline);
/* Appends a picture of the lesson at hand, as wide as the text but at most `most` high. It goes on the next sheet if
 * its height here would be less than `least`. */
void paper_picture(struct paper *p, int line, const char *url, double least, double most);

/* ---- the two forms ---- */

enum status slides_make(struct paper *p, const struct course *c);
enum status handout_make(struct paper *p, const struct course *c);
/* Writes slides or a handout as a PDF file. */
enum status paper_write(const struct course *c, enum lesson_format format, FILE *out);

#endif
