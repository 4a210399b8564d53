/* Strategies: who holds what, and who sends what when.
 *
 * Every data-parallel strategy shares one training step (strategy/step/step.c): for each micro-batch, forward through
 * the units, backward in reverse; then the update. A strategy states where parameters, gradients and optimizer state
 * stand (strategy/step/definition.h), and the rest follows from that. Each has one short file:
 *
 *     single.c   one rank
 *     dp.c       one root keeps everything: sends parameters, gathers outputs, collects gradients
 *     ddp.c      everyone keeps everything; gradients are all-reduced in buckets while backward goes on
 *     zero1.c    … and each keeps the optimizer state of its own slices
 *     zero2.c    … and the gradients of its own slices
 *     zero3.c    … and the parameters: gathered before use, freed after
 *     fsdp.c     the same by flat parameter per unit, with PyTorch FSDP's settings
 *
 * The contrasts, which `all` leaves out, are
 *
 *     hybrid.c   FSDP inside groups of ranks, replicas across them
 *     model_parallel.c  layers over ranks, one rank works at a time
 *     pipeline.c layers over ranks, micro-batches fill the pipeline (stage.h is what the two share)
 *     tensor.c   all ranks share every layer of one model (Megatron)
 *
 * To add a strategy, write its file with a `const struct strategy`, add it to STRATEGY_LIST, and let the verifier tell
 * what is wrong with it (`shardlab plan --strategy yours`). tools/own.sh tries a file that is not in the list yet. A
 * hook uses what strategy/step/hooks.h offers.
 */
#ifndef SHARDLAB_STRATEGY_H
#define SHARDLAB_STRATEGY_H

#include "strategy/plan/plan.h"
#include "strategy/step/definition.h"

/* These are in the order of `--strategy all`. */
#define STRATEGY_LIST(X)                                                                                               \
	X(single)                                                                                                      \
	X(dp)                                                                                                          \
	X(ddp)                                                                                                         \
	X(zero1)                                                                                                       \
	X(zero2)                                                                                                       \
	X(zero3)                                                                                                       \
	X(fsdp)

/* Strategies to compare them with, which `all` leaves out. */
#define CONTRAST_LIST(X)                                                                                               \
	X(hybrid)                                                                                                      \
	X(model)                                                                                                       \
	X(pipeline)                                                                                                    \
	X(tensor)

const struct strategy *strategy_find(const char *name); /* NULL if there is none */
const struct strategy *strategy_at(int i);              /* one of `all`; NULL past the last */
const struct strategy *strategy_contrast_at(int i);     /* one of the contrasts; NULL past the last */

/* Checks `text` (NAME[:key=value:…]) and gives the strategy. */
enum status strategy_parse(const char *text, const struct strategy **out);
/* The values of the settings in a text that has been checked. */
struct choices strategy_choices(const struct strategy *g, const char *text);

/* Ranks that have samples of their own: batch = data ranks × micro-batch × accumulate. All of them in data parallelism;
 * one where all ranks serve the same samples. Settings with an unknown strategy have as many as ranks. */
int64_t strategy_data_ranks(const struct settings *settings);

/* Resolves number_checkpoints=auto: compiles a plan for every spacing, and puts into `settings` the number whose plan
 * has the lowest peak (then the smallest arena), and how many plans were tried. Without auto it changes nothing. */
enum status checkpointing_choose(const struct model *m, struct settings *settings);

/* model + settings → plan. `settings` are resolved (settings_resolve). The plan is not yet verified. `model` must
 * outlive it. On failure nothing needs to be released. */
enum status plan_compile(struct plan *p, const struct model *model, const struct settings *settings);

#define X(name) extern const struct strategy strategy_##name;
STRATEGY_LIST(X)
CONTRAST_LIST(X)
#undef X

/* The user's own strategies, which tools/own.sh adds to a program, come after the contrasts and end with NULL. The
 * library has none. */
extern const struct strategy *const own_strategies[];

#endif
