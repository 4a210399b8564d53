/* Trace files. Those that `sim`, `train` and `validate` wrote hold their plan and are checked against it: every span is
 * an operation of a rank, every message one of a collective. A Chrome trace of another program (PyTorch's profiler, a
 * browser) is read for what it is: processes with lanes (threads, streams of a GPU) of named spans, from X and from B/E
 * events, the flows between spans, and counters. Processes and their lanes stand in the order of their sort index, then
 * of their names.
 *
 *     struct trace_file f;
 *     enum status s = trace_file_open(&f, "run.json");       // plain or gzip
 *     if (!s && !f.foreign) … f.trace, f.plan …
 *     trace_file_release(&f);
 *
 * A fault in a file is one line: name:line:column where it is not JSON, else what does not agree.
 */
#ifndef SHARDLAB_TRACE_FILE_H
#define SHARDLAB_TRACE_FILE_H

#include "strategy/trace/trace.h"

struct foreign_process {
	const char *name; /* "python (GPU 0)", or its number */
	int64_t sort;
};

struct foreign_lane {
	const char *process, *thread; /* names, or their numbers */
	int number;                   /* of its process */
	int64_t sort;
};

struct foreign_span {
	int lane;
	int64_t begin, end; /* ns since the first began */
	const char *name, *category;
	const char *args; /* "stream 20, 4194304 B"; NULL: none that is worth showing */
	const char
	        *collective; /* its argument "Collective name": "all_to_allv", "_allgather_base"; NULL: it has none */
	int64_t bytes;       /* bytes that a collective or a copy moves, as nccl-tests count them; 0: it does not say */
	int64_t ranks;       /* of its group; 0: it does not say */
};

/* A link from one span to another: a launch and its kernel. */
struct foreign_flow {
	size_t from, to; /* spans */
};

struct foreign_counter {
	int process;
	const char *name;
	bool bytes; /* its values are; otherwise it does not say */
	bool sums;  /* the file has changes, which are added up here */
	struct counter_point {
		int64_t time;  /* ns, ascending */
		double value;  /* from then on */
		int64_t order; /* in the file */
		int lane;      /* of the thread that noted it; -1: it does not say */
	} * points;
	size_t point_count, capacity;
	double least, most;
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
	struct foreign_process *processes;
	int process_count;
	struct foreign_flow *flows; /* in the order of the file */
	size_t flow_count;
	struct foreign_counter *counters; /* by process, then name */
	int counter_count;
	int64_t rank, ranks; /* of PyTorch's "distributedInfo": whose file it is, of how many; -1: it does not say */
	struct arena arena;
};

/* Largest that is read, unpacked. */
#define TRACE_FILE_LIMIT (INT64_C(1) << 30)
/* The most ranks of a trace: a picture can show no more. */
#define TRACE_RANKS_LIMIT 65536

/* The file must not change meanwhile. On failure nothing needs to be released. */
enum status trace_file_open(struct trace_file *f, const char *path);
/* what: the path was given to, "{trace}" unless it is another. */
enum status trace_file_open_as(struct trace_file *f, const char *path, const char *what);
/* Reads it from memory; `name` is for messages. */
enum status trace_file_read(struct trace_file *f, const char *text, size_t size, const char *name);
void trace_file_release(struct trace_file *f); /* accepts NULL and a zeroed struct */

#endif
