/* Questions in the window: keys and mouse answer them, nothing shows the answer before it is given, and all words on
 * the card can be read.
 */
#include <check.h>
#include <inttypes.h>
#include <string.h>

#include "strategy/base/number.h"
#include "tests/support/suite.h"
#include "tests/viz/catalogue.h"
#include "tests/viz/drawn_words.h"
#include "tests/viz/player.h"

/* ---- what may be seen ---- */

static cairo_surface_t *drawn_picture(void)
{
	static const struct picture size = {.width = 1280, .height = 720, .scale = 1};
	cairo_surface_t *surface;
	words_begin();
	ck_assert_msg(!export_surface(&playback, &size, &surface), "%s", status_message());
	return surface;
}

/* A number that is asked for stands nowhere in the picture, in no form in which pictures have numbers. */
static void ck_not_told(const struct question *q)
{
	char answer[QUESTION_CHOICE], count[32];
	question_answer(q, answer);
	number_format_count(count, (int64_t)q->number);
	ck_assert_msg(!strstr(drawn_words, answer), "%s: %s tells %s", q->text, scene_name(playback.scene), answer);
	ck_assert_msg(q->unit != ANSWER_BYTES || !strstr(drawn_words, count), "%s: %s tells %s", q->text,
	              scene_name(playback.scene), count);
}

START_TEST(no_picture_tells_a_number_before)
{
	static const char *const words[] = {GPT " ddp ranks=4", GPT " zero3 ranks=4",
	                                    GPT " pipeline ranks=4 accumulate=4"};
	for (int i = 0; i < COUNT(words); i++) {
		struct asking a;
		int asked = 0;
		open_player(words[i], SCENE_OVERVIEW);
		ck_assert(asking_begin(&a, &v.shown.timeline, 0));
		for (a.now = 0; a.now < a.set.count; a.now++) {
			const struct question *q = asking_now(&a);
			if (q->choice_count || q->unit == ANSWER_NUMBER)
				continue;
			playback_ask(&playback, &a);
			for (int scene = 0; scene < SCENE_COUNT; scene++) {
				playback.scene = (enum scene)scene;
				cairo_surface_destroy(drawn_picture());
				ck_not_told(q);
			}
			asked++;
		}
		ck_assert_int_gt(asked, 1);
		close_player();
	}
}

static bool same_pixels(cairo_surface_t *a, cairo_surface_t *b, int from, int to)
{
	int stride = cairo_image_surface_get_stride(a);
	const unsigned char *x = cairo_image_surface_get_data(a), *y = cairo_image_surface_get_data(b);
	for (int row = 0; row < cairo_image_surface_get_height(a); row++)
		if (memcmp(x + row * stride + 4 * from, y + row * stride + 4 * from, (size_t)(4 * (to - from))) != 0)
			return false;
	return true;
}

/* A choice is about what comes, a number is typed: the line below the picture says which it is. */
START_TEST(the_line_fits_the_question)
{
	struct asking a;
	int numbers = 0, choices = 0;
	open_player(GPT " zero3 ranks=4", SCENE_OVERVIEW);
	ck_assert(asking_begin(&a, &v.shown.timeline, 1));
	for (a.now = 0; a.now < a.set.count; a.now++) {
		bool number = !asking_now(&a)->choice_count;
		playback_ask(&playback, &a);
		cairo_surface_destroy(drawn_picture());
		ck_assert_int_eq(number, strstr(drawn_words, "Which number is it?") != NULL);
		ck_assert_int_eq(!number, strstr(drawn_words, "Before the next step is shown: what comes?") != NULL);
		numbers += number;
		choices += !number;
	}
	ck_assert(numbers > 0 && choices > 0);
}

/* The answer changes the picture: the veil goes, the caption comes, and the cursor moves. */
START_TEST(the_answer_lifts_the_veil)
{
	struct asking a;
	open_player(GPT " zero3 ranks=4", SCENE_OVERVIEW);
	ck_assert(asking_begin(&a, &v.shown.timeline, 1));
	playback_ask(&playback, &a);
	ck_assert_uint_eq(playback.position, asking_now(&a)->position);
	playback.scene = SCENE_TIMELINE;
	cairo_surface_t *before = drawn_picture();
	ck_assert_ptr_nonnull(strstr(drawn_words, "Before the next step is shown"));
	asking_skip(&a);
	playback_ask(&playback, &a);
	playback.scene = SCENE_TIMELINE;
	ck_assert_uint_eq(playback.position, asking_now(&a)->shown);
	cairo_surface_t *after = drawn_picture();
	ck_assert_ptr_null(strstr(drawn_words, "Before the next step is shown"));
	ck_assert_ptr_nonnull(strstr(drawn_words, "Skipped."));
	ck_assert(!same_pixels(before, after, 20, 800));
	cairo_surface_destroy(before);
	cairo_surface_destroy(after);
}

/* ---- the card ---- */

static void ck_card(const struct asking *a, double width, double height)
{
	cairo_t *cr = sheet_open((int)width, (int)height);
	struct canvas c;
	canvas_begin(&c, cr, width, height, 1 / canvas_scale(width, height), theme_of(THEME_LIGHT), &fonts);
	words_begin();
	draw_question(&c, a, (struct box){0, 0, width, height});
	const char *wrong = words_collide(width, height);
	ck_assert_msg(!wrong, "%s, %g × %g: %s", a->now < a->set.count ? asking_now(a)->text : "the count", width,
	              height, wrong);
	ck_assert_msg(!strstr(drawn_words, "…\n"), "%s, %g × %g is cut",
	              a->now < a->set.count ? asking_now(a)->text : "", width, height);
	canvas_end(&c);
	cairo_destroy(cr);
}

START_LOOP_TEST(all_words_of_a_card_can_be_read, 0, REQUESTS)
{
	static const double sizes[][2] = {{440, 638}, {340, 700}};
	struct asking a;
	open_player(catalogue[_i], SCENE_OVERVIEW);
	ck_assert(asking_begin(&a, &v.shown.timeline, 0));
	for (const struct question *q; (q = asking_now(&a)) != NULL; asking_next(&a)) {
		for (int k = 0; k < COUNT(sizes); k++)
			ck_card(&a, sizes[k][0], sizes[k][1]);
		asking_answer(&a, "?");
		for (int k = 0; k < COUNT(sizes); k++)
			ck_card(&a, sizes[k][0], sizes[k][1]);
		if (q->choice_count)
			asking_answer(&a, a.now % 2 ? "1" : "3");
		else
			asking_answer(&a, "1 B");
		asking_skip(&a);
		for (int k = 0; k < COUNT(sizes); k++)
			ck_card(&a, sizes[k][0], sizes[k][1]);
	}
	ck_card(&a, 440, 720);
	ck_assert_ptr_nonnull(strstr(drawn_words, "right"));
}

/* ---- the window ---- */

static void open_window_of(const char *words)
{
	open_player(words, SCENE_OVERVIEW);
	open_window(&playback, 1280, 720, &(struct window_host){.asked_size = true});
}

static const struct question *asked(void)
{
	const struct question *q = asking_now(&w->asking);
	ck_assert_ptr_nonnull(q);
	return q;
}

static void to_choice(void)
{
	while (!asked()->choice_count) {
		press(SDLK_RIGHT);
		press(SDLK_RIGHT);
	}
}

START_TEST(keys_answer)
{
	open_window_of(GPT " zero3 ranks=4");
	type("q");
	ck_assert_ptr_eq(w->mode, &mode_ask);
	ck_assert_ptr_nonnull(strstr(window_title(w), "questions"));
	ck_assert_uint_eq(playback.position, asked()->position);
	to_choice();
	const char right[] = {(char)('1' + asked()->right), 0};
	int before = w->asking.tally.right;
	type("9"); /* no such choice */
	ck_assert(asking_is_open(&w->asking));
	type(right);
	ck_assert(!asking_is_open(&w->asking));
	ck_assert_int_eq(w->asking.tally.right, before + 1);
	ck_assert_uint_eq(playback.position, asked()->shown);
	type(right); /* a digit too many is no strategy and no answer */
	ck_assert_int_eq(w->asking.tally.right, before + 1);
	int now = w->asking.now;
	press(SDLK_RETURN);
	ck_assert_int_eq(w->asking.now, now + 1);
	ck_assert(asking_is_open(&w->asking));
	press(SDLK_ESCAPE);
	ck_assert_ptr_null(w->mode);
	ck_assert_ptr_null(playback.asking);
	ck_assert_msg(strstr(playback.note, "1 of 1 right"), "%s", playback.note);
}

START_TEST(numbers_are_typed)
{
	char answer[QUESTION_CHOICE];
	open_window_of(GPT " zero3 ranks=4");
	type("q");
	while (asked()->choice_count) {
		press(SDLK_PAGEDOWN);
		press(SDLK_PAGEDOWN);
	}
	type("1,5 GB");
	press(SDLK_RETURN);
	ck_assert(asking_is_open(&w->asking));
	ck_assert_ptr_nonnull(strstr(w->asking.why, "with a point"));
	for (int i = 0; i < 6; i++)
		press(SDLK_BACKSPACE);
	ck_assert_str_eq(w->asking.typed, "");
	type(question_answer(asked(), answer));
	ck_assert_str_eq(w->asking.typed, answer);
	press(SDLK_RETURN);
	ck_assert_int_eq(w->asking.tally.right, 1);
}

/* While it is open, keys that would show what comes next are refused, and others work. */
START_TEST(an_open_question_shows_nothing_more)
{
	static const SDL_Keycode refused[] = {SDLK_END, SDLK_LEFT, SDLK_HOME, SDLK_UP, SDLK_DOWN, SDLK_SPACE};
	open_window_of(GPT " zero3 ranks=4");
	playback_go(&playback, 4);
	type("Q");
	to_choice();
	size_t position = playback.position;
	for (int i = 0; i < COUNT(refused); i++) {
		press(refused[i]);
		ck_assert_uint_eq(playback.position, position);
		ck_assert_int_eq(playback.selected_op, -1);
		ck_assert_str_eq(w->asking.why, "Answer first, or skip it with →.");
		ck_assert(!w->playing);
	}
	type("n");
	type(".");
	type("g");
	ck_assert_uint_eq(playback.position, position);
	ck_assert_ptr_eq(w->mode, &mode_ask);
	enum scene scene = playback.scene;
	type("v");
	ck_assert_int_ne(playback.scene, scene);
	playback.scene = SCENE_TIMELINE;
	mouse(SDL_MOUSEMOTION, 700, 150);
	ck_assert_str_eq(w->tip, "");
	mouse(SDL_MOUSEBUTTONDOWN, 300, 560);
	ck_assert_uint_eq(playback.position, position);
	type("s");
	ck_assert(!asking_is_open(&w->asking));
	press(SDLK_LEFT); /* now one may look around */
	ck_assert_uint_lt(playback.position, asked()->shown);
}

START_TEST(the_mouse_answers)
{
	open_window_of(GPT " ddp ranks=4");
	type("q");
	to_choice();
	int seen = 0;
	for (int i = 0; i < w->widget_count; i++) {
		if (w->widgets[i].kind != WIDGET_MODE)
			continue;
		struct box b = w->widgets[i].box;
		ck_assert(b.x >= 840 && b.x + b.width <= 1280 && b.y + b.height < 720);
		seen++;
	}
	ck_assert_int_eq(seen, asked()->choice_count);
	for (int i = 0; i < w->widget_count; i++)
		if (w->widgets[i].kind == WIDGET_MODE && w->widgets[i].number == asked()->right) {
			struct box b = w->widgets[i].box;
			mouse(SDL_MOUSEBUTTONDOWN, b.x + b.width / 2, b.y + b.height / 2);
			break;
		}
	ck_assert_int_eq(w->asking.tally.right, 1);
	int now = w->asking.now;
	mouse(SDL_MOUSEBUTTONDOWN, 1000, 500); /* anywhere on the card: on */
	ck_assert_int_eq(w->asking.now, now + 1);
}

START_TEST(it_ends_with_the_count)
{
	open_window_of(GPT " ddp ranks=4");
	type("q");
	int count = w->asking.set.count;
	for (int i = 0; i < 2 * count; i++)
		press(SDLK_RIGHT);
	ck_assert_int_eq(w->asking.stage, ASKING_OVER);
	ck_assert_int_eq(w->asking.tally.skipped, count);
	press(SDLK_RETURN); /* once more */
	ck_assert(asking_is_open(&w->asking));
	ck_assert_int_eq(w->asking.tally.skipped, 0);
	type("q");
	ck_assert_ptr_null(w->mode);
}

/* In the presenter it is as large as the rest, and Esc leaves the questions before it leaves the presenter. */
START_TEST(in_the_presenter)
{
	open_window_of(GPT " ddp ranks=4");
	type("q");
	press(SDLK_F5);
	ck_assert(playback.presenter);
	ck_assert_ptr_eq(w->mode, &mode_ask);
	press(SDLK_ESCAPE);
	ck_assert(playback.presenter);
	ck_assert_ptr_null(w->mode);
}

START_TEST(another_strategy_has_its_own_questions)
{
	const struct trace_view *other = &viewed_plan(GPT " zero3 ranks=4")->shown;
	open_window_of(GPT " ddp ranks=4");
	type("q");
	ck_assert_ptr_eq(w->asking.timeline, &v.shown.timeline);
	playback_show(&playback, other);
	w->dirty = true;
	window_turn(w);
	ck_assert_ptr_eq(w->asking.timeline, &other->timeline);
	ck_assert_uint_eq(playback.position, asked()->position);
}

SUITE_WITH("ask", 120, NULL, close_player)
