/* Recognises by its name what a span of another program's trace does on a GPU: the rows of gpu_names.def. */
#ifndef SHARDLAB_GPU_NAMES_H
#define SHARDLAB_GPU_NAMES_H

#include "strategy/trace/trace_file.h"

enum gpu_kind {
	GPU_NONE,          /* not on a GPU; or a range that only names what runs in it */
	GPU_COMPUTE,       /* keeps the GPU computing */
	GPU_COMMUNICATION, /* moves data between GPUs, or between host and GPU */
};

/* The kinds of collectives and messages. */
enum gpu_collective {
	GPU_ALL_REDUCE,
	GPU_REDUCE_SCATTER,
	GPU_ALL_GATHER,
	GPU_ALL_TO_ALL,
	GPU_GATHER,
	GPU_SCATTER,
	GPU_BROADCAST,
	GPU_REDUCE,
	GPU_MESSAGE,
	GPU_COLLECTIVES /* the name does not say */
};

/* True if a pattern, in which `*` stands for any characters, is the whole of a text; case is of no matter. */
bool name_fits(const char *pattern, const char *text);

/* Recognises a span by its name. category is the span's and thread the name of its lane; either may be empty. what:
 * "collective", "matrix product". */
enum gpu_kind gpu_kind_of(const char *category, const char *thread, const char *name, const char **what);

/* Recognises a span of a file. With the argument "Collective name" it is that collective, whatever its kernel is
 * called: an all-to-all runs as ncclDevKernel_SendRecv. */
enum gpu_kind gpu_kind_of_span(const struct trace_file *f, const struct foreign_span *s, const char **what);

/* PyTorch has a collective's name in an argument, "all_to_allv", "_allgather_base" (ProcessGroupNCCL.cpp). Without it
 * the name of the kernel or its range tells, "ncclDevKernel_AllReduce_…", "nccl:all_reduce". ncclDevKernel_SendRecv, of
 * which NCCL makes several collectives, counts as a message. */
enum gpu_collective gpu_collective_of(const char *name);
/* The range that a host draws around a collective: "gloo:all_reduce" (ProcessGroupGloo.cpp). */
bool host_communicates(const char *category, const char *name);

#endif
