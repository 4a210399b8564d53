/* Kernels on the host: how tests reach them. */
#ifndef SHARDLAB_CUDA_EMULATE_H
#define SHARDLAB_CUDA_EMULATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/cuda/cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The table with the kernels that are shipped; what needs a device or a library of CUDA is NULL. Streams are ignored:
 * what is called is done on return. */
const struct cuda_api *emulated_api(void);

/* A device with so many multiprocessors and so much workspace, which is filled with NaNs. */
struct kernel_context *emulated_open(int multiprocessors, size_t workspace_bytes);
void emulated_close(struct kernel_context *c);

/* The milliseconds that the next pieces of work that are timed take, in their order. Without any nothing is timed. */
void emulated_times(const float *milliseconds, int count);

/* Blocks, and the threads between two barriers, run in ascending order, or in descending: what a missing barrier lets
 * pass in one shows in the other. */
void emulated_order(bool descending);

/* Whether a race ends the program, with a message that says which two accesses nothing orders (races.cpp). It
 * is so from the start where kernels tell of their accesses: in all builds but those with sanitizers. */
void emulated_races(bool stopped);
bool emulated_tells(void);

/* The memory requests of a kernel. A request is what 32 lanes of a warp do with one instruction. Global memory is moved
 * in sectors of 32 bytes; the least are those that hold as many bytes as were asked for, each once a request. Shared
 * memory gives 32 banks of 4 bytes at a time, a wavefront, to the warp, or to halves or quarters of it that ask for 8
 * or 16 bytes each; the least is one for each of these. */
struct emulated_accesses {
	char kernel[256];
	int64_t launches, read_bytes, written_bytes; /* of global memory, and as asked for */
	int64_t sectors, least_sectors;
	int64_t wavefronts, least_wavefronts;
};
/* From begin to end it is accesses that are counted, and races go unseen. The kernels in the order in which they first
 * ran, which belong to the emulator until the next begin; how many. Nothing is counted where kernels do not tell. */
void emulated_accesses_begin(void);
int emulated_accesses_end(const struct emulated_accesses **kernels);

#ifdef __cplusplus
}
#endif
#endif
