/* A drawing as data: what the scenes draw is written down instead of drawn, for a page that draws it itself. Each
 * command is a JSON array and has a number; commands that are equal have the same, so that a picture is a list of
 * numbers, and the next one mostly the same list. Lengths are tenths of a device unit of the surface, which nothing is
 * drawn on.
 *
 *     fill       [0, colour, "path"]                                 paths are SVG's
 *     pattern    [1, ground or -1, "path", pattern, colour]          enum pattern
 *     stroke     [2, colour, "path", width, dash, gap]               dash and gap where the line has them
 *     text       [3, colour, text, x, y]                             from the left end of its baseline
 *     clip       [4, x, y, width, height]                            what follows is cut off there; of width 0: nowhere
 *     line       [5, text, 0]                                        of prose beside the picture
 *
 * Colours are indices of `colours`, as 0xRRGGBBAA; texts are indices of `texts`: a line is
 * "text", a text in a picture ["text", length, size, enum weight].
 */
#ifndef SHARDLAB_VIZ_RECORD_H
#define SHARDLAB_VIZ_RECORD_H

#include <stddef.h>
#include <stdio.h>

#include "viz/draw/draw.h"
#include "viz/draw/strings.h"

struct record {
	struct strings commands, texts;
	uint32_t *colours;
	size_t colour_count, colour_capacity;
	int *now; /* the picture so far */
	size_t now_count, now_capacity;
	struct box clip; /* of the picture so far */
	double width, height;
	bool failed; /* there was no memory */
};

void record_release(struct record *r); /* accepts NULL and a zeroed struct */
/* Begins a picture of this size. Those before it are forgotten, their commands are not. */
void record_begin(struct record *r, double width, double height);

/* The canvas's current path, which stays, in the colour and line of its context. */
void record_fill(struct canvas *c);
void record_stroke(struct canvas *c);
void record_pattern(struct canvas *c, const colour *ground, enum pattern pattern, colour ink);
void record_text(struct canvas *c, double x, double y, double length, double size, enum weight w, const char *text);
void record_line(struct record *r, const char *text, size_t length);

/* The pictures of one scene, as each differs from the one before: an entry is a command that is new, the number of an
 * old one, -n for the next n of the picture before, or [i, n] for n of them from i on. New commands are numbered as
 * they come. */
struct record_series {
	int *before, *place; /* place: of each command in `before`, -1: it has none */
	size_t before_count, place_count;
};
/* Writes the picture that was recorded. `known`: commands that have been written, by any series. */
void record_write(struct record *r, struct record_series *s, size_t *known, FILE *out);
void record_series_release(struct record_series *s);

/* Writes the texts that have not been written, of which there were `known`. */
void record_write_texts(const struct record *r, size_t *known, FILE *out);
/* A text as JSON that can stand in a script. */
void record_put_text(const char *text, size_t length, FILE *out);

#endif
