/* For trace_file.c: what another program's events are: processes, lanes and spans, flows and counters. */
#ifndef SHARDLAB_TRACE_FOREIGN_H
#define SHARDLAB_TRACE_FOREIGN_H

#include "strategy/trace/trace_events.h"
#include "strategy/trace/trace_file.h"

struct foreign_reader {
	struct trace_file *f;
	const struct raw_events *e;
	int64_t first;                      /* ns: the first span begins */
	struct text_table processes, lanes; /* numbers: of those of the file */
	size_t process_capacity, lane_capacity, counter_capacity;
};

enum status trace_take_foreign(struct trace_file *f, const struct raw_events *e, const char *name);

/* The parts of it that have files of their own; lanes and spans are in order by then. */
void foreign_read_flows(struct foreign_reader *r);
void foreign_read_counters(struct foreign_reader *r);
/* The arguments that say something to a reader: "stream 20, 4194304 B"; NULL: there are none. Sets the span's bytes,
 * ranks and collective. */
const char *foreign_args(struct arena *a, const struct stream_text *args, struct foreign_span *span);

#endif
