/* For the files of traces: values in a file, {"version":1,"chunks":[[rank,op,chunk,before,after],…]}. */
#ifndef SHARDLAB_TRACE_VALUES_H
#define SHARDLAB_TRACE_VALUES_H

#include "strategy/base/json_stream.h"
#include "strategy/trace/trace.h"

void trace_values_write(const struct trace *t, FILE *out);

/* The values as a file has them. */
struct raw_values {
	bool found;
	int64_t version;
	struct raw_value {
		int64_t rank, op, chunk;
		double before, after;
	} * list;
	size_t count, capacity;
};

bool raw_values_read(struct raw_values *r, struct json_stream *j);
void raw_values_release(struct raw_values *r);
/* Into a trace, whose plan is known. name: of the file. */
enum status trace_values_take(struct trace *t, const struct raw_values *r, const char *name);

#endif
