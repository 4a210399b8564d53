/* How long work takes on a stream: what is chosen by a measurement on the card is measured so. */
#ifndef SHARDLAB_CUDA_STOPWATCH_H
#define SHARDLAB_CUDA_STOPWATCH_H

#include "kernels/table.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Not while the stream is captured: nothing runs then. */
bool stopwatch_may(kernel_stream s);
/* Milliseconds of the fastest of three runs, after one that loads the code; negative: it does not run. `run` puts the
 * work on the stream and returns 0 or an error. */
float stopwatch_run(kernel_stream s, int (*run)(void *context), void *context);

/* Where a result may go that is added to another in earnest: timed work may not add it again and again. NULL: there is
 * no such memory. */
void *stopwatch_memory(size_t bytes);
void stopwatch_memory_release(void *memory); /* accepts NULL */

#ifdef __cplusplus
}
#endif
#endif
