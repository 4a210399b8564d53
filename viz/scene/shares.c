/* How ranks spend the step, and for whom they wait, in words. */
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "strategy/base/language.h"
#include "viz/scene/scene_parts.h"

double share_of_step(const struct timeline *s, int64_t ns)
{
	return 100 * (double)ns / (double)(s->step_ns ? s->step_ns : 1);
}

struct range range_over_ranks(const struct timeline *s, size_t offset)
{
	struct range range = {100, 0};
	for (int i = 0; i < s->rank_count; i++) {
		const void *at = (const char *)&s->shown[i] + offset;
		double share = share_of_step(s, *(const int64_t *)at);
		range.least = fmin(range.least, share);
		range.most = fmax(range.most, share);
	}
	return range;
}

bool range_is_wide(struct range r)
{
	return r.most - r.least >= 0.05;
}

bool bubble_words(const struct timeline *s, enum brevity brevity, char *out, size_t size)
{
	char closed[BUBBLE_TEXT];
	if (!s->bubble.stages)
		return false;
	struct range r = range_over_ranks(s, offsetof(struct times, bubble));
	bubble_text(closed, &s->bubble);
	const char *part = strrchr(closed, '=');
	if (brevity == BREVITY_NONE)
		snprintf(out, size,
		         tr("%s with equal stages; here %.1f %% of rank %" PRId64
		            "’s step, %.1f to %.1f %% over the ranks"),
		         closed, share_of_step(s, s->times.bubble), s->times.rank, r.least, r.most);
	else if (brevity < BREVITY_MOST)
		snprintf(out, size,
		         tr(brevity == BREVITY_SOME ? "%s with equal stages; here %.1f–%.1f %%"
		                                    : "%s; here %.1f–%.1f %%"),
		         closed, r.least, r.most);
	else
		snprintf(out, size, tr("bubble%s; here %.1f–%.1f %%"), part ? part + 1 : "", r.least, r.most);
	return true;
}

const char *wait_words(char *out, size_t size, const char *verb, int64_t rank)
{
	if (rank < 0)
		snprintf(out, size, tr("%s another rank"), verb);
	else
		snprintf(out, size, tr("%s rank %" PRId64), verb, rank);
	return out;
}
