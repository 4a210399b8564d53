/* Settings of another program's file besides those that are searched. */
#include "sim/advise_habits.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "strategy/strategies/strategy.h"

enum {
	D = 1 << EMIT_DEEPSPEED,
	A = 1 << EMIT_ACCELERATE,
	T = 1 << EMIT_TRAINER,
	N = 1 << EMIT_TORCHTITAN,
	TWO = 1 << EMIT_TARGET_COUNT, /* Accelerate with its second file, which is DeepSpeed's */
};
enum { LARGE = 100 << 20, LARGEST = 500000000 };

/* A strategy in another way, after its own: with other keys, or in other buckets. */
static const struct way {
	const char *strategy, *keys;
	int64_t bucket;
	int targets;
	bool across; /* with K ranks of a node, and on several nodes alone */
} ways[] = {
        {"ddp", "", LARGE, D | T, false},
        {"ddp", "", LARGEST, D | T, false},
        {"zero1", "", LARGE, D | T | TWO, false},
        {"zero1", "", LARGEST, D | T | TWO, false},
        {"zero2", "", LARGE, D | T | TWO, false},
        {"zero2", "", LARGEST, D | T | TWO, false},
        {"zero3", ":secondary=", 0, D | T | TWO, true},
        {"fsdp", ":reshard=no", 0, A | T | N, false},
};

/* The file itself can ask to recompute these; elsewhere the training script does. */
static const char *const levels_of[EMIT_TARGET_COUNT][VARIANT_LEVELS] = {
        [EMIT_TRAINER] = {"none", "full"},
        [EMIT_TORCHTITAN] = {"none", "operations", "full:one_in=2", "full"},
};

static void add(struct advise_request *q, const char *strategy, const char *cluster, struct advise_habit habit)
{
	if (q->strategies == ADVISE_STRATEGIES)
		return;
	q->cluster_of[q->strategies] = cluster;
	q->habit[q->strategies] = habit;
	q->strategy[q->strategies++] = strategy;
}

/* Ranks of a node, where there are several nodes; 0: there is one. */
static int64_t ranks_across(const struct advise_request *q)
{
	struct cluster c;
	if (cluster_open(&c, q->cluster, q->given.ranks))
		return 0;
	int64_t each = c.devices > 1 && q->given.ranks > c.devices && q->given.ranks % c.devices == 0 ? c.devices : 0;
	cluster_release(&c);
	return each;
}

static void add_ways(struct advise_request *q, int targets, const char *strategy, const char *cluster, struct arena *a)
{
	int64_t each = ranks_across(q);
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		const struct way *w = &ways[i];
		char node[24] = "";
		if (!(w->targets & targets) || strcmp(w->strategy, strategy) != 0 || (w->across && !each) ||
		    (w->bucket && q->given.bucket))
			continue;
		if (w->across)
			snprintf(node, sizeof node, "%" PRId64, each);
		add(q, arena_print(a, "%s%s%s", strategy, w->keys, node), cluster,
		    (struct advise_habit){.way = true, .bucket = w->bucket});
	}
}

/* torchtitan's DDP has buckets of 100 MiB, always. */
static struct advise_habit own_habit(const struct advise_request *q, enum emit_target t, const char *strategy)
{
	bool its = t == EMIT_TORCHTITAN && !strcmp(strategy, "ddp") && !q->given.bucket;
	return (struct advise_habit){.bucket = its ? LARGE : 0};
}

/* As whose switches (--as) a file with these settings is read; NULL: as they are, or it cannot be said. */
static const char *software_of(const struct advise_request *q, int i, enum type precision, enum emit_target t,
                               struct arena *a)
{
	struct settings s = q->given;
	struct emission e;
	const char *text = NULL;
	snprintf(s.strategy, sizeof s.strategy, "%s", q->strategy[i]);
	s.precision = precision;
	if (settings_resolve(&s, strategy_data_ranks(&s)) || emit_make(&e, t, NULL, &s, 1))
		return NULL;
	if (e.software)
		text = arena_copy(a, e.software);
	emit_release(&e);
	return text;
}

void advise_take_habits(struct advise_request *q, enum emit_target t, bool to_file, struct arena *a)
{
	const struct advise_request asked = *q;
	int targets = 1 << t | (t == EMIT_ACCELERATE && to_file ? TWO : 0);
	q->asked = q->strategies;
	q->strategies = 0;
	for (int i = 0; i < asked.strategies; i++) {
		add(q, asked.strategy[i], asked.cluster_of[i], own_habit(q, t, asked.strategy[i]));
		add_ways(q, targets, asked.strategy[i], asked.cluster_of[i], a);
	}
	for (int k = 0; !asked.checkpointings && k < VARIANT_LEVELS && levels_of[t][k]; k++)
		q->checkpointing[q->checkpointings++] = levels_of[t][k];
	for (int i = 0; i < q->strategies; i++)
		for (int p = 0; p < q->precisions; p++)
			q->habit[i].software[p] = software_of(q, i, q->precision[p], t, a);
}
