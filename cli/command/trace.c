/* shardlab trace: what a recorded step spent its time on. */
#include <inttypes.h>
#include <stdio.h>

#include "cli/command/command.h"
#include "cli/command/job.h"
#include "cli/show/show_profile.h"

/* More have two columns: their mean, and the slowest. */
enum { RANK_COLUMNS = 8 };

static int make_columns(const struct profile *p, const struct profile_step *mean, struct profile_column *columns)
{
	const struct profile_rank *slowest = profile_slowest(p);
	if (p->rank_count > RANK_COLUMNS) {
		columns[0] = (struct profile_column){"mean", mean};
		columns[1].step = &slowest->mean;
		snprintf(columns[1].heading, sizeof columns[1].heading, "slowest, rank %" PRId64, slowest->rank);
		return 2;
	}
	for (int i = 0; i < p->rank_count; i++) {
		columns[i].step = &p->ranks[i].mean;
		snprintf(columns[i].heading, sizeof columns[i].heading, "rank %" PRId64, p->ranks[i].rank);
	}
	return p->rank_count;
}

static void print_text(const struct profile *p)
{
	struct profile_column columns[RANK_COLUMNS];
	struct profile_step mean = profile_mean(p);
	show_profile_columns(columns, make_columns(p, &mean, columns), false, stdout);
	putchar('\n');
	if (p->source != PROFILE_PLAN) {
		show_profile_steps(p, stdout);
		putchar('\n');
	}
	show_profile_notes(p, stdout);
}

enum status command_trace(const struct options *o)
{
	struct profile p;
	if (!o->word_count)
		return status_fail(STATUS_INPUT,
		                   "trace needs a file: shardlab trace rank0.json rank1.json, one for each rank");
	TRY(profile_open(&p, o->words, o->word_count));
	if (option_given(o, OPTION_JSON))
		print_json(profile_to_json(&p), false);
	else
		print_text(&p);
	profile_release(&p);
	return STATUS_OK;
}
