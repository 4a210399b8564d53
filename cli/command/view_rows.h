/* The rows of what if. A setting's name, help, words and limits are those of the table of settings; to add one, name it
 * in `rows`. */
#ifndef SHARDLAB_VIEW_ROWS_H
#define SHARDLAB_VIEW_ROWS_H

#include "cli/command/view_load.h"
#include "viz/scene/whatif.h"

/* Rows that are no settings. */
enum { ROW_CLUSTER = SETTING_COUNT, ROW_LINK, ROW_NETWORK };

/* The kinds of values that ← and → step through; the first three are numbers. */
enum row_values { VALUES_COUNT, VALUES_BYTES, VALUES_RATE, VALUES_WORDS, VALUES_MODELS, VALUES_CLUSTERS };

struct row {
	const char *label;
	const char *name, *what; /* of a row that is no setting */
	int setting;             /* enum setting, or ROW_… */
	enum row_values values;
	int64_t least, most; /* of those that ← and → go through */
};
extern const struct row rows[];
extern const int row_count;

const char *row_name(int row); /* "micro-batch", "link-bandwidth" */
const char *row_what(int row);
int row_find(const char *text, size_t length); /* -1 */
/* The value that a step was made with. */
void row_print(int row, const struct loaded *l, char out[WHATIF_VALUE]);

enum { LADDER = 40 };

struct ladder {
	char text[LADDER][WHATIF_VALUE]; /* "": what it was */
	int64_t number[LADDER];          /* of numbers: ascending */
	int count;
};

/* base: the step without changes. */
void ladder_make(struct ladder *l, int row, const struct loaded *base);
/* The place of the value now: of numbers, the last that is not above it; -1: it is none of them. */
int ladder_place(const struct ladder *l, int row, const struct loaded *base, const struct loaded *now);
/* The place of the next value up (by 1) or down (-1); outside: there is none. */
int ladder_next(const struct ladder *l, int row, const struct loaded *base, const struct loaded *now, int by);

#endif
