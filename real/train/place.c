/* Around a step: what a rank tells whoever watches it (which step it is in, since when, and how long steps take), what
 * the ranks tell each other after it, and whether a checkpoint is due then. */
#include <math.h>

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

static bool training_checkpoint_time(const struct training *t)
{
	double since = (double)(clock_ns() - t->saved_ns) / 1e9;
	return !t->rank && t->options->checkpoint_seconds > 0 && since >= t->options->checkpoint_seconds;
}

bool training_checkpoint_is_due(const struct training *t, bool last, bool time)
{
	const struct train_options *o = t->options;
	if (!o->checkpoint || t->saved_step == t->steps_done)
		return false;
	return last || time || (o->checkpoint_every && t->steps_done % o->checkpoint_every == 0);
}

/* All ranks stop together, or not at all; all see that it is time for a checkpoint, or none does; and all that the run
 * diverged. */
enum status training_hear_wishes(struct training *t, struct wishes *out)
{
	double w[] = {t->options->stop && *t->options->stop, training_checkpoint_time(t), 0,
	              t->holds_loss && isnan(t->loss), t->holds_loss && isinf(t->loss)};
	bool under_way = training_checkpoint_is_under_way(t, &w[2]);
	struct traffic traffic;
	enum status s = STATUS_OK;
	if (t->communicator && (t->options->stop || t->options->checkpoint_seconds > 0 || under_way))
		s = t->communicator->ops->sum(t->communicator, w, 5, &traffic);
	*out = (struct wishes){w[0] > 0, w[1] > 0, w[2], w[3] > 0, w[4] > 0};
	return s;
}
