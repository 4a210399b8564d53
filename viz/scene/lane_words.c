/* The words that say which rank, thread or stream a lane belongs to. */
#include <stdio.h>
#include <string.h>

#include "strategy/base/language.h"
#include "viz/scene/lane_area.h"

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
		snprintf(out, LANE_RANKS, tr("ranks %s: the same"), ranks);
		return out;
	}
	struct ranks meant = ranks_meant(s, index, index + 1);
	ranks_word(ranks, s, index, index + 1);
	snprintf(out, LANE_RANKS, "%.120s%s", ranks, meant.first == meant.last ? "" : tr(": the same"));
	return out;
}

bool lane_is_one_rank(const struct lanes *l, const struct lane *lane)
{
	int index = l->timeline && !lane_is_folded(l, lane) ? timeline_index_of(l->timeline, lane->rank) : -1;
	struct ranks meant = index < 0 ? (struct ranks){0, 1} : ranks_meant(l->timeline, index, index + 1);
	return meant.first == meant.last;
}

char *lane_ranks_rest(char *ranks)
{
	return strstr(ranks, tr(": the same"));
}
