/* The caching allocator of PyTorch (c10/cuda/CUDACachingAllocator.cpp), as its defaults have it: what it takes from the
 * device for a role's buffers, which is more than they hold. */
#ifndef SHARDLAB_CACHING_H
#define SHARDLAB_CACHING_H

#include <stdint.h>

#include "strategy/plan/types.h"

/* The most bytes of segments on the device, over the prologue and two steps. What is free in the cache is given back
 * before more than `capacity` are taken, as far as whole segments are free; 0: no limit. */
int64_t caching_reserved(const struct role *r, int64_t capacity);

#endif
