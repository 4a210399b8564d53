/* Pictures: the same bytes from run to run, and the same picture whichever way one comes to it; text and sizes that
 * leave no room, and drawing that fails. (test_export.c: the pictures inside a GIF and a page.) */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/suite.h"
#include "tests/viz/picture_fixture.h"
#include "viz/scene/lane_area.h"

START_TEST(the_same_bytes_again)
{
	/* cairo numbers the surfaces of SVG within a process: cli_view.sh compares two. */
	static const enum export_format formats[] = {EXPORT_PNG, EXPORT_PDF, EXPORT_GIF, EXPORT_HTML};
	for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
		size_t na, nb;
		go(9);
		char *a = exported(formats[i], &small, true, &na);
		/* In a playback of its own, and after other pictures. */
		playback_release(&playback);
		playback_init(&playback, &fonts);
		playback_show(&playback, &zero3.shown);
		free(exported(EXPORT_PNG, &small, false, &nb));
		playback_show(&playback, &ddp.shown);
		go(9);
		char *b = exported(formats[i], &small, true, &nb);
		char what[32];
		snprintf(what, sizeof what, "format %d", (int)formats[i]);
		ck_same(a, na, b, nb, what);
		ck_assert_uint_gt(na, 1000);
		free(a);
		free(b);
	}
}

/* In every scene and theme. */
START_TEST(every_way_gives_the_same_picture)
{
	for (int scene = 0; scene < SCENE_COUNT; scene++) {
		playback.scene = (enum scene)scene;
		playback.theme = (enum theme_name)(scene % THEME_COUNT);
		check_ways(11);
	}
}

/* A step changes the picture: a test of equality that never fails would not see a picture of nothing. */
START_TEST(steps_differ)
{
	size_t na, nb;
	playback.scene = SCENE_RING;
	go(9);
	char *a = exported(EXPORT_PNG, &small, false, &na);
	go(10);
	char *b = exported(EXPORT_PNG, &small, false, &nb);
	ck_assert(na != nb || memcmp(a, b, na) != 0);
	free(a);
	free(b);
}

/* ---- text that is none, and pictures that fail ---- */

START_TEST(halves_of_characters)
{
	static const struct {
		const char *text, *mended;
	} cases[] = {
	        {"", ""},
	        {"plain", "plain"},
	        {"n − 1 → größer", "n − 1 → größer"},
	        {"gr\xC3", "gr"},
	        {"\xE2\x86", ""},
	        {"\xF0\x9F\x98", ""},
	        {"a\x80z", "az"},
	        {"\xC0\xAFx", "x"},
	        {"\xED\xA0\x80x", "x"},
	        {"\xF4\x90\x80\x80x", "x"},
	        {"\xFFx\xC3\xA9\xC3", "x\xC3\xA9"},
	};
	cairo_t *cr = sheet_open(200, 100);
	struct canvas c;
	canvas_begin(&c, cr, 200, 100, 1, theme_of(THEME_LIGHT), &fonts);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		char text[64];
		snprintf(text, sizeof text, "%s", cases[i].text);
		text_mend(text);
		ck_assert_str_eq(text, cases[i].mended);
		text_length(&c, 12, WEIGHT_BOLD, cases[i].text);
		draw_text(&c, 5, 50, 12, WEIGHT_PLAIN, 0, ALIGN_CENTRE, 30, "%s", cases[i].text);
		draw_paragraph(&c, 5, 50, 40, 12, 2, 0, cases[i].text);
		ck_assert_msg(!cairo_status(cr), "text %zu: %s", i, cairo_status_to_string(cairo_status(cr)));
	}
	canvas_end(&c);
	cairo_destroy(cr);
}

/* Nothing is written as if it were whole when drawing has failed: here by a font that is none. */
START_TEST(drawing_failures_are_reported)
{
	struct fonts broken = fonts;
	broken.plain = cairo_toy_font_face_create("\xFF", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL);
	playback.fonts = &broken;
	for (int format = 0; format < EXPORT_COUNT; format++) {
		char *text = NULL;
		size_t length;
		FILE *out = open_memstream(&text, &length);
		ck_assert_msg(export_write(&playback, (enum export_format)format, &small, false, out), "format %d",
		              format);
		ck_assert(!fclose(out));
		free(text);
	}
	playback.fonts = &fonts;
}

/* ---- side by side ---- */

/* True if the left, or the right, halves of two pictures are the same. */
static bool same_half(cairo_surface_t *a, cairo_surface_t *b, int half)
{
	int width = cairo_image_surface_get_width(a) / 2, stride = cairo_image_surface_get_stride(a);
	for (int y = 0; y < cairo_image_surface_get_height(a); y++)
		if (memcmp(cairo_image_surface_get_data(a) + (ptrdiff_t)y * stride + (ptrdiff_t)half * width * 4,
		           cairo_image_surface_get_data(b) + (ptrdiff_t)y * stride + (ptrdiff_t)half * width * 4,
		           (size_t)width * 4))
			return false;
	return true;
}

/* Only the second's own card shows the memory that it may use. */
START_TEST(each_card_has_its_own_capacity)
{
	const struct limits before = zero3.shown.timeline.limits;
	playback.scene = SCENE_MEMORY;
	playback.contender[0] = &ddp.shown;
	playback.contender[1] = &zero3.shown;
	playback.contender_count = 2;
	playback.compare = true;
	cairo_surface_t *a = surface_of(&playback, &small);
	zero3.shown.timeline.limits =
	        (struct limits){.device_bytes = zero3.shown.timeline.roles[0].peak[SPACE_DEVICE] / 2};
	cairo_surface_t *b = surface_of(&playback, &small);
	zero3.shown.timeline.limits = before;
	ck_assert(same_half(a, b, 0));
	ck_assert(!same_half(a, b, 1));
	cairo_surface_destroy(a);
	cairo_surface_destroy(b);
	playback.compare = false;
	playback.contender_count = 0;
}

/* ---- messages in the timeline ---- */

static int darkness(cairo_t *cr, double x, double y)
{
	uint32_t pixel = sheet_pixel(cr, (int)x, (int)y);
	return 3 * 255 - (int)((pixel & 0xFF) + (pixel >> 8 & 0xFF) + (pixel >> 16));
}

/* Marks inside the span of a collective, one where each message of a rank but its last arrives. */
static int marks(cairo_t *cr, const struct lane_area *l, const struct timeline *s, int collective, int64_t rank)
{
	double y = lane_area_y(l, rank, QUEUE_COMMUNICATION) + l->row * 0.15; /* below the name, above "→ 1" */
	int found = 0;
	for (size_t i = 0; i < s->event_count; i++) {
		const struct event *e = &s->events[i];
		double x = lane_area_x(l, e->time);
		if (e->kind != EVENT_MESSAGE || e->collective != collective || e->rank != rank ||
		    x > l->plot.x + l->plot.width - 12)
			continue;
		int here = darkness(cr, x, y), left = darkness(cr, x - 1, y), there = here > left ? here : left;
		found += there > darkness(cr, x - 8, y) + 60 && there > darkness(cr, x + 8, y) + 60;
	}
	return found;
}

/* In hybrid sharding each group carries out its own collectives by the same operations. */
START_TEST(messages_of_every_group)
{
	const struct viewed *v = viewed_plan("mlp:sizes=12-16-8-4 hybrid:shard=2 ranks=4");
	const struct timeline *s = &v->shown.timeline;
	int groups = 0;
	playback_show(&playback, &v->shown);
	for (int k = 0; k < s->collective_count; k++) {
		const struct collective *one = &s->collectives[k];
		if (one->kind != OP_ALL_REDUCE || one->control)
			continue;
		struct canvas c;
		struct lane_area l;
		struct box b = {0, 0, 1280, 720};
		cairo_t *cr = sheet_open(1280, 720);
		playback.from = one->begin;
		playback.to = one->end;
		const struct view *view = playback_view(&playback);
		canvas_begin(&c, cr, 1280, 720, 1, view->theme, &fonts);
		scene_row(SCENE_TIMELINE)->draw(&c, view, b, false);
		canvas_end(&c);
		lane_area_lay(&l, view, view->lanes, b, true);
		for (int64_t member = 0; member < one->schedule.ranks; member++)
			ck_assert_msg(marks(cr, &l, s, k, one->rank[member]) > 0,
			              "no message of rank %d in collective %d", (int)one->rank[member], k);
		groups += one->family != k;
		cairo_destroy(cr);
	}
	ck_assert_int_gt(groups, 0);
	playback_show(&playback, &ddp.shown);
}

/* ---- sizes ---- */

/* Nothing breaks however little room there is, and large pictures are the small ones with more pixels. */
START_TEST(tiny_and_large)
{
	static const int sizes[][2] = {{64, 64}, {64, 2000}, {2000, 64}, {200, 120}};
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
		for (int scene = 0; scene < SCENE_COUNT; scene++) {
			size_t n;
			struct picture size = {.width = sizes[i][0], .height = sizes[i][1], .scale = 1};
			playback.scene = (enum scene)scene;
			playback.text = i % 2 ? 2 : 0.5;
			go(10);
			free(exported(EXPORT_PNG, &size, false, &n));
			ck_assert_uint_gt(n, 100);
		}
	playback.text = 1;
}

int main(void)
{
	suite_fixture(open_all, close_all);
	return suite_run("picture", 0);
}
