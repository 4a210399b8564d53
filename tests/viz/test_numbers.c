/* The window's numbers: sums beside the lanes, a dragged range, the selected operation's card, the list of the longest
 * exposed, search, memory over time, and what N goes to. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <SDL.h>
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/suite.h"
#include "tests/support/viewed.h"
#include "tests/viz/drawn_words.h"
#include "viz/scene/lane_cards.h"
#include "viz/scene/lane_foreign.h"
#include "viz/scene/scene_parts.h"
#include "viz/window/parts.h"

static struct viewed v;
static struct trace_file file;
static struct trace_view torch;
static struct fonts fonts;
static struct playback playback;
static struct window *window;
static struct canvas canvas = {.width = 1280, .height = 720};

static void open_window(const struct trace_view *shown)
{
	static const struct picture size = {.width = 1280, .height = 720, .scale = 1};
	static const struct window_host host = {.asked_size = true};
	setenv("SDL_VIDEODRIVER", "dummy", 1);
	ck_assert_msg(!fonts_open(&fonts), "%s", status_message());
	playback_init(&playback, &fonts);
	playback_show(&playback, shown);
	playback.scene = SCENE_TIMELINE;
	ck_assert_msg(!window_open(&window, &playback, &size, &host, false), "%s", status_message());
	window_turn(window);
}

static void open_plan(const char *words)
{
	viewed_open(&v, "%s", words);
	open_window(&v.shown);
}

static void open_torch(void)
{
	ck_assert_msg(!trace_file_open(&file, "tests/golden/torch_profiler.json"), "%s", status_message());
	trace_view_open_foreign(&torch, &file);
	open_window(&torch);
}

static void close_all(void)
{
	window_close(window);
	playback_release(&playback);
	if (playback.shown == &torch || file.foreign) {
		trace_view_release(&torch);
		trace_file_release(&file);
	} else {
		viewed_release(&v);
	}
	fonts_release(&fonts);
}

#define DDP "mlp:sizes=64-64-64-16 ddp ranks=4"
#define PIPELINE "gpt:layers=4,width=32,heads=2,vocabulary=64,context=16 pipeline ranks=4 micro_batch=2 accumulate=4"

static void key(SDL_Keycode key, bool shift)
{
	SDL_Event e = {.key = {.type = SDL_KEYDOWN, .keysym = {.sym = key, .mod = shift ? KMOD_SHIFT : 0}}};
	window_handle(window, &e);
}

static void type(const char *text)
{
	for (; *text; text++) {
		char one[2] = {*text, 0};
		window_text(window, one);
	}
}

/* The place of a time on the timeline, in units. */
static struct lane_area area(void)
{
	struct lane_area l[2];
	lane_areas_lay(l, playback_view(&playback),
	               frame_scene(playback_view(&playback), window_scene_box(window, &canvas)), false);
	return l[0];
}

static void mouse(Uint32 event, double x, double y, int clicks)
{
	SDL_Event e = {.type = event};
	if (event == SDL_MOUSEMOTION)
		e.motion = (SDL_MouseMotionEvent){.type = event, .x = (int)x, .y = (int)y};
	else
		e.button = (SDL_MouseButtonEvent){
		        .type = event, .button = SDL_BUTTON_LEFT, .clicks = (Uint8)clicks, .x = (int)x, .y = (int)y};
	window_handle(window, &e);
}

static void click(double x, double y, int clicks)
{
	mouse(SDL_MOUSEBUTTONDOWN, x, y, clicks);
	mouse(SDL_MOUSEBUTTONUP, x, y, clicks);
}

static void drag(int64_t from, int64_t to)
{
	struct lane_area l = area();
	double y = l.plot.y + 5, x0 = lane_area_x(&l, from), x1 = lane_area_x(&l, to);
	mouse(SDL_MOUSEBUTTONDOWN, x0, y, 1);
	mouse(SDL_MOUSEMOTION, x1, y, 1);
	mouse(SDL_MOUSEBUTTONUP, x1, y, 1);
}

static bool is_about(int64_t a, int64_t b, int64_t all)
{
	return llabs(a - b) <= all / 400;
}

/* ---- sums and ranges ---- */

START_TEST(sums_stand_beside_the_lanes)
{
	open_plan(PIPELINE);
	const struct times *t = &v.shown.timeline.shown[0];
	char bubble[96], time[WORD];
	words_of(&playback);
	time_word(time, t->bubble);
	snprintf(bubble, sizeof bubble, "bubble\n%s\n%.1f %%\n", time, 100 * (double)t->bubble / (double)t->step);
	ck_words(bubble);
	/* Of a part of the step, that part's. */
	playback.from = v.shown.lanes.end / 4;
	playback.to = v.shown.lanes.end / 2;
	struct measured m = measure_times(&v.shown.lanes, 0, playback.from, playback.to);
	words_of(&playback);
	snprintf(bubble, sizeof bubble, "bubble\n%s\n%.1f %%\n", m.bubble ? time_word(time, m.bubble) : "0",
	         100 * (double)m.bubble / (double)m.length);
	ck_words(bubble);
	close_all();
}
END_TEST

START_TEST(a_drag_measures)
{
	open_plan(DDP);
	int64_t end = v.shown.lanes.end;
	char text[160], time[WORD];
	drag(end / 4, end / 2);
	ck_assert(is_about(playback.measured_from, end / 4, end) && is_about(playback.measured_to, end / 2, end));
	ck_assert_int_eq(playback.from, playback.to); /* it is no zoom */
	words_of(&playback);
	time_word(time, playback.measured_to - playback.measured_from);
	snprintf(text, sizeof text, "Measured: %s, from ", time);
	ck_assert_msg(strstr(drawn_words, text), "no '%s' in %s", text, drawn_words);
	ck_words("compute\ncommunication\nexposed\nbubble\nsends\nops\nranks 0–3: the same\n");
	int64_t from = playback.measured_from, to = playback.measured_to;
	type("z");
	ck_assert(playback.from == from && playback.to == to && playback.measured_to == to);
	type("z"); /* again: the whole */
	ck_assert_int_eq(playback.from, playback.to);
	key(SDLK_ESCAPE, false);
	ck_assert_int_eq(playback.measured_from, playback.measured_to);
	window_turn(window);
	close_all();
}
END_TEST

START_TEST(a_click_puts_a_range_away_and_two_zoom_to_it)
{
	open_plan(DDP);
	int64_t end = v.shown.lanes.end;
	drag(end / 4, end / 2);
	int64_t from = playback.measured_from, to = playback.measured_to;
	struct lane_area l = area();
	double x = lane_area_x(&l, end / 3), y = l.plot.y + 5;
	click(x, y, 1);
	ck_assert_int_eq(playback.measured_from, playback.measured_to);
	click(x, y, 2);
	ck_assert(playback.from == from && playback.to == to);
	ck_assert(playback.measured_from == from && playback.measured_to == to);
	close_all();
}
END_TEST

START_TEST(m_measures_the_selected_operation)
{
	open_plan(DDP);
	int64_t end = v.shown.lanes.end;
	type("m"); /* nothing is selected: what is in sight */
	ck_assert(playback.measured_from == 0 && playback.measured_to == end);
	type("m");
	ck_assert_int_eq(playback.measured_from, playback.measured_to);
	const struct exposed *e = &v.shown.exposed[0];
	window_select(window, e->rank, e->op);
	type("m");
	struct wait w = timeline_wait(&v.shown.timeline, timeline_index_of(&v.shown.timeline, e->rank), e->op);
	ck_assert_int_eq(playback.measured_from, w.begin);
	playback.scene = SCENE_PLAN;
	type("mm");
	ck_assert_ptr_nonnull(strstr(playback.note, "not shown"));
	close_all();
}
END_TEST

/* The trace of tests/viz/test_foreign.c: between 200 and 400 us GPU 0 computes until 300 and its collective runs from
 * 250 on, half of it exposed. */
START_TEST(a_profilers_range_by_hand)
{
	open_torch();
	const struct lanes *l = &torch.lanes;
	int gpu = 0;
	while (!measure_has(l, gpu))
		gpu++;
	struct measured m = measure_range(l, gpu, 200000, 400000);
	ck_assert_int_eq(m.length, 200000);
	ck_assert_int_eq(m.compute, 100000);
	ck_assert_int_eq(m.communication, 150000);
	ck_assert_int_eq(m.exposed, 100000);
	ck_assert_int_eq(m.bubble, 0);
	ck_assert_int_eq(m.operations, 2);       /* the product and the collective; the range around it is none */
	ck_assert_int_eq(m.sent_bytes, 2516582); /* of 4 MiB, 150 of 250 us */
	m = measure_range(l, gpu, 0, 700000);
	ck_assert(m.length == 550000 && m.compute == 250000 && m.exposed == 200000 && m.bubble == 100000);
	struct speed s;
	ck_assert(exposed_speed(l, &torch.exposed[0], &s));
	ck_assert(s.ranks == 2 && s.payload_bytes == 4194304 && s.moves == 200000 && s.link == 0);
	ck_assert_int_eq((int64_t)(s.bus / 1e6), 20971);
	ck_assert(exposed_speed(l, &torch.exposed[2], &s)); /* a copy */
	ck_assert_int_eq((int64_t)(s.algorithm / 1e6), 10485);
	close_all();
}
END_TEST

START_TEST(a_counter_says_its_peak)
{
	char words[192];
	open_torch();
	ck_assert_int_eq(counter_peak(&file.counters[0]), 100000);
	counter_peak_words(&torch.lanes, &file.counters[0], words, sizeof words);
	ck_assert_str_eq(words, "at most 160 at 100.0 µs, as this begins: ampere_sgemm_128x64_tn");
	close_all();
}
END_TEST

/* ---- the selected operation ---- */

START_TEST(a_selection_stays_with_its_waits)
{
	open_plan(DDP);
	const struct exposed *e = &v.shown.exposed[0];
	struct speed s;
	char speed[SPEED_WORDS + 2];
	window_select(window, e->rank, e->op);
	ck_assert(exposed_speed(&v.shown.lanes, e, &s));
	speed_words(speed, &s);
	for (int i = 0; i < 3; i++) {
		key(SDLK_RIGHT, false);
		words_of(&playback);
		ck_words("waits for\nwaiting for it\n");
		ck_assert_msg(strstr(drawn_words, speed), "no '%s' in %s", speed, drawn_words);
		ck_assert(strstr(drawn_words, ", ended at ") && strstr(drawn_words, ", begins at "));
	}
	key(SDLK_ESCAPE, false);
	words_of(&playback);
	ck_assert_ptr_null(strstr(drawn_words, "waiting for it"));
	close_all();
}
END_TEST

/* The overview has a line for it. */
START_TEST(the_overview_says_it_in_a_line)
{
	open_plan(DDP);
	playback.scene = SCENE_OVERVIEW;
	window_select(window, v.shown.exposed[0].rank, v.shown.exposed[0].op);
	playback.measured_to = v.shown.lanes.end / 2;
	words_of(&playback);
	ck_assert(strstr(drawn_words, "\nSelected ") && strstr(drawn_words, "\nMeasured: "));
	close_all();
}
END_TEST

/* ---- the longest exposed ---- */

START_TEST(the_list_goes_there)
{
	open_plan(PIPELINE);
	ck_assert_uint_gt(v.shown.exposed_count, 2);
	type("l");
	window_turn(window);
	key(SDLK_DOWN, false);
	ck_assert_int_eq(playback.selected_op, v.shown.exposed[1].op);
	ck_assert_int_eq(playback.selected_rank, v.shown.exposed[1].rank);
	key(SDLK_RETURN, false);
	ck_assert_int_eq(playback.state.time, v.shown.exposed[1].begin);
	key(SDLK_UP, false);
	key(SDLK_UP, false); /* stays at the first */
	ck_assert_int_eq(playback.selected_op, v.shown.exposed[0].op);
	struct box b = mode_box(window, &canvas);
	click(b.x + 100, b.y + 62 + 2.5 * 33, 1); /* the third row */
	ck_assert_int_eq(playback.selected_op, v.shown.exposed[2].op);
	key(SDLK_ESCAPE, false);
	ck_assert_ptr_null(window->mode);
	close_all();
}
END_TEST

START_TEST(a_profilers_list_goes_there)
{
	open_torch();
	type("l");
	key(SDLK_RETURN, false);
	ck_assert_int_eq(playback.cursor, 320000);
	key(SDLK_DOWN, false);
	key(SDLK_RETURN, false);
	ck_assert_int_eq(playback.cursor, 250000);
	window_turn(window);
	close_all();
}
END_TEST

START_TEST(nothing_exposed_is_no_list)
{
	open_plan("mlp:sizes=12-8-4 single ranks=1");
	type("l");
	window_turn(window);
	key(SDLK_DOWN, false);
	key(SDLK_RETURN, false);
	ck_assert_int_eq(playback.selected_op, -1);
	type("nN");
	window_turn(window);
	close_all();
}
END_TEST

/* ---- search ---- */

START_TEST(search_finds_operations_and_buffers)
{
	struct search s = {0};
	open_plan(DDP);
	const struct role *role = &v.shown.timeline.plan->roles[0];
	search_make(&s, &v.shown.lanes, "ALL_REDUCE");
	size_t reduces = 0, users = 0;
	for (int i = role->step.begin; i < role->step.end; i++)
		reduces += role->ops[i].kind == OP_ALL_REDUCE;
	ck_assert_uint_eq(s.count, reduces);
	for (size_t i = 0; i < s.count; i++) {
		ck_assert_int_eq(role->ops[s.hits[i].op].kind, OP_ALL_REDUCE);
		ck_assert(search_has_op(&s, 0, s.hits[i].op) && (!i || s.hits[i].time >= s.hits[i - 1].time));
	}
	int buffer = op_buffer(&role->ops[role->step.begin]);
	search_make(&s, &v.shown.lanes, role->buffers[buffer].name);
	for (int i = role->step.begin; i < role->step.end; i++)
		users += op_uses(&role->ops[i], buffer);
	ck_assert_msg(s.count >= users && users, "%s: %zu of %zu", role->buffers[buffer].name, s.count, users);
	search_make(&s, &v.shown.lanes, "no such thing");
	ck_assert_uint_eq(s.count, 0);
	search_make(&s, &v.shown.lanes, "");
	ck_assert_uint_eq(s.count, 0);
	search_release(&s);
	close_all();
}
END_TEST

START_TEST(search_goes_from_hit_to_hit)
{
	open_plan("mlp:sizes=64-64-64-16 zero3 ranks=4");
	type("/all_gather");
	ck_assert_ptr_eq(window->mode, &mode_search);
	ck_assert_uint_gt(window->search.count, 1);
	ck_assert_int_eq(playback.selected_op, window->search.hits[0].op);
	ck_assert_uint_eq(playback.position, 0); /* typing moves nothing */
	key(SDLK_RETURN, false);
	ck_assert_uint_eq(window->found, 0);
	ck_assert_int_eq(playback.state.time, window->search.hits[0].time);
	key(SDLK_RETURN, false);
	ck_assert_uint_eq(window->found, 1);
	ck_assert_int_eq(playback.selected_op, window->search.hits[1].op);
	key(SDLK_RETURN, true);
	key(SDLK_RETURN, true); /* from the first to the last */
	ck_assert_uint_eq(window->found, window->search.count - 1);
	window_turn(window);
	type("zzz"); /* letters are text here */
	ck_assert_uint_eq(window->search.count, 0);
	window_turn(window);
	for (int i = 0; i < 20; i++)
		key(SDLK_BACKSPACE, false);
	ck_assert_str_eq(window->search.text, "");
	type("/");
	for (int i = 0; i < 100; i++)
		type("a"); /* more than there is room for */
	key(SDLK_ESCAPE, false);
	ck_assert(!window->mode && !playback.search);
	close_all();
}
END_TEST

START_TEST(search_in_a_profilers_trace)
{
	open_torch();
	type("/NCCL");
	ck_assert_uint_eq(window->search.count, 3); /* two kernels and a range */
	key(SDLK_RETURN, false);
	ck_assert_int_eq(playback.cursor, 250000);
	key(SDLK_RETURN, false);
	key(SDLK_RETURN, false);
	ck_assert_int_eq(playback.cursor, 320000);
	window_turn(window);
	close_all();
}
END_TEST

/* ---- memory ---- */

/* The box of the curve in the memory scene, found by the mouse: its left and right edge in the middle of the scene. */
static struct box curve_box(void)
{
	struct box all = window_scene_box(window, &canvas), b = frame_scene(playback_view(&playback), all);
	struct box found = {0, b.y + b.height * 0.3, 0, 0};
	for (int column = 0; column < (int)b.width; column++) {
		double x = b.x + column;
		struct hit h = scene_hit(&canvas, playback_view(&playback), all, x, found.y);
		if (!h.moves)
			continue;
		found.width = x - (found.x > 0 ? found.x : x);
		found.x = found.x > 0 ? found.x : x;
	}
	ck_assert(found.width > 100);
	return found;
}

START_LOOP_TEST(the_memory_curve_answers, 0, 2)
{
	open_plan(DDP);
	playback.scene = SCENE_MEMORY;
	if (_i)
		type("o");
	cairo_surface_t *nothing = cairo_recording_surface_create(CAIRO_CONTENT_COLOR, NULL);
	cairo_t *cr = cairo_create(nothing);
	canvas_begin(&canvas, cr, 1280, 720, 1, theme_of(THEME_LIGHT), &fonts);
	struct box b = curve_box();
	struct hit h =
	        scene_hit(&canvas, playback_view(&playback), window_scene_box(window, &canvas), b.x + b.width / 2, b.y);
	ck_assert(strstr(h.text, "rank 0 at ") && strstr(h.text, "parameters ") && strstr(h.text, "gradients "));
	int64_t end = v.shown.timeline.step_ns, time = timeline_time(&v.shown.timeline, h.position);
	if (_i)
		ck_assert(labs((long)h.position - (long)v.shown.timeline.instant_count / 2) <= 2);
	else
		ck_assert(time <= end * 51 / 100 && timeline_time(&v.shown.timeline, h.position + 1) >= end * 49 / 100);
	click(b.x + b.width / 2, b.y, 1);
	ck_assert_uint_eq(playback.position, h.position);
	words_of(&playback);
	ck_words(_i ? "steps of the cursor, in order →\n" : "0: time →\n");
	ck_assert_ptr_nonnull(strstr(drawn_words, "\npeak "));
	ck_assert_ptr_nonnull(strstr(drawn_words, _i ? "Memory over the steps, rank 0" : "Memory over time, rank 0"));
	canvas_end(&canvas);
	cairo_destroy(cr);
	cairo_surface_destroy(nothing);
	close_all();
}
END_TEST

/* ---- what matters ---- */

START_TEST(n_goes_by_importance)
{
	char wanted[64];
	open_plan(DDP);
	int count = (int)v.shown.notable_count;
	for (int i = 0; i < count; i++) {
		type("n");
		snprintf(wanted, sizeof wanted, "%d of %d: ", i + 1, count);
		ck_assert_msg(!strncmp(playback.note, wanted, strlen(wanted)), "%s", playback.note);
		ck_assert_uint_eq(playback.position, v.shown.notables[i].position);
	}
	ck_assert_int_gt(count, 2);
	type("N");
	ck_assert_uint_eq(playback.position, v.shown.notables[count - 2].position);
	type("nn"); /* behind the last */
	ck_assert_ptr_nonnull(strstr(playback.note, "begins with the most important"));
	type("n");
	ck_assert_uint_eq(playback.position, v.shown.notables[0].position);
	type("N");
	ck_assert_ptr_nonnull(strstr(playback.note, "Nothing matters more"));
	close_all();
}
END_TEST

START_TEST(a_profilers_exposed_go_back_too)
{
	open_torch();
	type("nn");
	ck_assert_int_eq(playback.cursor, 250000);
	type("N");
	ck_assert_int_eq(playback.cursor, 320000);
	type("N");
	ck_assert_ptr_nonnull(strstr(playback.note, "exposed for longer"));
	close_all();
}
END_TEST

SUITE("numbers", 0)
