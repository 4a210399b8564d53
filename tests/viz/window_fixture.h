/* For tests of the window: one that shows a plan or a profiler's trace, with keys and a mouse. */
#ifndef SHARDLAB_WINDOW_FIXTURE_H
#define SHARDLAB_WINDOW_FIXTURE_H

#include <SDL.h>
#include <check.h>
#include <stdlib.h>

#include "tests/support/viewed.h"
#include "viz/scene/lane_area.h"
#include "viz/scene/scene_parts.h"
#include "viz/window/parts.h"

static struct viewed v;
static struct trace_file file;
static struct trace_view torch;
static struct fonts fonts;
static struct playback playback;
static struct window *window;
static struct canvas canvas = {.width = 1280, .height = 720};

static inline void open_window(const struct trace_view *shown)
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

static inline void open_plan(const char *words)
{
	viewed_open(&v, "%s", words);
	open_window(&v.shown);
}

static inline void open_torch(void)
{
	ck_assert_msg(!trace_file_open(&file, "tests/golden/torch_profiler.json"), "%s", status_message());
	trace_view_open_foreign(&torch, &file);
	open_window(&torch);
}

static inline void close_all(void)
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

static inline void key(SDL_Keycode key, bool shift)
{
	SDL_Event e = {.key = {.type = SDL_KEYDOWN, .keysym = {.sym = key, .mod = shift ? KMOD_SHIFT : 0}}};
	window_handle(window, &e);
}

static inline void type(const char *text)
{
	for (; *text; text++) {
		char one[2] = {*text, 0};
		window_text(window, one);
	}
}

/* The place of a time on the timeline, in units. */
static inline struct lane_area area(void)
{
	struct lane_area l[2];
	lane_areas_lay(l, playback_view(&playback),
	               frame_scene(playback_view(&playback), window_scene_box(window, &canvas)), false);
	return l[0];
}

static inline void mouse(Uint32 event, double x, double y, int clicks)
{
	SDL_Event e = {.type = event};
	if (event == SDL_MOUSEMOTION)
		e.motion = (SDL_MouseMotionEvent){.type = event, .x = (int)x, .y = (int)y};
	else
		e.button = (SDL_MouseButtonEvent){
		        .type = event, .button = SDL_BUTTON_LEFT, .clicks = (Uint8)clicks, .x = (int)x, .y = (int)y};
	window_handle(window, &e);
}

static inline void click(double x, double y, int clicks)
{
	mouse(SDL_MOUSEBUTTONDOWN, x, y, clicks);
	mouse(SDL_MOUSEBUTTONUP, x, y, clicks);
}

#endif
