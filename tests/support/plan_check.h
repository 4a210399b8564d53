/* Plans in tests with Check: what must hold fails the test where it does not, with a line that says why.
 *
 *     struct made m;
 *     must_open_verified(&m, &(struct request){.model = "gpt", .strategy = "zero2", .ranks = 4});
 *     char *text = plan_to_text(&m.plan, NULL);
 */
#ifndef SHARDLAB_TESTS_PLAN_CHECK_H
#define SHARDLAB_TESTS_PLAN_CHECK_H

#include "tests/support/plans.h"

void must_open(struct made *m, const struct request *r);
void must_open_verified(struct made *m, const struct request *r); /* … and the verifier lets it through */

/* To be freed. role: as plan_write's. */
char *plan_to_text(const struct plan *p, const char *role);

/* The plan's text reads back as a plan that the verifier lets through, and that has the same text. To be freed. */
char *must_come_back(const struct plan *p);

/* The first operation of a kind in role 0, at `from` or after. */
int plan_find_op(const struct plan *p, enum op_kind kind, int from);

/* The verifier refuses the plan without any one of its operations. */
void must_need_every_op(const struct plan *p);

#endif
