/* Two traces side by side: their figures are the simulator's, they stand at the same place of the step, and the keys
 * choose them.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/suite.h"
#include "tests/viz/hands.h"
#include "tests/viz/picture_fixture.h"
#include "viz/scene/pair.h"

static const char *const plans[][2] = {
        {"mlp:sizes=12-16-8-4 ddp ranks=4", "mlp:sizes=12-16-8-4 zero3 ranks=4"},
        {"gpt dp ranks=3", "gpt zero2 ranks=3"},
        {"gpt zero3 ranks=2", "gpt zero3 ranks=4"},
        {"gpt zero1 ranks=4", "gpt pipeline ranks=4 accumulate=4"},
};

static void open_pair(const char *const words[2])
{
	open_playback(&viewed_plan(words[0])->shown);
	playback_pair(&playback, &viewed_plan(words[1])->shown);
}

static void ck_figures(const struct view *v, const struct viewed *simulated)
{
	struct figures f;
	figures_make(v->state, &f);
	ck_assert_int_eq(f.of[FIGURE_PEAK], simulated->peak_bytes);
	ck_assert_int_eq(f.of[FIGURE_HIGHEST], simulated->peak_bytes);
	ck_assert_int_eq(f.of[FIGURE_SENT], simulated->sent_bytes);
	ck_assert_int_eq(f.of[FIGURE_TO_SEND], simulated->sent_bytes);
	ck_assert_int_eq(f.of[FIGURE_TIME], simulated->step_ns);
	ck_assert_int_eq(f.of[FIGURE_STEP], simulated->step_ns);
}

START_LOOP_TEST(figures_are_the_simulators, 0, COUNT(plans))
{
	open_pair(plans[_i]);
	playback_go(&playback, playback.shown->timeline.instant_count);
	const struct view *v = playback_view(&playback);
	ck_figures(v, viewed_plan(plans[_i][0]));
	ck_figures(v->second, viewed_plan(plans[_i][1]));
}

/* With the same phases in both, the second stands in the same one. */
START_TEST(both_step_together)
{
	open_pair(plans[0]);
	const struct timeline *a = &playback.shown->timeline, *b = &playback.second->timeline;
	size_t last = 0;
	for (size_t k = 0; k < a->stop_count[STEP_SIZE_ROUND]; k++) {
		playback_go(&playback, timeline_stop(a, STEP_SIZE_ROUND, k));
		const struct state *there = playback_view(&playback)->second->state;
		ck_assert_uint_ge(there->position, last);
		last = there->position;
		if (k && k + 1 < a->stop_count[STEP_SIZE_ROUND])
			ck_assert_uint_le(timeline_stop_of(b, STEP_SIZE_PHASE, last),
			                  timeline_stop_of(a, STEP_SIZE_PHASE, playback.position));
	}
	ck_assert_uint_eq(last, b->instant_count);
}

/* The operation that the first rank began last, of the model's forward and backward passes; -1: none yet. */
static int last_begun(const struct timeline *s, size_t position)
{
	const struct role *role = timeline_role_of(s, 0);
	int last = -1;
	for (size_t i = 0; position && i < s->instants[position - 1].end; i++) {
		const struct event *e = &s->events[i];
		const struct op *op = &role->ops[e->op];
		if (e->kind == EVENT_BEGIN && e->index == 0 && op->kernel >= 0 && op->queue == QUEUE_COMPUTE &&
		    (op->pass == PASS_FORWARD || op->pass == PASS_BACKWARD))
			last = e->op;
	}
	return last;
}

static const char *const alike[][2] = {
        {"gpt ddp ranks=2", "gpt ddp ranks=2 activation_checkpointing=full"},
        {"gpt zero3 ranks=2 activation_checkpointing=full", "gpt ddp ranks=2"},
        {"gpt ddp ranks=2 accumulate=2", "gpt zero2 ranks=2 accumulate=2 activation_checkpointing=full"}};

/* Only one of the two recomputes for checkpointing; everything else happens in both at the same step of the cursor. */
START_LOOP_TEST(both_do_the_same, 0, COUNT(alike))
{
	const struct timeline *a = &viewed_plan(alike[_i][0])->shown.timeline,
	                      *b = &viewed_plan(alike[_i][1])->shown.timeline;
	int compared = 0;
	for (size_t k = 0; k < a->stop_count[STEP_SIZE_ROUND]; k++) {
		size_t ours = timeline_stop(a, STEP_SIZE_ROUND, k), theirs = timeline_same_place(a, ours, b);
		theirs = timeline_stop(b, STEP_SIZE_ROUND, timeline_stop_of(b, STEP_SIZE_ROUND, theirs));
		int mine = last_begun(a, ours), other = last_begun(b, theirs);
		ck_assert_int_eq(mine < 0, other < 0);
		if (mine < 0)
			continue;
		const struct op *x = &timeline_role_of(a, 0)->ops[mine], *y = &timeline_role_of(b, 0)->ops[other];
		ck_assert_msg(x->kind == y->kind && x->pass == y->pass && x->kernel == y->kernel &&
		                      x->micro == y->micro,
		              "step %zu: operation %d beside %d", k, mine, other);
		compared++;
	}
	ck_assert_int_gt(compared, 20);
}

START_TEST(names_say_what_differs)
{
	char out[128];
	pair_name("zero3 on 8 ranks · gpt · batch 16", "zero3 on 4 ranks · gpt · batch 8", "zero3", out, sizeof out);
	ck_assert_str_eq(out, "zero3 on 8 ranks · batch 16");
	pair_common("zero3 on 8 ranks · gpt · batch 16", "zero3 on 4 ranks · gpt · batch 8", out, sizeof out);
	ck_assert_str_eq(out, "gpt");
	pair_name("gpt, 9 parameters · simulated on a100:link=9GB, grain message",
	          "gpt, 9 parameters · simulated on a100, grain message", "zero3", out, sizeof out);
	ck_assert_str_eq(out, "simulated on a100:link=9GB");
	pair_common("gpt, 9 parameters · simulated on a100:link=9GB, grain message",
	            "gpt, 9 parameters · simulated on a100, grain message", out, sizeof out);
	ck_assert_str_eq(out, "gpt, 9 parameters · grain message");
	pair_name("the same", "the same", "zero3", out, sizeof out);
	ck_assert_str_eq(out, "zero3");
	ck_assert_str_eq(figure_difference(out, FIGURE_NOW, 1000, 1500), "+500 B (+50 %)");
	ck_assert_str_eq(figure_difference(out, FIGURE_TIME, 2000000, 1500000), "−500.0 µs (−25 %)");
	ck_assert_str_eq(figure_difference(out, FIGURE_NOW, 39390000, 98820), "−39.29 MB (−99.7 %)");
	ck_assert_str_eq(figure_difference(out, FIGURE_SENT, 7, 7), "the same");
	ck_assert_str_eq(figure_difference(out, FIGURE_SENT, 0, 7), "+7 B");
	ck_assert_str_eq(figure_difference(out, FIGURE_SENT, 10, 1000), "+990 B (× 100)");
	ck_assert_str_eq(figure_difference(out, FIGURE_SENT, 100, 942), "+842 B (× 9.42)"); /* as what if says it */
}

/* Every scene, large and small: both are inside the picture and apart, and on one scale. */
START_LOOP_TEST(places, 0, SCENE_COUNT)
{
	static const struct box rooms[] = {{20, 44, 1240, 520}, {20, 44, 900, 400}, {20, 44, 500, 700}};
	open_pair(plans[0]);
	playback.scene = (enum scene)_i;
	const struct view *v = playback_view(&playback);
	for (int i = 0; i < COUNT(rooms); i++) {
		struct pair pair, store;
		pair_lay(&pair, v, rooms[i]);
		struct box a = pair.part[0].box, b = pair.part[1].box, at = rooms[i];
		ck_assert(a.x + a.width <= b.x || a.y + a.height <= b.y);
		ck_assert(b.x + b.width <= at.x + at.width + 0.01 && b.y + b.height <= at.y + at.height + 0.01);
		ck_assert_int_eq(pair.part[0].view.peak, pair.part[1].view.peak);
		ck_assert(pair_at(&store, v, &at, b.x + 5, b.y + 5) == &store.part[1].view);
		ck_assert_ptr_null(pair_at(&store, v, &at, rooms[i].x + 5, rooms[i].y + 5));
	}
}

/* ---- the window ---- */

static const char *const listed[] = {"single", "ddp", "zero2", "zero3"};
static const char *const listed_plans[] = {NULL, "gpt ddp ranks=4", "gpt zero2 ranks=4", "gpt zero3 ranks=4"};

static const char *name_at(void *context, int i)
{
	(void)context;
	return listed[i];
}

static enum status open_one(void *context, int i)
{
	if (!listed_plans[i])
		return status_fail(STATUS_INPUT, "no %s here", listed[i]);
	playback_show(context, &viewed_plan(listed_plans[i])->shown);
	return STATUS_OK;
}

static enum status pair_one(void *context, int i)
{
	if (!listed_plans[i])
		return status_fail(STATUS_INPUT, "no %s here", listed[i]);
	playback_pair(context, &viewed_plan(listed_plans[i])->shown);
	return STATUS_OK;
}

static enum status compare_them(void *context)
{
	struct playback *p = context;
	for (int i = 1; i < COUNT(listed); i++)
		p->contender[p->contender_count++] = &viewed_plan(listed_plans[i])->shown;
	p->compare = true;
	return STATUS_OK;
}

static void open_listed(int strategies)
{
	open_playback(&viewed_plan(listed_plans[1])->shown);
	open_window(&playback, 1280, 720,
	            &(struct window_host){.context = &playback,
	                                  .strategies = strategies,
	                                  .strategy = name_at,
	                                  .open = open_one,
	                                  .pair = pair_one,
	                                  .compare = compare_them});
}

static void close_listed(void)
{
	close_window();
	close_playback();
}

/* "shardlab · ddp beside zero3 · …" */
static void ck_shown(const char *key, const char *wanted)
{
	char beginning[128];
	type(key);
	snprintf(beginning, sizeof beginning, "shardlab · %s · ", wanted);
	ck_assert_msg(!strncmp(window_title(w), beginning, strlen(beginning)), "after %s: %s, wanted %s", key,
	              window_title(w), beginning);
}

START_TEST(keys_choose_the_two)
{
	open_listed(COUNT(listed));
	ck_shown("c", "ddp · compare");
	ck_shown("c", "ddp beside zero2"); /* nothing was shown before: the next */
	ck_shown("4", "ddp beside zero3");
	ck_shown("2", "zero3 beside ddp"); /* its own key swaps them */
	ck_shown("1", "zero3 beside ddp");
	ck_assert_str_eq(playback.note, "no single here");
	ck_shown("v", "zero3 beside ddp");
	ck_shown("c", "zero3 · collective");
	ck_shown("3", "zero2");
	ck_shown("c", "zero2 · compare");
	ck_shown("c", "zero2 beside zero3"); /* which was shown before */
	press(SDLK_END);
	ck_assert_uint_eq(playback.second_state.position, playback.second->timeline.instant_count);
}

START_TEST(alone_there_is_no_pair)
{
	open_listed(1);
	ck_shown("c", "ddp · compare");
	ck_shown("c", "ddp · overview");
	ck_assert_ptr_nonnull(strstr(playback.note, "no second strategy"));
}

/* A thing under the mouse in the second says what it is, and selects nothing. */
START_TEST(the_mouse_looks_at_both)
{
	open_listed(COUNT(listed));
	playback.scene = SCENE_MEMORY;
	type("cc");
	int found[2] = {0};
	for (int y = 150; y < 560; y += 20)
		for (int x = 30; x < 1250; x += 20) {
			point(SDL_MOUSEMOTION, x, y, 0);
			found[x > 640] += strstr(w->tip, "rank ") != NULL;
		}
	ck_assert_int_gt(found[0], 10);
	ck_assert_int_gt(found[1], 10);
	ck_assert_int_eq(playback.selected_op, -1);
}

SUITE_WITH("pair", 60, NULL, close_listed)
