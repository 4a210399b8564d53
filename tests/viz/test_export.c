/* Exports: a GIF and a page hold the pictures of the single steps, of every strategy. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/gif.h"
#include "tests/support/suite.h"
#include "tests/viz/picture_fixture.h"

/* ---- GIF ---- */

/* With 256 colours there is a difference, but a small one. */
static void ck_alike(const struct gif *g, cairo_surface_t *surface, size_t step)
{
	double sum = 0;
	long far = 0;
	for (int y = 0; y < g->height; y++) {
		const uint32_t *row =
		        (const uint32_t *)(const void *)(cairo_image_surface_get_data(surface) +
		                                         (ptrdiff_t)y * cairo_image_surface_get_stride(surface));
		for (int x = 0; x < g->width; x++) {
			const unsigned char *p = g->palette[g->indices[y * g->width + x]];
			int worst = 0;
			for (int i = 0; i < 3; i++) {
				int d = abs((int)(row[x] >> (16 - 8 * i) & 255) - p[i]);
				worst = d > worst ? d : worst;
			}
			sum += worst;
			far += worst > 24;
		}
	}
	double pixels = (double)g->width * g->height;
	ck_assert_msg(sum / pixels < 2, "frame %zu is %.2f off", step, sum / pixels);
	ck_assert_msg((double)far / pixels < 0.01, "frame %zu has %ld pixels of another colour", step, far);
}

static void check_gif(void)
{
	size_t length, steps = export_steps(&playback), step = 0;
	char *text = exported(EXPORT_GIF, &small, false, &length);
	struct gif g;
	gif_open(&g, text, length);
	ck_assert_int_eq(g.width, small.width);
	ck_assert_int_eq(g.height, small.height);
	for (int delay = 0; gif_next(&g, &delay); step++) {
		go(step);
		cairo_surface_t *surface = surface_of(&playback, &small);
		ck_alike(&g, surface, step);
		ck_assert_int_eq(delay, step + 1 == steps ? 150 : 50);
		cairo_surface_destroy(surface);
	}
	ck_assert_uint_eq(step, steps);
	gif_release(&g);
	free(text);
}

START_TEST(frames_of_the_gif)
{
	playback.scene = SCENE_OVERVIEW;
	check_gif();
}

/* ---- HTML ---- */

/* A line for each step, which begins with its caption. */
static void check_page(void)
{
	size_t length, steps = export_steps(&playback);
	char *page = exported(EXPORT_HTML, &small, false, &length), *at = strstr(page, "\"steps\":[\n");
	ck_assert(at);
	at += strlen("\"steps\":[\n");
	for (size_t k = 0; k < steps; k++) {
		char caption[CAPTION_SIZE], begin[64];
		go(k);
		caption_make(&playback.state, caption, sizeof caption);
		snprintf(begin, sizeof begin, "[\"%.20s", caption);
		ck_assert_msg(!strncmp(at, begin, strlen(begin)), "step %zu is '%.40s'", k, at);
		at = strchr(at, '\n') + 1;
	}
	static const char behind[] = "],\"questions\":[\n{\"step\":";
	ck_assert_msg(!strncmp(at, behind, sizeof behind - 1), "behind the last step comes '%.40s'", at);
	for (const char *p = page; (p = strstr(p, "http")) != NULL; p++)
		ck_assert_msg(!strncmp(p, "http-equiv", 10), "the page names an address: %.60s", p);
	ck_assert(!strstr(page, " src="));
	free(page);
}

START_TEST(steps_of_the_page)
{
	check_page();
}

/* ---- every strategy ---- */

static const char *const strategies[] = {
        "mlp:sizes=6-5-4 single ranks=1",
        "mlp:sizes=6-5-4 dp ranks=2",
        "mlp:sizes=6-5-4 zero1 ranks=2",
        "mlp:sizes=6-5-4 zero2 ranks=2 offload=optimizer",
        "mlp:sizes=6-5-4 zero3 ranks=2",
        "mlp:sizes=6-5-4 fsdp ranks=2",
        "mlp:sizes=6-5-4 hybrid:shard=2 ranks=4",
        "mlp:sizes=6-5-4 model ranks=2",
        "mlp:sizes=6-5-4 pipeline ranks=2 accumulate=2",
        "gpt:layers=2,width=8,heads=2,context=4,vocabulary=8 tensor ranks=2",
};

/* The ways, the pictures inside a GIF, and the steps of a page, of every strategy. (ddp has tests of its own.) */
START_LOOP_TEST(of_every_strategy, 0, SUITE_CASES(sizeof strategies / sizeof strategies[0], 3))
{
	const struct viewed *v = viewed_plan(strategies[_i]);
	playback_show(&playback, &v->shown);
	playback.scene = SCENE_OVERVIEW;
	check_ways(timeline_stop_of(&v->shown.timeline, playback.step_size, v->shown.timeline.instant_count) / 2);
	playback.step_size = STEP_SIZE_PHASE;
	check_gif();
	check_page();
	playback.step_size = STEP_SIZE_ROUND;
	playback_show(&playback, &ddp.shown);
}

int main(void)
{
	suite_fixture(open_all, close_all);
	return suite_run("export", 0);
}
