/* Notes a strategy that divides more and still has the higher peak. */
#include <stdio.h>
#include <string.h>

#include "cli/show/show.h"
#include "cli/show/text.h"
#include "strategy/base/number.h"
#include "strategy/strategies/strategy.h"

/* How many of parameters, gradients and optimizer state are divided over all ranks; -1: the strategy cannot be compared
 * this way. */
static int divided(const struct report *r)
{
	const struct strategy *g;
	if (r->ranks < 2 || strategy_parse(r->strategy, &g) || g->root_alone || g->slices || g->stages || g->group_key)
		return -1;
	return (g->parameters != PLACE_WHOLE) + (g->gradients != PLACE_WHOLE) + (g->optimizer != PLACE_WHOLE);
}

static const struct report_memory *memory_of(const struct column *c)
{
	return &show_fullest(c->report)->memory[SPACE_DEVICE];
}

static int64_t gathered(const struct column *c)
{
	return memory_of(c)->at_peak[CATEGORY_GATHERED];
}

/* True if gathered state makes the second peak higher. */
static bool peaks_above(const struct column *less, const struct column *more)
{
	int64_t above = memory_of(more)->peak_bytes - memory_of(less)->peak_bytes;
	return above > 0 && gathered(more) - gathered(less) >= above;
}

/* Among the strategies that divide something, finds the lowest peak that another strategy exceeds although it divides
 * more; -1: there is none. */
static int lowest(const struct column *columns, int count)
{
	int best = -1;
	for (int i = 0; i < count; i++)
		for (int k = 0; k < count; k++)
			if (divided(columns[i].report) >= 0 &&
			    divided(columns[k].report) > divided(columns[i].report) &&
			    peaks_above(&columns[i], &columns[k]) &&
			    (best < 0 || memory_of(&columns[i])->peak_bytes < memory_of(&columns[best])->peak_bytes))
				best = i;
	return best;
}

void show_departure(const struct column *columns, int count, FILE *out)
{
	char text[1000], most[32];
	int i = lowest(columns, count), named = 0;
	int64_t whole = 0;
	size_t n = 0;
	if (i < 0)
		return;
	for (int k = 0; k < count && n + 300 < sizeof text; k++)
		if (divided(columns[k].report) > divided(columns[i].report) && peaks_above(&columns[i], &columns[k])) {
			n += (size_t)snprintf(text + n, sizeof text - n, "%s%.64s", named++ ? ", " : "",
			                      columns[k].heading);
			whole = gathered(&columns[k]) > whole ? gathered(&columns[k]) : whole;
		}
	number_format_bytes(most, sizeof most, whole);
	snprintf(text + n, sizeof text - n,
	         " %s above %.64s, which divides less: what is whole for a moment (gathered, up to %s) outweighs what "
	         "is "
	         "saved; see: shardlab lesson 7",
	         named == 1 ? "peaks" : "peak", columns[i].heading, most);
	text_wrapped(out, text, 0, text_columns(out, 110));
}
