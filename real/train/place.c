/* What a rank tells whoever watches it: which step it is in, since when, and how long steps take. */
#include <string.h>

#include "real/train/internal.h"
#include "strategy/base/clock.h"

enum { TELLING_STEPS = 3 };

static void insert(int64_t *sorted, int count, int64_t value)
{
	for (; count && sorted[count - 1] > value; count--)
		sorted[count] = sorted[count - 1];
	sorted[count] = value;
}

static int64_t median_of_recent(const struct training *t)
{
	int64_t sorted[RECENT_STEPS];
	int count = t->recent_count < RECENT_STEPS ? (int)t->recent_count : RECENT_STEPS;
	for (int i = 0; i < count; i++)
		insert(sorted, i, t->recent_ns[i]);
	return count < TELLING_STEPS ? 0 : sorted[count / 2];
}

void training_enter_step(struct training *t)
{
	struct train_place *p = t->options->place;
	if (!p)
		return;
	atomic_store(&p->since, clock_ns());
	atomic_store(&p->step, t->steps_done + 1);
}

void training_leave_step(struct training *t)
{
	struct train_place *p = t->options->place;
	if (!p)
		return;
	atomic_store(&p->step, 0);
	t->recent_ns[t->recent_count++ % RECENT_STEPS] = clock_ns() - atomic_load(&p->since);
	atomic_store(&p->median, median_of_recent(t));
}
