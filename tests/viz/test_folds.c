/* Folds of the timeline's lanes: passes and units from afar, and ranks that are equal; by hand, two stages:
 *
 *   rank 0  F0 F1    B0 F2  B1 F3  B2  B3
 *   rank 1     F0 B0 F1 B1  F2 B2  F3  B3
 */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/suite.h"
#include "tests/viz/drawn_words.h"
#include "tests/viz/player.h"
#include "viz/scene/lane_spans.h"

#define GPT "gpt:layers=4,width=32,heads=2,vocabulary=64,context=16"
#define PIPELINE GPT " pipeline ranks=2 micro_batch=2 accumulate=4"

static const struct lane *compute_of(int64_t rank)
{
	for (int i = 0; i < v.shown.lanes.lane_count; i++)
		if (v.shown.lanes.lanes[i].rank == rank && v.shown.lanes.lanes[i].queue == QUEUE_COMPUTE)
			return &v.shown.lanes.lanes[i];
	ck_abort_msg("no such lane");
	return NULL;
}

/* All that is drawn of a lane, "F0 F1 B0 ": single operations as ".". */
static const char *drawn_at(const struct lane *lane, double scale)
{
	static char out[4096];
	struct lane_place at = lane_piece_first(lane, 0);
	struct lane_piece piece;
	size_t length = 0;
	out[0] = 0;
	while (lane_piece_next(lane, scale, &at, &piece) && length < sizeof out) {
		char word[FOLD_WORD] = ".";
		if (piece.fold)
			fold_word(word, &v.shown.timeline, piece.fold, 0);
		length += (size_t)snprintf(out + length, sizeof out - length, "%s ", word);
	}
	return out;
}

START_TEST(from_afar_a_pipeline_is_its_passes)
{
	open_player(PIPELINE, SCENE_TIMELINE);
	ck_assert_str_eq(drawn_at(compute_of(0), 1e-12), "F0 F1 B0 F2 B1 F3 B2 B3 update ");
	ck_assert_str_eq(drawn_at(compute_of(1), 1e-12), "F0 B0 F1 B1 F2 B2 F3 B3 update ");
	words_of(&playback);
	ck_words("F0\nF1\nB0\nF2\nB1\nF3\nB2\nB3\n");
	ck_words("forward\nbackward\nupdate\ncommunication\n");
}

/* Whatever the zoom, every operation is in one piece, and pieces follow each other. */
static size_t pieces_at(const struct lane *lane, double scale)
{
	struct lane_place at = lane_piece_first(lane, 0);
	struct lane_piece piece;
	size_t count = 0, next = 0;
	for (; lane_piece_next(lane, scale, &at, &piece); count++) {
		ck_assert_uint_eq(piece.fold ? piece.fold->first : piece.span, next);
		next = piece.fold ? piece.fold->last : piece.span + 1;
	}
	ck_assert_uint_eq(next, lane->span_count);
	return count;
}

START_TEST(folds_open_as_one_zooms_in)
{
	open_player(PIPELINE, SCENE_TIMELINE);
	const struct lane *lane = compute_of(0);
	size_t before = 0;
	for (int doubled = 0; doubled < 60; doubled++) {
		size_t count = pieces_at(lane, ldexp(1e-12, doubled));
		ck_assert_uint_ge(count, before);
		before = count;
	}
	ck_assert_uint_eq(before, lane->span_count);
	ck_assert_int_gt(lane->unit_count, lane->pass_count);
	ck_assert_uint_gt(lane->span_count, (size_t)lane->unit_count);
}

/* A pass opens where half of its units have room for their names: "block.0" is 7 characters of 7 units, and 8 around.
 */
START_TEST(names_say_where_folds_open)
{
	open_player(PIPELINE, SCENE_TIMELINE);
	const struct lane *lane = compute_of(0);
	for (int p = 0; p < lane->pass_count; p++) {
		const struct lane_fold *f = &lane->passes[p];
		int fit = 0, units = f->part_end - f->part;
		if (units < 2 || f->pass != PASS_FORWARD)
			continue;
		for (int i = f->part; i < f->part_end; i++) {
			const struct lane_fold *u = &lane->units[i];
			double room = (double)(u->end - u->begin) * f->opens * 1.0001;
			fit += room >= 7 * (double)strlen(v.made.plan.model->units[u->unit].name) + 8;
		}
		ck_assert_int_ge(2 * fit, units);
		ck_assert_int_lt(2 * (fit - 1), units);
	}
}

/* The first unit takes the samples, which is short, and has one kernel, which is not: it opens where the kernel's name
 * has room, "linear" in 6 characters of 7 units and 8 around. */
START_TEST(a_unit_of_one_kernel_opens)
{
	open_player("mlp:sizes=784-1024-1024-10 ddp ranks=2", SCENE_TIMELINE);
	const struct lane *lane = compute_of(0);
	const struct lane_fold *unit = &lane->units[0];
	ck_assert_uint_eq(unit->last - unit->first, 2);
	ck_assert(v.made.plan.roles[0].ops[lane->spans[0].op].kind == OP_LOAD);
	int64_t length = lane->spans[1].end - lane->spans[1].begin;
	ck_assert_double_eq_tol(unit->opens, (6 * 7 + 8) / (double)length, 1e-12);
	ck_assert_int_eq(drawn_at(lane, 1.01 * unit->opens)[0], '.');
}

START_TEST(names_get_shorter)
{
	char word[FOLD_WORD], name[FOLD_WORD];
	const struct lane_fold *f = NULL;
	open_player(PIPELINE, SCENE_TIMELINE);
	const struct lane *lane = compute_of(0);
	for (int i = 0; i < lane->unit_count; i++)
		if (lane->units[i].micro == 2 && lane->units[i].pass == PASS_FORWARD)
			f = &lane->units[i];
	ck_assert_ptr_nonnull(f);
	snprintf(name, sizeof name, "%s F2", v.made.plan.model->units[f->unit].name);
	ck_assert_str_eq(fold_word(word, &v.shown.timeline, f, 0), name);
	ck_assert_str_eq(fold_word(word, &v.shown.timeline, f, 1), v.made.plan.model->units[f->unit].name);
	ck_assert_str_eq(fold_word(word, &v.shown.timeline, f, 2), "");
}

/* With a single micro-batch only blocks have numbers. */
START_TEST(units_of_one_micro_batch)
{
	char word[FOLD_WORD];
	bool seen = false;
	open_player(GPT " ddp ranks=2", SCENE_TIMELINE);
	const struct lane *lane = compute_of(0);
	ck_assert_str_eq(drawn_at(lane, 1e-12), "forward backward update ");
	for (int i = 0; i < lane->unit_count; i++) {
		const struct lane_fold *f = &lane->units[i];
		if (strcmp(fold_word(word, &v.shown.timeline, f, 0), "block.2 backward") != 0)
			continue;
		seen = true;
		ck_assert_str_eq(fold_word(word, &v.shown.timeline, f, 1), "block.2");
		ck_assert_str_eq(fold_word(word, &v.shown.timeline, f, 2), "2");
	}
	ck_assert(seen);
}

/* Recomputation in a backward pass is part of it, and not a pass of its own. */
START_TEST(a_backward_pass_holds_what_it_repeats)
{
	open_player(PIPELINE " activation_checkpointing=full", SCENE_TIMELINE);
	ck_assert_str_eq(drawn_at(compute_of(0), 1e-12), "F0 F1 B0 F2 B1 F3 B2 B3 update ");
}

/* ---- the mouse ---- */

/* The text of the first place in rank 0's compute lane whose text begins so. */
static struct hit hit_with(const char *begin)
{
	const struct view *view = playback_view(&playback);
	struct lane_area l[2];
	struct hit h = {.op = -1};
	lane_areas_lay(l, view, (struct box){0, 0, 1200, 560}, false);
	for (int i = 0; i < (int)(2 * l->plot.width); i++) {
		double x = l->plot.x + i / 2.0;
		h = (struct hit){.rank = -1, .op = -1, .time = -1};
		lane_area_hit(NULL, view, (struct box){0, 0, 1200, 560}, false, x, l->plot.y + l->row / 2, &h);
		if (!strncmp(h.text, begin, strlen(begin)))
			return h;
	}
	ck_abort_msg("nothing begins with '%s', at last '%s'", begin, h.text);
	return h;
}

START_TEST(the_mouse_is_told_what_a_fold_is)
{
	char whole[160], time[WORD];
	open_player(PIPELINE, SCENE_TIMELINE);
	const struct lane *lane = compute_of(0);
	const struct lane_fold *f = &lane->passes[3];
	snprintf(whole, sizeof whole, "forward of micro-batch 2: %zu operations, %s", f->last - f->first,
	         time_word(time, f->end - f->begin));
	struct hit h = hit_with(whole);
	ck_assert_int_eq(h.op, lane->spans[f->first].op);
	/* Zoomed in to one operation, the mouse is on that. */
	const struct lane_span *s = &lane->spans[f->first + 2];
	playback.from = s->begin;
	playback.to = s->end;
	snprintf(whole, sizeof whole, "%d: ", s->op);
	ck_assert_int_eq(hit_with(whole).op, s->op);
}

/* ---- arrows ---- */

static const struct lane_fold *pass_of(int64_t rank, enum pass pass, int micro)
{
	const struct lane *lane = compute_of(rank);
	for (int i = 0; i < lane->pass_count; i++)
		if (lane->passes[i].pass == pass && lane->passes[i].micro == micro)
			return &lane->passes[i];
	ck_abort_msg("no such pass");
	return NULL;
}

/* Each micro-batch has one down, from the end of its forward pass to the beginning of the next stage's, and one up. */
START_TEST(arrows_lead_from_send_to_receive)
{
	struct lane_area l[2];
	struct lane_arrow arrows[256];
	int of[2][4] = {{0}};
	open_player(PIPELINE, SCENE_TIMELINE);
	ck_assert_int_lt(v.shown.timeline.collective_count, 256);
	lane_areas_lay(l, playback_view(&playback), (struct box){0, 0, 40000, 560}, false);
	for (int i = 0, n = lane_arrows_find(l, arrows); i < n; i++) {
		const struct collective *m = arrows[i].message;
		bool up = m->rank[0] == 1;
		int micro = v.made.plan.roles[v.shown.timeline.ranks[m->rank[0]].role].ops[m->ops[0]].micro;
		const struct lane_fold *from = pass_of(m->rank[0], up ? PASS_BACKWARD : PASS_FORWARD, micro);
		const struct lane_fold *to = pass_of(m->rank[1], up ? PASS_BACKWARD : PASS_FORWARD, micro);
		of[up][micro]++;
		ck_assert_double_ge(arrows[i].x0, lane_area_x(l, from->end) - 1e-6);
		ck_assert_double_le(arrows[i].x1, lane_area_x(l, to->begin) + 1e-6);
		ck_assert(up ? arrows[i].y1 < arrows[i].y0 : arrows[i].y1 > arrows[i].y0);
	}
	for (int i = 0; i < 8; i++)
		ck_assert_int_eq(of[i / 4][i % 4], 1);
}

/* ---- equal ranks ---- */

START_TEST(equal_ranks_fold)
{
	open_player(GPT " zero3 ranks=16", SCENE_TIMELINE);
	const struct lanes *all = &v.shown.lanes;
	ck_assert_ptr_nonnull(all->folded);
	ck_assert_int_eq(all->folded->lane_count * 16, all->lane_count);
	ck_assert_uint_eq(all->folded->lanes[0].ranks, 0xFFFF);
	for (int64_t r = 0; r < 16; r++)
		ck_assert(lane_has_rank(all->folded, &all->folded->lanes[0], r));
	ck_assert(!lane_has_rank(all->folded, &all->folded->lanes[0], 16));
	words_of(&playback);
	ck_words("ranks 0–15:\nthe same\n");
}

START_TEST(the_mouse_names_all_equal_ranks)
{
	open_player(GPT " zero3 ranks=16", SCENE_TIMELINE);
	ck_assert_ptr_nonnull(strstr(hit_with("backward").text, ", on ranks 0–15"));
	hit_with("ranks 0–15 do not compute for ");
}

/* Up to eight that there is room for are drawn each; in the overview there is none. */
START_TEST(few_ranks_stay_apart_where_there_is_room)
{
	open_player(GPT " zero3 ranks=8", SCENE_TIMELINE);
	words_of(&playback);
	ck_words("rank 7\n");
	ck_assert_ptr_null(strstr(drawn_words, "the same"));
	playback.scene = SCENE_OVERVIEW;
	words_of(&playback);
	ck_words("ranks 0–7:\nthe same\n");
}

START_TEST(stages_do_not_fold)
{
	open_player(PIPELINE, SCENE_TIMELINE);
	ck_assert_ptr_null(v.shown.lanes.folded);
}

/* A rank that alone is shown of its role stands for the others. */
START_TEST(a_rank_stands_for_its_role)
{
	open_player(GPT " zero3 ranks=128", SCENE_TIMELINE);
	words_of(&playback);
	ck_words("ranks 0–127:\nthe same\n");
}

/* ---- hatching ---- */

/* Lines are 7 units apart. */
START_TEST(boxes_smaller_than_the_pitch_are_flat)
{
	struct canvas c = {.pixel = 1};
	ck_assert(pattern_is_too_dense(&c, (struct box){0, 0, 6.5, 40}));
	ck_assert(pattern_is_too_dense(&c, (struct box){0, 0, 300, 10}));
	ck_assert(!pattern_is_too_dense(&c, (struct box){0, 0, 7, 11}));
}

/* ---- from the last row ---- */

START_TEST(text_of_the_presenter_is_large)
{
	static const char *const runs[] = {PIPELINE, GPT " zero3 ranks=8", GPT " zero3 ranks=64",
	                                   GPT " ddp ranks=2 activation_checkpointing=full"};
	for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
		open_player(runs[i], SCENE_TIMELINE);
		playback.presenter = true;
		words_of(&playback);
		ck_assert_msg(drawn_least >= 0.02 * 720, "%s: %.1f of 720", runs[i], drawn_least);
		close_player();
	}
}

SUITE_WITH("folds", 60, NULL, close_player)
