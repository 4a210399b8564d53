/* Kernels on the host: how tests reach them. */
#ifndef SHARDLAB_CUDA_EMULATE_H
#define SHARDLAB_CUDA_EMULATE_H

#include <stdbool.h>
#include <stddef.h>

#include "kernels/cuda/cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The tables of kernels, shipped and plain; what needs a device or a library of CUDA is NULL. Streams are ignored:
 * what is called is done on return. */
const struct cuda_api *emulated_api(void);
const struct cuda_api *emulated_plain_api(void);

/* A device with so many multiprocessors and so much workspace, which is filled with NaNs. */
struct cuda *emulated_open(int multiprocessors, size_t workspace_bytes);
void emulated_close(struct cuda *c);

/* Blocks, and the threads between two barriers, run in ascending order, or in descending: what a missing barrier lets
 * pass in one shows in the other. */
void emulated_order(bool descending);

/* Whether a race ends the program, with a message that says which two accesses nothing orders (emulate_races.cpp). It
 * is so from the start where kernels tell of their accesses: in all builds but those with sanitizers. */
void emulated_races(bool stopped);
bool emulated_tells(void);

#ifdef __cplusplus
}
#endif
#endif
