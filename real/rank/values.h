/* The first element of every chunk of a rank's collectives, before and after: what the window shows of a real run. It
 * costs a few reads for each collective.
 *
 *     values_open(&log, memory);                   // once; nothing is allocated later
 *     values_note(log, op, &collective, false);    // before it
 *     values_note(log, op, &collective, true);     // and after it
 */
#ifndef SHARDLAB_RANK_VALUES_H
#define SHARDLAB_RANK_VALUES_H

#include "real/communicator/communicator.h"
#include "real/rank/memory.h"
#include "strategy/trace/trace.h"

struct value_log;

enum status values_open(struct value_log **out, const struct rank_memory *memory);
void values_close(struct value_log *v); /* accepts NULL */

/* op: of the rank's role; one of another section than the step is left out. */
void values_note(struct value_log *v, int op, const struct collective *c, bool after);
/* The same of a send or receive of elements that stand at `at`, and of control values. */
void values_note_message(struct value_log *v, int op, const void *at, bool after);
void values_note_sum(struct value_log *v, int op, const float *x, bool after);

/* The values of the last step, in the order of operations and chunks. */
const struct trace_value *values_all(const struct value_log *v, size_t *count);

#endif
