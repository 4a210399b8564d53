/* The presenter and small windows: with a question, the settings of what if or a second strategy beside the scene, no
 * text stands on another, is too small or cut off, and a ring keeps its numbers and its arrows.
 */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <check.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/suite.h"
#include "tests/viz/catalogue.h"
#include "tests/viz/drawn_words.h"
#include "tests/viz/picture_fixture.h"
#include "viz/scene/lane_area.h"
#include "viz/scene/pair.h"
#include "viz/scene/ring_parts.h"
#include "viz/scene/scene_parts.h"

static const int sizes[][2] = {{1024, 768}, {1280, 720}, {1366, 768}, {1920, 1080}};
#define LARGE "gpt:layers=6,width=512,heads=8,vocabulary=32768"

/* Names of operations and of the model may be longer than any picture has room for. */
static bool may_be_cut(const char *text)
{
	static const char *const names[] = {"gpt:", "next, after", "S = ",       "for ", "The step",
	                                    "152:", "all-re",      "recomputed."}; /* names of spans and of buffers */
	for (int i = 0; i < COUNT(names); i++)
		if (strstr(text, names[i]))
			return true;
	return false;
}

static const char *cut(void)
{
	for (int i = 0; i < drawn_count; i++) {
		size_t n = strlen(drawn[i].text), mark = strlen("…");
		if (n >= mark && !strcmp(drawn[i].text + n - mark, "…") && !may_be_cut(drawn[i].text))
			return drawn[i].text;
	}
	return NULL;
}

/* A veil hides what is drawn below it. */
static void lift_veils(void)
{
	int kept = 0;
	for (int i = 0; i < drawn_count; i++)
		if (strcmp(drawn[i].text, "?") != 0)
			drawn[kept++] = drawn[i];
	drawn_count = kept;
}

/* Checks one state at all sizes, with and without the presenter. */
static void look(const char *state)
{
	for (int i = 0; i < 2 * COUNT(sizes); i++) {
		const int *size = sizes[i / 2];
		playback.presenter = i % 2;
		words_in(&playback, size[0], size[1]);
		lift_veils();
		const char *bad = words_collide(size[0], size[1]);
		char where[160];
		snprintf(where, sizeof where, "%s, %s, %d × %d%s, at %zu", state, scene_name(playback.scene), size[0],
		         size[1], playback.presenter ? ", presenter" : "", playback.position);
		ck_assert_msg(!bad, "%s: %s", where, bad);
		ck_assert_msg(!cut(), "%s: '%s' is cut off", where, cut());
		ck_assert_msg(!playback.presenter || drawn_least >= 0.02 * size[1], "%s: text of %.1f", where,
		              drawn_least);
	}
}

static void go_part(size_t part, size_t parts)
{
	const struct timeline *s = &playback.shown->timeline;
	playback_go(&playback, timeline_stop(s, STEP_SIZE_ROUND, s->stop_count[STEP_SIZE_ROUND] * part / parts));
}

static const enum scene beside[] = {SCENE_OVERVIEW, SCENE_RING, SCENE_MEMORY, SCENE_TIMELINE};

/* ---- what if ---- */

static const struct whatif settings = {
        .rows = {{"ranks", "ranks", "how many", "4", "8", true, 2, 9},
                 {"model", "model", "what is trained", LARGE, LARGE, false, 0, 5},
                 {"cluster", "cluster", "the hardware", "v100-16gb", "v100-16gb", false, 1, 4},
                 {"link", "link-bandwidth", "inside a node", "120GB", "120GB", false, 3, 9},
                 {"batch", "batch", "in samples", "16", "32", true, 3, 9},
                 {"micro-batch", "micro-batch", "of a rank", "4", "4", false, 2, 9},
                 {"accumulate", "accumulate", "micro-batches", "1", "1", false, 0, 9},
                 {"sequence", "sequence", "tokens", "128", "128", false, 2, 9},
                 {"bucket", "bucket", "that travel together", "1, then 25 MiB", "1MB", true, 5, 9},
                 {"checkpointing", "activation-checkpointing", "made again", "none", "none", false, 0, 4},
                 {"offload", "offload", "to the host", "none", "none", false, 0, 4},
                 {"precision", "precision", "of parameters", "fp32", "fp32", false, 0, 3}},
        .figures = {{"step time", "11.17 ms", "11.38 ms", "+1.9 %", "", -1},
                    {"samples a step", "16", "32", "+100 %", "", 0},
                    {"time a sample", "698.0 µs", "355.8 µs", "−49 %", "", 1},
                    {"peak memory", "744.2 MB", "744.2 MB", "", "", 0},
                    {"with libraries", "3.710 GB", "3.710 GB", "", "", 0},
                    {"a rank sends", "214.5 MB", "250.3 MB", "+17 %", "", -1},
                    {"exposed", "552.9 µs", "753.3 µs", "+36 %", "", -1},
                    {"bubble", "0.000 µs", "0.000 µs", "", "", 0}},
        .row_count = 12,
        .figure_count = 8,
        .words = "ranks=8",
        .row = -1,
};

START_LOOP_TEST(what_if_beside_the_scene_can_be_read, 0, COUNT(beside))
{
	struct whatif w = settings;
	open_playback(&viewed_plan(LARGE " ddp ranks=4")->shown);
	playback.whatif = &w;
	playback.scene = beside[_i];
	for (size_t part = 0; part < 5; part++) {
		go_part(part, 5);
		look("what if");
	}
}

/* ---- questions ---- */

START_LOOP_TEST(questions_beside_the_scene_can_be_read, 0, COUNT(beside))
{
	struct asking a;
	const struct viewed *v = viewed_plan(LARGE " ddp ranks=4");
	open_playback(&v->shown);
	ck_assert(asking_begin(&a, &v->shown.timeline, 0));
	for (a.now = 0; a.now < a.set.count; a.now += 4) {
		playback_ask(&playback, &a);
		playback.scene = beside[_i];
		look("a question");
	}
}

/* ---- two, and all ---- */

START_LOOP_TEST(pairs_can_be_read, 0, COUNT(beside))
{
	open_playback(&viewed_plan(LARGE " ddp ranks=4")->shown);
	playback_pair(&playback, &viewed_plan(LARGE " zero2 ranks=4")->shown);
	playback.scene = beside[_i];
	for (size_t part = 0; part < 5; part++) {
		go_part(part, 5);
		look("a pair");
	}
}

/* With the settings there is a quarter of the width for each. The lines of the peak's plate are a line apart. */
START_TEST(a_pair_beside_settings_stands_apart)
{
	struct whatif w = settings;
	int plates = 0;
	open_playback(&viewed_plan(LARGE " fsdp ranks=4")->shown);
	playback_pair(&playback, &viewed_plan(LARGE " fsdp ranks=8")->shown);
	playback.whatif = &w;
	playback.scene = SCENE_MEMORY;
	playback.presenter = true;
	words_in(&playback, 1280, 720);
	const char *bad = words_collide(1280, 720);
	ck_assert_msg(!bad, "%s", bad);
	for (int i = 0; i + 1 < drawn_count; i++) {
		const struct drawn *head = &drawn[i], *cause = &drawn[i + 1];
		if (strncmp(head->text, "peak ", 5) != 0 || strncmp(cause->text, "for ", 4) != 0)
			continue;
		double apart = cause->y + cause->height - head->y - head->height, size = cause->height / 0.72;
		ck_assert_msg(apart >= 1.1 * size, "lines of %.1f are %.1f apart", size, apart);
		plates++;
	}
	ck_assert_int_eq(plates, 2);
}

START_LOOP_TEST(compared_strategies_can_be_read, 1, 8)
{
	static const char *const names[] = {LARGE " ddp ranks=4",     LARGE " single ranks=1", LARGE " dp ranks=4",
	                                    LARGE " zero1 ranks=4",   LARGE " zero2 ranks=4",  LARGE " zero3 ranks=4",
	                                    LARGE " pipeline ranks=4"};
	open_playback(&viewed_plan(names[0])->shown);
	playback.compare = true;
	for (int i = 0; i < _i && i < COUNT(names); i++)
		playback.contender[playback.contender_count++] = &viewed_plan(names[i])->shown;
	go_part(2, 5);
	look("compared");
	ck_assert_ptr_nonnull(strstr(drawn_words, "\nMemory of a device now\n"));
	ck_assert_ptr_nonnull(strstr(drawn_words, "dashed: up to the step's peak"));
}

/* ---- cards below the lanes, and the bar of phases ---- */

/* No text lies on the lower border of the cards, whatever the canvas is. */
static void ck_cards_hold(int width, int height, const char *where)
{
	const struct view *v = playback_view(&playback);
	struct canvas c = {.pixel = 1};
	double unit = 1 / (canvas_scale(width, height) * canvas_text(width, height, 1, v->presenter));
	c.width = width * unit;
	c.height = height * unit;
	struct fit fit = scene_fit(v, frame_scene(v, (struct box){0, 0, c.width, c.height}));
	struct box card = lane_cards_box(v, fit.inner, false);
	double bottom = (fit.outer.y + (card.y + card.height - fit.inner.y) * fit.scale) / unit;
	ck_assert(card.height > 0);
	for (int i = 0; i < drawn_count; i++)
		ck_assert_msg(drawn[i].y > bottom - 0.5 || drawn[i].y + drawn[i].height < bottom + 0.5,
		              "%s: '%s' leaves its card", where, drawn[i].text);
}

START_LOOP_TEST(cards_hold_their_words, 0, 2)
{
	static const char *const plans[] = {LARGE " ddp ranks=8", LARGE " pipeline ranks=8 accumulate=4"};
	open_playback(&viewed_plan(plans[_i])->shown);
	playback.scene = SCENE_TIMELINE;
	go_part(2, 5);
	int64_t end = playback.shown->lanes.end;
	playback.measured_from = end / 5;
	playback.measured_to = end * 4 / 5;
	for (int selects = 0; selects < 2; selects++) {
		playback.selected_rank = selects ? 0 : -1;
		playback.selected_op = selects ? timeline_role_of(&playback.shown->timeline, 0)->step.end - 8 : -1;
		for (int i = 0; i < 2 * COUNT(sizes); i++) {
			const int *size = sizes[i / 2];
			char where[64];
			playback.presenter = i % 2;
			words_in(&playback, size[0], size[1]);
			snprintf(where, sizeof where, "%d × %d%s", size[0], size[1],
			         playback.presenter ? ", presenter" : "");
			const char *bad = words_collide(size[0], size[1]);
			ck_assert_msg(!bad, "%s: %s", where, bad);
			ck_cards_hold(size[0], size[1], where);
			ck_assert_msg(_i || strstr(drawn_words, "ranks 0–7: the same"), "%s: not one row", where);
		}
	}
	playback.selected_op = -1;
	playback_pair(&playback, &viewed_plan(LARGE " zero2 ranks=8")->shown);
	look("a measured pair");
}

START_TEST(phases_keep_their_names_apart)
{
	static const char *const plans[] = {
	        "gpt:layers=2,width=64,heads=2,vocabulary=512 ddp ranks=2 activation_checkpointing=full",
	        LARGE " ddp ranks=2 activation_checkpointing=full",
	        "gpt:layers=3,width=64,heads=2,vocabulary=512 zero3 ranks=2 accumulate=4 "
	        "activation_checkpointing=full"};
	for (int i = 0; i < COUNT(plans); i++) {
		open_playback(&viewed_plan(plans[i])->shown);
		playback.scene = SCENE_MEMORY;
		go_part(1, 2);
		for (int k = 0; k < 2 * COUNT(sizes); k++) {
			const int *size = sizes[k / 2];
			playback.presenter = k % 2;
			words_in(&playback, size[0], size[1]);
			const char *bad = words_collide(size[0], size[1]);
			ck_assert_msg(!bad, "%s, %d × %d: %s", plans[i], size[0], size[1], bad);
		}
		close_playback();
	}
}

/* ---- rings ---- */

static const char *ddp_on(int ranks)
{
	static char words[64];
	snprintf(words, sizeof words, "mlp:sizes=64-64-64 ddp ranks=%d", ranks);
	return words;
}

/* Does this part of a line run through the box? */
static bool runs_through(double x0, double y0, double x1, double y1, const struct box *b)
{
	for (int i = 0; i <= 100; i++) {
		double x = x0 + (x1 - x0) * i / 100, y = y0 + (y1 - y0) * i / 100;
		if (box_has(*b, x, y))
			return true;
	}
	return false;
}

static void ck_ring(const struct ring *r, const char *where)
{
	for (int64_t k = 0; k < r->n; k++) {
		double x0, y0, x1, y1;
		const struct box *b = &r->card[k];
		ring_link(r, k, (k + 1) % r->n, 0, &x0, &y0, &x1, &y1);
		ck_assert_msg(hypot(x1 - x0, y1 - y0) >= 0.95 * ring_arrow(r), "%s: the arrow from %d is %.1f", where,
		              (int)k, hypot(x1 - x0, y1 - y0));
		ck_assert_msg(b->x >= r->area.x - 1 && b->y >= r->area.y - 1 &&
		                      b->x + b->width <= r->area.x + r->area.width + 1 &&
		                      b->y + b->height <= r->area.y + r->area.height + 1,
		              "%s: card %d leaves the picture", where, (int)k);
		for (int64_t i = 0; i < r->n; i++)
			ck_assert_msg(!runs_through(x0, y0, x1, y1, &r->card[i]), "%s: card %d hides the arrow from %d",
			              where, (int)i, (int)k);
	}
}

/* The scene's ring as it is drawn in the presenter and without it. */
START_LOOP_TEST(no_arrow_of_a_ring_is_hidden, 3, 17)
{
	cairo_t *cr = sheet_open(1, 1);
	open_playback(&viewed_plan(ddp_on(_i))->shown);
	playback.scene = SCENE_RING;
	go_part(2, 3);
	for (int i = 0; i < 2 * COUNT(sizes); i++) {
		const int *size = sizes[i / 2];
		struct canvas c;
		char where[64];
		playback.presenter = i % 2;
		const struct view *v = playback_view(&playback);
		canvas_begin(&c, cr, size[0], size[1], canvas_text(size[0], size[1], 1, v->presenter), v->theme,
		             &fonts);
		struct box all = {0, 0, c.width, c.height};
		struct fit fit = scene_fit(v, frame_scene(v, all));
		c.least = frame_least(v, all) / fit.scale;
		struct box b = fit.inner;
		b.width -= fmin(390, b.width * 0.34) + 20; /* the ledger */
		ck_assert_int_ge(v->state->collective, 0);
		struct ring r = {.c = &c,
		                 .v = v,
		                 .state = v->state,
		                 .group = v->state->groups,
		                 .collective = &v->state->timeline->collectives[v->state->collective],
		                 .n = _i};
		ring_place(&r, b, false);
		snprintf(where, sizeof where, "%d ranks, %d × %d%s", _i, size[0], size[1],
		         v->presenter ? ", presenter" : "");
		ck_ring(&r, where);
		canvas_end(&c);
	}
	cairo_destroy(cr);
}

/* Texts that are a number of two digits, left of the ledger, and how many there are on the ranks' chunks. */
static int numbers_held(void)
{
	const struct state *st = &playback.state;
	struct values v;
	int count = 0;
	values_make(&v, st, &st->groups[0]);
	for (int64_t k = 0; k < v.members * v.chunks; k++)
		count += v.now[k] > 9.5;
	values_release(&v);
	ck_assert_int_gt(count, 4);
	return count;
}

static int numbers_drawn(double right)
{
	int count = 0;
	for (int i = 0; i < drawn_count; i++)
		count += drawn[i].x < right && strlen(drawn[i].text) == 2 && isdigit((unsigned char)drawn[i].text[0]) &&
		         isdigit((unsigned char)drawn[i].text[1]);
	return count;
}

static int sums_drawn(double right)
{
	int count = 0;
	for (int i = 0; i < drawn_count; i++)
		count += drawn[i].x < right && strstr(drawn[i].text, " = ") && strstr(drawn[i].text, " + ");
	return count;
}

/* The step at which the first collective is done: all ranks hold the sums of all. */
static void go_to_the_end_of_a_ring(void)
{
	const struct timeline *s = &playback.shown->timeline;
	for (size_t k = 0; k + 1 < s->stop_count[STEP_SIZE_ROUND]; k++) {
		playback_go(&playback, timeline_stop(s, STEP_SIZE_ROUND, k));
		if (playback.state.collective >= 0 && !s->collectives[playback.state.collective].control &&
		    playback.state.held && playback.state.group_count && playback.state.groups[0].done)
			return;
	}
	ck_abort_msg("no ring ends");
}

/* After a round of it in which each rank adds. */
static void go_to_a_sum(void)
{
	const struct timeline *s = &playback.shown->timeline;
	for (size_t k = 0; k + 1 < s->stop_count[STEP_SIZE_ROUND]; k++) {
		int adds = 0;
		playback_go(&playback, timeline_stop(s, STEP_SIZE_ROUND, k));
		for (size_t i = playback.state.latest; i < playback.state.latest_end; i++)
			adds += s->events[i].kind == EVENT_MESSAGE && s->events[i].add && s->events[i].round == 1;
		if (adds == s->rank_count)
			return;
	}
	ck_abort_msg("nobody adds");
}

START_LOOP_TEST(a_ring_keeps_its_numbers, 4, 9)
{
	open_playback(&viewed_plan(ddp_on(_i))->shown);
	playback.scene = SCENE_RING;
	for (int i = 0; i < 2 * COUNT(sizes); i++) {
		const int *size = sizes[i / 2];
		playback.presenter = i % 2;
		go_to_the_end_of_a_ring();
		words_in(&playback, size[0], size[1]);
		ck_assert_msg(numbers_drawn(0.66 * size[0]) >= numbers_held(), "%d ranks, %d × %d%s: %d numbers", _i,
		              size[0], size[1], playback.presenter ? ", presenter" : "", numbers_drawn(0.66 * size[0]));
		go_to_a_sum();
		words_in(&playback, size[0], size[1]);
		int sums = sums_drawn(0.66 * size[0]);
		ck_assert_msg(sums == _i || (sums == 0 && _i > 6), "%d ranks, %d × %d%s: %d sums", _i, size[0], size[1],
		              playback.presenter ? ", presenter" : "", sums);
	}
}

/* The same with the panel of what if, and with two strategies side by side. */
START_TEST(numbers_stay_beside_other_things)
{
	struct whatif w = settings;
	open_playback(&viewed_plan(ddp_on(4))->shown);
	playback.scene = SCENE_RING;
	playback.presenter = true;
	playback.whatif = &w;
	for (int i = 0; i < COUNT(sizes); i++) {
		go_to_the_end_of_a_ring();
		words_in(&playback, sizes[i][0], sizes[i][1]);
		ck_assert_msg(numbers_drawn(0.58 * sizes[i][0]) >= numbers_held(), "%d × %d", sizes[i][0], sizes[i][1]);
	}
	playback.whatif = NULL;
	playback_pair(&playback, &viewed_plan("mlp:sizes=64-64-64 zero1 ranks=4")->shown);
	for (int i = 0; i < COUNT(sizes); i++) {
		go_to_a_sum();
		words_in(&playback, sizes[i][0], sizes[i][1]);
		int sums = sums_drawn(sizes[i][0]);
		ck_assert_msg(sums >= 4 && sums % 4 == 0, "%d × %d: %d sums", sizes[i][0], sizes[i][1], sums);
	}
}

SUITE_WITH("presenter", 240, NULL, close_playback)
