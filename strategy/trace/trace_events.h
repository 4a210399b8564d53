/* For trace_file.c: the events of a Chrome trace, as they stand in the file. */
#ifndef SHARDLAB_TRACE_EVENTS_H
#define SHARDLAB_TRACE_EVENTS_H

#include "strategy/base/text_table.h"

struct raw_span {
	struct stream_text pid, tid, name, category;
	struct stream_text args; /* another program's: the object as it stands in the file; empty: it has none */
	int64_t begin, end;
	int64_t op, to, bytes; /* of its args; -1: it has none */
	int64_t waited;        /* ns, of its args; -1 */
	bool message;          /* category "message" */
};

/* The metadata of a process or a thread: its name, and its place among the others. */
enum raw_label { RAW_PROCESS_NAME, RAW_PROCESS_LABELS, RAW_PROCESS_SORT, RAW_THREAD_NAME, RAW_THREAD_SORT };

struct raw_name {
	struct stream_text pid, tid, name;
	int64_t sort;
	enum raw_label label;
};

/* A counter's values at a time. */
struct raw_counter {
	struct stream_text pid, tid, name, args;
	int64_t time;
	bool memory; /* an instant that notes an allocation, as PyTorch's profiler does */
};

/* An end of a flow: it starts, goes on or ends in a span of its thread. */
struct raw_flow {
	struct stream_text pid, tid, category, id;
	int64_t time;
	char phase;     /* s, t, f */
	bool enclosing; /* the span is the one around that time, else the next that begins */
};

struct raw_events {
	struct raw_span *spans;
	size_t span_count, span_capacity;
	struct raw_name *names;
	size_t name_count, name_capacity;
	struct raw_counter *counters;
	size_t counter_count, counter_capacity;
	struct raw_flow *flows;
	size_t flow_count, flow_capacity;
	/* B events, closed or not */
	struct open_span {
		struct raw_span span;
		int64_t below; /* the one of its thread that was open when it began; -1 */
	} * open;
	size_t open_count, open_capacity;
	struct text_table threads; /* number: the last open one; -1 */
};

/* Reads the list that the scanner stands at. X events and pairs of B and E become spans, metadata becomes names, C
 * events and instants named [memory] are counters, s, t and f are ends of flows, and everything else is left out. */
bool raw_events_read(struct raw_events *e, struct json_stream *j);
void raw_events_release(struct raw_events *e);

#endif
