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

/* ---- what the program can be told ---- */

static int64_t nodes_of(const struct advise_request *q)
{
	int64_t each = ranks_across(q);
	return each ? q->given.ranks / each : 1;
}

/* Writes a file of a strategy in a precision, and has it read: as whose switches (--as), or why not. */
static void ask(struct advise_request *q, int i, int precision, bool switches, const char *where, struct arena *a)
{
	struct settings s = q->given;
	struct advise_habit *habit = &q->habit[i];
	struct emission e;
	snprintf(s.strategy, sizeof s.strategy, "%s", q->strategy[i]);
	s.precision = q->precision[precision];
	if (habit->bucket)
		s.bucket = habit->bucket;
	if (settings_resolve(&s, strategy_data_ranks(&s)))
		return; /* the walk says so */
	if (emit_make(&e, q->target, where, &s, nodes_of(q))) {
		habit->refused[precision] = arena_print(a, "%s: %s", emit_target_version(q->target), status_message());
		return;
	}
	if (switches && e.software)
		habit->software[precision] = arena_copy(a, e.software);
	emit_release(&e);
}

static void ask_all(struct advise_request *q, enum emit_target t, bool switches, const char *where, struct arena *a)
{
	q->told = true;
	q->target = t;
	bool asked = q->checkpointings > 0;
	for (int k = 0; !asked && k < VARIANT_LEVELS && levels_of[t][k]; k++)
		q->checkpointing[q->checkpointings++] = levels_of[t][k];
	for (int i = 0; i < q->strategies; i++)
		for (int p = 0; p < q->precisions; p++)
			ask(q, i, p, switches, where, a);
}

void advise_take_program(struct advise_request *q, enum emit_target t, struct arena *a)
{
	ask_all(q, t, false, NULL, a);
}

/* Keeps the offloads that can be told, whatever is computed again. */
static enum status keep_offloads(const struct advise_request *q, struct variant_grid *g)
{
	struct settings s = g->given;
	int n = 0;
	snprintf(s.checkpointing, sizeof s.checkpointing, "none");
	for (int i = 0; i < g->offloads; i++) {
		s.offload = g->offload[i];
		if (!emit_can(q->target, &s))
			g->offload[n++] = g->offload[i];
	}
	g->offloads = n;
	g->given.offload = g->offload[0];
	return n ? STATUS_OK : status_prefix(STATUS_INPUT, "%s", emit_target_version(q->target));
}

/* And what is computed again, whatever is offloaded. */
static enum status keep_checkpointings(const struct advise_request *q, struct variant_grid *g)
{
	struct settings s = g->given;
	int n = 0;
	s.offload = (struct offload){0};
	for (int i = 0; i < g->checkpointings; i++) {
		snprintf(s.checkpointing, sizeof s.checkpointing, "%s", g->checkpointing[i]);
		if (!emit_can(q->target, &s))
			g->checkpointing[n++] = g->checkpointing[i];
	}
	g->checkpointings = n;
	if (!n)
		return status_prefix(STATUS_INPUT, "%s", emit_target_version(q->target));
	if (g->checkpointing[0] != g->given.checkpointing)
		snprintf(g->given.checkpointing, sizeof g->given.checkpointing, "%s", g->checkpointing[0]);
	g->checkpointing[0] = g->given.checkpointing;
	return STATUS_OK;
}

enum status advise_keep_told(const struct advise_request *q, struct variant_grid *g)
{
	if (!q->told)
		return STATUS_OK;
	TRY(keep_offloads(q, g));
	return keep_checkpointings(q, g);
}

void advise_take_habits(struct advise_request *q, enum emit_target t, const char *where, struct arena *a)
{
	const struct advise_request asked = *q;
	int targets = 1 << t | (t == EMIT_ACCELERATE && where ? TWO : 0);
	q->asked = q->strategies;
	q->strategies = 0;
	for (int i = 0; i < asked.strategies; i++) {
		add(q, asked.strategy[i], asked.cluster_of[i], own_habit(q, t, asked.strategy[i]));
		add_ways(q, targets, asked.strategy[i], asked.cluster_of[i], a);
	}
	ask_all(q, t, true, where, a);
}
