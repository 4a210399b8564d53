/* The words for the places that N goes to. */
#include <inttypes.h>
#include <stdio.h>

#include "strategy/base/language.h"
#include "viz/scene/lane_cards.h"
#include "viz/timeline/op_words.h"

/* "the all-reduce of bucket.1"; "the end of the step" where there is no operation. */
static const char *op_of(char *out, const struct timeline *s, const struct notable *n)
{
	const struct role *role = plan_role_of(s->plan, n->rank);
	if (n->op < 0)
		snprintf(out, OP_WORDS, tr("the end of the step"));
	else
		op_words(out, s, role, &role->ops[n->op]);
	return out;
}

void notable_words(const struct timeline *s, const struct notable *n, char *out, size_t size)
{
	char op[OP_WORDS], amount[WORD];
	double share = 100 * (double)n->amount / (double)(s->step_ns ? s->step_ns : 1);
	op_of(op, s, n);
	switch (n->kind) {
	case NOTABLE_OVERFLOW:
		if (n->op < 0)
			snprintf(out, size,
			         tr("rank %" PRId64
			            " needs %s, more memory than there is beside libraries, before the step "
			            "begins"),
			         n->rank, bytes_word(amount, n->amount));
		else
			snprintf(out, size,
			         tr("rank %" PRId64 " needs %s, more memory than there is beside libraries, for %s"),
			         n->rank, bytes_word(amount, n->amount), op);
		break;
	case NOTABLE_PEAK:
		snprintf(out, size, tr("the peak of memory, %s on rank %" PRId64 ", for %s"),
		         bytes_word(amount, n->amount), n->rank, op);
		break;
	case NOTABLE_EXPOSED:
		snprintf(out, size, tr("%s is exposed for %s on rank %" PRId64 ", %.1f %% of the step"), op,
		         time_word(amount, n->amount), n->rank, share);
		break;
	case NOTABLE_BUBBLE:
		snprintf(out, size, tr("rank %" PRId64 " stands still for %s, %.1f %% of the step, until %s"), n->rank,
		         time_word(amount, n->amount), share, op);
		break;
	case NOTABLE_OVERLAP:
		snprintf(out, size, tr("the first overlap of computing and communicating, on rank %" PRId64), n->rank);
		break;
	default:
		snprintf(out, size, tr("%s is done"), op);
		break;
	}
	language_space(out, size);
}
