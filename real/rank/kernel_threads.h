/* The threads of kernels, which get their memory before the first kernel runs. */
#ifndef SHARDLAB_KERNEL_THREADS_H
#define SHARDLAB_KERNEL_THREADS_H

#include "strategy/base/status.h"

/* STATUS_INPUT: their stacks are too small. STATUS_RUN: no memory for the library's buffers. */
enum status kernel_threads_start(int threads);

#endif
