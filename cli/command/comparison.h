/* Strategies and settings side by side: compare.c makes it of the options, comparison.c prints it. */
#ifndef SHARDLAB_COMPARISON_H
#define SHARDLAB_COMPARISON_H

#include "cli/command/command.h"
#include "cli/command/compare_trace.h"
#include "cli/command/interval.h"
#include "cli/show/show.h"

/* One combination of strategy and settings. */
struct entry {
	char strategy[256];
	const struct options *variant;
	struct report report;
	struct profile_step step;         /* with --trace */
	struct interval_figures interval; /* with --checkpoint-every */
	char skipped[1024];               /* why; "": it was not */
};

struct comparison {
	struct arena arena;       /* of the alternatives' texts */
	struct options *variants; /* one for each combination of alternatives; the last option varies fastest */
	int variant_count;
	struct entry *entries; /* room for MEMBERS of each variant */
	int count;
	struct column *columns; /* of what was not skipped */
	int column_count;
	struct report
	        *nearest; /* of those that do not fit, the one that the least is missing for; NULL: something fits */
	struct settings nearest_settings;
	struct profile recorded; /* of --trace */
	json_t *emitted;         /* what --emit said; NULL: nothing */
};

static inline bool comparison_is_recorded(const struct comparison *c)
{
	return c->recorded.rank_count > 0;
}

json_t *comparison_to_json(const struct comparison *c); /* new reference */
void comparison_show(const struct comparison *c);

#endif
