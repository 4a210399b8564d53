#include "strategy/collective/chunks.h"

#include <stddef.h>
#include <stdlib.h>

#include "strategy/base/arena.h"
#include "strategy/base/compare.h"

/* Every begin and end of a message, and of the whole. */
static int64_t *all_cuts(const struct schedule *s, size_t *count)
{
	size_t capacity = 0;
	int64_t *cuts = NULL, ends[] = {0, s->elements}, rounds = schedule_rounds(s);
	*count = 0;
	for (int i = 0; i < 2; i++) {
		cuts = array_reserve(cuts, *count, &capacity, sizeof *cuts);
		cuts[(*count)++] = ends[i];
	}
	for (int64_t round = 0; round < rounds; round++)
		for (int64_t rank = 0; rank < s->ranks; rank++) {
			struct round r = schedule_round(s, rank, round);
			if (r.send_to < 0)
				continue;
			cuts = array_reserve(cuts, *count + 1, &capacity, sizeof *cuts);
			cuts[(*count)++] = r.send_offset;
			cuts[(*count)++] = r.send_offset + r.send_count;
		}
	return cuts;
}

int64_t *schedule_cuts(const struct schedule *s, int *chunks)
{
	size_t count, kept = 0;
	int64_t *cuts = all_cuts(s, &count);
	qsort(cuts, count, sizeof *cuts, compare_elements);
	for (size_t i = 0; i < count; i++)
		if (!kept || cuts[i] != cuts[kept - 1])
			cuts[kept++] = cuts[i];
	*chunks = (int)kept - 1;
	return cuts;
}
