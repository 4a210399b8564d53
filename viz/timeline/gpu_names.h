/* Recognises by its name what a span of another program's trace does on a GPU: the rows of gpu_names.def. */
#ifndef SHARDLAB_VIZ_GPU_NAMES_H
#define SHARDLAB_VIZ_GPU_NAMES_H

#include "strategy/trace/trace_file.h"

enum gpu_kind {
	GPU_NONE,          /* not on a GPU; or a range that only names what runs in it */
	GPU_COMPUTE,       /* keeps the GPU computing */
	GPU_COMMUNICATION, /* moves data between GPUs, or between host and GPU */
};

/* Recognises a span by its name. category is the span's and thread the name of its lane; either may be empty. what:
 * "collective", "matrix product". */
enum gpu_kind gpu_kind_of(const char *category, const char *thread, const char *name, const char **what);

/* Recognises a span of a file. With the argument "Collective name" it is that collective, whatever its kernel is
 * called: an all-to-all runs as ncclDevKernel_SendRecv. */
enum gpu_kind gpu_kind_of_span(const struct trace_file *f, const struct foreign_span *s, const char **what);

#endif
