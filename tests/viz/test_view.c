/* The timeline of a step and its states: the same whichever way one comes to them, and their numbers the simulator's.
 */
#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/suite.h"
#include "tests/support/viewed.h"

#define MLP "mlp:sizes=12-16-8-4"
#define GPT "gpt:layers=2,width=16,heads=2,context=8,vocabulary=24"
static const char *const models[] = {MLP, GPT};

/* ---- states ---- */

static uint64_t mix(uint64_t h, const void *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		h = (h ^ ((const unsigned char *)bytes)[i]) * 1099511628211U;
	return h;
}

/* All that a picture takes from a state. */
static uint64_t digest(const struct state *st)
{
	const struct timeline *s = st->timeline;
	uint64_t h = 14695981039346656037U;
	h = mix(h, &st->position, sizeof st->position);
	h = mix(h, &st->time, sizeof st->time);
	h = mix(h, &st->latest, sizeof st->latest);
	h = mix(h, &st->latest_end, sizeof st->latest_end);
	h = mix(h, &st->collective, sizeof st->collective);
	h = mix(h, &st->round, sizeof st->round);
	h = mix(h, &st->arrived, sizeof st->arrived);
	h = mix(h, &st->sent, sizeof st->sent);
	h = mix(h, &st->sent_collective, sizeof st->sent_collective);
	for (int i = 0; i < s->rank_count; i++) {
		const struct state_rank *r = &st->ranks[i];
		h = mix(h, &r->issued, sizeof r->issued);
		h = mix(h, r->running, sizeof r->running);
		h = mix(h, r->next, sizeof r->next);
		h = mix(h, r->live, sizeof r->live);
		h = mix(h, r->peak, sizeof r->peak);
		h = mix(h, &r->sent, sizeof r->sent);
		h = mix(h, &r->received, sizeof r->received);
	}
	if (st->held) {
		const struct collective *c = &s->collectives[st->collective];
		h = mix(h, st->held, (size_t)(c->schedule.ranks * c->chunk_count) * sizeof *st->held);
	}
	char caption[512];
	caption_make(st, caption, sizeof caption);
	return mix(h, caption, strlen(caption));
}

/* Going forward, back or jumping to a place shows the same there. */
static void check_walk(const struct timeline *s, enum step_size step_size)
{
	size_t n = s->stop_count[step_size], p = 0, steps = 0;
	uint64_t *seen = calloc(n, sizeof *seen);
	struct state st = {0};
	state_make(&st, s, step_size, 0);
	seen[steps++] = digest(&st);
	while (p < s->instant_count) {
		size_t next = timeline_next(s, step_size, p);
		ck_assert_uint_gt(next, p);
		p = next;
		state_make(&st, s, step_size, p);
		ck_assert_uint_lt(steps, n);
		ck_assert_uint_eq(p, timeline_stop(s, step_size, steps));
		seen[steps++] = digest(&st);
	}
	ck_assert_uint_eq(steps, n);
	ck_assert_uint_eq(timeline_next(s, step_size, p), p);
	while (p > 0) {
		p = timeline_previous(s, step_size, p);
		state_make(&st, s, step_size, p);
		steps--;
		ck_assert_uint_eq(digest(&st), seen[steps - 1]);
	}
	ck_assert_uint_eq(timeline_previous(s, step_size, 0), 0);
	for (size_t k = 0; k < n; k += 1 + n / 13) {
		struct state jump = {0};
		state_make(&jump, s, step_size, timeline_stop(s, step_size, n - 1 - k));
		ck_assert_uint_eq(digest(&jump), seen[n - 1 - k]);
		state_release(&jump);
	}
	state_release(&st);
	free(seen);
}

/* ---- bytes ---- */

static void check_ledger(const struct viewed *v)
{
	const struct timeline *s = &v->shown.timeline;
	struct state st = {0};
	int64_t busiest = 0, total = 0, *collective = calloc((size_t)s->collective_count + 1, sizeof *collective);
	state_make(&st, s, STEP_SIZE_MESSAGE, s->instant_count);
	for (int i = 0; i < s->rank_count; i++) {
		int64_t sent = st.ranks[i].sent, received = st.ranks[i].received;
		ck_assert_int_eq(sent, plan_moved_all(s->plan, s->ranks[i].rank).sent);
		ck_assert_int_eq(received, plan_moved_all(s->plan, s->ranks[i].rank).received);
		ck_assert_int_eq(sent, ledger_step_bytes(s, i));
		busiest = sent > busiest ? sent : busiest;
		total += sent;
	}
	ck_assert_int_eq(busiest, v->sent_bytes);
	ck_assert_int_eq(total, st.sent);
	ck_assert_int_eq(total, ledger_step_total(s));
	for (size_t i = 0; i < s->event_count; i++)
		if (s->events[i].kind == EVENT_MESSAGE)
			collective[s->events[i].collective] += s->events[i].bytes;
	for (int c = 0; c < s->collective_count; c++) {
		const struct collective *one = &s->collectives[c];
		struct formula f;
		ledger_formula(one, &f);
		ck_assert_int_eq(collective[c], one->sent_bytes);
		int64_t speakers = strcmp(f.who, "each rank") ? 1 : one->schedule.ranks;
		ck_assert_msg(f.bytes * speakers == one->sent_bytes, "%s of %" PRId64 " ranks: %s is not what is sent",
		              schedule_row(one->schedule.algorithm)->name, one->schedule.ranks, f.symbols);
		ck_assert_msg(one->recorded || !one->sent_bytes, "the simulator's messages are not used");
	}
	state_release(&st);
	free(collective);
}

/* A collective's purpose is fulfilled when it is done. */
static void check_result(const struct state *st)
{
	const struct collective *c = &st->timeline->collectives[st->collective];
	int64_t n = c->schedule.ranks, slice = c->schedule.elements / n;
	uint64_t all = c->everyone;
	ck_assert(st->done);
	for (int64_t r = 0; r < n; r++)
		for (int i = 0; i < c->chunk_count; i++) {
			uint64_t held = st->held[r * c->chunk_count + i], owner = UINT64_C(1)
			                                                          << (c->cuts[i] / (slice ? slice : 1));
			bool mine = slice && c->cuts[i] / slice == r;
			if (c->kind == OP_ALL_REDUCE || (c->kind == OP_REDUCE_SCATTER && mine) ||
			    (c->kind == OP_REDUCE && r == c->schedule.root))
				ck_assert_uint_eq(held, all);
			if (c->kind == OP_ALL_GATHER || (c->kind == OP_GATHER && r == c->schedule.root))
				ck_assert_uint_eq(held, owner);
			if (c->kind == OP_BROADCAST || (c->kind == OP_SCATTER && mine))
				ck_assert_uint_eq(held, UINT64_C(1) << c->rank[c->schedule.root]);
		}
}

/* After the last message of each, and never before. (Where ranks lag behind, two may be under way at a time.) */
static void check_collectives(const struct timeline *s)
{
	struct state st = {0};
	bool *seen = calloc((size_t)s->collective_count + 1, sizeof *seen);
	for (size_t p = s->instant_count; p > 0; p--) {
		const struct event *e = &s->events[s->instants[p - 1].begin];
		if (e->kind != EVENT_MESSAGE || seen[e->collective] || s->collectives[e->collective].control)
			continue;
		seen[e->collective] = true;
		state_make(&st, s, STEP_SIZE_MESSAGE, p);
		if (s->collectives[e->collective].family !=
		    e->collective) /* another group's, beside the one that is shown */
			continue;
		ck_assert_int_eq(st.collective, e->collective);
		check_result(&st);
		state_make(&st, s, STEP_SIZE_MESSAGE, p - 1);
		ck_assert(st.collective != e->collective || !st.done);
	}
	free(seen);
	state_release(&st);
}

/* ---- memory ---- */

/* The kinds that pictures tell apart add up to the categories of the accounting. */
static void check_steady(const int64_t *live, const struct memory_use *use)
{
	int64_t sum[CATEGORY_COUNT] = {0};
	for (int h = 0; h < HELD_COUNT; h++)
		sum[h == HELD_WHOLE_GRADIENTS ? CATEGORY_GATHERED : held_category((enum held)h)] += live[h];
	for (int c = 0; c < CATEGORY_COUNT; c++)
		ck_assert_int_eq(sum[c], use->steady[c]);
}

static void check_memory(const struct timeline *s)
{
	static struct memory_use use[PLAN_ROLES];
	int64_t peak[PLAN_ROLES] = {0};
	struct state st = {0};
	for (int r = 0; r < s->plan->role_count; r++)
		plan_memory(s->plan, &s->plan->roles[r], SPACE_DEVICE, &use[r]);
	for (size_t p = 0; p <= s->instant_count; p++) {
		state_make(&st, s, STEP_SIZE_MESSAGE, p);
		for (int i = 0; i < s->rank_count; i++) {
			const struct role *role = timeline_role_of(s, i);
			const int64_t *live = timeline_live(s, i, SPACE_DEVICE, st.ranks[i].issued);
			int64_t total = 0, by_name = 0;
			bool *alive = array_make((size_t)role->buffer_count, sizeof *alive);
			state_alive(&st, i, alive);
			for (int h = 0; h < HELD_COUNT; h++)
				total += live[h];
			for (int b = 0; b < role->buffer_count; b++)
				if (role->buffers[b].space == SPACE_DEVICE && alive[b])
					by_name += buffer_bytes(&role->buffers[b]);
			free(alive);
			ck_assert_int_eq(total, st.ranks[i].live[SPACE_DEVICE]);
			ck_assert_int_eq(total, by_name);
			peak[s->ranks[i].role] = total > peak[s->ranks[i].role] ? total : peak[s->ranks[i].role];
			if (!p || p == s->instant_count)
				check_steady(live, &use[s->ranks[i].role]);
			ck_assert_int_ge(st.ranks[i].peak[SPACE_DEVICE], total);
		}
	}
	for (int r = 0; r < s->plan->role_count; r++)
		ck_assert_int_eq(peak[r], use[r].peak_bytes);
	for (int i = 0; i < s->rank_count; i++)
		ck_assert_int_eq(st.ranks[i].peak[SPACE_DEVICE], use[s->ranks[i].role].peak_bytes);
	state_release(&st);
}

/* ---- captions ---- */

/* "Rank 2 adds chunk 1 from rank 1 (128 B): it now holds the sum of ranks 0–2." */
static void check_captions(const struct timeline *s)
{
	struct state st = {0};
	for (size_t p = 1; p <= s->instant_count; p++) {
		const struct event *e = &s->events[s->instants[p - 1].begin];
		char caption[512], expected[160], bytes[WORD], ranks[96];
		state_make(&st, s, STEP_SIZE_MESSAGE, p);
		caption_make(&st, caption, sizeof caption);
		ck_assert_msg(strlen(caption) > 10 && caption[strlen(caption) - 1] == '.', "'%s'", caption);
		ck_assert_uint_lt(strlen(caption), sizeof caption - 1);
		if (e->kind != EVENT_MESSAGE || s->collectives[e->collective].control)
			continue;
		const struct collective *c = &s->collectives[e->collective];
		snprintf(expected, sizeof expected, "Rank %" PRId64 " %s ", e->to,
		         c->kind == OP_SEND                 ? "has received"
		         : !e->add                          ? "takes"
		         : c->kind == OP_ALL_REDUCE_MAXIMUM ? "keeps the larger of its own and"
		                                            : "adds");
		ck_assert_msg(!strncmp(caption, expected, strlen(expected)), "'%s'", caption);
		snprintf(expected, sizeof expected, " from rank %" PRId64 " (%s)", e->rank,
		         bytes_word(bytes, e->bytes));
		ck_assert_msg(strstr(caption, expected) != NULL, "'%s' has not '%s'", caption, expected);
		if (!e->add || !collective_adds(c))
			continue;
		int chunk = 0;
		while (c->cuts[chunk] < e->offset)
			chunk++;
		uint64_t held = st.held[e->to_member * c->chunk_count + chunk];
		if (e->collective != st.collective)
			continue;
		if (held == c->everyone)
			snprintf(ranks, sizeof ranks, "all %" PRId64, c->schedule.ranks);
		else
			text_of_ranks(ranks, sizeof ranks, held, 65);
		ck_assert_msg(strstr(caption, ranks) != NULL, "'%s' has not '%s'", caption, ranks);
	}
	state_release(&st);
}

static void check_request(const char *words)
{
	const struct viewed *v = viewed_plan(words);
	const struct timeline *s = &v->shown.timeline;
	ck_assert_int_eq(s->rank_count, (int)s->plan->ranks);
	for (size_t i = 1; i < s->event_count; i++)
		ck_assert_int_ge(s->events[i].time, s->events[i - 1].time);
	for (int step_size = 0; step_size < STEP_SIZE_COUNT; step_size++)
		check_walk(s, (enum step_size)step_size);
	check_ledger(v);
	check_collectives(s);
	check_memory(s);
	check_captions(s);
}

static void check_strategy(const char *strategy, const char *model, int ranks, int accumulate)
{
	char words[200];
	snprintf(words, sizeof words, "%s %s ranks=%d accumulate=%d", model, strategy, ranks, accumulate);
	check_request(words);
}

START_LOOP_TEST(every_strategy, 0, 7)
{
	int ranks = 2 + _i;
	for (int i = 0; strategy_at(i); i++) {
		if (!strcmp(strategy_at(i)->name, "single"))
			continue;
		for (size_t m = 0; m < sizeof models / sizeof models[0]; m++)
			if (!m || ranks == 2 || ranks == 3)
				check_strategy(strategy_at(i)->name, models[m], ranks, ranks == 3 ? 2 : 1);
	}
}

/* Strategies that `all` leaves out, and steps of several parts: groups of groups, stages, slices, copies, work done
 * again.
 */
static const char *const others[] = {
        "mlp:sizes=12-16-8-4 hybrid:shard=2 ranks=4",
        "mlp:sizes=12-16-8-4 model ranks=3 accumulate=2",
        "gpt:layers=3,width=8,heads=2,context=8,vocabulary=24 pipeline ranks=3 accumulate=3",
        "gpt:layers=1,width=8,heads=2,context=8,vocabulary=24 tensor ranks=2",
        "mlp:sizes=12-16-8-4 zero2 ranks=3 offload=optimizer",
        "mlp:sizes=12-16-8-4 zero3 ranks=2 offload=optimizer:to=disk,parameters",
        "gpt:layers=2,width=8,heads=2,context=8,vocabulary=24 fsdp ranks=2 activation_checkpointing=full",
        "mlp:sizes=12-16-8-4 zero1 ranks=3 precision=fp16 clip=1",
        "mlp:sizes=12-16-8-4,norm=sync-batch ddp ranks=3",
};

START_LOOP_TEST(every_variant, 0, COUNT(others))
{
	check_request(others[_i]);
}

START_TEST(every_schedule)
{
	static const char *const settings[] = {"ddp:algorithm=halving-doubling", "dp:broadcast=tree:reduce=tree",
	                                       "dp:broadcast=chain:reduce=chain"};
	for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
		for (int ranks = 2; ranks <= 8; ranks += 3)
			check_strategy(settings[i], models[0], ranks, 1);
}

START_TEST(one_rank_sends_nothing)
{
	const struct viewed *v = viewed_plan(MLP " single ranks=1");
	for (int step_size = 0; step_size < STEP_SIZE_COUNT; step_size++)
		check_walk(&v->shown.timeline, (enum step_size)step_size);
	ck_assert_int_eq(ledger_step_total(&v->shown.timeline), 0);
}

/* Rounds are steps where nobody lags behind: a ring all-reduce on n ranks has 2(n-1), of n messages. */
START_TEST(rounds_of_a_ring)
{
	const struct viewed *v = viewed_plan(MLP " ddp ranks=4");
	const struct timeline *s = &v->shown.timeline;
	int rounds = 0;
	for (size_t k = 1; k < s->stop_count[STEP_SIZE_ROUND]; k++) {
		struct state st = {0};
		state_make(&st, s, STEP_SIZE_ROUND, timeline_stop(s, STEP_SIZE_ROUND, k));
		const struct event *e = &s->events[st.latest];
		if (e->kind == EVENT_MESSAGE && e->collective == 0) {
			ck_assert_uint_eq(st.latest_end - st.latest, 4);
			ck_assert_int_eq(st.round, ++rounds);
		}
		state_release(&st);
	}
	ck_assert_int_eq(rounds, 6);
}

/* The highlights are where they say. */
START_TEST(highlight_events)
{
	const struct viewed *v = viewed_plan(GPT " zero3 ranks=4");
	const struct timeline *s = &v->shown.timeline;
	struct state st = {0};
	int peaks = 0, ends = 0;
	ck_assert_int_gt(s->highlight_count, 0);
	for (int i = 0; i < s->highlight_count; i++) {
		const struct highlight *n = &s->highlights[i];
		state_make(&st, s, STEP_SIZE_MESSAGE, n->position);
		if (n->kind == HIGHLIGHT_PEAK) {
			ck_assert_int_eq(st.ranks[0].live[SPACE_DEVICE], s->roles[0].peak[SPACE_DEVICE]);
			state_make(&st, s, STEP_SIZE_MESSAGE, n->position - 1);
			ck_assert_int_lt(st.ranks[0].live[SPACE_DEVICE], s->roles[0].peak[SPACE_DEVICE]);
			peaks++;
		}
		if (n->kind == HIGHLIGHT_COLLECTIVE) {
			ck_assert(st.done);
			ends++;
		}
		if (n->kind == HIGHLIGHT_OVERLAP) {
			int index = timeline_index_of(s, n->rank);
			ck_assert_int_ge(st.ranks[index].running[QUEUE_COMPUTE], 0);
			ck_assert_int_ge(st.ranks[index].running[QUEUE_COMMUNICATION], 0);
		}
		if (n->kind == HIGHLIGHT_STALL)
			ck_assert_int_lt(st.ranks[timeline_index_of(s, n->rank)].running[QUEUE_COMPUTE], 0);
	}
	ck_assert_int_eq(peaks, 1);
	int counted = 0;
	for (int c = 0; c < s->collective_count; c++)
		counted += !s->collectives[c].control;
	ck_assert_int_eq(ends, counted);
	state_release(&st);
}

/* More ranks than are drawn: rounds as wholes up to 64, sums beyond. */
START_TEST(many_ranks)
{
	static const int64_t ranks[] = {17, 64, 100, 100};
	for (int i = 0; i < 4; i++) {
		struct state st = {0};
		const char *strategy = i < 3 ? "zero2" : "dp"; /* whose root sends more than it receives */
		char words[100];
		snprintf(words, sizeof words, MLP " %s ranks=%d", strategy, (int)ranks[i]);
		const struct viewed *v = viewed_plan(words);
		const struct timeline *s = &v->shown.timeline;
		state_make(&st, s, STEP_SIZE_ROUND, s->instant_count);
		if (ranks[i] <= TIMELINE_ROUND_RANKS)
			ck_assert_int_eq(st.sent, ledger_step_total(s));
		for (int k = 0; k < s->rank_count; k++) {
			struct moved moved = plan_moved_all(s->plan, s->ranks[k].rank);
			ck_assert_int_eq(st.ranks[k].sent, ledger_step_bytes(s, k));
			ck_assert_int_eq(st.ranks[k].sent, moved.sent);
			ck_assert_int_eq(st.ranks[k].received, moved.received);
		}
		ck_assert(st.done);
		state_release(&st);
	}
}

SUITE("view", 0)
