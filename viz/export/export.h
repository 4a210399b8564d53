/* Pictures in files, drawn by the scenes. Their bytes are the same from run to run. The playback stands where the
 * picture is to be taken; those of several steps take it through all stops of its step size.
 */
#ifndef SHARDLAB_VIZ_EXPORT_H
#define SHARDLAB_VIZ_EXPORT_H

#include <stdio.h>

#include "viz/export/playback.h"

struct picture {
	int width, height; /* of the picture, in pixels of a screen */
	double scale;      /* pixels of the file for each of them */
	int delay;         /* GIF: hundredths of a second a step */
};

/* name, constant, what */
#define EXPORT_LIST(X)                                                                                                 \
	X("png", PNG, "one picture")                                                                                   \
	X("svg", SVG, "one picture, as lines")                                                                         \
	X("pdf", PDF, "a page, or with {pages} all one for each step")                                                 \
	X("gif", GIF, "all steps, moving")                                                                             \
	X("html", HTML, "all steps and scenes, to be turned with keys: one file, no network")

enum export_format {
#define X(name, constant, what) EXPORT_##constant,
	EXPORT_LIST(X)
#undef X
	        EXPORT_COUNT
};

/* Finds the format by the ending of a file's name. */
bool export_parse(const char *path, enum export_format *out);

/* STATUS_RUN: it could not be written. STATUS_INPUT: too large. */
enum status export_write(struct playback *p, enum export_format format, const struct picture *size, bool all_pages,
                         FILE *out);

/* A drawing of another kind (a chart) as PNG, SVG or PDF. */
enum status export_drawing(void (*draw)(void *context, cairo_t *cr, double width, double height), void *context,
                           enum export_format format, const struct picture *size, FILE *out);

/* A chart as a file whose name says which of the three. setting: "{plot}", for messages. */
enum status export_chart_check(const char *path, const char *setting);
enum status export_chart(const char *path, const char *setting,
                         void (*draw)(void *context, cairo_t *cr, double width, double height), void *context);

/* The captions, the ledger and the figures of all stops as text, or of the one where the playback stands; of another
 * program's trace its lanes. */
void export_describe(struct playback *p, bool all, FILE *out);
/* The questions of the step, with choices, right answers and reasons (viz/question/question.h). */
void export_questions(const struct playback *p, FILE *out);
/* The lines of this description below the caption, at the playback's place. */
void export_figures(struct playback *p, FILE *out);

/* The player for a page that shows several steps: a JSON array of the text before and after a step's data. Before, data
 * and after together are that step's page. */
void export_player(FILE *out);
/* Finds the data in a page that export_html() wrote, and their length; NULL: it is not such a page. */
const char *export_player_data(const char *page, size_t *length);

/* Shared by the files of this folder. */
enum status export_gif(struct playback *p, const struct picture *size, FILE *out);
enum status export_html(struct playback *p, const struct picture *size, FILE *out);
/* The page around the data: up to the title, to the heading, to the data; and its lines to the end, the last NULL. */
/* Writes a part of the page: "{{sentence}}" is said in the language that was chosen. */
void page_put(const char *text, FILE *out);
extern const char page_head[], page_style[], page_body[];
extern const char *const page_script[], *const page_amounts[], *const page_questions[], *const page_end[];
void page_put_end(FILE *out);
/* A picture of the playback as it stands, to be destroyed by the caller; on failure there is none. */
enum status export_surface(struct playback *p, const struct picture *size, cairo_surface_t **out);
/* How many stops there are, and going to one. */
size_t export_steps(const struct playback *p);
void export_go(struct playback *p, size_t step);

#endif
