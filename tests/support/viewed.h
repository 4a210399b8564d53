/* For tests of the window: a strategy simulated and opened for playback, in one call. */
#ifndef SHARDLAB_TESTS_VIEWED_H
#define SHARDLAB_TESTS_VIEWED_H

#include "tests/support/plans.h"
#include "viz/export/export.h"
#include "viz/export/playback.h"

struct viewed {
	struct made made;
	struct trace trace;
	struct trace_view shown;
	struct limits limits;
	/* as the simulator reports them: of the busiest rank, of the fullest, of all */
	int64_t sent_bytes, peak_bytes, step_ns;
};

/* The words are those of made_open_words. Simulated on the cluster `laptop`, message by message. Aborts the test when
 * something fails. */
void viewed_open(struct viewed *v, const char *words, ...) __attribute__((format(printf, 2, 3)));
void viewed_release(struct viewed *v);
/* The same, but it stays until the program ends. */
struct viewed *viewed_plan(const char *words);

/* The output of export_write, as a file would hold it, with a zero behind; to be freed. */
char *viewed_export(struct playback *p, enum export_format format, const struct picture *size, bool all,
                    size_t *length);

/* A context to draw on; cairo_destroy releases it. */
cairo_t *sheet_open(int width, int height);
uint32_t sheet_pixel(cairo_t *cr, int x, int y);

#endif
