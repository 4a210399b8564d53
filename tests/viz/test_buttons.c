/* The window's buttons at every size of text and of the window: none lies on another, none is too small for its label
 * or leaves the window, and they leave room for the picture. And what keys do that the buttons are not there for. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/suite.h"
#include "tests/support/viewed.h"
#include "tests/viz/drawn_words.h"
#include "viz/window/parts.h"

static struct fonts fonts;
static struct viewed v;
static struct playback playback;
static struct window w;

static const char *const names[] = {"single", "dp",       "ddp",   "zero1",  "zero2", "zero3",
                                    "fsdp",   "pipeline", "model", "tensor", "hybrid"};

static const char *name_of(void *context, int i)
{
	(void)context;
	return names[i];
}

static void open_window(void)
{
	ck_assert_msg(!fonts_open(&fonts), "%s", status_message());
	viewed_open(&v, "mlp:sizes=12-16-8-4 ddp ranks=4");
	playback_init(&playback, &fonts);
	playback_show(&playback, &v.shown);
	w = (struct window){.playback = &playback,
	                    .host = {.strategies = COUNT(names), .strategy = name_of},
	                    .speed = 1,
	                    .focus = -1,
	                    .strategy = 2};
}

static void close_window(void)
{
	playback_release(&playback);
	viewed_release(&v);
	fonts_release(&fonts);
}

static bool overlap(const struct box *a, const struct box *b)
{
	return fmin(a->x + a->width, b->x + b->width) - fmax(a->x, b->x) > 0.5 &&
	       fmin(a->y + a->height, b->y + b->height) - fmax(a->y, b->y) > 0.5;
}

static void check_boxes(const struct canvas *c, const char *where)
{
	for (int i = 0; i < w.widget_count; i++) {
		const struct box *a = &w.widgets[i].box;
		ck_assert_msg(a->x >= 0 && a->y >= 0 && a->x + a->width <= c->width && a->y + a->height <= c->height,
		              "%s: '%s' leaves the window", where, w.widgets[i].label);
		for (int k = 0; k < i; k++)
			ck_assert_msg(!overlap(a, &w.widgets[k].box), "%s: '%s' lies on '%s'", where,
			              w.widgets[i].label, w.widgets[k].label);
	}
}

/* Every label lies within a button. */
static void check_labels(double pixel, const char *where)
{
	for (int i = 0; i < drawn_count; i++) {
		const struct drawn *d = &drawn[i];
		bool inside = false;
		for (int k = 0; k < w.widget_count && !inside; k++) {
			const struct box *b = &w.widgets[k].box;
			inside = d->x >= b->x * pixel - 1 && d->x + d->width <= (b->x + b->width) * pixel + 1 &&
			         d->y >= b->y * pixel && d->y + d->height <= (b->y + b->height) * pixel;
		}
		ck_assert_msg(inside, "%s: '%s' leaves its button", where, d->text);
	}
}

static void look(int width, int height, double text)
{
	cairo_t *cr = sheet_open(1, 1);
	struct canvas c;
	char where[64];
	snprintf(where, sizeof where, "%d × %d, text %g", width, height, text);
	playback.text = text;
	canvas_begin(&c, cr, width, height, text, theme_of(THEME_LIGHT), &fonts);
	widgets_lay(&w, &c);
	check_boxes(&c, where);
	words_begin();
	widgets_draw(&w, &c);
	const char *bad = words_collide(width, height);
	ck_assert_msg(!bad, "%s: %s", where, bad);
	check_labels(1 / c.pixel, where);
	ck_assert_msg(!strstr(drawn_words, "…"), "%s: a label is cut off: %s", where, drawn_words);
	ck_assert_msg(drawn_least * c.pixel >= 6, "%s: a label of %.1f units", where, drawn_least * c.pixel);
	struct box scene = window_scene_box(&w, &c);
	ck_assert_msg(scene.height >= 0.5 * c.height, "%s: %.0f of %.0f are left for the picture", where, scene.height,
	              c.height);
	canvas_end(&c);
	cairo_destroy(cr);
}

START_TEST(buttons_have_room)
{
	static const int sizes[][2] = {{1024, 768},  {1280, 720},  {1366, 768}, {1920, 1080},
	                               {1920, 1200}, {2560, 1440}, {3840, 2160}};
	static const double texts[] = {0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.25, 1.4, 1.6, 1.8, 2};
	for (int k = 0; k < COUNT(sizes); k++)
		for (int i = 0; i < COUNT(texts); i++)
			look(sizes[k][0], sizes[k][1], texts[i]);
}

/* Up to the largest text, the whole picture is drawn without one text on another. */
START_TEST(larger_text_is_clear)
{
	static const double texts[] = {0.5, 0.8, 1.25, 1.6, 2};
	for (int scene = 0; scene < SCENE_COUNT; scene++)
		for (int i = 0; i < COUNT(texts); i++) {
			playback.scene = (enum scene)scene;
			playback.text = texts[i];
			playback_go(&playback, 12);
			words_in(&playback, 1024, 768);
			const char *bad = words_collide(1024, 768);
			ck_assert_msg(!bad, "%s, text %g: %s", scene_name(playback.scene), texts[i], bad);
		}
}

/* Nothing changes unseen: a key on the black screen of the presenter shows the picture, and does no more. */
START_TEST(the_black_screen_hides_no_step)
{
	static const enum action steps[] = {ACTION_NEXT, ACTION_BACK,      ACTION_NEXT_PHASE,
	                                    ACTION_LAST, ACTION_HIGHLIGHT, ACTION_SCENE};
	playback.presenter = true;
	window_move(&w, 9, false);
	for (int i = 0; i < COUNT(steps); i++) {
		size_t position = playback.position;
		enum scene scene = playback.scene;
		window_do(&w, ACTION_BLANK);
		ck_assert(w.blank);
		window_do(&w, steps[i]);
		ck_assert(!w.blank && playback.presenter);
		ck_assert_uint_eq(playback.position, position);
		ck_assert_int_eq((int)playback.scene, (int)scene);
	}
	window_do(&w, ACTION_NEXT);
	ck_assert_uint_gt(playback.position, 9);
	playback.presenter = false;
}

/* K stands where a collective has begun and no message of it has arrived; Shift K is the way back. */
START_TEST(a_key_goes_from_collective_to_collective)
{
	struct viewed *several = viewed_plan("mlp:sizes=12-16-8-4 zero3 ranks=4");
	const struct timeline *s = &several->shown.timeline;
	size_t places[16] = {0};
	int wanted = 0, n = 0;
	for (int i = 0; i < s->collective_count; i++)
		wanted += !s->collectives[i].control && s->collectives[i].family == i;
	playback_show(&playback, &several->shown);
	for (window_do(&w, ACTION_COLLECTIVE); !*playback.note; window_do(&w, ACTION_COLLECTIVE)) {
		ck_assert(playback.state.begun && playback.state.groups[0].round == 0);
		ck_assert_int_eq(playback.state.sent_collective, 0);
		ck_assert_int_lt(n, 16);
		places[n++] = playback.position;
	}
	ck_assert_int_eq(n, wanted);
	ck_assert_int_gt(n, 2);
	ck_assert_str_eq(playback.note, "No collective begins after this.");
	window_do(&w, ACTION_LAST);
	for (int i = n; i-- > 0;) {
		window_do(&w, ACTION_COLLECTIVE_BACK);
		ck_assert_uint_eq(playback.position, places[i]);
	}
	window_do(&w, ACTION_COLLECTIVE_BACK);
	ck_assert_str_eq(playback.note, "No collective begins before this.");
}

/* ---- a picture that cannot be saved ---- */

static void save(void)
{
	w.width = 640;
	w.height = 360;
	playback.note[0] = 0;
	window_do(&w, ACTION_SAVE);
}

/* A note says why, and nothing is lost or left behind. */
START_TEST(what_cannot_be_saved_is_said)
{
	char folder[] = "/tmp/shardlab-save-XXXXXX", where[4096];
	struct rlimit limit, small;
	ck_assert(getcwd(where, sizeof where) && mkdtemp(folder));
	ck_assert(!chdir("/proc/self")); /* where nobody may write */
	save();
	ck_assert_msg(!strncmp(playback.note, "Not saved: cannot write ", 24), "%s", playback.note);
	ck_assert(!chdir(folder));
	/* a disk that is full */
	ck_assert(!getrlimit(RLIMIT_FSIZE, &limit));
	small = limit;
	small.rlim_cur = 512;
	ck_assert(signal(SIGXFSZ, SIG_IGN) != SIG_ERR && !setrlimit(RLIMIT_FSIZE, &small));
	save();
	ck_assert(!setrlimit(RLIMIT_FSIZE, &limit));
	ck_assert_msg(strstr(playback.note, "cannot write"), "%s", playback.note);
	ck_assert(!rmdir(folder) && !mkdir(folder, 0700) && !chdir(folder)); /* it was empty */
	save();
	ck_assert_str_eq(playback.note, "Saved as shardlab-ddp-overview-0.png");
	ck_assert(!unlink("shardlab-ddp-overview-0.png") && !chdir(where) && !rmdir(folder));
}

SUITE_WITH("buttons", 60, open_window, close_window)
