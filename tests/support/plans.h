/* Plans for tests: from what a user would ask for to a plan, in one call, and what a test asks of it.
 *
 *     struct made m;
 *     made_open(&m, &(struct request){.model = "gpt", .strategy = "zero2", .ranks = 4});
 *     … m.plan, m.model …
 *     made_release(&m);
 *
 * Fields left 0 are the defaults of the settings; micro_batch is 1.
 */
#ifndef SHARDLAB_TESTS_PLANS_H
#define SHARDLAB_TESTS_PLANS_H

#include "strategy/plan/plan.h"
#include "strategy/strategies/strategy.h"

struct request {
	const char *model, *strategy;
	int64_t ranks, micro_batch, accumulate, sequence, bucket;
	int64_t loss_scale_window;
	enum type precision;
	enum optimizer optimizer;
	enum loss_scaler loss_scaler;
	bool library_collectives, stochastic_rounding;
	double clip, learning_rate, loss_scale;
	const char *checkpointing; /* NULL: none */
	const char *offload;       /* NULL: none */
};

struct made {
	struct model model;
	struct plan plan;
};

/* As the command does: settings, model, plan. Not verified. On failure nothing needs to be released. */
enum status made_open(struct made *m, const struct request *r);
/* The same from words, "gpt zero2 ranks=4 clip=0.5": model, strategy, and settings by their names. */
enum status made_open_words(struct made *m, const char *words);
void made_release(struct made *m);

/* Where tests keep what is offloaded to disk: $TMPDIR, or /tmp. */
const char *support_folder(void);

/* The settings of a request, resolved. Aborts when they do not resolve. */
struct settings request_settings(const struct request *r);
bool read_precision(const char *text, enum type *out); /* "bf16" */

/* What one rank moves in a step under one kind. */
struct moved {
	int64_t calls, payload, sent, received;
};
struct moved plan_moved(const struct plan *p, int64_t rank, enum traffic_kind kind);
/* … under all kinds but control. */
struct moved plan_moved_all(const struct plan *p, int64_t rank);

/* Parameters + gradients + optimizer between steps, bytes. */
int64_t plan_model_states(const struct plan *p, int64_t rank);

/* The largest sum of elements alive in a step of buffers whose name begins with `begins` and, if `without` is not NULL,
 * does not begin with that. */
int64_t plan_most_live(const struct role *r, const char *begins, const char *without);

/* How many strategies `all` is. */
int plans_strategies(void);

#endif
