/* Operands of kernels, in a device's own memory. Tests have them on the host, where they read and write them as they
 * like; a kernel that is called through the table of operands_api() gets a copy of each on the device, between guards.
 *
 *     const struct cuda_api *api = operands_api(cuda);
 *     struct kernel_context *c = …;
 *     operands_guard(c);                                      its workspace has guards too
 *     float *x = operands_memory(n * sizeof *x);
 *     int error = api->kernels.vector_add(c, NULL, ELEMENT_FP32, n, x, x);   x holds the sums
 *
 * A call copies what it is given to the device, waits for the kernel, and copies what it may write back. These end the
 * test with a line that names kernel and operand: a byte that changed before an operand, behind it or around the
 * workspace; a change of an operand that is only read (kernels/table.def); a pointer to any other memory. Guards are
 * NaNs in every type, so that what a kernel reads there shows in its results.
 */
#ifndef SHARDLAB_TESTS_OPERANDS_H
#define SHARDLAB_TESTS_OPERANDS_H

#include "kernels/cuda/context.h"

enum { OPERANDS_GUARD = 1024 /* bytes, a multiple of 256, at each end */ };

/* The same table, but for its kernels, copies and fills. */
const struct cuda_api *operands_api(const struct cuda_api *device);
void operands_end(void); /* before the contexts are closed */

/* At multiples of 256, never NULL. */
void *operands_memory(size_t bytes);
void operands_release(void *memory); /* accepts NULL */

/* The bytes to open a context with, so that operands_guard() leaves it so many. */
static inline size_t operands_workspace(size_t bytes)
{
	return bytes + (size_t)2 * OPERANDS_GUARD;
}
void operands_guard(struct kernel_context *c);
void operands_unguard(struct kernel_context *c); /* before it is closed; accepts NULL */

/* Called with the line, in place of an end of the test. NULL: the test ends again. */
void operands_tell(void (*tell)(const char *what));

#endif
