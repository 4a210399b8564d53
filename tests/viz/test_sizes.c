/* Text in pictures of every size: no two texts on each other, large enough to be read from the last row where the
 * window presents, and never cut off where it is a caption.
 */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <check.h>
#include <string.h>

#include "tests/support/suite.h"
#include "tests/viz/catalogue.h"
#include "tests/viz/drawn_words.h"
#include "tests/viz/player.h"
#include "viz/scene/scene_parts.h"

static const int sizes[][2] = {{1920, 1080}, {1366, 768}, {1024, 768}};

/* ---- every scene ---- */

static const char *const runs[] = {
        GPT " single ranks=1",
        GPT " zero3 ranks=4 clip=1",
        MLP " dp ranks=3",
        MLP " ddp ranks=8",
        MLP " ddp ranks=16",
        MLP " ddp ranks=48",
        GPT " hybrid:shard=2 ranks=8",
        GPT " pipeline ranks=4 accumulate=4",
        GPT " tensor ranks=4",
        GPT " zero2 ranks=4 offload=optimizer activation_checkpointing=full",
};
enum { RUNS = COUNT(runs), PLACES = 4 };

static void look(const char *request, enum scene scene, int width, int height)
{
	const char *bad;
	words_in(&playback, width, height);
	bad = words_collide(width, height);
	ck_assert_msg(!bad, "%s, %s, %d × %d%s, at %zu: %s", request, scene_name(scene), width, height,
	              playback.presenter ? ", presenter" : "", playback.position, bad);
	if (playback.presenter)
		ck_assert_msg(drawn_least >= 0.02 * height, "%s, %s: %.1f of %d × %d", request, scene_name(scene),
		              drawn_least, width, height);
}

/* At a few places of the step. */
START_LOOP_TEST(text_is_clear, 0, RUNS)
{
	open_player(runs[_i], SCENE_OVERVIEW);
	const struct timeline *s = &v.shown.timeline;
	if (_i % 3 == 1) /* with the banner, too */
		v.shown.timeline.limits = (struct limits){
		        .device_bytes = 1000, .overflows = true, .tightest = {SPACE_DEVICE, 35500000000, 14000000000}};
	for (int place = 0; place < PLACES; place++) {
		playback_go(&playback,
		            timeline_stop(s, STEP_SIZE_ROUND, s->stop_count[STEP_SIZE_ROUND] * (size_t)place / PLACES));
		for (int i = 0; i < SCENE_COUNT * COUNT(sizes) * 2; i++) {
			playback.scene = (enum scene)(i % SCENE_COUNT);
			playback.presenter = i / SCENE_COUNT % 2 > 0;
			const int *size = sizes[i / SCENE_COUNT / 2];
			look(runs[_i], playback.scene, size[0], size[1]);
		}
	}
}

/* ---- captions ---- */

/* Pictures of every form, and with larger text. */
static const struct form {
	int width, height;
	double text;
	bool presenter;
} forms[] = {{1280, 720, 1, false}, {1280, 720, 2, false}, {1024, 768, 1.6, false},
             {1280, 720, 1, true},  {1024, 768, 1, true},  {3840, 2160, 1.25, true}};

static cairo_t *ink;
static const struct form *form;

/* Every word of it is there, on the card, and no smaller than the form asks for. */
static void look_at_caption(const struct state *st, const char *caption)
{
	struct canvas c;
	size_t length = 0, wanted = strlen(caption);
	if (wanted < 110) /* there is room for those */
		return;
	playback_go(&playback, st->position);
	playback.presenter = form->presenter;
	const struct view *view = playback_view(&playback);
	canvas_begin(&c, ink, form->width, form->height,
	             canvas_text(form->width, form->height, form->text, form->presenter), view->theme, &fonts);
	double pixel = 1 / c.pixel, high = caption_height(view, (struct box){0, 0, c.width, c.height});
	c.least = frame_least(view, (struct box){0, 0, c.width, c.height});
	words_begin();
	draw_caption(&c, view, (struct box){20, c.height - high, c.width - 40, high});
	canvas_end(&c);
	for (int i = 0; i < drawn_count; i++) {
		const struct drawn *d = &drawn[i];
		if (d->x > 60 * pixel) /* the number of the step and its time */
			continue;
		length += d->length + (length > 0);
		ck_assert_msg(d->y >= form->height - high * pixel && d->y + d->height <= form->height - 8 * pixel,
		              "%d × %d, text %g: '%s' leaves its card", form->width, form->height, form->text, caption);
		ck_assert(!form->presenter || d->height >= 0.72 * 0.03 * form->height);
	}
	ck_assert_msg(length == wanted, "%d × %d, text %g: %zu of %zu bytes of '%s'", form->width, form->height,
	              form->text, length, wanted, caption);
	ck_assert_msg(!strstr(drawn_words, "…\n"), "cut off: %s", drawn_words);
}

START_LOOP_TEST(captions_are_whole, 0, REQUESTS)
{
	ink = sheet_open(1, 1);
	open_player(catalogue[_i], SCENE_OVERVIEW);
	for (int i = 0; i < COUNT(forms); i++) {
		form = &forms[i];
		playback.step_size = STEP_SIZE_ROUND;
		each_caption(&v.shown.timeline, STEP_SIZE_ROUND, look_at_caption);
		playback.step_size = STEP_SIZE_PHASE;
		each_caption(&v.shown.timeline, STEP_SIZE_PHASE, look_at_caption);
	}
	cairo_destroy(ink);
}

SUITE_WITH("sizes", 240, NULL, close_player)
