/* Trace files. Those that `sim`, `train` and `validate` wrote hold their plan and are checked against it: every span is
 * an operation of a rank, every message one of a collective. A Chrome trace of another program (PyTorch's profiler, a
 * browser) is read for what it is: lanes (process and thread) with named spans, from X and from B/E events.
 *
 *     struct trace_file f;
 *     enum status s = trace_file_open(&f, "run.json");       // plain or gzip
 *     if (!s && !f.foreign) … f.trace, f.plan …
 *     trace_file_release(&f);
 *
 * What is wrong with a file is one line: name:line:column where it is not JSON, else what does not agree.
 */
#ifndef SHARDLAB_TRACE_FILE_H
#define SHARDLAB_TRACE_FILE_H

#include "strategy/trace/trace.h"

struct foreign_lane {
	const char *process, *thread; /* names, or their numbers */
};

struct foreign_span {
	int lane;
	int64_t begin, end; /* ns since the first began */
	const char *name;
};

struct trace_file {
	bool foreign;
	/* ours */
	struct model model;
	struct plan plan;
	struct trace trace;
	/* another program's */
	struct foreign_lane *lanes;
	int lane_count;
	struct foreign_span *spans; /* by lane, then begin, longer ones first */
	size_t span_count;
	struct arena arena;
};

/* Largest that is read, unpacked. */
#define TRACE_FILE_LIMIT (INT64_C(1) << 30)
/* The most ranks of a trace: a picture can show no more. */
#define TRACE_RANKS_LIMIT 65536

/* The file must not change meanwhile. On failure nothing needs to be released. */
enum status trace_file_open(struct trace_file *f, const char *path);
/* The same from memory; `name` is for messages. */
enum status trace_file_read(struct trace_file *f, const char *text, size_t size, const char *name);
void trace_file_release(struct trace_file *f); /* accepts NULL and a zeroed struct */

#endif
