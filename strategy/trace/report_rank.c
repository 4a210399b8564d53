/* The figures of each rank, by name: written, read and compared by one list. */
#include <stdio.h>

#include "strategy/trace/report.h"

enum { OF_TRAFFIC = 4, OF_TRANSFER = 2, OF_SPACE = 2 };

static int64_t *traffic_figure(struct report_rank *r, int i, char *name, size_t size)
{
	static const char *const names[OF_TRAFFIC] = {"calls", "payload_bytes", "sent_bytes", "received_bytes"};
	struct report_traffic *t = &r->by_kind[i / OF_TRAFFIC];
	int64_t *const figures[OF_TRAFFIC] = {&t->calls, &t->payload_bytes, &t->sent_bytes, &t->received_bytes};
	snprintf(name, size, "communication.%s.%s", traffic_name((enum traffic_kind)(i / OF_TRAFFIC)),
	         names[i % OF_TRAFFIC]);
	return figures[i % OF_TRAFFIC];
}

static int64_t *transfer_figure(struct report_rank *r, int i, char *name, size_t size)
{
	struct report_transfer *t = &r->transfer[i / OF_TRANSFER];
	snprintf(name, size, "transfers.%s.%s", transfer_name((enum transfer_kind)(i / OF_TRANSFER)),
	         i % OF_TRANSFER ? "bytes" : "calls");
	return i % OF_TRANSFER ? &t->bytes : &t->calls;
}

static int64_t *memory_figure(struct report_rank *r, int i, char *name, size_t size)
{
	int space = i / OF_SPACE;
	snprintf(name, size, "%s.%s_bytes", space_name((enum space)space), i % OF_SPACE ? "arena" : "peak");
	return i % OF_SPACE ? &r->arena_bytes[space] : &r->peak_bytes[space];
}

int64_t *report_rank_figure(struct report_rank *r, int i, char *name, size_t size)
{
	const int traffic = OF_TRAFFIC * TRAFFIC_COUNT, transfers = OF_TRANSFER * TRANSFER_COUNT;
	if (i < traffic)
		return traffic_figure(r, i, name, size);
	if (i < traffic + transfers)
		return transfer_figure(r, i - traffic, name, size);
	i -= traffic + transfers;
	return i < OF_SPACE * SPACE_COUNT ? memory_figure(r, i, name, size) : NULL;
}
