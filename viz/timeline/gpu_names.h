/* What a span of another program's trace does on a GPU, by its name: the rows of gpu_names.def. */
#ifndef SHARDLAB_VIZ_GPU_NAMES_H
#define SHARDLAB_VIZ_GPU_NAMES_H

#include <stdbool.h>

enum gpu_kind {
	GPU_NONE,          /* not on a GPU; or a range that only names what runs in it */
	GPU_COMPUTE,       /* keeps the GPU computing */
	GPU_COMMUNICATION, /* moves data between GPUs, or between host and GPU */
};

/* category: of the span, thread: the name of its lane; either may be empty. what: "collective", "matrix product". */
enum gpu_kind gpu_kind_of(const char *category, const char *thread, const char *name, const char **what);

#endif
