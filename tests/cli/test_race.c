/* A race of algorithms: its times are the simulator's for each collective alone, its crossings are where the order
 * changes, its rounds end with what was promised, and keys do what they say.
 */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command/view_race.h"
#include "strategy/strategies/alone.h"
#include "tests/support/reports.h"
#include "tests/support/suite.h"
#include "tests/support/viewed.h"
#include "tests/viz/drawn_words.h"
#include "tests/viz/hands.h"

static void run(struct race *r, enum operation o, int64_t ranks, int64_t bytes, const char *cluster)
{
	*r = (struct race){.operation = o, .ranks = ranks, .bytes = bytes};
	race_run(r, cluster);
}

/* The time of a collective alone in the simulator. */
static int64_t simulated(const char *algorithm, enum operation o, int64_t ranks, int64_t bytes, const char *cluster,
                         enum grain grain)
{
	char name[64];
	struct alone what;
	struct plan p;
	struct model m;
	snprintf(name, sizeof name, "%s-%s", algorithm, operation_name(o));
	ck_assert_msg(!alone_find("test", name, &what), "%s", status_message());
	ck_assert(!alone_open(&p, &m, &what, ranks, bytes));
	int64_t ns = report_simulated_on(&p, cluster, grain, NULL)->time.step;
	plan_release(&p);
	model_release(&m);
	return ns;
}

static void check_racer(const struct race *r, const struct racer *one)
{
	int64_t before = 0, rounds = 0;
	ck_assert_int_gt(one->ns, 0);
	for (int i = 0; i < one->parts; i++)
		rounds += schedule_rounds(&one->part[i]);
	ck_assert_int_eq(one->rounds, rounds);
	for (int k = 0; k < one->rounds; k++) {
		ck_assert_int_ge(one->ends[k], before);
		before = one->ends[k];
	}
	ck_assert_int_eq(before, one->ns);
	ck_assert_int_eq(race_rounds_over(one, one->ns), one->rounds);
	ck_assert_int_lt(race_rounds_over(one, one->ns - 1), one->rounds);
	ck_assert_int_le(one->ns, r->longest);
}

static int faster_than(const struct race *r, int64_t ns)
{
	int count = 0;
	for (int i = 0; i < r->count; i++)
		count += r->racer[i].ns < ns;
	return count;
}

static const enum operation operations[] = {OPERATION_ALL_REDUCE, OPERATION_BROADCAST, OPERATION_REDUCE};

START_LOOP_TEST(times_are_the_simulators, 0, COUNT(operations))
{
	static const int64_t sizes[] = {4, 1000000}, ranks[] = {2, 3, 8, 17, 65};
	for (int i = 0; i < COUNT(ranks); i++)
		for (int k = 0; k < COUNT(sizes); k++) {
			struct race r;
			run(&r, operations[_i], ranks[i], sizes[k], "v100-16gb");
			ck_assert_msg(!*r.refused, "%s", r.refused);
			ck_assert_int_ge(r.count, 3);
			for (int n = 0; n < r.count; n++) {
				ck_assert_int_eq(
				        r.racer[n].ns,
				        simulated(r.racer[n].name, r.operation, r.ranks, r.bytes, "v100-16gb",
				                  ranks[i] <= RACE_BY_MESSAGE ? GRAIN_MESSAGE : GRAIN_OPERATION));
				check_racer(&r, &r.racer[n]);
				ck_assert_int_eq(r.racer[n].place, 1 + faster_than(&r, r.racer[n].ns));
			}
			race_release(&r);
		}
}

static const struct racer *named(const struct race *r, const char *name)
{
	int i = 0;
	while (i < r->count && strcmp(r->racer[i].name, name) != 0)
		i++;
	ck_assert_msg(i < r->count, "no %s races", name);
	return &r->racer[i];
}

/* The bytes of the busiest rank are those of the closed forms. */
START_TEST(bytes_are_the_closed_forms)
{
	struct race r;
	run(&r, OPERATION_ALL_REDUCE, 8, 8000, "laptop");
	ck_assert_int_eq(named(&r, "ring")->out, 2 * 7 * 1000);
	ck_assert_int_eq(named(&r, "ring")->in, 2 * 7 * 1000);
	ck_assert_int_eq(named(&r, "halving-doubling")->out, 2 * 7 * 1000);
	ck_assert_int_eq(named(&r, "star")->out, 7 * 8000);
	ck_assert_int_eq(named(&r, "star")->in, 7 * 8000);
	ck_assert_int_eq(named(&r, "tree")->out, 3 * 8000);
	race_release(&r);
}

/* On both sides of a crossing the race itself has the order that the chart says. */
START_TEST(racers_of_the_same_time_share_a_place)
{
	char words[RACE_WORDS];
	struct race r;
	run(&r, OPERATION_ALL_REDUCE, 2, 1000000, "v100-16gb");
	ck_assert_int_eq(named(&r, "ring")->place, 1);
	ck_assert_int_eq(named(&r, "halving-doubling")->place, 1);
	ck_assert_str_eq(race_words(words, &r), "On 2 ranks ring and halving-doubling are the fastest at every size.");
	race_release(&r);
}

START_TEST(the_order_changes_where_lines_cross)
{
	struct race r, side;
	struct race_crossing all[RACE_POINTS];
	run(&r, OPERATION_ALL_REDUCE, 16, 4000000, "v100-16gb");
	int n = race_crossings(&r, all);
	ck_assert_int_ge(n, 1);
	for (int i = 0; i < n; i++)
		for (int after = 0; after < 2; after++) {
			int64_t bytes = (after ? all[i].at * 5 / 4 : all[i].at * 4 / 5) / 4 * 4;
			run(&side, OPERATION_ALL_REDUCE, 16, bytes, "v100-16gb");
			int64_t first = side.racer[all[i].before].ns, second = side.racer[all[i].after].ns;
			ck_assert_msg(after ? second < first : first < second, "at %lld B", (long long)bytes);
			race_release(&side);
		}
	race_release(&r);
}

/* The closed form that stands beside a racer is what the simulator counts, the collective's launch included: within a
 * nanosecond for each round. */
START_TEST(symbols_are_the_simulators_times)
{
	static const struct {
		enum operation operation;
		int launches;
		const char *name, *form;
		int64_t hops, parts; /* of S/parts */
	} rows[] = {
	        {OPERATION_ALL_REDUCE, 1, "ring", "launch + 2 (n − 1) · hop(S/n)", 14, 8},
	        {OPERATION_ALL_REDUCE, 2, "tree", "2 · (launch + ⌈log₂ n⌉ · hop(S))", 6, 1},
	        {OPERATION_ALL_REDUCE, 2, "star", "2 · (launch + (n − 1) · hop(S))", 14, 1},
	        {OPERATION_BROADCAST, 1, "tree", "launch + ⌈log₂ n⌉ · hop(S)", 3, 1},
	        {OPERATION_BROADCAST, 1, "chain", "launch + 2 (n − 1) · hop(S/n)", 14, 8},
	        {OPERATION_REDUCE, 1, "star", "launch + (n − 1) · hop(S)", 7, 1},
	};
	struct cluster c;
	ck_assert(!cluster_open(&c, "v100-16gb", 8));
	for (int i = 0; i < COUNT(rows); i++) {
		struct race r;
		char form[RACE_FORM];
		run(&r, rows[i].operation, 8, 8000000, "v100-16gb");
		const struct racer *one = named(&r, rows[i].name);
		double hop = (double)c.link.latency.value +
		             1e9 * 8e6 / (double)rows[i].parts / (double)c.link.bandwidth.value,
		       ns = rows[i].launches * (double)c.collective_launch.value + (double)rows[i].hops * hop;
		ck_assert_str_eq(race_time_form(form, one, 8), rows[i].form);
		ck_assert_msg(fabs(ns - (double)one->ns) <= (double)rows[i].hops + 1, "%s %s: %.0f ns, %s is %lld",
		              one->name, operation_name(r.operation), ns, form, (long long)one->ns);
		ck_assert_int_eq(one->ns, simulated(one->name, r.operation, 8, 8000000, "v100-16gb", GRAIN_MESSAGE));
		ck_assert(!strncmp(race_bytes_form(form, one), "all ranks send ", strlen("all ranks send ")));
		race_release(&r);
	}
	cluster_release(&c);
}

/* Each point of the chart over ranks is a race of that many. */
START_LOOP_TEST(the_chart_over_ranks_is_of_races, 0, COUNT(operations))
{
	struct race r = {.operation = operations[_i], .over = RACE_OVER_RANKS, .ranks = 8, .bytes = 64000};
	char words[RACE_WORDS];
	race_run(&r, "v100-16gb");
	ck_assert_int_eq(r.curve.over, RACE_OVER_RANKS);
	ck_assert_int_eq(r.curve.at[0], 2);
	ck_assert_int_eq(r.curve.at[r.curve.points - 1], RACE_MOST_RANKS);
	for (int k = 0; k < r.curve.points; k++)
		for (int i = 0; i < r.count; i++)
			ck_assert_int_eq(r.curve.ns[i][k],
			                 simulated(r.racer[i].name, r.operation, r.curve.at[k], r.bytes, "v100-16gb",
			                           r.curve.at[k] <= RACE_BY_MESSAGE ? GRAIN_MESSAGE : GRAIN_OPERATION));
	ck_assert_msg(!strncmp(race_words(words, &r), "Fastest with 64.00 kB: ", 22), "%s", words);
	r.over = RACE_OVER_SIZES; /* the other chart is made anew */
	race_run(&r, "v100-16gb");
	ck_assert_int_eq(r.curve.at[0], 1000);
	race_release(&r);
}

/* After the last round everything is where it belongs, and before it something is missing. */
START_LOOP_TEST(rounds_end_with_the_result, 0, COUNT(operations))
{
	for (int64_t ranks = 2; ranks <= RACE_GRID; ranks += 3) {
		struct race r;
		run(&r, operations[_i], ranks, 4096 * ranks, "laptop");
		for (int n = 0; n < r.count; n++)
			for (int late = 0; late < 2; late++) {
				struct race_held held;
				const struct racer *one = &r.racer[n];
				bool complete = true;
				race_held_make(&held, &r, one, one->rounds - 1 + late);
				for (int64_t rank = 0; rank < ranks; rank++)
					for (int k = 0; k < held.chunks; k++)
						complete &= held.part[rank * held.chunks + k] > 0.999 ||
						            (operations[_i] == OPERATION_REDUCE && rank > 0);
				ck_assert_msg(complete == (late == 1), "%s, %d ranks", one->name, (int)ranks);
				free(held.part);
			}
		race_release(&r);
	}
}

START_TEST(what_cannot_run_says_why)
{
	static const struct {
		int64_t ranks, bytes;
		const char *why;
	} bad[] = {{1, 4000, "at least 2 ranks"},
	           {4, 0, "not empty"},
	           {4, 6, "a multiple of 4"},
	           {2000, 4000, "at most 1024"}};
	for (int i = 0; i < COUNT(bad); i++) {
		struct race r;
		run(&r, OPERATION_ALL_REDUCE, bad[i].ranks, bad[i].bytes, "laptop");
		ck_assert_msg(strstr(r.refused, bad[i].why), "%s, wanted %s", r.refused, bad[i].why);
		ck_assert_int_eq(race_next(&r, 0), 0);
		race_release(&r);
	}
	struct race r;
	run(&r, OPERATION_ALL_REDUCE, 4, 4000, "nowhere");
	ck_assert_str_ne(r.refused, "");
	race_release(&r);
}

/* No text stands on another, in whatever size. */
START_LOOP_TEST(pictures_can_be_read, 0, COUNT(operations))
{
	static const int sizes[][2] = {{1920, 1080}, {1366, 768}, {1280, 720}, {1024, 768}, {1024, 640}, {800, 480}};
	enum { PRESENTED = 4 };
	static const int64_t ranks[] = {2, 7, 16, 64, 1000};
	struct fonts fonts = {0};
	ck_assert_msg(!fonts_open(&fonts), "%s", status_message());
	for (int i = 0; i < COUNT(ranks); i++) {
		struct race r;
		run(&r, operations[_i], ranks[i], 4000000, "v100-16gb");
		for (int k = 0; k < 2 * (COUNT(sizes) + PRESENTED); k++) {
			int at = k / 2;
			bool presenter = at >= COUNT(sizes);
			int width = sizes[presenter ? at - COUNT(sizes) : at][0],
			    height = sizes[presenter ? at - COUNT(sizes) : at][1];
			r.over = k % 2 ? RACE_OVER_RANKS : RACE_OVER_SIZES;
			race_run(&r, "v100-16gb");
			cairo_t *cr = sheet_open(1, 1);
			struct canvas c;
			words_begin();
			canvas_begin(&c, cr, width, height, canvas_text(width, height, 1, presenter),
			             theme_of(THEME_LIGHT), &fonts);
			c.least = presenter ? LEGIBLE * c.height : 0;
			race_draw(&c, &r, r.longest / 3, (struct box){20, 8, c.width - 40, c.height - 16});
			canvas_end(&c);
			cairo_destroy(cr);
			const char *bad = words_collide(width, height);
			ck_assert_msg(!bad, "%s, %d ranks, %d × %d: %s", operation_name(r.operation), (int)ranks[i],
			              width, height, bad);
			ck_assert(!presenter || drawn_least >= 0.02 * height);
			ck_assert_ptr_nonnull(strstr(drawn_words, "1st  "));
			ck_assert_msg(width < 1024 || height < 720 || !strstr(drawn_words, "…\n"),
			              "%s, %d ranks, %d × %d%s: cut off: %s", operation_name(r.operation),
			              (int)ranks[i], width, height, presenter ? ", presenter" : "", drawn_words);
		}
		race_release(&r);
	}
	fonts_release(&fonts);
}

/* The lowest word of one axis and the first of the other do not touch. */
START_TEST(the_axes_meet_without_touching)
{
	struct fonts fonts = {0};
	struct race r;
	const struct drawn *size = NULL, *time = NULL;
	ck_assert_msg(!fonts_open(&fonts), "%s", status_message());
	run(&r, OPERATION_ALL_REDUCE, 8, 4000000, "v100-16gb");
	cairo_t *cr = sheet_open(1, 1);
	struct canvas c;
	words_begin();
	canvas_begin(&c, cr, 1280, 720, 1, theme_of(THEME_LIGHT), &fonts);
	race_draw(&c, &r, 0, (struct box){20, 8, c.width - 40, c.height - 16});
	canvas_end(&c);
	cairo_destroy(cr);
	for (int i = 0; i < drawn_count; i++) {
		size = strcmp(drawn[i].text, "1 kB") ? size : &drawn[i];
		time = strcmp(drawn[i].text, "10 µs") ? time : &drawn[i];
	}
	ck_assert(size && time && size->y > time->y);
	ck_assert_double_ge(size->y - (time->y + time->height), 8);
	race_release(&r);
	fonts_release(&fonts);
}

/* ---- the window ---- */

static void run_here(void *context, struct race *r)
{
	(void)context;
	race_run(r, "laptop");
}

static void enter(const char *text)
{
	type(text);
	press(SDLK_RETURN);
}

static struct fonts fonts;
static struct playback playback;

static void open_here(bool race)
{
	ck_assert_msg(!fonts_open(&fonts), "%s", status_message());
	playback_init(&playback, &fonts);
	playback_show(&playback, &viewed_plan("mlp:sizes=12-16-8-4 ddp ranks=4")->shown);
	open_window(&playback, 1024, 600, &(struct window_host){.race = race ? run_here : NULL});
	type("a");
}

static void close_here(void)
{
	close_window();
	playback_release(&playback);
	fonts_release(&fonts);
}

START_TEST(keys_move_the_clock_and_change_the_race)
{
	open_here(true);
	const struct race *r = &w->racing.race;
	ck_assert_ptr_nonnull(strstr(window_title(w), "race"));
	ck_assert_int_eq(r->ranks, 4);
	int64_t bytes = r->bytes;
	press(SDLK_RIGHT);
	ck_assert_int_eq((int64_t)w->racing.now, race_next(r, 0));
	press(SDLK_LEFT);
	ck_assert_int_eq((int64_t)w->racing.now, 0);
	press(SDLK_END);
	ck_assert_int_eq((int64_t)w->racing.now, r->longest);
	press(SDLK_UP);
	ck_assert_int_eq(r->bytes, 2 * bytes);
	press_with(SDLK_UP, KMOD_LSHIFT);
	ck_assert_int_eq(r->ranks, 5);
	enter("12MB");
	ck_assert_int_eq(r->bytes, 12000000);
	ck_assert_int_eq(r->racer[0].ns,
	                 simulated(r->racer[0].name, r->operation, 5, 12000000, "laptop", GRAIN_MESSAGE));
	enter("r7");
	ck_assert_int_eq(r->ranks, 7);
	enter("r1");
	ck_assert_int_eq(r->ranks, 7);
	ck_assert_ptr_nonnull(strstr(w->racing.note, "below 2"));
	enter("0");
	ck_assert_ptr_nonnull(strstr(w->racing.note, "below 4"));
	enter("10");
	ck_assert_ptr_nonnull(strstr(w->racing.note, "a multiple of 4"));
	type("o");
	ck_assert_int_eq(r->operation, OPERATION_BROADCAST);
	press(SDLK_SPACE);
	ck_assert(w->racing.playing);
	SDL_Delay(30);
	window_turn(w);
	ck_assert(w->racing.now > 0);
	press(SDLK_ESCAPE);
	ck_assert(!w->mode && !w->racing.playing);
	type("a"); /* again with the collective that is shown; a scene closes it */
	ck_assert_int_eq(r->ranks, 4);
	ck_assert_int_eq(r->bytes, bytes);
	ck_assert_int_eq(r->operation, OPERATION_ALL_REDUCE);
	double clock = w->racing.now = 1000;
	type("x");
	ck_assert_int_eq(r->curve.over, RACE_OVER_RANKS);
	ck_assert(w->racing.now == clock);
	type("v");
	ck_assert_ptr_null(w->mode);
}

/* A collective of two ranks of four, and an operation other than all-reduce. */
START_TEST(it_begins_with_the_collective_at_the_cursor)
{
	open_here(true);
	const struct viewed *dp = viewed_plan("mlp:sizes=12-16-8-4 dp:broadcast=tree ranks=3"),
	                    *hybrid = viewed_plan("mlp:sizes=12-16-8-4 hybrid:shard=2 ranks=4");
	const struct race *r = &w->racing.race;
	press(SDLK_ESCAPE);
	bool broadcast = false, pairs = false;
	for (int i = 0; i < 2; i++) {
		playback_show(&playback, i ? &hybrid->shown : &dp->shown);
		const struct timeline *s = &playback.shown->timeline;
		for (size_t k = 0; k + 1 < s->stop_count[STEP_SIZE_ROUND]; k += 3) {
			playback_go(&playback, timeline_stop(s, STEP_SIZE_ROUND, k));
			if (playback.state.collective < 0 || s->collectives[playback.state.collective].control)
				continue;
			const struct collective *one = &s->collectives[playback.state.collective];
			type("a");
			ck_assert_int_eq(r->bytes, one->schedule.elements * one->element_bytes / 4 * 4);
			ck_assert_int_eq(r->ranks, one->schedule.ranks);
			broadcast |= r->operation == OPERATION_BROADCAST;
			pairs |= r->ranks == 2;
			press(SDLK_ESCAPE);
		}
	}
	ck_assert(broadcast && pairs);
}

START_TEST(the_mouse_moves_sliders)
{
	open_here(true);
	int64_t bytes = w->racing.race.bytes, ranks = w->racing.race.ranks;
	for (int y = 0; y < 600; y += 4)
		for (int x = 0; x < 1024; x += 16) {
			if (y > 520 || y < 60) /* the window's buttons */
				continue;
			point(SDL_MOUSEBUTTONDOWN, x, y, 0);
			point(SDL_MOUSEBUTTONUP, x, y, 0);
			w->racing.field = 0;
		}
	window_turn(w);
	ck_assert_int_ne(w->racing.race.bytes, bytes);
	ck_assert_int_ne(w->racing.race.ranks, ranks);
	ck_assert(w->mode == &mode_race);
	ck_assert_str_eq(w->racing.race.refused, "");
}

START_TEST(without_a_simulator_there_is_a_note)
{
	open_here(false);
	ck_assert_ptr_null(w->mode);
	ck_assert_ptr_nonnull(strstr(playback.note, "race"));
}

SUITE_WITH("race", 60, NULL, close_here)
