/* Build it yourself in the window: a step built by keys, by clicks and by dragging. */
#include <check.h>

#include "tests/support/reports.h"
#include "tests/support/suite.h"
#include "tests/support/viewed.h"
#include "tests/viz/hands.h"
#include "viz/build/board.h"

#define GPT "gpt:layers=2,width=64,heads=2,context=16,vocabulary=64"
#define BUCKETS " ranks=4 bucket=200448"

static const struct viewed *shown; /* of the strategy that is open */

static const char *name_of(void *context, int i)
{
	static const char *const names[] = {"dp", "ddp", "zero3"};
	(void)context;
	return names[i];
}

static enum status show(void *context, int i)
{
	static const char *const words[] = {GPT " dp ranks=4", GPT " ddp" BUCKETS, GPT " zero3 ranks=4"};
	shown = viewed_plan(words[i]);
	playback_show(context, &shown->shown);
	return STATUS_OK;
}

static enum status plan_of(void *context, const char *strategy, const struct plan **out)
{
	(void)context;
	(void)strategy;
	*out = &shown->made.plan;
	return STATUS_OK;
}

static enum status simulate_plan(void *context, const struct plan *p, struct trace *trace, struct limits *limits,
                                 struct report *report)
{
	(void)context;
	(void)limits;
	*report = *report_simulated_on(p, "v100-16gb", GRAIN_OPERATION, trace);
	return STATUS_OK;
}

static struct fonts fonts;
static struct playback playback;

static void open_board(void)
{
	ck_assert_msg(!fonts_open(&fonts), "%s", status_message());
	playback_init(&playback, &fonts);
	show(&playback, 2);
	open_window(&playback, 1024, 768,
	            &(struct window_host){.context = &playback,
	                                  .strategies = 3,
	                                  .strategy = name_of,
	                                  .open = show,
	                                  .build = {NULL, plan_of, simulate_plan},
	                                  .asked_size = true});
}

static void close_board(void)
{
	close_window();
	playback_release(&playback);
	fonts_release(&fonts);
}

/* With the arrows to a move, and there Enter. */
static void place_by_keys(int move)
{
	for (int i = 0; w->board->chosen != move; i++) {
		ck_assert_int_lt(i, EXERCISE_MOVES);
		push(SDLK_RIGHT, 0);
	}
	push(SDLK_RETURN, 0);
}

START_TEST(a_step_by_keys)
{
	open_board();
	type("e");
	ck_assert(w->mode == &mode_build && strstr(window_title(w), "build"));
	const struct exercise *e = &w->board->exercise;
	place_by_keys(exercise_find(e, "forward head"));
	ck_assert(!e->said.accepted && !e->placed_count);
	for (int i = 0; i < e->move_count; i++) {
		place_by_keys(i);
		window_turn(w);
		ck_assert_msg(e->said.accepted && e->placed_count == i + 1, "%s", e->said.text);
	}
	push(SDLK_BACKSPACE, 0);
	ck_assert_int_eq(e->placed_count, e->move_count - 1);
	type("d");
	ck_assert(!e->done);
	type("h");
	push(SDLK_RETURN, 0);
	type("d");
	ck_assert_msg(e->done && w->board->mine.there, "%s", e->said.text);
	ck_assert_int_eq(w->board->mine.outcome.step_ns, w->board->own.outcome.step_ns);
	type("r");
	ck_assert_int_eq(e->placed_count, 0);
	push(SDLK_ESCAPE, 0);
	ck_assert(!w->mode);
}

/* Another strategy begins its own exercise; one of which there is none is shown again, with the reason. */
START_TEST(other_strategies)
{
	open_board();
	type("e");
	type("o");
	ck_assert(w->board->exercise.done);
	/* Both are stepped through, and E comes back to the board. */
	type("v");
	ck_assert(!w->mode && playback.shown == &w->board->mine.shown && playback.second == &w->board->own.shown);
	press(SDLK_RIGHT);
	type("e");
	ck_assert(w->mode == &mode_build && w->board->exercise.done);
	ck_assert(playback.shown == &shown->shown && !playback.second);
	type("v");
	push(SDLK_END, 0);
	type("2");
	ck_assert(!w->mode && playback.shown == &shown->shown);
	type("e");
	ck_assert(!playback.second && w->mode == &mode_build && !w->board->exercise.placed_count);
	ck_assert_str_eq(w->board->exercise.plan->strategy, "ddp");
	type("1");
	ck_assert(!w->mode);
	ck_assert_msg(strstr(playback.note, "under dp ranks have programs of their own"), "%s", playback.note);
}

/* Leaving the board, also after a step of one's own was stepped through, leads to where one was. */
START_TEST(leaving_returns_to_the_place)
{
	open_board();
	window_move(w, 37, false);
	playback.focus_rank = 2;
	playback_pair(&playback, &viewed_plan(GPT " ddp" BUCKETS)->shown);
	const struct trace_view *second = playback.second;
	type("eov");
	push(SDLK_END, 0);
	type("e");
	press(SDLK_ESCAPE);
	ck_assert(!w->mode && playback.shown == &shown->shown && playback.second == second);
	ck_assert_uint_eq(playback.position, 37);
	ck_assert_int_eq(playback.focus_rank, 2);
}

/* In units. */
static void hand(Uint32 event, double x, double y)
{
	double pixels = canvas_scale(1024, 768);
	point(event, x * pixels, y * pixels, 1);
}

static void middle_of_chip(int move, double *x, double *y)
{
	const struct box *chip = &w->board->chips[move];
	*x = chip->x + chip->width / 2;
	*y = chip->y + chip->height / 2;
}

/* A click on a chip places its move. */
START_TEST(by_mouse)
{
	double x, y;
	open_board();
	type("e");
	middle_of_chip(0, &x, &y);
	hand(SDL_MOUSEBUTTONDOWN, x, y);
	hand(SDL_MOUSEBUTTONUP, x, y);
	ck_assert_int_eq(w->board->exercise.placed_count, 1);
}

/* Drags a move to a part of the way through the memory's plot, or of the lanes. */
static void drag(int move, bool to_lanes, double part)
{
	struct box lanes, memory, all = {0, w->top, 1024 / canvas_scale(1024, 768), 0};
	double x, y;
	all.height = 768 / canvas_scale(1024, 768) - w->top - w->bottom;
	middle_of_chip(move, &x, &y);
	board_step_boxes(w->board, all, &lanes, &memory);
	struct box to = to_lanes ? lanes : board_memory_plot(memory);
	hand(SDL_MOUSEBUTTONDOWN, x, y);
	hand(SDL_MOUSEMOTION, x + 30, y);
	ck_assert(window_drags(w));
	hand(SDL_MOUSEMOTION, to.x + part * to.width, to.y + to.height / 2);
	window_turn(w);
	hand(SDL_MOUSEBUTTONUP, to.x + part * to.width, to.y + to.height / 2);
	window_turn(w);
}

/* A move comes where it is let go, if the rules allow it there; beside the step nothing is placed. */
START_TEST(a_move_is_dragged_to_its_place)
{
	char list[512];
	open_board();
	type("e");
	struct exercise *e = &w->board->exercise;
	drag(exercise_find(e, "load samples"), true, 0.5); /* an empty step */
	drag(exercise_find(e, "gather root"), false, 0.9); /* behind it */
	drag(exercise_find(e, "forward embedding"), true, 0.99);
	exercise_list(e, list, sizeof list);
	ck_assert_str_eq(list, "load samples, gather root, forward embedding");
	drag(exercise_find(e, "gather block.0"), false, 0.0); /* before all others */
	exercise_list(e, list, sizeof list);
	ck_assert_str_eq(list, "gather block.0, load samples, gather root, forward embedding");
	ck_assert_msg(strstr(e->said.text, "gather block.0 is placed before load samples. It "), "%s", e->said.text);
	/* In the first operations of the step nothing is there yet: refused, and nothing is lost. */
	drag(exercise_find(e, "forward block.0"), false, 0.0);
	ck_assert(!e->said.accepted);
	exercise_list(e, list, sizeof list);
	ck_assert_str_eq(list, "gather block.0, load samples, gather root, forward embedding");
	hand(SDL_MOUSEBUTTONDOWN, w->board->chips[0].x + 3, w->board->chips[0].y + 3);
	hand(SDL_MOUSEBUTTONUP, 3, 3);
	ck_assert_int_eq(e->placed_count, 4);
	push(SDLK_BACKSPACE, 0); /* the last one placed, wherever it stands */
	exercise_list(e, list, sizeof list);
	ck_assert_str_eq(list, "load samples, gather root, forward embedding");
}

SUITE_WITH("build_window", 120, NULL, close_board)
