/* Two traces side by side: the same scene of both at corresponding places of their steps, on the same scales, and above
 * them how much memory, traffic and time each has needed so far. A view that has a `second` is drawn so.
 */
#ifndef SHARDLAB_VIZ_PAIR_H
#define SHARDLAB_VIZ_PAIR_H

#include "viz/scene/scene.h"

/* The figures of one trace at a place of its step: memory of the fullest rank's device, bytes sent by the busiest rank
 * without control, time. The last of each group are those of the whole step, as `sim` reports them. */
#define FIGURE_LIST(X)                                                                                                 \
	X(NOW, "memory now", "memory", BYTES)                                                                          \
	X(PEAK, "peak so far", "peak", BYTES)                                                                          \
	X(HIGHEST, "peak of the step", "step's peak", BYTES)                                                           \
	X(SENT, "sent so far", "sent", BYTES)                                                                          \
	X(TO_SEND, "sent in the step", "step sends", BYTES)                                                            \
	X(TIME, "time so far", "time", TIME)                                                                           \
	X(STEP, "time of the step", "step takes", TIME)

enum figure {
#define X(constant, name, brief, unit) FIGURE_##constant,
	FIGURE_LIST(X)
#undef X
	        FIGURE_COUNT
};

struct figures {
	int64_t of[FIGURE_COUNT];
};

void figures_make(const struct state *st, struct figures *out);
const char *figure_name(enum figure f);
const char *figure_brief(enum figure f); /* where there is little room */
/* "4.2 MB", "1.5 ms" in a buffer of the caller, which it returns. */
const char *figure_word(char *out, enum figure f, int64_t value);
/* "−1.2 MB (−29 %)": the second less the first. */
enum { DIFFERENCE = 80 };
const char *figure_difference(char *out, enum figure f, int64_t first, int64_t second);

/* The two halves: side by side, or one above the other where that leaves more room. */
struct pair {
	struct box strip;
	struct pair_part {
		struct view view;
		struct box name, box;
	} part[2];
};

/* The two views from left to right. */
void pair_order(const struct view *v, const struct view *out[2]);
void pair_lay(struct pair *out, const struct view *v, struct box b);
void draw_pair(struct canvas *c, const struct view *v, struct box b);
/* The view at a point of a picture, and its box: of a pair, that of the one there, which `store` keeps; otherwise v, b
 * unchanged. NULL: neither of the two is there. */
const struct view *pair_at(struct pair *store, const struct view *v, struct box *b, double x, double y);

/* The parts of a heading, which " · " and ", " separate, that another heading lacks: "zero3 on 4 ranks". common: the
 * parts that both have: "gpt · batch 16". */
void pair_name(const char *heading, const char *other, const char *label, char *out, size_t size);
void pair_common(const char *heading, const char *other, char *out, size_t size);

#endif
