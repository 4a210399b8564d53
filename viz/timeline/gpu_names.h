/* What a span of another program's trace does on a GPU, by its name: the rows of gpu_names.def. */
#ifndef SHARDLAB_VIZ_GPU_NAMES_H
#define SHARDLAB_VIZ_GPU_NAMES_H

#include "strategy/trace/trace_file.h"

enum gpu_kind {
	GPU_NONE,          /* not on a GPU; or a range that only names what runs in it */
	GPU_COMPUTE,       /* keeps the GPU computing */
	GPU_COMMUNICATION, /* moves data between GPUs, or between host and GPU */
};

/* By its name alone. category: of the span, thread: the name of its lane; either may be empty. what: "collective",
 * "matrix product". */
enum gpu_kind gpu_kind_of(const char *category, const char *thread, const char *name, const char **what);

/* Of a span of a file. One that has the argument "Collective name" is that collective, whatever its kernel's name: an
 * all-to-all runs as ncclDevKernel_SendRecv. */
enum gpu_kind gpu_kind_of_span(const struct trace_file *f, const struct foreign_span *s, const char **what);

#endif
