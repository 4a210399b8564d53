/* How the GPUs of another program's trace spend their time: a span on a stream computes or communicates, as its name
 * says (gpu_names.def). Communication is *exposed* while no kernel computes on the same process, which is a GPU. Over
 * the recorded time, compute + exposed + idle are the whole of it.
 */
#ifndef SHARDLAB_VIZ_GPU_USE_H
#define SHARDLAB_VIZ_GPU_USE_H

#include "strategy/trace/gpu_names.h"
#include "strategy/trace/trace_file.h"

enum gpu_state { GPU_IDLE, GPU_COMPUTES, GPU_EXPOSED, GPU_BOTH, GPU_STATES };

struct gpu_process {
	int process;                                   /* of the file */
	int64_t compute, communication, exposed, idle; /* ns; communication: with and without computing */
	/* From the first operation of all GPUs to the last, without gaps: */
	struct gpu_stretch {
		int64_t begin, end;
		enum gpu_state state;
		int64_t before[GPU_STATES]; /* ns of each state before it */
	} * stretches;
	size_t stretch_count, capacity;
};

/* A collective or a copy, and how long nothing computes beside it. */
struct exposed_span {
	size_t span; /* of the file */
	int64_t exposed;
};

struct gpu_use {
	struct gpu_process *gpus; /* by process */
	int count;
	size_t capacity;
	int64_t begin, end;           /* of the first and the last operation on any GPU */
	struct exposed_span *exposed; /* the longest first; nothing of those that are hidden */
	size_t exposed_count, exposed_capacity;
};

void gpu_use_make(struct gpu_use *u, const struct trace_file *f);
void gpu_use_release(struct gpu_use *u);

/* NULL: it has no GPU. */
const struct gpu_process *gpu_of_process(const struct gpu_use *u, int process);
/* How much of a stretch of time is exposed communication; and the state at a time, as the number of its stretch. */
int64_t gpu_exposed(const struct gpu_process *g, int64_t begin, int64_t end);
int64_t gpu_time_in(const struct gpu_process *g, enum gpu_state state, int64_t begin, int64_t end);
size_t gpu_stretch_at(const struct gpu_process *g, int64_t time);

#endif
