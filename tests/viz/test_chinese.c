/* The window in Chinese: every scene, caption and question of the catalogue is Chinese but for names, and no text
 * stands on another. Skipped where no font has the characters.
 */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <check.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command/view_race.h"
#include "strategy/base/language.h"
#include "strategy/strategies/strategy.h"
#include "tests/support/plan_check.h"
#include "tests/support/suite.h"
#include "tests/viz/catalogue.h"
#include "tests/viz/drawn_words.h"
#include "tests/viz/player.h"
#include "viz/build/exercise.h"
#include "viz/question/question.h"
#include "viz/race/race.h"

/* ---- words that stay ---- */

/* Names, units, what an option's value is called. */
static const char *const kept[] = {
        "rank",     "chunk",     "token",  "query", "key",    "value",     "logit",  "softmax", "ms",    "ns",
        "kB",       "MB",        "GB",     "TB",    "GiB",    "AdamW",     "SGD",    "ZeRO",    "FSDP",  "fp",
        "bf",       "exposed",   "bubble", "hop",   "launch", "max",       "reduce", "scatter", "all",   "gather",
        "Megatron", "DeepSpeed", "NCCL",   "GPU",   "Enter",  "Esc",       "plan",   "Ctrl",    "Shift", "Page",
        "up",       "down",      "Home",   "End",   "Tab",    "Backspace", "PNG",    "trace",   "FILE",  "or"};

static bool is_kept(const char *word)
{
	for (size_t i = 0; i < COUNT(kept); i++)
		if (!strcmp(word, kept[i]))
			return true;
	return false;
}

static bool has_word(const char *text, const char *word)
{
	size_t n = strlen(word);
	for (const char *at = text; (at = strstr(at, word)) != NULL; at++)
		if ((at == text || !isalpha((unsigned char)at[-1])) && !isalpha((unsigned char)at[n]))
			return true;
	return false;
}

/* True for a strategy, and for a part of a name of the plan. */
static bool is_name(const struct plan *p, const char *word)
{
	if (strategy_find(word))
		return true;
	char offload[128];
	setting_print(SETTING_OFFLOAD, &p->settings, offload, sizeof offload);
	if (has_word(p->strategy, word) || has_word(p->settings.strategy, word) || has_word(p->model->name, word) ||
	    has_word(offload, word))
		return true;
	for (int i = 0; i < p->model->kernel_count; i++)
		if (has_word(p->model->kernels[i].name, word))
			return true;
	for (int i = 0; i < p->model->unit_count; i++)
		if (has_word(p->model->units[i].name, word))
			return true;
	for (int i = 0; i < p->group_count; i++)
		if (has_word(p->groups[i].name, word))
			return true;
	for (int i = 0; i < p->role_count; i++) {
		const struct role *r = &p->roles[i];
		if (has_word(r->name, word))
			return true;
		for (int k = 0; k < r->buffer_count; k++)
			if (has_word(r->buffers[k].name, word))
				return true;
		for (int k = 0; k < r->op_count; k++) {
			const struct op *op = &r->ops[k];
			bool scheduled = op_class(op->kind) == OP_CLASS_C && !op_is_message(op->kind);
			if (has_word(op_name(op->kind), word) ||
			    (scheduled && has_word(schedule_row(op->algorithm)->name, word)))
				return true;
		}
	}
	return false;
}

/* The first English word of a text; "": it has none. */
static const char *english_in(const struct plan *p, const char *text)
{
	static char word[64];
	for (size_t n; *text; text += n ? n : 1) {
		for (n = 0; isalpha((unsigned char)text[n]);)
			n++;
		snprintf(word, sizeof word, "%.*s", (int)n, text);
		if (n > 1 && !is_kept(word) && !is_name(p, word))
			return word;
	}
	return "";
}

static void ck_chinese(const char *request, const char *text)
{
	const char *word = english_in(&v.made.plan, text);
	ck_assert_msg(!*word, "%s: '%s' in '%s'", request, word, text);
}

/* ---- */

static void open_chinese(const char *request, enum scene scene)
{
	language_set("zh");
	open_player(request, scene);
	if (!fonts_open_han(&fonts)) {
		puts("skipped: no font has Chinese characters");
		exit(0);
	}
}

static void close_chinese(void)
{
	close_player();
	language_set("en");
}

static void look_at_caption(const struct state *st, const char *caption)
{
	(void)st;
	ck_chinese("caption", caption);
}

START_LOOP_TEST(captions_are_chinese, 0, SUITE_CASES(REQUESTS, 4))
{
	open_chinese(catalogue[_i], SCENE_OVERVIEW);
	for (int size = 0; size < STEP_SIZE_COUNT; size++)
		each_caption(&v.shown.timeline, (enum step_size)size, look_at_caption);
}

START_LOOP_TEST(questions_are_chinese, 0, SUITE_CASES(REQUESTS, 4))
{
	struct question q;
	open_chinese(catalogue[_i], SCENE_OVERVIEW);
	for (int k = 0; k < QUESTION_KINDS; k++) {
		if (!question_find(&v.shown.timeline, 0, (enum question_kind)k, &q))
			continue;
		ck_chinese(catalogue[_i], q.text);
		ck_chinese(catalogue[_i], q.reason);
		ck_chinese(catalogue[_i], tr(q.look));
		for (int i = 0; i < q.choice_count; i++)
			ck_chinese(catalogue[_i], q.choice[i]);
	}
}

/* The plan's own text stays, and here the heading. What is cut may end within a name. */
static bool is_of_plan(const struct drawn *d)
{
	return (playback.scene == SCENE_PLAN && d->y > 50 && d->y < 480) || strstr(d->text, "…") ||
	       !strncmp(d->text, v.shown.heading, strlen(d->text));
}

static void look_at_words(const char *request)
{
	for (int i = 0; i < drawn_count; i++)
		if (!is_of_plan(&drawn[i]))
			ck_chinese(request, drawn[i].text);
}

START_LOOP_TEST(scenes_are_chinese, 0, SUITE_CASES(REQUESTS, 4))
{
	open_chinese(catalogue[_i], SCENE_OVERVIEW);
	const struct timeline *s = &v.shown.timeline;
	v.shown.timeline.limits = (struct limits){
	        .device_bytes = 1000, .overflows = _i % 2, .tightest = {SPACE_DEVICE, 35500000000, 14000000000}};
	for (int i = 0; i < 12 * SCENE_COUNT; i++) {
		size_t stops = s->stop_count[STEP_SIZE_ROUND];
		playback.scene = (enum scene)(i % SCENE_COUNT);
		playback_go(&playback, timeline_stop(s, STEP_SIZE_ROUND, stops * (size_t)(i / SCENE_COUNT) / 12));
		words_of(&playback);
		look_at_words(catalogue[_i]);
	}
}

/* ---- the window ---- */

static const char *strategy_name(void *context, int i)
{
	static const char *const names[] = {"single", "model", "zero3"};
	(void)context;
	return names[i];
}

static void open_chinese_window(const char *request)
{
	open_chinese(request, SCENE_OVERVIEW);
	open_window(&playback, 1280, 720,
	            &(struct window_host){.strategies = 3, .strategy = strategy_name, .asked_size = true});
}

static void turn_and_look(const char *what)
{
	words_begin();
	w->dirty = true;
	window_turn(w);
	look_at_words(what);
	ck_chinese(what, w->tip);
	ck_chinese(what, playback.note);
}

/* Its help, its buttons with what they say, its modes and notes. */
START_TEST(the_window_is_chinese)
{
	static const char *const keys[] = {"?", "?", "q", "q", "l", "n", "n", "N", "m", "g", "\x1b",
	                                   "p", "d", "[", "]", "c", "q", "1", "q", "/", "o", "\x1b"};
	open_chinese_window(GPT " zero3 ranks=4");
	turn_and_look("the window");
	ck_words("model\n"); /* a strategy's name */
	type("?");
	turn_and_look("the help");
	ck_words(".\n"); /* a key */
	type("?");
	for (int i = 0; i < w->widget_count; i++) {
		press(SDLK_TAB);
		turn_and_look("a button's tip");
	}
	for (int i = 0; i < COUNT(keys); i++) {
		if (*keys[i] == '\x1b')
			press(SDLK_ESCAPE);
		else
			type(keys[i]);
		turn_and_look(keys[i]);
	}
	ck_assert(strstr(window_title(w), "第 "));
}

/* Whatever the mouse rests on. */
START_LOOP_TEST(what_the_mouse_explains_is_chinese, 0, SCENE_COUNT)
{
	open_chinese_window(GPT " zero3 ranks=4");
	playback.scene = (enum scene)_i;
	for (int place = 0; place < 3; place++) {
		playback_go(&playback, v.shown.timeline.instant_count * (size_t)place / 3);
		w->dirty = true;
		window_turn(w);
		for (int i = 0; i < 40 * 24; i++) {
			int column = i % 40, row = i / 40;
			mouse(SDL_MOUSEMOTION, 16 + 32 * column, 16 + 29 * row);
			ck_chinese(scene_name(playback.scene), w->tip);
		}
	}
}

/* ---- single pictures ---- */

/* A text that was cut ends in "…". */
static void ck_nothing_is_cut(void)
{
	static const char mark[] = "…";
	size_t n = sizeof mark - 1;
	for (const char *at = drawn_words; (at = strstr(at, mark)) != NULL; at += n)
		ck_assert_msg(at[n] != '\n', "cut: %s", drawn_words);
}

static void draw_race(const struct race *r, double width, double height)
{
	struct canvas c;
	cairo_surface_t *s = cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)width, (int)height);
	cairo_t *cr = cairo_create(s);
	words_begin();
	canvas_begin(&c, cr, width, height, 1, theme_of(THEME_LIGHT), &fonts);
	race_draw(&c, r, r->longest, (struct box){20, 8, c.width - 40, c.height - 16});
	canvas_end(&c);
	cairo_destroy(cr);
	cairo_surface_destroy(s);
}

START_LOOP_TEST(a_race_is_chinese_and_whole, 0, 2)
{
	struct race r = {.operation = OPERATION_ALL_REDUCE,
	                 .over = _i ? RACE_OVER_RANKS : RACE_OVER_SIZES,
	                 .ranks = 5,
	                 .bytes = 4000000};
	open_chinese(MLP " ddp ranks=4", SCENE_OVERVIEW);
	race_run(&r, "v100-16gb");
	draw_race(&r, 1280, 720);
	ck_nothing_is_cut();
	ck_assert(strstr(drawn_words, "380.9 µs\n"));
	race_release(&r);
}

/* The question is as large as an English one, clear of the signs above it. */
START_TEST(a_question_has_its_room)
{
	struct asking a = {0};
	open_chinese(GPT " zero3 ranks=4", SCENE_OVERVIEW);
	const struct timeline *s = &v.shown.timeline;
	ck_assert(asking_begin(&a, s, s->instant_count / 3));
	playback_ask(&playback, &a);
	words_in(&playback, 1024, 768);
	int i = 0;
	while (i < drawn_count && strncmp(drawn[i].text, asking_now(&a)->text, 12) != 0)
		i++;
	ck_assert_int_lt(i, drawn_count);
	ck_assert_msg(drawn[i].height >= 0.72 * 18, "the question is %.1f high", drawn[i].height);
	ck_assert_msg(drawn[i].y >= 8 + 42 + 9 + 2, "the question begins at %.1f", drawn[i].y);
}

START_TEST(buffers_are_listed_in_chinese)
{
	open_chinese(MLP " zero3 ranks=4", SCENE_MEMORY);
	words_in(&playback, 1280, 720);
	ck_words("一阶矩\n");
	ck_words("传输暂存区\n");
	ck_assert(!strstr(drawn_words, "first_moment"));
}

START_TEST(a_number_keeps_its_unit)
{
	struct canvas c;
	cairo_surface_t *s = cairo_image_surface_create(CAIRO_FORMAT_RGB24, 400, 100);
	cairo_t *cr = cairo_create(s);
	open_chinese(MLP " single", SCENE_OVERVIEW);
	canvas_begin(&c, cr, 400, 100, 1, theme_of(THEME_LIGHT), &fonts);
	for (int width = 60; width < 300; width += 7) {
		words_begin();
		draw_paragraph(&c, 0, 20, width, 12, 9, 0, "在磁盘另有 7.455 MB。at 17.0 % of 3 µs");
		for (const char *const *unit = (const char *const[]){"\nMB", "\n%", "\nµs", NULL}; *unit; unit++)
			ck_assert_msg(!strstr(drawn_words, *unit), "%d pixels: %s", width, drawn_words);
	}
	canvas_end(&c);
	cairo_destroy(cr);
	cairo_surface_destroy(s);
}

/* ---- build it yourself ---- */

static void ck_said(const struct exercise *e)
{
	char rule[RULE_WORDS];
	const char *word = english_in(e->plan, e->said.text);
	ck_assert_msg(!*word, "'%s' in '%s'", word, e->said.text);
	if (e->said.rule)
		ck_assert_str_eq(english_in(e->plan, exercise_rule(rule, e->said.rule)), "");
}

/* Every move at every place of the step, and the hint there. */
static void try_moves(struct exercise *e)
{
	for (int move = 0; move < e->move_count; move++) {
		if (exercise_place(e, move)) {
			ck_said(e);
			exercise_undo(e);
		}
		ck_said(e);
	}
	exercise_done(e);
	ck_said(e);
	exercise_hint(e);
	ck_said(e);
}

START_LOOP_TEST(what_is_built_is_judged_in_chinese, 0, 4)
{
	static const char *const strategies[] = {"single", "ddp ranks=4 bucket=512", "zero2 ranks=4", "zero3 ranks=4"};
	struct exercise e;
	language_set("zh");
	ck_assert_msg(!exercise_open(&e, right_plan(GPT " %s", strategies[_i])), "%s", status_message());
	for (int i = 0; i < e.move_count; i++) {
		ck_assert_str_eq(english_in(e.plan, e.moves[i].said), "");
		try_moves(&e);
		exercise_place(&e, i);
	}
	exercise_done(&e);
	ck_said(&e);
	exercise_release(&e);
}

/* ---- the room that it has ---- */

static const char *const runs[] = {
        GPT " zero3 ranks=4 clip=1", MLP " dp ranks=3",
        MLP " ddp ranks=16",         GPT " hybrid:shard=2 ranks=8",
        GPT " tensor ranks=4",       GPT " zero2 ranks=4 offload=optimizer activation_checkpointing=full",
        MLP " ddp ranks=48",         GPT " pipeline ranks=4 accumulate=4"};
enum { RUNS = COUNT(runs), PLACES = 3 };

START_LOOP_TEST(text_is_clear, 0, SUITE_CASES(RUNS, 2))
{
	static const int sizes[][2] = {{1920, 1080}, {1366, 768}, {1024, 768}};
	open_chinese(runs[_i], SCENE_OVERVIEW);
	const struct timeline *s = &v.shown.timeline;
	if (_i % 3 == 1) /* with the banner, too */
		v.shown.timeline.limits = (struct limits){
		        .device_bytes = 1000, .overflows = true, .tightest = {SPACE_DEVICE, 35500000000, 14000000000}};
	for (int i = 0; i < PLACES * SCENE_COUNT * COUNT(sizes) * 2; i++) {
		const int *size = sizes[i % COUNT(sizes)];
		int place = i / COUNT(sizes) / 2 / SCENE_COUNT;
		playback.presenter = i / COUNT(sizes) % 2;
		playback.scene = (enum scene)(i / COUNT(sizes) / 2 % SCENE_COUNT);
		playback_go(&playback,
		            timeline_stop(s, STEP_SIZE_ROUND, s->stop_count[STEP_SIZE_ROUND] * (size_t)place / PLACES));
		words_in(&playback, size[0], size[1]);
		const char *bad = words_collide(size[0], size[1]);
		ck_assert_msg(!bad, "%s, %s, %d × %d%s, at %zu: %s", runs[_i], scene_name(playback.scene), size[0],
		              size[1], playback.presenter ? ", presenter" : "", playback.position, bad);
	}
}

SUITE_WITH("chinese", 240, NULL, close_chinese)
