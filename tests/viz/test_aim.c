/* Aiming with mouse and keys: at a place on the memory curve, at its peak, and at the selection while zooming. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/suite.h"
#include "tests/viz/drawn_words.h"
#include "tests/viz/window_fixture.h"

/* ---- memory ---- */

/* The box of the curve in the memory scene, found by the mouse: its left and right edge in the middle of the scene. */
static struct box curve_box(void)
{
	struct box all = window_scene_box(w, &canvas), b = frame_scene(playback_view(&playback), all);
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

static cairo_surface_t *nothing;
static cairo_t *cr;

/* The memory scene, over time or over steps, and a canvas to measure on. */
static void open_memory(bool over_steps)
{
	open_plan(DDP);
	playback.scene = SCENE_MEMORY;
	if (over_steps)
		type("o");
	nothing = cairo_recording_surface_create(CAIRO_CONTENT_COLOR, NULL);
	cr = cairo_create(nothing);
	canvas_begin(&canvas, cr, 1280, 720, 1, theme_of(THEME_LIGHT), &fonts);
}

static void close_memory(void)
{
	canvas_end(&canvas);
	cairo_destroy(cr);
	cairo_surface_destroy(nothing);
}

START_LOOP_TEST(the_memory_curve_answers, 0, 2)
{
	open_memory(_i);
	struct box b = curve_box();
	struct hit h =
	        scene_hit(&canvas, playback_view(&playback), window_scene_box(w, &canvas), b.x + b.width / 2, b.y);
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
	close_memory();
}

/* A click beside the peak's line is meant for the peak. */
START_LOOP_TEST(the_peak_is_caught, 0, 2)
{
	open_memory(_i);
	const struct timeline *s = &v.shown.timeline;
	struct box b = curve_box();
	size_t peak = 0;
	int caught = 0;
	for (int i = 0; i < s->highlight_count; i++)
		if (s->highlights[i].kind == HIGHLIGHT_PEAK)
			peak = s->highlights[i].position;
	ck_assert_uint_gt(peak, 0);
	double at = b.x + b.width * (_i ? (double)peak / (double)s->instant_count
	                                : (double)timeline_time(s, peak) / (double)s->step_ns);
	for (int away = -5; away <= 5; away++) {
		struct hit h =
		        scene_hit(&canvas, playback_view(&playback), window_scene_box(w, &canvas), at + away, b.y);
		caught += h.moves && h.position == peak;
	}
	ck_assert_int_ge(caught, 10); /* the edges of the curve are a pixel wide */
	click(at + 4, b.y, 1);
	ck_assert_uint_eq(playback.position, peak);
	ck_assert_int_eq(playback.state.ranks[0].live[SPACE_DEVICE], v.peak_bytes);
	close_memory();
}

/* ---- zooming ---- */

static void ck_in_sight(int64_t begin, int64_t end)
{
	int64_t from, to;
	lane_area_range(playback_view(&playback), &from, &to);
	ck_assert_msg(begin < to && end > from, "%ld to %ld is not in %ld to %ld", (long)begin, (long)end, (long)from,
	              (long)to);
}

/* From ranges in which the selected operation is in sight with any part. */
START_TEST(zooming_keeps_the_selection)
{
	open_plan(DDP);
	const struct timeline *s = &v.shown.timeline;
	const struct section *step = &timeline_role_of(s, 0)->step;
	for (int op = step->begin; op < step->end; op++)
		for (int part = 0; part < 3; part++) {
			int64_t begin = s->ranks[0].begin[op - step->begin], end = s->ranks[0].end[op - step->begin];
			if (begin < 0 || end - begin < 100)
				continue;
			window_select(w, 0, op);
			playback.from = part == 1 ? end - 40 : 0;
			playback.to = part == 0 ? s->step_ns : part == 1 ? s->step_ns : begin + 40;
			ck_in_sight(begin, end);
			for (int i = 0; i < 8; i++) {
				type("+");
				ck_in_sight(begin, end);
			}
		}
}

START_TEST(zooming_keeps_a_selected_span)
{
	open_torch();
	for (int lane = 0; lane < torch.lanes.lane_count; lane++)
		for (size_t i = 0; i < torch.lanes.lanes[lane].span_count; i++) {
			const struct lane_span *span = &torch.lanes.lanes[lane].spans[i];
			window_select(w, lane, (int)i);
			playback.from = playback.to = 0;
			for (int n = 0; n < 10; n++) {
				type("+");
				ck_in_sight(span->begin, span->end);
			}
		}
}

SUITE_WITH("aim", 60, NULL, close_shown)
