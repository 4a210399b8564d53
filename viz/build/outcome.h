/* The outcome of a step that somebody has built, beside the strategy's own.
 *
 *     struct outcome own, mine;
 *     outcome_make(&own, &plan, &report);          // reports of the same cluster and grain
 *     outcome_make(&mine, &built, &other_report);
 *     outcome_words(&own, &mine, text, sizeof text);
 */
#ifndef SHARDLAB_VIZ_OUTCOME_H
#define SHARDLAB_VIZ_OUTCOME_H

#include "viz/timeline/timeline.h"

/* field, what it is, whether it is bytes (else ns). Of the busiest rank, and the slowest. */
#define OUTCOME_LIST(X)                                                                                                \
	X(peak_bytes, "peak memory", true)                                                                             \
	X(step_ns, "a step", false)                                                                                    \
	X(exposed_ns, "exposed communication", false)                                                                  \
	X(sent_bytes, "sent by a rank", true)

struct outcome {
#define X(field, name, bytes) int64_t field;
	OUTCOME_LIST(X)
#undef X
	int64_t at_peak[HELD_COUNT]; /* the parts of the peak */
};

void outcome_make(struct outcome *o, const struct plan *p, const struct report *r);
/* Says in a sentence or two what is better or worse in `mine`, and why. */
void outcome_words(const struct outcome *own, const struct outcome *mine, char *out, size_t size);

enum {
	OUTCOME_ROWS = 0
#define X(field, name, bytes) +1
	OUTCOME_LIST(X)
#undef X
};
const char *outcome_name(int row);
int64_t outcome_value(const struct outcome *o, int row);
bool outcome_is_bytes(int row);

#endif
