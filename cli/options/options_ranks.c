/* How many ranks there are, where neither --ranks, --hosts nor --config says it: a recorded run knows, and so does a
 * cluster of which somebody counts the devices (2x8xh100). */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/options/options_table.h"

#include "strategy/base/arena.h"
#include "strategy/cluster/links.h"
#include "strategy/model/model.h"
#include "strategy/strategies/alone.h"
#include "strategy/strategies/strategy.h"

/* --trace is a run that was recorded for these commands; the others write it. */
static bool reads_trace(const struct options *o)
{
	return option_given(o, OPTION_TRACE) && (o->command == COMMAND_COMPARE || o->command == COMMAND_CALIBRATE);
}

/* A real training has the ranks that this machine has. */
static bool counts_cluster(const struct options *o)
{
	return o->cluster_ranks && o->command != COMMAND_TRAIN && o->command != COMMAND_VALIDATE &&
	       option_of(OPTION_RANKS, o->command);
}

static enum status find_in_trace(struct options *o, int64_t *ranks)
{
	o->recorded = array_make(1, sizeof *o->recorded);
	enum status s = profile_open_list(o->recorded, option_text(o, OPTION_TRACE));
	if (!s) {
		*ranks = o->recorded->world;
		o->ranks_from = arena_print(&o->arena, "--trace %s", option_text(o, OPTION_TRACE));
	}
	return s;
}

enum status options_find_ranks(struct options *o, int64_t *ranks)
{
	*ranks = 0;
	if (reads_trace(o))
		return find_in_trace(o, ranks);
	if (counts_cluster(o)) {
		*ranks = o->cluster_ranks;
		o->ranks_from = arena_print(&o->arena, "--cluster %s", o->cluster_typed);
	}
	return STATUS_OK;
}

static bool has_ranks(const struct options *o)
{
	return option_given(o, OPTION_RANKS) || o->hosts_ranks;
}

enum status options_count_cluster(struct options *o)
{
	struct option_value *v = &o->value[OPTION_CLUSTER];
	struct links_count count;
	if (!v->given || !links_counted(v->text, &count))
		return STATUS_OK;
	o->cluster_typed = v->text;
	o->cluster_ranks = count.ranks;
	v->text = arena_copy(&o->arena, count.cluster);
	TRY(links_check_count(o->cluster_typed, &count));
	int64_t ranks = o->hosts_ranks ? o->hosts_ranks : o->value[OPTION_RANKS].whole;
	if (!count.of_nodes || !has_ranks(o) || ranks <= count.ranks)
		return STATUS_OK;
	return status_fail(STATUS_INPUT, "--cluster %s has %" PRId64 " devices, and there are %" PRId64 " ranks",
	                   o->cluster_typed, count.ranks, ranks);
}

enum status options_take_ranks(struct options *o)
{
	int64_t ranks;
	struct option_value *v = &o->value[OPTION_RANKS];
	if (has_ranks(o) || reads_trace(o) || !counts_cluster(o))
		return STATUS_OK;
	enum status s = options_find_ranks(o, &ranks);
	v->given = true;
	v->whole = ranks;
	v->text = arena_print(&o->arena, "%" PRId64, ranks);
	return s;
}

static bool opens_model(const struct settings *s)
{
	struct model m;
	if (model_open(&m, s->model, s->sequence))
		return false;
	model_release(&m);
	return true;
}

/* What the command will refuse has that line alone. Several strategies have a batch each, which the command looks at.
 */
static bool makes_settings(const struct options *o)
{
	struct settings settings;
	const struct strategy *one;
	struct alone collective;
	if (o->command == COMMAND_COLLECTIVE)
		return o->topic && !alone_find("", o->topic, &collective);
	const char *list = option_text(o, OPTION_STRATEGY);
	if (options_settings(o, &settings) || !opens_model(&settings))
		return false;
	bool several = !list || strchr(list, ',') || !strcmp(list, "all");
	return several || (!strategy_parse(list, &one) && !settings_resolve(&settings, strategy_data_ranks(&settings)));
}

void options_tell_ranks(const struct options *o)
{
	if (!option_given(o, OPTION_CONFIG) && o->ranks_from && makes_settings(o))
		fprintf(stderr, "ranks by %s: %s\n", o->ranks_from, option_text(o, OPTION_RANKS));
}

void options_release(struct options *o)
{
	profile_release(o->recorded);
	free(o->recorded);
	arena_release(&o->arena);
}
