/* For trace_file.c: the events of a Chrome trace, as they stand in the file. */
#ifndef SHARDLAB_TRACE_EVENTS_H
#define SHARDLAB_TRACE_EVENTS_H

#include "strategy/base/text_table.h"

struct raw_span {
	struct stream_text pid, tid, name;
	int64_t begin, end;
	int64_t op, to, bytes; /* of its args; -1: it has none */
	int64_t waited;        /* ns, of its args; -1 */
	bool message;          /* category "message" */
};

struct raw_name {
	struct stream_text pid, tid, name;
	bool process; /* names the process, else the thread */
};

struct raw_events {
	struct raw_span *spans;
	size_t span_count, span_capacity;
	struct raw_name *names;
	size_t name_count, name_capacity;
	/* B events, closed or not */
	struct open_span {
		struct raw_span span;
		int64_t below; /* the one of its thread that was open when it began; -1 */
	} * open;
	size_t open_count, open_capacity;
	struct text_table threads; /* number: the last open one; -1 */
};

/* Reads the list that the scanner stands at. X events and pairs of B and E become spans, metadata becomes names, and
 * everything else is left out. */
bool raw_events_read(struct raw_events *e, struct json_stream *j);
void raw_events_release(struct raw_events *e);

#endif
