/* Plans in tests with Check: what must hold fails the test where it does not, with a line that says why.
 *
 *     const struct plan *p = right_plan("gpt zero2 ranks=4 clip=0.5");
 *     char *text = plan_to_text(p, NULL);
 */
#ifndef SHARDLAB_TESTS_PLAN_CHECK_H
#define SHARDLAB_TESTS_PLAN_CHECK_H

#include "tests/support/plans.h"
#include "tests/support/refusal.h"

/* A plan that the verifier lets through; the words are those of made_open_words. It stays until the program ends, or
 * until plans_forget where a test makes more of them than memory should hold. */
struct plan *right_plan(const char *words, ...) __attribute__((format(printf, 1, 2)));
struct plan *made_plan(const char *words, ...) __attribute__((format(printf, 1, 2))); /* not verified */
struct plan *right_plan_of(const struct settings *s);
struct plan *read_plan(const char *text); /* not verified either */
void plans_forget(void);

/* There is no such plan, and the line says why. */
void must_not_open(const char *says, const char *words, ...) __attribute__((format(printf, 2, 3)));

/* It stays as plans do. role: as plan_write's. */
char *plan_to_text(const struct plan *p, const char *role);

/* A text with `by` in place of the first `what`, which must be there; it stays too. */
char *text_replaced(const char *text, const char *what, const char *by);

/* The plan's text reads back as a plan that the verifier lets through, and that has the same text. */
const struct plan *must_come_back(const struct plan *p);

/* The verifier refuses the plan without any one of its operations. */
void must_need_every_op(const struct plan *p);

/* On virtual ranks both have the same losses and weights, within the tolerance; and the same evaluation, where both
 * evaluate as many samples. */
void must_train_alike(const struct plan *a, const struct plan *b, int steps, double tolerance);

/* A right plan with one mistake, and the line that refuses it: it begins with the rule. */
struct broken {
	const char *rule, *words;
	const char *edit;               /* as plan_edit_words's; NULL: none */
	const char *says;               /* in the line */
	void (*breaks)(struct plan *p); /* a change that words cannot express; NULL: none */
};
void must_be_refused(const struct broken *b);

#endif
