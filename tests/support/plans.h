/* Plans for tests: from what a user would ask for to a plan, in one call, and what a test asks of it.
 *
 *     struct settings q = settings_of("gpt zero2 ranks=4 clip=0.5");   model, strategy, and settings by their names
 *     q.accumulate = 2;
 *     struct made m;
 *     made_open(&m, &q);
 *     … m.plan, m.model …
 *     made_release(&m);
 *
 * Settings that are not named have their defaults; micro_batch is 1 if no batch is given.
 */
#ifndef SHARDLAB_TESTS_PLANS_H
#define SHARDLAB_TESTS_PLANS_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "strategy/plan/plan.h"
#include "strategy/strategies/strategy.h"

struct made {
	struct model model;
	struct plan plan;
};

/* Makes settings, which need not be resolved, model and plan in the command's way. The plan is not verified. On failure
 * nothing needs to be released. */
enum status made_open(struct made *m, const struct settings *s);
enum status made_open_words(struct made *m, const char *words);
void made_release(struct made *m);

/* From words, not resolved; and the same with others, "strategy=single ranks=1". They abort where a word is wrong. */
struct settings settings_of(const char *words, ...) __attribute__((format(printf, 1, 2)));
struct settings settings_with(const struct settings *s, const char *words, ...) __attribute__((format(printf, 2, 3)));
struct settings settings_resolved(const struct settings *s); /* or aborts */

/* The words of a function that takes them as printf does. */
#define WORDS(format, text)                                                                                            \
	char text[1024];                                                                                               \
	WITH_ARGS(format, vsnprintf(text, sizeof text, format, args) < (int)sizeof text || (abort(), 0))

/* The folder for what tests offload to disk: $TMPDIR, or /tmp. */
const char *support_folder(void);

/* The bytes that one rank moves in a step in one kind of traffic. */
struct moved {
	int64_t calls, payload, sent, received;
};
struct moved plan_moved(const struct plan *p, int64_t rank, enum traffic_kind kind);
/* The same under all kinds but control. */
struct moved plan_moved_all(const struct plan *p, int64_t rank);

/* Parameters + gradients + optimizer between steps, bytes. */
int64_t plan_model_states(const struct plan *p, int64_t rank);

/* The largest sum of elements alive in a step of buffers whose name begins with `begins` and, if `without` is not NULL,
 * does not begin with that. */
int64_t plan_most_live(const struct role *r, const char *begins, const char *without);

/* How many strategies `all` is. */
int plans_strategies(void);

#endif
