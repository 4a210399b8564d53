/* The steps of a page: all where few ranks take part; of a collective of many a few rounds, with everything else. */
#include <check.h>

#include "tests/support/suite.h"
#include "tests/support/viewed.h"
#include "tests/viz/catalogue.h"
#include "viz/export/html_steps.h"

static struct viewed v;
static struct playback playback;
static struct page_steps steps;

static void open_steps(const char *words, enum step_size step_size)
{
	viewed_open(&v, "%s", words);
	playback_init(&playback, NULL);
	playback_show(&playback, &v.shown);
	playback.step_size = step_size;
	ck_assert(!page_steps_init(&steps, &playback));
}

static void close_steps(void)
{
	page_steps_release(&steps);
	playback_release(&playback);
	viewed_release(&v);
}

START_TEST(few_ranks_have_all)
{
	static const char *const runs[] = {MLP " ddp ranks=16", GPT " pipeline ranks=4 accumulate=4",
	                                   MLP " single ranks=1"};
	for (int i = 0; i < COUNT(runs); i++) {
		open_steps(runs[i], STEP_SIZE_ROUND);
		ck_assert(steps.all);
		ck_assert_uint_eq(steps.count, v.shown.timeline.stop_count[STEP_SIZE_ROUND]);
		for (size_t k = 0; k < steps.count; k++)
			ck_assert(steps.stop[k] == k && page_step_before(&steps, k) == k &&
			          page_step_behind(&steps, k) == k);
		close_steps();
	}
}

/* The round, from 1, that ends at a stop; 0: none does. */
static int round_at(const struct timeline *s, size_t stop, int *rounds)
{
	size_t position = timeline_stop(s, STEP_SIZE_ROUND, stop);
	const struct event *e = position ? &s->events[s->instants[position - 1].end - 1] : NULL;
	bool ends = e && e->kind == EVENT_MESSAGE;
	*rounds = ends ? s->collectives[e->collective].rounds : 0;
	return ends ? e->round + 1 : 0;
}

START_TEST(many_ranks_have_few_rounds)
{
	int kept[39] = {0}; /* of 2 (20 − 1) rounds of the all-reduces */
	open_steps(MLP " ddp ranks=20", STEP_SIZE_ROUND);
	const struct timeline *s = &v.shown.timeline;
	ck_assert(!steps.all);
	for (size_t stop = 0, at = 0; stop < s->stop_count[STEP_SIZE_ROUND]; stop++) {
		bool here = at < steps.count && steps.stop[at] == stop;
		int rounds, round = round_at(s, stop, &rounds);
		ck_assert_int_le(round, 38);
		if (!round || stop + 1 == s->stop_count[STEP_SIZE_ROUND])
			ck_assert(here);
		kept[round] += here && rounds == 38;
		ck_assert_uint_eq(page_step_before(&steps, stop), here ? at : at - 1);
		ck_assert_uint_eq(page_step_behind(&steps, stop), at);
		at += here;
	}
	for (int round = 1; round <= 38; round++)
		ck_assert_int_eq(kept[round] > 0, round <= 2 || round == 19 || round == 38);
	close_steps();
	/* a page of phases has them all */
	open_steps(MLP " ddp ranks=20", STEP_SIZE_PHASE);
	ck_assert(steps.all);
	close_steps();
}

SUITE("page_steps", 30)
