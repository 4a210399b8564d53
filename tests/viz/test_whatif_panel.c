/* The panel of what if: keys and mouse change its rows, and a refused change loses nothing. */
#include "tests/viz/whatif_fixture.h"

static const struct {
	const char *row, *value, *says;
} wrong[] = {
        {"ranks", "0", "ranks: '0' is below 1"},
        {"ranks", "99999999999", "is above 16777216"},
        {"ranks", "64000", "a100-40gb"},
        {"model", "nope", "nope"},
        {"model", "gpt:layers=0", "layers"},
        {"cluster", "nope", "unknown cluster 'nope'"},
        {"cluster", "laptop:link=5", "is below 1000 B"},
        {"link-bandwidth", "fast", "fast"},
        {"network-bandwidth", "0", "is below"},
        {"batch", "7", "not divisible"},
        {"micro-batch", "x", "micro-batch: 'x'"},
        {"accumulate", "5000", "5000"},
        {"sequence", "1000", "1000"},
        {"bucket", "-1", "bucket: '-1'"},
        {"activation-checkpointing", "every=0", "every"},
        {"offload", "gradients", "gradients"},
        {"precision", "fp9", "fp9"},
};

START_TEST(nonsense_is_refused)
{
	open_gpt();
	type("w");
	set("accumulate", "2");
	char *was = trace_now();
	for (size_t i = 0; i < COUNT(wrong); i++) {
		set(wrong[i].row, wrong[i].value);
		if (!strcmp(wrong[i].value, "64000")) /* many are simulated by classes */
			type(*v->whatif.refused ? "" : "u");
		else
			ck_assert_msg(strstr(v->whatif.refused, wrong[i].says), "%s=%s: '%s'", wrong[i].row,
			              wrong[i].value, v->whatif.refused);
		ck_same(was, trace_now(), true);
		ck_assert_str_eq(v->whatif.words, "accumulate=2");
	}
	free(was);
}

/* A strategy that refuses a change stays as it is. */
START_TEST(strategies_refuse)
{
	open_view("--model " GPT " --strategy pipeline --ranks 2");
	type("w");
	set("ranks", "64");
	ck_assert_ptr_nonnull(strstr(v->whatif.refused, "64 ranks are 64 stages"));
	ck_assert_int_eq(v->playback.shown->timeline.rank_count, 2);
	close_view();
	open_view("--model " GPT " --strategy ddp");
	type("w");
	set("offload", "parameters");
	ck_assert(*v->whatif.refused != 0);
	ck_assert_str_eq(v->whatif.words, "");
}

/* The same key again goes past a value that was refused, in rows of names and of numbers. */
START_TEST(keys_pass_refused_values)
{
	open_view("--model gpt:layers=6,width=64,heads=2,context=8,vocabulary=24 --strategy pipeline --ranks 4 --batch "
	          "4");
	type("w");
	choose("model");
	press(SDLK_RIGHT);
	ck_assert_ptr_nonnull(strstr(v->whatif.refused, "mlp has"));
	press(SDLK_LEFT);
	ck_assert_ptr_nonnull(strstr(v->whatif.refused, "nothing before this")); /* from where it stands */
	press(SDLK_RIGHT);
	press(SDLK_RIGHT);
	ck_assert_str_eq(v->whatif.words, "model=gpt");
	ck_assert_str_eq(v->whatif.refused, "");
	close_view();
	open_view("--model mlp --strategy ddp --ranks 4 --batch 12");
	type("w");
	choose("ranks");
	press(SDLK_LEFT);
	ck_assert_str_eq(v->whatif.words, "ranks=3");
	press(SDLK_RIGHT);
	press(SDLK_RIGHT);
	ck_assert_str_eq(v->whatif.words, "ranks=6");
	press(SDLK_RIGHT);
	ck_assert_ptr_nonnull(strstr(v->whatif.refused, "8"));
	press(SDLK_RIGHT);
	ck_assert_str_eq(v->whatif.words, "ranks=12");
}

START_TEST(keys_step_through_values)
{
	open_gpt();
	type("w");
	choose("ranks");
	press(SDLK_RIGHT);
	ck_assert_str_eq(v->whatif.words, "ranks=6");
	press(SDLK_LEFT);
	ck_assert_str_eq(v->whatif.words, ""); /* as it was */
	press(SDLK_LEFT);
	press(SDLK_LEFT);
	press(SDLK_LEFT);
	ck_assert_str_eq(v->whatif.words, "ranks=1");
	press(SDLK_LEFT);
	ck_assert_ptr_nonnull(strstr(v->whatif.refused, "nothing before this"));
	choose("precision");
	press(SDLK_RIGHT);
	ck_assert_str_eq(v->whatif.words, "ranks=1,precision=bf16");
	choose("cluster");
	press(SDLK_RIGHT);
	ck_assert_ptr_nonnull(strstr(v->whatif.words, "cluster=a100-80gb"));
	choose("model");
	press(SDLK_RIGHT);
	ck_assert_ptr_nonnull(strstr(v->whatif.words, "model=mlp"));
	press(SDLK_LEFT);
	ck_assert_ptr_null(strstr(v->whatif.words, "model="));
	choose("link-bandwidth");
	press(SDLK_LEFT);
	ck_assert_ptr_nonnull(strstr(v->whatif.words, "link-bandwidth=120GB"));
	choose("offload");
	press(SDLK_RETURN);
	type("optimiz");
	press(SDLK_BACKSPACE);
	ck_assert_str_eq(v->whatif.typed, "optimi");
	press(SDLK_ESCAPE);
	ck_assert(!v->whatif.typing && v->playback.whatif);
}

START_TEST(the_mouse_moves_sliders)
{
	open_gpt();
	type("w");
	int row = row_named("micro-batch");
	struct box cell = whatif_cell(&v->whatif, panel(), row);
	double y = cell.y + cell.height / 2;
	mouse(SDL_MOUSEBUTTONDOWN, cell.x + 2, y);
	ck_assert_str_eq(v->whatif.rows[row].now, "1");
	mouse(SDL_MOUSEMOTION, cell.x + cell.width / 2, y);
	mouse(SDL_MOUSEMOTION, cell.x + cell.width - 3, y + 200);
	mouse(SDL_MOUSEBUTTONUP, cell.x + cell.width - 3, y + 200);
	ck_assert_str_eq(v->whatif.rows[row].now, "128");
	mouse(SDL_MOUSEMOTION, cell.x + 2, y);
	ck_assert_str_eq(v->whatif.rows[row].now, "128");
	type("u"); /* all of the drag is one change */
	ck_assert_str_eq(v->whatif.words, "");
	type("U");
	/* The buttons at the foot: the third takes all back. */
	for (int i = 0; i < w->widget_count; i++)
		if (w->widgets[i].kind == WIDGET_MODE && !strcmp(w->widgets[i].label, "original")) {
			struct box b = w->widgets[i].box;
			mouse(SDL_MOUSEBUTTONDOWN, b.x + 4, b.y + 4);
			break;
		}
	ck_assert_str_eq(v->whatif.words, "");
	ck_assert(v->whatif.undo);
}

START_TEST(before_stands_beside)
{
	open_gpt();
	type("w");
	set("ranks", "2");
	type("b");
	ck_assert_ptr_eq(v->playback.second, &v->loaded[0].shown);
	type("6"); /* zero3, before and now */
	ck_assert_str_eq(v->playback.shown->label, "zero3");
	ck_assert_str_eq(v->playback.second->label, "zero3");
	ck_assert_int_eq(v->playback.second->timeline.rank_count, 4);
	set("ranks", "8");
	ck_assert_int_eq(v->playback.second->timeline.rank_count, 4);
	ck_assert_int_eq(v->playback.shown->timeline.rank_count, 8);
	press(SDLK_ESCAPE);
	ck_assert_ptr_null(v->playback.second);
	type("c"); /* compared with the same changes */
	ck_assert_int_gt(v->playback.contender_count, 4);
	ck_assert_int_eq(v->playback.contender[2]->timeline.rank_count, 8);
	type("w");
	set("ranks", "3");
	ck_assert(v->playback.compare);
	ck_assert_int_eq(v->playback.contender[2]->timeline.rank_count, 3);
}

START_TEST(files_cannot_be_changed)
{
	open_view("--trace tests/fuzz/corpus/trace/part.json");
	type("w");
	ck_assert_ptr_null(v->playback.whatif);
	ck_assert_ptr_nonnull(strstr(v->playback.note, "What --trace says cannot be changed"));
}

SUITE_WITH("whatif_panel", 60, NULL, close_view)
