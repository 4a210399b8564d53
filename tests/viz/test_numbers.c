/* The window's numbers: sums beside the lanes, a dragged range, the selected operation's card, the list of the longest
 * exposed, search, and what N goes to. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/suite.h"
#include "tests/viz/drawn_words.h"
#include "tests/viz/window_fixture.h"
#include "viz/scene/lane_cards.h"
#include "viz/scene/lane_foreign.h"

static void drag(int64_t from, int64_t to)
{
	struct lane_area l = area();
	double y = l.plot.y + 5, x0 = lane_area_x(&l, from), x1 = lane_area_x(&l, to);
	mouse(SDL_MOUSEBUTTONDOWN, x0, y);
	mouse(SDL_MOUSEMOTION, x1, y);
	mouse(SDL_MOUSEBUTTONUP, x1, y);
}

static bool is_about(int64_t a, int64_t b, int64_t all)
{
	return llabs(a - b) <= all / 400;
}

/* ---- sums and ranges ---- */

START_TEST(sums_stand_beside_the_lanes)
{
	open_plan(PIPELINE);
	const struct times *t = &v.shown.timeline.shown[0];
	char bubble[96], time[WORD];
	words_of(&playback);
	time_word(time, t->bubble);
	snprintf(bubble, sizeof bubble, "bubble\n%s\n%.1f %%\n", time, 100 * (double)t->bubble / (double)t->step);
	ck_words(bubble);
	/* For a part of the step, the figures are that part's. */
	playback.from = v.shown.lanes.end / 4;
	playback.to = v.shown.lanes.end / 2;
	struct measured m = measure_times(&v.shown.lanes, 0, playback.from, playback.to);
	words_of(&playback);
	snprintf(bubble, sizeof bubble, "bubble\n%s\n%.1f %%\n", m.bubble ? time_word(time, m.bubble) : "0",
	         100 * (double)m.bubble / (double)m.length);
	ck_words(bubble);
}

START_TEST(a_drag_measures)
{
	open_plan(DDP);
	int64_t end = v.shown.lanes.end;
	char text[160], time[WORD];
	drag(end / 4, end / 2);
	ck_assert(is_about(playback.measured_from, end / 4, end) && is_about(playback.measured_to, end / 2, end));
	ck_assert_int_eq(playback.from, playback.to); /* it is no zoom */
	words_of(&playback);
	time_word(time, playback.measured_to - playback.measured_from);
	snprintf(text, sizeof text, "Measured: %s, from ", time);
	ck_assert_msg(strstr(drawn_words, text), "no '%s' in %s", text, drawn_words);
	ck_words("compute\ncommunication\nexposed\nbubble\nsends\nops\nranks 0–3: the same\n");
	int64_t from = playback.measured_from, to = playback.measured_to;
	type("z");
	ck_assert(playback.from == from && playback.to == to && playback.measured_to == to);
	type("z"); /* again: the whole */
	ck_assert_int_eq(playback.from, playback.to);
	press(SDLK_ESCAPE);
	ck_assert_int_eq(playback.measured_from, playback.measured_to);
}

START_TEST(a_click_puts_a_range_away_and_two_zoom_to_it)
{
	open_plan(DDP);
	int64_t end = v.shown.lanes.end;
	drag(end / 4, end / 2);
	int64_t from = playback.measured_from, to = playback.measured_to;
	struct lane_area l = area();
	double x = lane_area_x(&l, end / 3), y = l.plot.y + 5;
	click(x, y, 1);
	ck_assert_int_eq(playback.measured_from, playback.measured_to);
	click(x, y, 2);
	ck_assert(playback.from == from && playback.to == to);
	ck_assert(playback.measured_from == from && playback.measured_to == to);
}

START_TEST(m_measures_the_selected_operation)
{
	open_plan(DDP);
	int64_t end = v.shown.lanes.end;
	type("m"); /* nothing is selected: what is in sight */
	ck_assert(playback.measured_from == 0 && playback.measured_to == end);
	type("m");
	ck_assert_int_eq(playback.measured_from, playback.measured_to);
	const struct exposed *e = &v.shown.exposed[0];
	window_select(w, e->rank, e->op);
	type("m");
	struct wait wait = timeline_wait(&v.shown.timeline, timeline_index_of(&v.shown.timeline, e->rank), e->op);
	ck_assert_int_eq(playback.measured_from, wait.begin);
	playback.scene = SCENE_PLAN;
	type("mm");
	ck_assert_ptr_nonnull(strstr(playback.note, "not shown"));
}

/* The trace of tests/viz/test_foreign.c: between 200 and 400 us GPU 0 computes until 300 and its collective runs from
 * 250 on, half of it exposed. */
START_TEST(a_profilers_range_by_hand)
{
	open_torch();
	const struct lanes *l = &torch.lanes;
	int gpu = 0;
	while (!measure_has(l, gpu))
		gpu++;
	struct measured m = measure_range(l, gpu, 200000, 400000);
	ck_assert_int_eq(m.length, 200000);
	ck_assert_int_eq(m.compute, 100000);
	ck_assert_int_eq(m.communication, 150000);
	ck_assert_int_eq(m.exposed, 100000);
	ck_assert_int_eq(m.bubble, 0);
	ck_assert_int_eq(m.operations, 2);       /* the product and the collective; the range around it is none */
	ck_assert_int_eq(m.sent_bytes, 2516582); /* of 4 MiB, 150 of 250 us */
	m = measure_range(l, gpu, 0, 700000);
	ck_assert(m.length == 550000 && m.compute == 250000 && m.exposed == 200000 && m.bubble == 100000);
	struct speed s;
	ck_assert(exposed_speed(l, &torch.exposed[0], &s));
	ck_assert(s.ranks == 2 && s.payload_bytes == 4194304 && s.moves == 200000 && s.link == 0);
	ck_assert_int_eq((int64_t)(s.bus / 1e6), 20971);
	ck_assert(exposed_speed(l, &torch.exposed[2], &s)); /* a copy */
	ck_assert_int_eq((int64_t)(s.algorithm / 1e6), 10485);
}

START_TEST(a_counter_says_its_peak)
{
	char words[192];
	open_torch();
	ck_assert_int_eq(counter_peak(&file.counters[0]), 100000);
	counter_peak_words(&torch.lanes, &file.counters[0], words, sizeof words);
	ck_assert_str_eq(words, "at most 160 at 100.0 µs, as this begins: ampere_sgemm_128x64_tn");
}

/* ---- the selected operation ---- */

START_TEST(a_selection_stays_with_its_waits)
{
	open_plan(DDP);
	const struct exposed *e = &v.shown.exposed[0];
	struct speed s;
	char speed[SPEED_WORDS + 2];
	window_select(w, e->rank, e->op);
	ck_assert(exposed_speed(&v.shown.lanes, e, &s));
	speed_words(speed, &s);
	for (int i = 0; i < 3; i++) {
		press(SDLK_RIGHT);
		words_of(&playback);
		ck_words("waits for\nwaiting for it\n");
		ck_assert_msg(strstr(drawn_words, speed), "no '%s' in %s", speed, drawn_words);
		ck_assert(strstr(drawn_words, ", ended at ") && strstr(drawn_words, ", begins at "));
	}
	press(SDLK_ESCAPE);
	words_of(&playback);
	ck_assert_ptr_null(strstr(drawn_words, "waiting for it"));
}

/* The overview has a line for it. */
START_TEST(the_overview_says_it_in_a_line)
{
	open_plan(DDP);
	playback.scene = SCENE_OVERVIEW;
	window_select(w, v.shown.exposed[0].rank, v.shown.exposed[0].op);
	playback.measured_to = v.shown.lanes.end / 2;
	words_of(&playback);
	ck_assert(strstr(drawn_words, "\nSelected ") && strstr(drawn_words, "\nMeasured: "));
}

/* ---- the longest exposed ---- */

START_TEST(the_list_goes_there)
{
	open_plan(PIPELINE);
	ck_assert_uint_gt(v.shown.exposed_count, 2);
	type("l");
	press(SDLK_DOWN);
	ck_assert_int_eq(playback.selected_op, v.shown.exposed[1].op);
	ck_assert_int_eq(playback.selected_rank, v.shown.exposed[1].rank);
	press(SDLK_RETURN);
	ck_assert_int_eq(playback.state.time, v.shown.exposed[1].begin);
	press(SDLK_UP);
	press(SDLK_UP); /* stays at the first */
	ck_assert_int_eq(playback.selected_op, v.shown.exposed[0].op);
	struct box b = mode_box(w, &canvas);
	click(b.x + 100, b.y + 62 + 2.5 * 33, 1); /* the third row */
	ck_assert_int_eq(playback.selected_op, v.shown.exposed[2].op);
	press(SDLK_ESCAPE);
	ck_assert_ptr_null(w->mode);
}

START_TEST(a_profilers_list_goes_there)
{
	open_torch();
	type("l");
	press(SDLK_RETURN);
	ck_assert_int_eq(playback.cursor, 320000);
	press(SDLK_DOWN);
	press(SDLK_RETURN);
	ck_assert_int_eq(playback.cursor, 250000);
}

/* A name that stands there twice has its pass and its time, and the heading says which bytes are meant. */
START_TEST(the_list_tells_alike_apart)
{
	char when[96], other[96], name[256], again[256], bytes[WORD];
	int alike = 0;
	open_plan("gpt:layers=3,width=64,heads=2,vocabulary=64,context=16 zero3 ranks=4");
	const struct trace_view *t = &v.shown;
	for (size_t i = 0; i < t->exposed_count; i++)
		for (size_t k = 0; k < i; k++) {
			exposed_name(&t->lanes, &t->exposed[i], name, sizeof name);
			exposed_name(&t->lanes, &t->exposed[k], again, sizeof again);
			exposed_when(&t->lanes, &t->exposed[i], when, sizeof when);
			exposed_when(&t->lanes, &t->exposed[k], other, sizeof other);
			ck_assert_str_ne(when, other);
			alike += !strcmp(name, again);
		}
	ck_assert_int_gt(alike, 0);
	type("l");
	words_begin();
	w->dirty = true;
	window_turn(w);
	ck_assert_ptr_nonnull(strstr(drawn_words, "of the step · payload, bandwidth, share of the link"));
	ck_assert_msg(strstr(drawn_words, when) && strstr(when, "backward, at "), "no '%s' in %s", when, drawn_words);
	const struct exposed *e = &t->exposed[0];
	const struct role *role = timeline_role_of(&t->timeline, (int)e->rank);
	ck_assert_int_eq(e->bytes, op_payload_bytes(role, &role->ops[e->op]));
	ck_assert_ptr_nonnull(strstr(drawn_words, bytes_word(bytes, e->bytes)));
}

/* In the presenter there is no room for all figures: those that stand there are whole. */
START_TEST(the_list_in_the_presenter_has_whole_figures)
{
	open_plan(PIPELINE);
	playback.presenter = true;
	type("l");
	words_begin();
	w->dirty = true;
	window_turn(w);
	int bandwidths = 0;
	for (int i = 0; i < drawn_count; i++) {
		const char *text = drawn[i].text, *mark = strstr(text, "…");
		bool figures = strstr(text, "bus") || strstr(text, "B/s") || (strchr(text, ',') && strstr(text, "B, "));
		bandwidths += figures;
		ck_assert_msg(!figures || !mark, "'%s' is cut off", text);
	}
	ck_assert_int_gt(bandwidths, 0);
}

/* A name too long for its room loses its namespace first. */
START_TEST(narrow_calls_keep_their_names)
{
	open_torch();
	words_of(&playback);
	ck_assert_ptr_nonnull(strstr(drawn_words, "\nlinear\n"));
	playback.to = 100000;
	words_of(&playback);
	ck_assert_ptr_nonnull(strstr(drawn_words, "\naten::linear\n"));
}

START_TEST(a_selected_span_has_a_card)
{
	open_torch();
	for (int lane = 0; lane < torch.lanes.lane_count; lane++)
		for (size_t i = 0; i < torch.lanes.lanes[lane].span_count; i++) {
			window_select(w, lane, (int)i);
			words_of(&playback);
			ck_assert_ptr_nonnull(strstr(drawn_words, torch.lanes.lanes[lane].process));
		}
	window_select(w, torch.exposed[1].rank, torch.exposed[1].op);
	words_of(&playback);
	ck_words("allreduce (ncclDevKernel_AllReduce_Sum_f32_RING_LL)\n"
	         "python (GPU 0), stream 20: 250.0 µs, from 250.0 µs to 500.0 µs; exposed for 150.0 µs\n"
	         "4.194 MB in 250.0 µs: 16.8 GB/s, on the bus 16.8 GB/s; in that time it waits for other ranks, too\n"
	         "allreduce of 1048576 elements of Float on 2 ranks\n"
	         "launched by cudaLaunchKernelExC at 90.00 µs; waited 150.0 µs in the queue\n");
}

START_TEST(nothing_exposed_is_no_list)
{
	open_plan("mlp:sizes=12-8-4 single ranks=1");
	type("l");
	press(SDLK_DOWN);
	press(SDLK_RETURN);
	ck_assert_int_eq(playback.selected_op, -1);
	type("nN");
}

/* ---- search ---- */

START_TEST(search_finds_operations_and_buffers)
{
	struct search s = {0};
	open_plan(DDP);
	const struct role *role = &v.shown.timeline.plan->roles[0];
	search_make(&s, &v.shown.lanes, "ALL_REDUCE");
	size_t reduces = 0, users = 0;
	for (int i = role->step.begin; i < role->step.end; i++)
		reduces += role->ops[i].kind == OP_ALL_REDUCE;
	ck_assert_uint_eq(s.count, reduces);
	for (size_t i = 0; i < s.count; i++) {
		ck_assert_int_eq(role->ops[s.hits[i].op].kind, OP_ALL_REDUCE);
		ck_assert(search_has_op(&s, 0, s.hits[i].op) && (!i || s.hits[i].time >= s.hits[i - 1].time));
	}
	int buffer = op_buffer(&role->ops[role->step.begin]);
	search_make(&s, &v.shown.lanes, role->buffers[buffer].name);
	for (int i = role->step.begin; i < role->step.end; i++)
		users += op_uses(&role->ops[i], buffer);
	ck_assert_msg(s.count >= users && users, "%s: %zu of %zu", role->buffers[buffer].name, s.count, users);
	search_make(&s, &v.shown.lanes, "no such thing");
	ck_assert_uint_eq(s.count, 0);
	search_make(&s, &v.shown.lanes, "");
	ck_assert_uint_eq(s.count, 0);
	search_release(&s);
}

START_TEST(search_goes_from_hit_to_hit)
{
	open_plan("mlp:sizes=64-64-64-16 zero3 ranks=4");
	type("/all_gather");
	ck_assert_ptr_eq(w->mode, &mode_search);
	ck_assert_uint_gt(w->search.count, 1);
	ck_assert_int_eq(playback.selected_op, w->search.hits[0].op);
	ck_assert_uint_eq(playback.position, 0); /* typing moves nothing */
	press(SDLK_RETURN);
	ck_assert_uint_eq(w->found, 0);
	ck_assert_int_eq(playback.state.time, w->search.hits[0].time);
	press(SDLK_RETURN);
	ck_assert_uint_eq(w->found, 1);
	ck_assert_int_eq(playback.selected_op, w->search.hits[1].op);
	press_with(SDLK_RETURN, KMOD_SHIFT);
	press_with(SDLK_RETURN, KMOD_SHIFT); /* from the first to the last */
	ck_assert_uint_eq(w->found, w->search.count - 1);
	type("zzz"); /* letters are text here */
	ck_assert_uint_eq(w->search.count, 0);
	for (int i = 0; i < 20; i++)
		press(SDLK_BACKSPACE);
	ck_assert_str_eq(w->search.text, "");
	type("/");
	for (int i = 0; i < 100; i++)
		type("a"); /* more than there is room for */
	press(SDLK_ESCAPE);
	ck_assert(!w->mode && !playback.search);
}

START_TEST(search_in_a_profilers_trace)
{
	open_torch();
	type("/NCCL");
	ck_assert_uint_eq(w->search.count, 3); /* two kernels and a range */
	press(SDLK_RETURN);
	ck_assert_int_eq(playback.cursor, 250000);
	press(SDLK_RETURN);
	press(SDLK_RETURN);
	ck_assert_int_eq(playback.cursor, 320000);
}

/* ---- what matters ---- */

/* The first end of a step at which the k-th of what matters has happened, which `--describe` says, too. */
static size_t shown_at(int k)
{
	const struct timeline *s = &v.shown.timeline;
	size_t stop = 0;
	while (timeline_stop(s, STEP_SIZE_ROUND, stop) < v.shown.notables[k].position)
		stop++;
	return timeline_stop(s, STEP_SIZE_ROUND, stop);
}

START_TEST(n_goes_by_importance)
{
	char wanted[64];
	bool within = false;
	open_plan(DDP);
	int count = (int)v.shown.notable_count;
	for (int i = 0; i < count; i++) {
		type("n");
		snprintf(wanted, sizeof wanted, "%d of %d: ", i + 1, count);
		ck_assert_msg(!strncmp(playback.note, wanted, strlen(wanted)), "%s", playback.note);
		ck_assert_uint_eq(playback.position, shown_at(i));
		within |= shown_at(i) != v.shown.notables[i].position;
	}
	ck_assert(within && count > 2);
	type("N");
	ck_assert_uint_eq(playback.position, shown_at(count - 2));
	type("nn"); /* behind the last */
	ck_assert_ptr_nonnull(strstr(playback.note, "begins with the most important"));
	type("n");
	ck_assert_uint_eq(playback.position, shown_at(0));
	type("N");
	ck_assert_ptr_nonnull(strstr(playback.note, "Nothing matters more"));
}

/* For exposed communication N goes to the first rows of L, however short they are. */
START_TEST(n_and_l_have_one_rule)
{
	static const char *const plans[] = {DDP, "mlp:sizes=12-16-8-4 zero3 ranks=4",
	                                    "gpt:layers=4,width=256,heads=2,context=64,vocabulary=64 zero3 ranks=2"};
	bool shorter = false;
	for (int i = 0; i < 3; i++) {
		open_plan(plans[i]);
		size_t wanted = v.shown.exposed_count < 3 ? v.shown.exposed_count : 3, found = 0;
		for (size_t k = 0; k < v.shown.notable_count; k++) {
			const struct notable *n = &v.shown.notables[k];
			if (n->kind != NOTABLE_EXPOSED)
				continue;
			ck_assert_uint_lt(found, wanted);
			ck_assert_int_eq(n->amount, v.shown.exposed[found].time);
			ck_assert_int_eq(n->op, v.shown.exposed[found].op);
			shorter |= n->amount < v.shown.timeline.step_ns / 200;
			found++;
		}
		ck_assert_uint_eq(found, wanted);
		close_shown();
	}
	ck_assert(shorter);
}

/* The peak's label names the operation, and of the buffers that are alive for a while not the last but the largest. */
START_TEST(the_peak_names_the_largest_buffer)
{
	open_plan("gpt:layers=2,width=8,heads=2,context=64,vocabulary=240 ddp ranks=2");
	const struct timeline_role *r = &v.shown.timeline.roles[0];
	int end = r->role->step.begin + r->peak_at[SPACE_DEVICE];
	int64_t live[256] = {0}, most = 0;
	char wanted[64], bytes[WORD];
	ck_assert_int_lt(r->role->buffer_count, 256);
	for (int k = r->role->step.begin; k < end; k++) {
		const struct op *op = &r->role->ops[k];
		if (op->kind == OP_ALLOC || op->kind == OP_FREE)
			live[op_buffer(op)] = op->kind == OP_ALLOC ? buffer_bytes(&r->role->buffers[op_buffer(op)]) : 0;
	}
	for (int b = 0; b < 256; b++)
		most = live[b] > most ? live[b] : most;
	ck_assert_int_gt(most, live[op_buffer(&r->role->ops[end - 1])]);
	playback.scene = SCENE_MEMORY;
	words_of(&playback);
	const char *label =
	        strstr(drawn_words, "\nfor the backward pass of head; the largest that the step has made: the ");
	snprintf(wanted, sizeof wanted, ", %s\n", bytes_word(bytes, most));
	ck_assert_msg(label && strstr(label, wanted), "%s in %s", wanted, drawn_words);
}

START_TEST(a_profilers_exposed_go_back_too)
{
	open_torch();
	type("nn");
	ck_assert_int_eq(playback.cursor, 250000);
	type("N");
	ck_assert_int_eq(playback.cursor, 320000);
	type("N");
	ck_assert_ptr_nonnull(strstr(playback.note, "exposed for longer"));
}

SUITE_WITH("numbers", 0, NULL, close_shown)
