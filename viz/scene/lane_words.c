/* The words that say which rank, thread or stream a lane belongs to. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "viz/scene/lane_area.h"
#include "viz/scene/scene_parts.h"

bool lane_is_folded(const struct lanes *l, const struct lane *lane)
{
	return l->timeline && l->is_folded && (lane->ranks & (lane->ranks - 1));
}

const char *lane_ranks(char *out, const struct lanes *l, const struct lane *lane)
{
	const struct timeline *s = l->timeline;
	int index = s ? timeline_index_of(s, lane->rank) : -1;
	char ranks[LANE_RANKS - 32];
	snprintf(out, LANE_RANKS, "%s", lane->process);
	if (index < 0)
		return out;
	if (lane_is_folded(l, lane)) {
		text_of_ranks(ranks, sizeof ranks, lane->ranks, 1);
		snprintf(out, LANE_RANKS, "ranks %s: the same", ranks);
		return out;
	}
	ranks_word(ranks, s, index, index + 1);
	snprintf(out, LANE_RANKS, "%.120s%s", ranks, strncmp(ranks, "ranks", 5) ? "" : ": the same");
	return out;
}
