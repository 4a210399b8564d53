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

#ifdef __cplusplus
}
#endif
#endif
