/* The numbers that pictures and captions say, against numbers worked out here: a wrong digit is too few pixels for a
 * comparison of pictures.
 */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <check.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/suite.h"
#include "tests/viz/drawn_words.h"
#include "tests/viz/player.h"
#include "viz/scene/chart.h"
#include "viz/scene/chart_cloud.h"

/* (12 + 1) · 16 + (16 + 1) · 8 + (8 + 1) · 4 = 380 parameters, of 1520 B */
#define MLP "mlp:sizes=12-16-8-4"
#define DDP MLP " ddp ranks=4"

/* Draws the picture after the given round (from 1) of the first collective that is not control. */
static void go_to_round(int round)
{
	const struct timeline *s = &v.shown.timeline;
	for (size_t k = 0; k < s->stop_count[STEP_SIZE_ROUND]; k++) {
		playback_go(&playback, timeline_stop(s, STEP_SIZE_ROUND, k));
		playback_view(&playback);
		const struct state *st = &playback.state;
		if (st->collective < 0 || s->collectives[st->collective].control || st->round != round)
			continue;
		words_of(&playback);
		return;
	}
	ck_abort_msg("no round %d", round);
}

START_TEST(large_factors_are_whole_numbers)
{
	char word[WORD];
	ck_assert_str_eq(factor_word(word, 3.456), "× 3.46");
	ck_assert_str_eq(factor_word(word, 999.4), "× 999");
	ck_assert_str_eq(factor_word(word, 1162.4), "× 1,162");
}

/* ---- the ring and its ledger ---- */

START_TEST(ledger_shows_the_closed_form)
{
	open_player(DDP, SCENE_RING);
	go_to_round(3); /* of 4 ranks, each sends 380 B in a round */
	ck_words("each rank, so far\n1,140 B\n"
	         "closed form\n2 (n − 1)/n · S\n= 2 · 3/4 · 1.520 kB\n= 2,280 B\n"
	         "the step, all ranks\n4,560 B\nof 9,120 B\n");
	ck_words("round\nfrom\nto\nchunk\nbytes\nexample values\n1\n0\n1\n3\n380\n8 + 6 = 14\n");
	go_to_round(6);
	ck_words("each rank, so far\n2,280 B\n");
	ck_words("the step, all ranks\n9,120 B\nof 9,120 B\n");
}

START_TEST(ledger_of_a_gather)
{
	open_player(MLP " zero3 ranks=2", SCENE_RING);
	go_to_round(1); /* layer.0: 13 · 16 parameters of 4 B, of which each rank has half */
	ck_words("each rank, so far\n416 B\n"
	         "closed form\n(n − 1)/n · S\n= 1/2 · 832 B\n= 416 B\n");
}

/* ---- memory ---- */

START_TEST(bars_show_memory_and_capacity)
{
	struct memory_use use;
	char word[WORD], lines[2 * WORD];
	open_player(DDP " micro_batch=512", SCENE_MEMORY); /* the peak is in other digits */
	plan_memory(&v.made.plan, &v.made.plan.roles[0], SPACE_DEVICE, &use);
	int64_t alive = 0;
	for (int c = 0; c < CATEGORY_COUNT; c++)
		alive += use.steady[c];
	ck_assert_int_ge(alive, 4 * 1520); /* parameters, gradients, Adam's two moments */
	ck_assert_int_lt(alive + 100000, use.peak_bytes);
	/* so tight that the capacity is a line */
	v.shown.timeline.limits = (struct limits){.device_bytes = 3000000, .overhead_bytes = 500000};
	playback_go(&playback, v.shown.timeline.instant_count);
	words_of(&playback);
	snprintf(lines, sizeof lines, "rank 0\n%s\n", bytes_word(word, alive));
	ck_words(lines);
	ck_words("capacity less libraries 2.500 MB\n");
	v.shown.timeline.limits.device_bytes = 900500000;
	words_of(&playback);
	ck_words("capacity less libraries 900.0 MB, far above\n");
}

/* ---- captions ---- */

static const char *caption_at(enum step_size step_size, size_t position)
{
	static char caption[512];
	struct state st = {0};
	state_make(&st, &v.shown.timeline, step_size, position);
	caption_make(&st, caption, sizeof caption);
	state_release(&st);
	return caption;
}

START_TEST(last_caption_shows_the_shares)
{
	open_player(DDP, SCENE_OVERVIEW);
	struct timeline *s = &v.shown.timeline;
	s->step_ns = 2000000;
	s->times = (struct times){
	        .step = 2000000, .compute = 1000000, .exposed = 400000, .bubble = 600000, .rank = s->rank_count - 1};
	for (int i = 0; i < s->rank_count; i++)
		s->shown[i] = s->times;
	ck_assert_str_eq(caption_at(STEP_SIZE_MESSAGE, s->instant_count),
	                 "The step is done in 2.000 ms. Every rank spends 50.0 % of it computing, 20.0 % waiting for "
	                 "communication and 30.0 % for anything else. All ranks together sent 9.120 kB.");
	/* One rank differs: then it is said of which these are. */
	s->shown[0].compute = 500000;
	s->shown[0].exposed = 402000;
	char whole[512];
	snprintf(whole, sizeof whole,
	         "The step is done in 2.000 ms. Rank %d, the slowest, spends 50.0 %% of it computing, 20.0 %% waiting "
	         "for "
	         "communication and 30.0 %% for anything else. Over the ranks: 25.0–50.0 %% computing, "
	         "20.0–20.1 %% waiting for communication. All ranks together sent 9.120 kB.",
	         s->rank_count - 1);
	ck_assert_str_eq(caption_at(STEP_SIZE_MESSAGE, s->instant_count), whole);
}

START_TEST(rounds_are_counted_from_one)
{
	static const char *const rounds[] = {
	        "Round 1 of 6 of the all-reduce of bucket.0: every rank passes one chunk (380 B) to the next, which "
	        "adds "
	        "its own: sums of 2 of 4 ranks.",
	        "Round 3 of 6 of the all-reduce of bucket.0: every rank passes one chunk (380 B) to the next, which "
	        "adds "
	        "its own: sums of 4 of 4 ranks. Now each rank owns one finished chunk; the next 3 rounds only copy.",
	        "Round 6 of 6 of the all-reduce of bucket.0: every rank passes one chunk (380 B) to the next, which "
	        "replaces its own by the complete sum. Now every rank has the complete sum; each has sent 2.280 kB."};
	open_player(DDP, SCENE_RING);
	for (int i = 0; i < 3; i++) {
		go_to_round(i == 0 ? 1 : 3 * i);
		ck_assert_str_eq(caption_at(STEP_SIZE_ROUND, playback.position), rounds[i]);
	}
}

/* If ranks lag behind, a stop has messages of several rounds. */
START_TEST(rounds_of_one_stop)
{
	int several = 0;
	open_player(MLP " zero3 ranks=5", SCENE_RING);
	const struct timeline *s = &v.shown.timeline;
	for (int step_size = 0; step_size < STEP_SIZE_COUNT; step_size++)
		for (size_t p = 1; p <= s->instant_count; p++) {
			struct state st = {0};
			int from = 0, to = 0, first = 1 << 20, last = 0, c = -1;
			state_make(&st, s, (enum step_size)step_size, p);
			for (size_t i = st.latest; i < st.latest_end; i++) {
				const struct event *e = &s->events[i];
				if (e->kind != EVENT_MESSAGE || (c >= 0 && e->collective != c))
					continue;
				c = e->collective;
				first = e->round + 1 < first ? e->round + 1 : first;
				last = e->round + 1 > last ? e->round + 1 : last;
			}
			if (sscanf(caption_at((enum step_size)step_size, p), "Rounds %d to %d of", &from, &to) == 2) {
				ck_assert_int_eq(from, first);
				ck_assert_int_eq(to, last);
				several++;
			}
			state_release(&st);
		}
	ck_assert_int_gt(several, 0);
}

/* Input and target; what a layer of 16 gives and what its GELU keeps; one of 8; the logits; and their gradients, the
 * first layer's apart, whose input has none. */
START_TEST(captions_show_needed_memory)
{
	static const char *const needs[] = {"takes 1 sample",
	                                    "52",
	                                    "layer.0.linear in the forward pass",
	                                    "128",
	                                    "layer.1.linear in the forward pass",
	                                    "64",
	                                    "layer.2.linear in the forward pass",
	                                    "16",
	                                    "the gradients of layer.2",
	                                    "32",
	                                    "the gradients of layer.1",
	                                    "64"};
	size_t said = 0;
	open_player(DDP, SCENE_OVERVIEW);
	const struct timeline *s = &v.shown.timeline;
	for (size_t k = 0; k < s->stop_count[STEP_SIZE_ROUND]; k++) {
		char words[64];
		const char *caption = caption_at(STEP_SIZE_ROUND, timeline_stop(s, STEP_SIZE_ROUND, k));
		if (!strstr(caption, " more memory"))
			continue;
		ck_assert_uint_lt(said, sizeof needs / sizeof *needs);
		ck_assert_msg(strstr(caption, needs[said++]) != NULL, "'%s'", caption);
		snprintf(words, sizeof words, ", %s B more memory", needs[said++]);
		ck_assert_msg(strstr(caption, words) != NULL, "'%s' has not '%s'", caption, words);
	}
	ck_assert_uint_eq(said, sizeof needs / sizeof *needs);
}

/* ---- charts ---- */

static void draw_chart(struct chart *c)
{
	cairo_t *cr = sheet_open(1280, 720);
	ck_assert_msg(!fonts_open(&fonts), "%s", status_message());
	c->theme = THEME_PAPER;
	c->fonts = &fonts;
	words_begin();
	chart_draw(c, cr, 1280, 720);
	cairo_destroy(cr);
	fonts_release(&fonts);
}

START_TEST(bars_show_their_sum)
{
	static struct chart c = {.title = "title",
	                         .capacity = 40000000,
	                         .bars = {{.label = "zero1",
	                                   .role = "each rank",
	                                   .bytes = {1000000, 2000000, 4000000, 8000000, 0, 500000}},
	                                  {.label = "single", .role = "rank", .bytes = {0, 0, 0, 21000000, 300000, 0}}},
	                         .bar_count = 2};
	draw_chart(&c);
	ck_words("title\n");
	ck_words("capacity less libraries 40.00 MB\n");
	ck_words("15.50 MB\neach rank\nzero1\n");
	ck_words("21.30 MB\nrank\nsingle\n");
}

START_TEST(lines_have_ranks_and_a_capacity)
{
	static struct chart c = {
	        .capacity = 900000000,
	        .series = {{.label = "zero3", .at = {1, 2, 4}, .value = {8000000, 5000000, 3500000}, 3}},
	        .series_count = 1};
	draw_chart(&c);
	ck_words("1\n2\n4\nranks\n");
	ck_words("capacity less libraries 900.0 MB, above the chart\nzero3\n");
}

START_TEST(a_cloud_says_its_frontier_and_what_does_not_fit)
{
	static struct cloud c = {
	        .title = "title",
	        .tokens = true,
	        .series = {"zero1", "zero3", "dp"},
	        .series_count = 3,
	        .points = {{.bytes = 40000000, .rate = 900, .frontier = true, .label = "the fastest"},
	                   {.bytes = 60000000, .rate = 800, .series = 1},
	                   {.bytes = 20000000, .rate = 50, .series = 1, .frontier = true, .label = "the least"},
	                   {.bytes = 110000000, .series = 2}},
	        .point_count = 4,
	        .limits = {{"device", 80000000}},
	        .limit_count = 1,
	        .spared = 5};
	cairo_t *cr = sheet_open(1280, 720);
	ck_assert_msg(!fonts_open(&fonts), "%s", status_message());
	c.theme = THEME_PAPER;
	c.fonts = &fonts;
	words_begin();
	cloud_draw(&c, cr, 1280, 720);
	cairo_destroy(cr);
	fonts_release(&fonts);
	ck_words("tokens a second (logarithmic)\n");
	ck_words("device less 5 %: 80.00 MB\n");
	ck_words("zero1\nzero3\nfits with no micro-batch\n"); /* dp has no mark */
	ck_words("1\nthe fastest\n2\nthe least\n");
}

START_TEST(the_legend_has_what_is_there)
{
	static struct chart c = {.bars = {{.label = "a", .role = "rank", .bytes = {1000000, 0, 4000000}}},
	                         .bar_count = 1};
	draw_chart(&c);
	ck_words("parameters\n");
	ck_words("optimizer\n");
	ck_assert_ptr_null(strstr(drawn_words, "buffers"));
	ck_assert_ptr_null(strstr(drawn_words, "activations"));
}

/* However narrow the bars are. */
START_LOOP_TEST(roles_are_not_cut, 1, CHART_BARS)
{
	static struct chart c;
	c.bar_count = _i;
	for (int i = 0; i < _i; i++) {
		snprintf(c.bars[i].label, sizeof c.bars[i].label, "dp");
		snprintf(c.bars[i].role, sizeof c.bars[i].role, "%s", i % 2 ? "each worker" : "root");
		c.bars[i].bytes[0] = 1000000;
	}
	draw_chart(&c);
	ck_assert_ptr_null(strstr(drawn_words, "…"));
	ck_assert_ptr_nonnull(strstr(drawn_words, "root"));
	if (_i > 1)
		ck_assert_ptr_nonnull(strstr(drawn_words, "worker"));
}

/* The pixels of a colour in a chart of 1280 × 720. */
static int pixels_of(struct chart *c, uint32_t wanted)
{
	cairo_t *cr = sheet_open(1280, 720);
	int count = 0;
	ck_assert_msg(!fonts_open(&fonts), "%s", status_message());
	c->theme = THEME_PAPER;
	c->fonts = &fonts;
	chart_draw(c, cr, 1280, 720);
	for (int y = 0; y < 720; y++)
		for (int x = 200; x < 1000; x++) /* between the first points and the last */
			count += sheet_pixel(cr, x, y) == wanted;
	cairo_destroy(cr);
	fonts_release(&fonts);
	return count;
}

START_TEST(no_line_hides_another)
{
	static struct chart c = {.series = {{.label = "zero3", .at = {1, 8}, .value = {8000000, 3000000}, 2},
	                                    {.label = "fsdp", .at = {1, 8}, .value = {8000000, 3000000}, 2},
	                                    {.label = "other", .at = {1, 8}, .value = {8000000, 3000000}, 2}},
	                         .series_count = 3};
	ck_assert_int_gt(pixels_of(&c, 0x0072B2), 200);
	ck_assert_int_gt(pixels_of(&c, 0xE69F00), 200);
	ck_assert_int_gt(pixels_of(&c, 0x009E73), 200);
}

START_TEST(what_overflows_is_hatched)
{
	static struct chart c = {.bars = {{.label = "a", .role = "rank", .bytes = {50000000}}}, .bar_count = 1};
	uint32_t plain = theme_of(THEME_PAPER)->category[CATEGORY_PARAMETERS];
	c.capacity = 51000000;
	int fits = pixels_of(&c, plain);
	c.capacity = 25000000; /* the upper half */
	int overflows = pixels_of(&c, plain);
	ck_assert_int_gt(overflows, fits * 45 / 100);
	ck_assert_int_lt(overflows, fits * 95 / 100);
}

/* ---- numbers of chunks ---- */

/* Rank 1 begins chunk 3 with 8 and gets rank 0's 6: value_initially(). */
START_TEST(chunks_carry_numbers_unless_they_are_put_away)
{
	open_player(DDP, SCENE_RING);
	go_to_round(1);
	ck_words("8 + 6 = 14\n");
	ck_words("example values\n");
	playback.values = false;
	go_to_round(1);
	ck_assert(!strstr(drawn_words, " = 14\n") && !strstr(drawn_words, "\nexample values\n"));
}

/* The plan shows the waits of the operation that the caption is about, round by round. */
START_TEST(the_plan_is_about_what_the_caption_is_about)
{
	open_player(DDP, SCENE_PLAN);
	ck_assert(v.shown.timeline.plan->role_count == 1);
	go_to_round(1);
	ck_assert(strstr(drawn_words, "\nThe program of every rank, as rank 0 carries it out: operations "));
	ck_assert(strstr(caption_at(STEP_SIZE_ROUND, playback.position), "the all-reduce of bucket.0"));
	ck_assert(strstr(drawn_words, ": the all-reduce of bucket.0 waits for\n"));
	close_player();
	open_player(MLP " dp ranks=3", SCENE_PLAN);
	int others = 0, root = 0;
	const struct timeline *s = &v.shown.timeline;
	for (size_t k = 1; k + 1 < s->stop_count[STEP_SIZE_ROUND]; k++) {
		const char *caption = caption_at(STEP_SIZE_ROUND, timeline_stop(s, STEP_SIZE_ROUND, k));
		playback_go(&playback, timeline_stop(s, STEP_SIZE_ROUND, k));
		bool of_others = !strncmp(caption, "Rank 1 multiplies", 17);
		words_of(&playback);
		ck_assert(!of_others || strstr(drawn_words, "\nRank 0 meanwhile: "));
		ck_assert(strncmp(caption, "Rank 0 ", 7) != 0 || !strstr(drawn_words, "meanwhile"));
		others += of_others;
		root += !strncmp(caption, "Rank 0 ", 7);
	}
	ck_assert(others > 0 && root > 0);
}

/* Beside each other both steps are explained, whole words of each, and neither stands on the other; once, without
 * names, where both say the same. */
static void look_at_both(bool presenter)
{
	int seen = 0, same = 0;
	open_player("gpt:layers=2,width=8,heads=4,context=8,vocabulary=24 ddp ranks=4 bucket=512", SCENE_OVERVIEW);
	playback_pair(&playback,
	              &viewed_plan("gpt:layers=2,width=8,heads=4,context=8,vocabulary=24 zero3 ranks=4")->shown);
	playback.presenter = presenter;
	for (size_t k = 1; k + 1 < v.shown.timeline.stop_count[STEP_SIZE_ROUND]; k += 5, seen++) {
		char caption[2][CAPTION_SIZE];
		playback_go(&playback, timeline_stop(&v.shown.timeline, STEP_SIZE_ROUND, k));
		words_of(&playback);
		const struct view *view = playback_view(&playback);
		caption_make(view->state, caption[0], CAPTION_SIZE);
		caption_make(view->second->state, caption[1], CAPTION_SIZE);
		for (int i = 0; i < 2; i++) {
			char wanted[40];
			bool once = !strcmp(caption[0], caption[1]);
			snprintf(wanted, sizeof wanted, "\n%s\n%.14s", i ? "zero3" : "ddp", caption[i]);
			ck_assert_msg(!strstr(drawn_words, wanted) == once, "'%s' in %s", wanted, drawn_words);
			same += once;
		}
		ck_assert_msg(presenter || !words_collide(1280, 720), "step %zu: %s", k, words_collide(1280, 720));
	}
	ck_assert_int_gt(seen, 5);
	ck_assert(same > 0 && same < seen);
}

START_TEST(a_pair_has_both_captions)
{
	look_at_both(false);
	close_player();
	look_at_both(true);
}

/* A newcomer reads in the picture what stands above, below and in a box, and on an arrow, with four ranks too. */
START_TEST(the_ring_says_how_its_boxes_are_read)
{
	open_player(DDP, SCENE_RING);
	go_to_round(1);
	ck_words(
	        "above a box: the number of its chunk\nbelow a box: the ranks in its sum\non an arrow: chunk: value\n");
	ck_words("the number in a box: an example value\n");
	playback.values = false;
	go_to_round(1);
	ck_words("below a box: the ranks in its sum\na stripe in a box: a rank in its sum\n");
	ck_assert(!strstr(drawn_words, "on an arrow"));
}

SUITE_WITH("words", 0, NULL, close_player)
