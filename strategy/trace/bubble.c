#include "strategy/trace/bubble.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "strategy/strategies/strategy.h"

struct bubble bubble_of(const struct plan *p)
{
	char name[32];
	size_t length = strcspn(p->strategy, ":");
	snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : 0), p->strategy);
	const struct strategy *g = strategy_find(name);
	if (!g || !g->stages || p->ranks == 1)
		return (struct bubble){0};
	return (struct bubble){p->ranks, g->fills ? p->settings.accumulate : 1};
}

double bubble_share(const struct bubble *b)
{
	return (double)(b->stages - 1) / (double)(b->micro_batches + b->stages - 1);
}

const char *bubble_text(char out[BUBBLE_TEXT], const struct bubble *b)
{
	snprintf(out, BUBBLE_TEXT, "bubble (p−1)/(m+p−1) = %" PRId64 "/%" PRId64 " = %.1f %%", b->stages - 1,
	         b->micro_batches + b->stages - 1, 100 * bubble_share(b));
	return out;
}
