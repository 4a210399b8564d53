/* Work in pieces that do not need each other, done on several cores.
 *
 *     static enum status check(void *context, int i) …          of role i
 *
 *     enum status s = work_run(check, &plan, plan.role_count, operations);
 *
 * The outcome does not depend on the number of threads: pieces begin in order, and if some fail, it is the lowest of
 * them whose status comes back, and whose message is the caller's. A piece writes nothing that another one reads, so
 * no two share an arena.
 */
#ifndef SHARDLAB_WORK_H
#define SHARDLAB_WORK_H

#include <stdint.h>

#include "strategy/base/status.h"

/* Calls piece(context, i) for i from 0 to count - 1, up to the first that fails. What a piece asks for by work_run
 * itself, its own thread does.
 *
 * size: roughly how many operations of a plan the pieces go through together. Below WORK_LEAST the caller's thread does
 * all: others would take longer to start. */
#define WORK_LEAST 30000
enum status work_run(enum status (*piece)(void *context, int i), void *context, int count, int64_t size);

/* Sets the number of threads, the caller's among them. 0, which is the default, means one for each core that the
 * process may use. There are never more than 4, since each holds what its piece needs. A rank of a run takes the number
 * that it computes with. */
void work_set_threads(int threads);

#endif
