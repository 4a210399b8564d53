/* Another program's trace in the timeline: headings of processes, counters, the selected span with its flows, and all
 * that is said of them in words.
 */
#ifndef SHARDLAB_VIZ_LANE_FOREIGN_H
#define SHARDLAB_VIZ_LANE_FOREIGN_H

#include <stdio.h>

#include "viz/scene/lane_area.h"

/* ---- pictures (lane_foreign.c) ---- */

colour foreign_colour(const struct lane_span *s);
/* A lane that has no spans, in its row at y. */
void foreign_lane_draw(struct canvas *c, const struct lane_area *l, const struct lane *lane, double y);
/* A frame around the selected span, lines from and to those that it has flows with, and the legend. */
void foreign_draw_selected(struct canvas *c, const struct view *v, const struct lane_area *l);

/* ---- words (foreign_words.c) ---- */

/* "12.5", "1,048,576", of bytes "1.049 MB", in a buffer of the caller, which it returns. */
enum { COUNTER_WORD = 40 };
const char *counter_word(char *out, const struct foreign_counter *counter, double value);
/* "python (GPU 0): compute 3 ms (60.0 %), communication …, exposed …, idle …" */
void gpu_words(const struct lanes *l, const struct gpu_process *g, char *out, size_t size);
/* Name, time, arguments, exposed time and flows of a span of a lane. */
void foreign_span_words(const struct lanes *l, int64_t lane, int64_t span, char *out, size_t size);
/* Where a counter is at its most, and what began last before, or in which call the program was that allocated:
 * "at most 160 at 100.0 us, as this begins: ampere_sgemm", "at most 1.2 GB at 3.1 ms, in aten::linear". */
int64_t counter_peak(const struct foreign_counter *counter); /* ns */
void counter_peak_words(const struct lanes *l, const struct foreign_counter *counter, char *out, size_t size);
/* The selected span, or what the GPUs did. */
void foreign_caption(const struct lanes *l, int64_t lane, int64_t span, char *out, size_t size);
/* What lies at a time and depth of a lane. */
void foreign_hit(const struct lane_area *l, int lane, int depth, struct hit *h);
/* The figures of the whole trace, a line each. */
void foreign_describe(const struct lanes *l, FILE *out);

#endif
