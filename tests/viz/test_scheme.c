/* A ring of many ranks is a scheme: the first, those between as one, the last. And whatever is drawn of it, of two
 * traces side by side and of one collective alone can be read: no text stands on another.
 */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <check.h>

#include "tests/support/suite.h"
#include "tests/viz/drawn_words.h"
#include "tests/viz/picture_fixture.h"

static const struct {
	int ranks;
	const char *fold, *last;
} rings[] = {{17, "ranks 4–14: the same\n", "rank 16\n"},
             {64, "ranks 4–61: the same\n", "rank 63\n"},
             {256, "ranks 4–253: the same\n", "rank 255\n"},
             {1024, "ranks 4–1021: the same\n", "rank 1023\n"}};

static void open_ring(int ranks)
{
	char words[64];
	snprintf(words, sizeof words, "mlp:sizes=64-64-64-64 ddp ranks=%d", ranks);
	open_playback(&viewed_plan(words)->shown);
}

static void draw_at(size_t position, double width, double height)
{
	playback_go(&playback, position);
	words_in(&playback, width, height);
	const char *collision = words_collide(width, height);
	ck_assert_msg(!collision, "%s, %s at %zu, %.0f × %.0f: %s", playback.shown->heading, scene_name(playback.scene),
	              position, width, height, collision);
}

/* A position in the midst of a collective: half of the step's bytes have been sent. */
static size_t middle(void)
{
	const struct timeline *s = &playback.shown->timeline;
	size_t p = s->instant_count;
	for (playback_go(&playback, p); p > 0 && playback.state.sent > ledger_step_total(s) / 2;)
		playback_go(&playback, p = timeline_previous(s, STEP_SIZE_ROUND, p));
	return p;
}

START_LOOP_TEST(those_between_are_one, 0, COUNT(rings))
{
	open_ring(rings[_i].ranks);
	size_t places[] = {0, middle(), playback.shown->timeline.instant_count};
	static const enum scene scenes[] = {SCENE_RING, SCENE_OVERVIEW};
	for (int k = 0; k < COUNT(scenes); k++)
		for (int i = 0; i < COUNT(places); i++) {
			playback.scene = scenes[k];
			draw_at(places[i], 1280, 720);
			ck_words(rings[_i].fold);
			ck_words("rank 0\n");
			ck_words("rank 3\n");
			ck_words(rings[_i].last);
			ck_assert_ptr_null(strstr(drawn_words, "\nrank 5\n"));
			draw_at(places[i], 1024, 600);
			playback.presenter = true;
			draw_at(places[i], 1280, 720);
			playback.presenter = false;
		}
}

/* The cards are under the mouse. */
START_LOOP_TEST(cards_are_ranks, 0, COUNT(rings))
{
	bool found[2] = {false};
	open_ring(rings[_i].ranks);
	playback.scene = SCENE_RING;
	playback_go(&playback, middle());
	cairo_t *cr = sheet_open(1280, 720);
	struct canvas c;
	const struct view *v = playback_view(&playback);
	canvas_begin(&c, cr, 1280, 720, 1, v->theme, playback.fonts);
	for (int y = 60; y < 700; y += 8)
		for (int x = 30; x < 800; x += 8) {
			struct hit h = scene_hit(&c, v, (struct box){0, 0, 1280, 720}, x, y);
			found[0] |= h.rank == 0;
			found[1] |= h.rank == rings[_i].ranks - 1;
			ck_assert(h.rank < 4 || h.rank > rings[_i].ranks - 3);
		}
	canvas_end(&c);
	cairo_destroy(cr);
	ck_assert(found[0]);
	ck_assert_msg(found[1] || playback.shown->timeline.rank_count < rings[_i].ranks, "the last is not found");
}

/* Two traces side by side, in every scene and in windows large and small. */
START_LOOP_TEST(pairs_can_be_read, 0, SCENE_COUNT)
{
	static const double sizes[][2] = {{1920, 1080}, {1366, 660}, {1024, 640}};
	open_ring(4);
	playback_pair(&playback, &viewed_plan("mlp:sizes=64-64-64-64 zero3 ranks=4")->shown);
	playback.scene = (enum scene)_i;
	size_t places[] = {0, middle(), playback.shown->timeline.instant_count};
	for (int k = 0; k < COUNT(sizes); k++)
		for (int i = 0; i < COUNT(places); i++) {
			playback.presenter = i == 1;
			draw_at(places[i], sizes[k][0], sizes[k][1]);
			ck_words("difference\n");
		}
}

SUITE_WITH("scheme", 60, NULL, close_playback)
