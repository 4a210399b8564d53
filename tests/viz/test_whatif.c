/* The what-if panel says what the simulator says of the same settings, and undo brings back the very trace.
 * Keys come as the window gets them.
 */
#include "tests/viz/whatif_fixture.h"

/* ---- figures ---- */

static const struct whatif_figure *figure_named(const char *name)
{
	for (int i = 0; i < v->whatif.figure_count; i++)
		if (!strcmp(v->whatif.figures[i].name, name))
			return &v->whatif.figures[i];
	ck_abort_msg("there is no figure %s", name);
}

/* The output of `sim --json` for the same words. */
static json_t *simulated(const char *arguments)
{
	struct options o;
	struct job j;
	struct report r = {0};
	arguments_parse(&o, COMMAND_SIM, arguments);
	ck_assert_msg(!job_from_options(&j, &o), "%s", status_message());
	ck_assert_msg(!job_predict(&j, option_text(&o, OPTION_CLUSTER), GRAIN_OPERATION, 0, NULL, &r), "%s",
	              status_message());
	json_t *object = report_to_json(&r);
	report_release(&r);
	job_release(&j);
	return object;
}

static void ck_time(const char *figure, const json_t *object, const char *key)
{
	double s = json_real_value(json_object_get(json_object_get(object, "time"), key));
	char word[WORD];
	time_word(word, (int64_t)(s * 1e9 + 0.5));
	ck_assert_str_eq(figure_named(figure)->now, word);
}

static void ck_bytes(const char *figure, json_int_t bytes)
{
	char word[WORD];
	bytes_word(word, bytes);
	ck_assert_str_eq(figure_named(figure)->now, word);
}

static void ck_figures(const char *arguments)
{
	json_t *o = simulated(arguments), *role = json_array_get(json_object_get(o, "roles"), 0);
	const json_t *device = json_object_get(json_object_get(role, "memory"), "device");
	ck_time("step time", o, "step_s");
	ck_time("exposed", o, "exposed_s");
	ck_time("bubble", o, "bubble_s");
	ck_bytes("peak memory", json_integer_value(json_object_get(device, "peak_bytes")));
	ck_bytes("a rank sends",
	         json_integer_value(json_object_get(json_object_get(role, "communication"), "sent_bytes")));
	json_int_t laid_out = json_integer_value(json_object_get(device, "arena_bytes")),
	           held = json_integer_value(json_object_get(device, "reserved_bytes"));
	ck_bytes("with libraries",
	         (held > laid_out ? held : laid_out) + json_integer_value(json_object_get(device, "overhead_bytes")));
	ck_assert_str_eq(figure_named("fits")->now, json_is_true(json_object_get(o, "fits")) ? "yes" : "no");
	json_decref(o);
}

START_TEST(figures_are_the_simulators)
{
	open_gpt();
	type("w");
	ck_assert_ptr_eq(v->playback.whatif, &v->whatif);
	ck_figures("--model " GPT " --cluster a100-40gb --ranks 4");
	set("ranks", "8");
	set("bucket", "64kB");
	set("link-bandwidth", "5GB");
	set("precision", "bf16");
	ck_assert_str_eq(v->whatif.words, "ranks=8,link-bandwidth=5GB,bucket=64kB,precision=bf16");
	ck_figures("--model " GPT " --cluster a100-40gb:link=5GB --ranks 8 --bucket 64kB --precision bf16");
	type("5"); /* another strategy keeps them */
	ck_assert_str_eq(v->playback.shown->label, "zero2");
	ck_figures("--model " GPT
	           " --cluster a100-40gb:link=5GB --ranks 8 --bucket 64kB --precision bf16 --strategy zero2");
	ck_assert_ptr_nonnull(strstr(window_title(w), "zero2, ranks=8,link-bandwidth=5GB"));
	ck_assert_ptr_nonnull(strstr(v->playback.shown->heading, "zero2 on 8 ranks"));
}

START_TEST(undo_restores_the_trace)
{
	open_gpt();
	char *first = trace_now(), *second;
	type("w");
	set("accumulate", "2");
	second = trace_now();
	ck_assert(strcmp(first, second) != 0);
	for (int i = 2; i < 20; i++) { /* more than are kept */
		char ranks[8];
		snprintf(ranks, sizeof ranks, "%d", i);
		set("ranks", ranks);
		ck_assert_int_eq(v->playback.shown->timeline.rank_count, i);
	}
	for (int i = 2; i < 20; i++)
		type("u");
	ck_same(second, trace_now(), true);
	press_with(SDLK_z, KMOD_LCTRL);
	ck_same(first, trace_now(), true);
	ck_assert(!v->whatif.undo && v->whatif.redo);
	type("u");
	ck_assert_ptr_nonnull(strstr(v->whatif.refused, "Nothing is left to undo"));
	type("U");
	ck_same(second, trace_now(), true);
	press_with(SDLK_y, KMOD_LCTRL);
	ck_assert_str_eq(v->whatif.words, "ranks=2,accumulate=2");
	press(SDLK_ESCAPE); /* closed: the changes stay, and can be undone */
	ck_assert_ptr_null(v->playback.whatif);
	ck_assert_str_eq(v->playback.shown->changed, "ranks=2,accumulate=2");
	type("u");
	ck_same(second, trace_now(), true);
	free(first);
	free(second);
}

/* More changes than the past has room for: the oldest are forgotten. */
START_TEST(the_past_is_bounded)
{
	open_gpt();
	type("w");
	for (int i = 0; i < HISTORY + 10; i++)
		ck_assert(!viewer_change(v, &(struct whatif_change){.move = WHATIF_TYPE,
		                                                    .row = row_named("batch"),
		                                                    .text = i % 2 ? "8" : "12"}));
	for (int i = 1; i < HISTORY; i++)
		ck_assert(!viewer_change(v, &(struct whatif_change){.move = WHATIF_UNDO}));
	ck_assert(!v->whatif.undo);
	ck_assert_str_ne(v->whatif.words, "");
}

/* There and back: undo leads to the very place, wherever it was and however the steps between differ. */
START_TEST(undo_returns_to_the_very_place)
{
	open_gpt();
	struct playback *p = &v->playback;
	type("w");
	for (size_t position = 1; position < p->shown->timeline.instant_count; position += 41) {
		size_t round = timeline_stop(&p->shown->timeline, STEP_SIZE_ROUND,
		                             timeline_stop_of(&p->shown->timeline, STEP_SIZE_ROUND, position));
		window_move(w, round, false);
		set("ranks", "6");
		set("accumulate", "2");
		type("u");
		type("u");
		ck_assert_uint_eq(p->position, round);
	}
	set("ranks", "6");
	press(SDLK_RIGHT); /* a value of the panel */
	press(SDLK_ESCAPE);
	press(SDLK_HOME); /* who goes elsewhere stays there */
	type("u");
	ck_assert_uint_eq(p->position, 0);
}

START_TEST(the_place_stays)
{
	open_gpt();
	struct playback *p = &v->playback;
	for (int i = 0; i < 30; i++)
		press(SDLK_RIGHT);
	press(SDLK_DOWN); /* an operation is selected */
	ck_assert_int_ge(p->selected_op, 0);
	const struct timeline *before = &p->shown->timeline;
	size_t position = p->position;
	const struct op was = timeline_role_of(before, 0)->ops[p->selected_op];
	p->focus_rank = 2;
	type("w");
	set("ranks", "8");
	const struct timeline *now = &p->shown->timeline;
	ck_assert_ptr_ne(now, before);
	size_t there = timeline_same_place(before, position, now);
	ck_assert_uint_gt(there, 0);
	ck_assert_uint_eq(timeline_stop_of(now, p->step_size, p->position), timeline_stop_of(now, p->step_size, there));
	ck_assert_int_eq(p->focus_rank, 2);
	const struct op *is = &timeline_role_of(now, 0)->ops[p->selected_op];
	ck_assert(is->kind == was.kind && is->unit == was.unit && is->kernel == was.kernel && is->micro == was.micro);
	set("ranks", "2"); /* there is no rank 2 any more */
	ck_assert_int_eq(p->focus_rank, 0);
}

/* A change that would fit is looked for while nothing else is to be done, and is then what `sim` says. */
START_TEST(what_would_fit_comes_later)
{
	open_view("--model gpt2-124m --cluster v100-16gb");
	type("w");
	set("micro-batch", "64");
	ck_assert_str_eq(figure_named("fits")->now, "no");
	struct loaded *l = viewer_shown(v);
	for (int i = 0; i < 600 && l->search; i++)
		window_turn(w);
	ck_assert_ptr_null(l->search);
	ck_assert_ptr_nonnull(strstr(l->shown.timeline.limits.change.words, "micro_batch 8"));
}

static void count(void *context)
{
	++*(int *)context;
}

/* Work that takes longer than one has patience for is said, and made all the same; work that fails, too. */
START_TEST(long_work_is_said)
{
	struct loaded direct = {0}, beside = {0};
	struct settings settings;
	char cluster[CLUSTER_TEXT];
	struct changes none = {0};
	int said = 0;
	struct busy busy = {.say = count, .context = &said, .patience = 1};
	arguments_parse(&options, COMMAND_VIEW, "--model gpt2-1558m --ranks 64 --cluster a100-40gb");
	ck_assert_msg(!changes_settings(&none, &options, "zero3", &settings, cluster), "%s", status_message());
	ck_assert(!work_load(&direct, &options, &settings, cluster, &(struct busy){0}));
	ck_assert_msg(!work_load(&beside, &options, &settings, cluster, &busy), "%s", status_message());
	ck_assert_int_gt(said, 0);
	char *text = trace_text(&direct.trace);
	ck_same(text, trace_text(&beside.trace), true);
	free(text);
	load_release(&direct);
	load_release(&beside);
	ck_assert_int_eq(work_load(&beside, &options, &settings, "nowhere", &busy), STATUS_INPUT);
	ck_assert_ptr_nonnull(strstr(status_message(), "unknown cluster 'nowhere'"));
}

/* The line that Ctrl+C copies makes the same again: the trace, the panel and what stands beside it. */
static void ck_restored(void)
{
	const char *line = w->host.command(w->host.context, 1280, 720);
	struct options o;
	struct viewer *again = calloc(1, sizeof *again);
	ck_assert_ptr_nonnull(again);
	arguments_parse(&o, COMMAND_VIEW, strchr(strchr(line, ' ') + 1, ' ') + 1); /* behind "shardlab view" */
	playback_init(&again->playback, v->playback.fonts);
	ck_assert_msg(!viewer_begin(again, &o), "%s", status_message());
	if (option_given(&o, OPTION_WHAT_IF))
		ck_assert_msg(!viewer_what_if(again, option_text(&o, OPTION_WHAT_IF)), "%s", status_message());
	ck_assert_int_eq(again->playback.whatif != NULL, v->playback.whatif != NULL);
	char *now = trace_now();
	ck_same(now, trace_text(&viewer_shown(again)->trace), true);
	for (int i = 0; v->playback.whatif && i < v->whatif.figure_count; i++) {
		ck_assert_str_eq(v->whatif.figures[i].before, again->whatif.figures[i].before);
		ck_assert_str_eq(v->whatif.figures[i].now, again->whatif.figures[i].now);
	}
	free(now);
	viewer_release(again);
	free(again);
}

START_TEST(the_command_restores_it)
{
	open_view("--model " GPT " --cluster a100-40gb:network=20GB --batch 8 --micro-batch 2");
	type("w");
	ck_restored();
	set("accumulate", "3");
	ck_restored();
	set("link-bandwidth", "7GB");
	set("activation-checkpointing", "full");
	ck_restored();
	press(SDLK_ESCAPE);
	ck_restored();
	type("1"); /* single, with the whole batch */
	ck_restored();
	type("w");
	ck_restored();
	type("9");
	ck_restored();
	set("model", "gpt:layers=4,width=64,heads=2,context=32,vocabulary=512");
	ck_restored();
	press(SDLK_ESCAPE);
	ck_restored();
}

SUITE_WITH("whatif", 60, NULL, close_view)
