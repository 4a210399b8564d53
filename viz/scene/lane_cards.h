/* Words of the cards below the timeline, which --describe prints too. */
#ifndef SHARDLAB_VIZ_LANE_CARDS_H
#define SHARDLAB_VIZ_LANE_CARDS_H

#include "viz/scene/scene.h"
#include "viz/timeline/exposed.h"
#include "viz/timeline/measure.h"
#include "viz/timeline/notable.h"
#include "viz/timeline/speed.h"

enum { SPEED_WORDS = 200 };

/* "12.40 GB/s" in a buffer of the caller, which it returns. */
const char *rate_word(char *out, double bytes_per_second);
/* The bus bandwidth as a share of the link's; 0: not known. */
double speed_share(const struct speed *s);
/* "4.8 MB (7.2 MB on the wire) in 1.1 ms: 4.3 GB/s, on the bus 6.5 GB/s, 65 % of the link's 10.0 GB/s". A network of
 * several NICs has "8 × 25.0 GB/s". "" where nothing is moved. */
const char *speed_words(char *out, const struct speed *s);
/* The same in brief: "bus 6.5 GB/s, 65 % of its link's". */
const char *speed_words_brief(char *out, const struct speed *s);

/* "rank 0: compute 3.1 ms (62.0 %), …" of the rank or process whose first lane that is: the figures of the card. */
void measured_words(const struct lanes *l, int lane, const struct measured *m, char *out, size_t size);
/* "1.1 ms (12.3 % of the step) on rank 0: the all-reduce of bucket.1, …" */
void exposed_words(const struct lanes *l, const struct exposed *e, char *out, size_t size);
/* "the peak of memory, 12.3 GB on rank 0, for the backward pass of block.5.head" */
void notable_words(const struct timeline *s, const struct notable *n, char *out, size_t size);
/* The words that tell an operation from others of the same name: "backward, at 3.1 ms", "forward of micro-batch 2,
 * at 1.2 ms". */
void exposed_when(const struct lanes *l, const struct exposed *e, char *out, size_t size);
/* The operation alone: "the all-reduce of bucket.1", or another program's name. */
void exposed_name(const struct lanes *l, const struct exposed *e, char *out, size_t size);

#endif
