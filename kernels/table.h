/* A device's kernels as one table of functions, whatever the device. Executors call kernels through it alone:
 * kernels/cpu/table.c fills it for the CPU, kernels/cuda/ for a GPU.
 *
 *     const struct kernel_table *kernels = &cpu_kernels;
 *     int error = kernels->norm_forward(context, stream, ELEMENT_BF16, rows, width, x, weight, bias, y, statistics);
 *
 * A function returns 0, or an error that the device puts into words. It puts work on a stream and may return before the
 * work is done; until then the memory that it was given must not change. Kernels are deterministic and allocate
 * nothing. The CPU has no streams and no context, which are NULL for it, and its calls are done on return.
 *
 * table.def lists the kernels.
 */
#ifndef SHARDLAB_KERNEL_TABLE_H
#define SHARDLAB_KERNEL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/kernels.h"
#include "kernels/loss_scale.h"
#include "kernels/update.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An opened device as the kernels need it; the device's own files define it. */
struct kernel_context;
/* A queue of the device's work; the device knows what it is. */
typedef struct kernel_queue *kernel_stream;

struct kernel_table {
	/* Bytes between any two places that the device reaches, and into one. */
	int (*copy)(struct kernel_context *c, kernel_stream s, void *to, const void *from, size_t bytes);
	int (*fill)(struct kernel_context *c, kernel_stream s, void *to, int byte, size_t bytes);
#define KERNEL(name, place)                                                                                            \
	int (*name)(struct kernel_context * c, kernel_stream s PARAMETERS_##name(KERNEL_VALUE, KERNEL_SHAPE));
#include "kernels/table.def"
};

/* The CPU's, over the functions of kernels.h. */
extern const struct kernel_table cpu_kernels;

#ifdef __cplusplus
}
#endif
#endif
