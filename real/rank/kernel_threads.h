/* The threads of kernels: how many, and that they have what they need before the first of them runs. */
#ifndef SHARDLAB_KERNEL_THREADS_H
#define SHARDLAB_KERNEL_THREADS_H

#include "strategy/base/status.h"

/* STATUS_INPUT: their stacks are too small. STATUS_RUN: no memory for the library's buffers. */
enum status kernel_threads_start(int threads);

#endif
