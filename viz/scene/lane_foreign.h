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
/* The caption of the selected span and more: where it ran, how fast, what launched it, what preceded it. */
void foreign_card_draw(struct canvas *c, const struct lanes *l, int64_t lane, int64_t span, struct box b);
/* A frame around the selected span, lines from and to those that it has flows with, and the legend. */
void foreign_draw_selected(struct canvas *c, const struct view *v, const struct lane_area *l);

/* ---- words (foreign_words.c) ---- */

/* Writes a value to the caller's buffer and returns it: "12.5", "1,048,576", or for bytes "1.049 MB". */
enum { COUNTER_WORD = 40 };
const char *counter_word(char *out, const struct foreign_counter *counter, double value);
/* Writes a span's name for a reader to the caller's buffer and returns it. "void", a function's arguments and empty
 * namespaces are left out; a collective's own name comes first, "all_to_allv (ncclDevKernel_SendRecv)". */
enum { FOREIGN_NAME = 160, FOREIGN_TITLE = 200 };
const char *foreign_name(char *out, const struct foreign_span *s);
/* The name, and what it is: "ampere_sgemm_128x64_tn (matrix product)". */
const char *foreign_title(char *out, const struct trace_file *f, const struct foreign_span *s);
/* "exposed for 3 ms", "hidden behind computing"; "": it is no communication of a GPU. */
void exposed_phrase(const struct lanes *l, const struct lane *lane, const struct lane_span *s, char *out, size_t size);
/* Name, time, exposed time, bandwidth, arguments and flows of a span of a lane. */
void foreign_span_words(const struct lanes *l, int64_t lane, int64_t span, char *out, size_t size);
/* Says where a counter peaks, and which span began last before it or which call allocated: "at most 160 at 100.0 us, as
 * this begins: ampere_sgemm", "at most 1.2 GB at 3.1 ms, in aten::linear". */
int64_t counter_peak(const struct foreign_counter *counter); /* ns */
void counter_peak_cause(const struct lanes *l, const struct foreign_counter *counter, char *out, size_t size);
void counter_peak_words(const struct lanes *l, const struct foreign_counter *counter, char *out, size_t size);
/* The selected span, or what the GPUs did. */
void foreign_caption(const struct lanes *l, int64_t lane, int64_t span, char *out, size_t size);
/* Finds the span at a time and depth of a lane. */
void foreign_hit(const struct lane_area *l, int lane, int depth, struct hit *h);
/* The figures of the whole trace, a line each. */
void foreign_describe(const struct lanes *l, FILE *out);

#endif
