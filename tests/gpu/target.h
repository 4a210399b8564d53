/* The kernels of tests/cuda/test_cuda_*.c* run on the host, for which they are compiled (target_emulated.c, in `make
 * check`), or on a GPU (target_gpu.c, in `make check-gpu`). A test is compiled once and linked with either.
 *
 *     struct kernel_context *c = target_open(3, 1 << 20);
 *     float *x = target_memory(n * sizeof *x);           both the test and the kernels read and write it
 *     int error = target_kernels()->vector_add(c, NULL, ELEMENT_FP32, n, x, x);
 *     ck_assert_int_eq(target_wait(c, error), 0);         from here on x holds the sums
 *     target_close(c);
 *     target_release(x);
 *
 * All that kernels read or write, scalars as well as vectors, must be target_memory(): a GPU gets copies of it, between
 * guards (operands.h).
 */
#ifndef SHARDLAB_TESTS_TARGET_H
#define SHARDLAB_TESTS_TARGET_H

#include "kernels/cuda/context.h"

#ifdef __cplusplus
extern "C" {
#endif

const struct cuda_api *target_api(void);         /* with the kernels that are shipped */
const struct kernel_table *target_kernels(void); /* these alone */

/* The workspace holds rubbish. A GPU has the number of multiprocessors that it has, and is opened once for each size of
 * a workspace: two of one size are the same. Does not return in failure. */
struct kernel_context *target_open(int multiprocessors, size_t workspace_bytes);
void target_close(struct kernel_context *c); /* accepts NULL */
bool target_is_gpu(void);
/* Whether there is a cuDNN; on the host, one that carries out graphs as they stand (tests/emulate/cudnn.c). */
bool target_cudnn(void);
/* Until all that was put on the device is done: `error` if that is one, or what the device says. */
int target_wait(struct kernel_context *c, int error);

/* Blocks and threads from the last to the first; on a GPU, which has an order of its own, nothing. */
void target_order(bool descending);
/* Matrix products by cuBLASLt that has these epilogues, 1 << enum product_epilogue, and with the highest bit sums over
 * k in parts, as split-K has them; 0: without cuBLASLt. False: it is not for the caller to choose, and it is there. */
bool target_products(struct kernel_context *c, unsigned epilogues);

/* Poisoned neither before nor after; never NULL. */
void *target_memory(size_t bytes);
void target_release(void *memory); /* accepts NULL */

/* The last line of main: the exit status. 77 and a line with the reason where there is no GPU to run on. */
int target_run(const char *name, double seconds);

#ifdef __cplusplus
}
#endif
#endif
