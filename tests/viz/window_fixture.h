/* For tests of the window: one that shows the timeline of a plan or of a profiler's trace.
 *
 *     START_TEST(…) { open_plan(DDP); type("n"); … }
 *     SUITE_WITH("numbers", 0, NULL, close_shown)
 */
#ifndef SHARDLAB_WINDOW_FIXTURE_H
#define SHARDLAB_WINDOW_FIXTURE_H

#include "tests/viz/player.h"
#include "viz/scene/lane_area.h"

#define DDP "mlp:sizes=64-64-64-16 ddp ranks=4"
#define PIPELINE "gpt:layers=4,width=32,heads=2,vocabulary=64,context=16 pipeline ranks=4 micro_batch=2 accumulate=4"

static struct trace_file file;
static struct trace_view torch;
static struct canvas canvas = {.width = 1280, .height = 720};

static inline void open_shown(void)
{
	open_window(&playback, 1280, 720, &(struct window_host){.asked_size = true});
}

static inline void open_plan(const char *words)
{
	open_player(words, SCENE_TIMELINE);
	open_shown();
}

static inline void open_torch(void)
{
	ck_assert_msg(!trace_file_open(&file, "tests/golden/torch_profiler.json"), "%s", status_message());
	trace_view_open_foreign(&torch, &file);
	open_playback(&torch);
	playback.scene = SCENE_TIMELINE;
	open_shown();
}

static inline void close_shown(void)
{
	close_player();
	trace_view_release(&torch);
	trace_file_release(&file);
}

/* The place of a time on the timeline, in units. */
static inline struct lane_area area(void)
{
	struct lane_area l[2];
	lane_areas_lay(l, playback_view(&playback), frame_scene(playback_view(&playback), window_scene_box(w, &canvas)),
	               false);
	return l[0];
}

#endif
