/* Questions: the right answer of each kind, worked out here once more from the schedule, the plan and closed forms; and
 * of the whole catalogue that every question has one right answer, other choices, plain words and a reason.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/base/number.h"
#include "tests/support/suite.h"
#include "tests/support/viewed.h"
#include "tests/viz/catalogue.h"
#include "tests/viz/plain_words.h"
#include "viz/question/question.h"

static const struct viewed *v;
static const struct timeline *s;

static void open_words(const char *words)
{
	v = viewed_plan(words);
	s = &v->shown.timeline;
}

static void find(enum question_kind kind, size_t position, struct question *q)
{
	ck_assert_msg(question_find(s, position, kind, q), "no question %d from %zu on", (int)kind, position);
	ck_assert_uint_ge(q->position, position);
	ck_assert_uint_ge(q->shown, q->position);
}

static const char *right_of(const struct question *q)
{
	static char answer[QUESTION_CHOICE];
	return question_answer(q, answer);
}

static void ck_right(const struct question *q, const char *wanted)
{
	ck_assert_msg(!strcmp(right_of(q), wanted), "'%s': '%s' instead of '%s'", q->text, right_of(q), wanted);
}

/* ---- a ring, worked through by hand ---- */

enum { RANKS_OF_RING = 4, ROUNDS_OF_RING = 6 };

/* The contributions that each rank's chunk holds, and their sum. */
struct ring {
	unsigned held[RANKS_OF_RING][RANKS_OF_RING];
	int value[RANKS_OF_RING][RANKS_OF_RING];
};

static void ring_begin(struct ring *r)
{
	for (int rank = 0; rank < RANKS_OF_RING; rank++)
		for (int chunk = 0; chunk < RANKS_OF_RING; chunk++) {
			r->held[rank][chunk] = 1U << rank;
			r->value[rank][chunk] =
			        1 + (2 + 2 * rank + 4 * chunk) % 9; /* viz/timeline/values.c's example */
		}
}

/* In round k rank r sends chunk (r − 1 − k) mod n to the next rank, which adds it in the first n − 1 rounds and then
 * takes it over: so chunk r is finished on rank r. */
static int chunk_sent(int rank, int round)
{
	return ((rank - 1 - round) % RANKS_OF_RING + 2 * RANKS_OF_RING) % RANKS_OF_RING;
}

static void ring_round(struct ring *r, int round)
{
	struct ring before = *r;
	for (int rank = 0; rank < RANKS_OF_RING; rank++) {
		int to = (rank + 1) % RANKS_OF_RING, chunk = chunk_sent(rank, round);
		bool adds = round < RANKS_OF_RING - 1;
		r->held[to][chunk] = before.held[rank][chunk] | (adds ? before.held[to][chunk] : 0);
		r->value[to][chunk] = before.value[rank][chunk] + (adds ? before.value[to][chunk] : 0);
	}
}

/* The place of a round of the first all-reduce: the stop behind which its messages arrive. */
static size_t place_of_round(int round)
{
	size_t position = 0;
	for (size_t m = 0; m < s->instant_count && !position; m++) {
		const struct event *e = &s->events[s->instants[m].begin];
		if (e->kind == EVENT_MESSAGE && e->collective == 0 && e->round == round)
			position = m;
	}
	return position;
}

/* "ranks 1, 2 and 3" */
static unsigned ranks_in(const char *words)
{
	unsigned set = 0;
	if (!strncmp(words, "all", 3))
		return (1U << RANKS_OF_RING) - 1;
	for (; *words; words++)
		if (*words >= '0' && *words <= '9')
			set |= 1U << (*words - '0');
	return set;
}

START_LOOP_TEST(a_ring_is_asked_round_by_round, 0, ROUNDS_OF_RING)
{
	struct ring ring, next;
	struct question q;
	int round, rank, chunk, from, to, had, came;
	char wanted[64];
	open_words("mlp:sizes=12-16-8-4 ddp ranks=4");
	ring_begin(&ring);
	for (int k = 0; k < _i; k++)
		ring_round(&ring, k);
	next = ring;
	ring_round(&next, _i);
	size_t place = place_of_round(_i);

	/* With which chunk a rank begins is a convention: it is asked for from the second round on. */
	find(QUESTION_CHUNK, place, &q);
	ck_assert_int_eq(q.position == place, _i > 0);
	ck_assert_int_eq(
	        sscanf(q.text,
	               "Round %d of 6 of the all-reduce of bucket.0 comes next. Which of the 4 chunks does rank %d",
	               &round, &rank),
	        2);
	ck_assert_int_eq(round, _i ? _i + 1 : 2);
	snprintf(wanted, sizeof wanted, "chunk %d", chunk_sent(rank, round - 1));
	ck_right(&q, wanted);
	ck_assert_msg(strstr(q.reason, "it is what came from rank "), "%s", q.reason);

	find(QUESTION_RECEIVER, place, &q);
	ck_assert_int_eq(sscanf(strstr(q.text, "To which"), "To which rank does rank %d", &rank), 1);
	snprintf(wanted, sizeof wanted, "rank %d", (rank + 1) % RANKS_OF_RING);
	ck_right(&q, wanted);

	find(QUESTION_VALUE, place, &q);
	ck_assert_uint_eq(q.position, place);
	ck_assert_int_eq(sscanf(strstr(q.text, "In chunk"), "In chunk %d, rank %d has %d, and rank %d sends it %d",
	                        &chunk, &to, &had, &from, &came),
	                 5);
	ck_assert_int_eq(had, ring.value[to][chunk]);
	ck_assert_int_eq(came, ring.value[from][chunk]);
	ck_assert_double_eq_tol(q.number, next.value[to][chunk], 1e-9);

	bool adds = _i < RANKS_OF_RING - 1;
	ck_assert_int_eq(adds, question_find(s, place, QUESTION_HOLDS, &q) && q.position == place);
	if (adds) {
		ck_assert_int_eq(
		        sscanf(strstr(q.text, "Rank"), "Rank %d receives chunk %d from rank %d", &to, &chunk, &from),
		        3);
		ck_assert_uint_eq(ranks_in(right_of(&q)), next.held[to][chunk]);
	}
}

START_TEST(what_is_left_of_a_ring)
{
	struct question q;
	for (int n = 2; n <= 8; n++) {
		char words[96], wanted[96];
		snprintf(words, sizeof words, "mlp:sizes=12-16-8-4 ddp ranks=%d", n);
		open_words(words);
		find(QUESTION_LEFT, 0, &q);
		snprintf(wanted, sizeof wanted, "%d round%s: finished sums are only copied", n - 1, n == 2 ? "" : "s");
		ck_right(&q, wanted);
		snprintf(wanted, sizeof wanted, "2 · (%d − 1) = %d rounds", n, 2 * (n - 1));
		ck_assert_msg(strstr(q.reason, wanted), "no '%s' in '%s'", wanted, q.reason);
	}
}

/* ---- bytes ---- */

/* The last question of a step about bytes is about all of them: what the report says that a rank sends. */
START_TEST(bytes_are_those_of_the_report)
{
	static const char *const words[] = {GPT " ddp ranks=4", GPT " zero1 ranks=4", GPT " zero2 ranks=3 bucket=512",
	                                    GPT " zero3 ranks=4", GPT " fsdp ranks=2"};
	for (int i = 0; i < COUNT(words); i++) {
		struct question q, last = {0};
		open_words(words[i]);
		for (size_t from = 0; question_find(s, from, QUESTION_SENT, &q); from = q.position + 1)
			last = q;
		ck_assert_double_eq_tol(last.number, (double)v->sent_bytes, 0.5);
		ck_assert_int_eq((int64_t)last.number, plan_moved_all(s->plan, last.rank).sent);
	}
}

/* 16 bytes a parameter in fp32 with Adam, 16/N where all is sharded, 8 + 8/N under ZeRO-1: within the padding. */
START_TEST(memory_is_the_closed_form)
{
	static const struct {
		const char *words;
		double bytes;
	} cases[] = {{GPT " ddp ranks=4", 16},
	             {GPT " zero1 ranks=4", 8 + 8 / 4.0},
	             {GPT " zero2 ranks=4", 4 + 12 / 4.0},
	             {GPT " zero3 ranks=4", 16 / 4.0},
	             {GPT " ddp ranks=2 optimizer=sgd", 8},
	             {GPT " zero3 ranks=4 precision=bf16", 16 / 4.0},
	             {GPT " ddp ranks=2 precision=bf16", 16},
	             {GPT " zero1 ranks=2 offload=optimizer", 4}};
	for (int i = 0; i < COUNT(cases); i++) {
		struct question q;
		open_words(cases[i].words);
		find(QUESTION_MEMORY, 0, &q);
		double wanted = cases[i].bytes * (double)s->plan->model->parameters;
		ck_assert_msg(fabs(q.number - wanted) < 0.02 * wanted, "%s: %g instead of %g", cases[i].words, q.number,
		              wanted);
		ck_assert(q.hides);
	}
}

/* ---- memory ---- */

/* The first allocation that reaches the most bytes, counted here, is for an operation of the pass that is right. */
START_TEST(the_peak_is_where_the_most_is_allocated)
{
	static const char *const words[] = {GPT " ddp ranks=4", GPT " zero3 ranks=4", GPT " zero2 ranks=4 bucket=512",
	                                    GPT " single ranks=1", GPT " zero3 ranks=4 activation_checkpointing=full"};
	for (int i = 0; i < COUNT(words); i++) {
		struct question q;
		open_words(words[i]);
		const struct role *r = &s->plan->roles[0];
		int64_t live = 0, most = 0;
		int at = -1;
		for (int k = 0; k < r->buffer_count; k++)
			live += r->buffers[k].state && r->buffers[k].space == SPACE_DEVICE
			                ? buffer_bytes(&r->buffers[k])
			                : 0;
		most = live;
		for (int k = r->step.begin; k < r->step.end; k++) {
			const struct op *op = &r->ops[k];
			if (op->kind != OP_ALLOC && op->kind != OP_FREE)
				continue;
			const struct buffer *b = &r->buffers[op->operand[0].buffer];
			if (b->space == SPACE_DEVICE)
				live += op->kind == OP_ALLOC ? buffer_bytes(b) : -buffer_bytes(b);
			at = live > most ? k : at;
			most = live > most ? live : most;
		}
		for (; r->ops[at].kind == OP_ALLOC || r->ops[at].kind == OP_FREE; at++)
			;
		find(QUESTION_PEAK, 0, &q);
		const char *unit = s->plan->model->units[r->ops[at].unit].name;
		char wanted[96], bytes[48];
		snprintf(wanted, sizeof wanted, "the %s pass of %s",
		         r->ops[at].pass == PASS_RECOMPUTE ? "repeated forward" : pass_name(r->ops[at].pass), unit);
		ck_right(&q, wanted);
		number_format_bytes(bytes, sizeof bytes, most);
		ck_assert_msg(strstr(q.reason, bytes), "no %s in '%s'", bytes, q.reason);
		ck_assert_msg(strstr(q.reason, wanted), "the reason of '%s' speaks of something else: %s", wanted,
		              q.reason);
	}
}

START_TEST(what_is_freed)
{
	struct question q;
	open_words(GPT " zero3 ranks=4");
	find(QUESTION_FREED, 0, &q);
	ck_assert_msg(strstr(right_of(&q), "the whole parameters of block."), "%s", right_of(&q));
	ck_assert_ptr_nonnull(strstr(right_of(&q), "each rank keeps only its own shard"));
	open_words(GPT " zero2 ranks=4");
	find(QUESTION_FREED, 0, &q);
	ck_assert_msg(strstr(right_of(&q), "the whole gradients of bucket."), "%s", right_of(&q));
}

START_TEST(what_grows)
{
	struct question q;
	open_words(GPT " ddp ranks=4");
	find(QUESTION_GROWS, 0, &q);
	ck_right(&q, "activations"); /* forward, with nothing to gather */
}

/* ---- order ---- */

/* The compute queue of the rank begins an operation of that pass, and of another before. */
START_TEST(the_next_pass)
{
	struct question q;
	int asked = 0;
	open_words(GPT " pipeline ranks=4 accumulate=4");
	for (size_t from = 0; question_find(s, from, QUESTION_PASS, &q); from = q.position + 1, asked++) {
		int index = timeline_index_of(s, q.rank);
		const struct op *next = NULL;
		for (size_t m = q.position; m < s->instant_count && !next; m++)
			for (size_t i = s->instants[m].begin; i < s->instants[m].end && !next; i++) {
				const struct event *e = &s->events[i];
				const struct op *op = &timeline_role_of(s, index)->ops[e->op];
				if (e->kind == EVENT_BEGIN && e->index == index && e->queue == QUEUE_COMPUTE &&
				    op->micro >= 0)
					next = op;
			}
		char wanted[16];
		ck_assert_ptr_nonnull(next);
		snprintf(wanted, sizeof wanted, "%c%d", next->pass == PASS_FORWARD ? 'F' : 'B', next->micro);
		ck_right(&q, wanted);
	}
	ck_assert_int_gt(asked, 4);
	find(QUESTION_BUBBLE, 0, &q);
	ck_assert_double_eq_tol(q.number, 100 * 3 / 7.0, 1e-9);
}

/* Checks by times alone: nothing that it waits for ends later, and no wrong choice has begun. */
START_TEST(what_must_be_done_first)
{
	struct question q;
	open_words(GPT " zero3 ranks=4");
	find(QUESTION_NEEDS, 0, &q);
	ck_assert_msg(strstr(q.text, "Its next operation is the forward pass of embedding"), "%s", q.text);
	ck_right(&q, "the all-gather of root");
	find(QUESTION_NEXT, q.shown, &q);
	ck_assert_msg(strstr(q.text, "after the all-gather of root"), "%s", q.text);
	ck_right(&q, "the all-gather of block.0");
}

/* Computing beside a collective, by adding up times here. */
START_TEST(exposed_or_hidden)
{
	struct question q;
	int kinds = 0;
	open_words(GPT " ddp ranks=4 bucket=512");
	for (size_t from = 0; question_find(s, from, QUESTION_EXPOSED, &q); from = q.position + 1) {
		int index = timeline_index_of(s, q.rank), c = -1;
		for (size_t i = s->instants[q.position].begin; c < 0; i++)
			if (s->events[i].kind == EVENT_BEGIN && s->events[i].index == index)
				c = timeline_collective_of(s, index, s->events[i].op);
		int64_t busy = 0, came = s->collectives[c].came, end = s->collectives[c].end;
		for (size_t i = 0; i < s->trace->span_count; i++) {
			const struct span *x = &s->trace->spans[i];
			if (x->rank != q.rank || timeline_role_of(s, index)->ops[x->op].queue != QUEUE_COMPUTE)
				continue;
			int64_t a = x->begin > came ? x->begin : came, b = x->end < end ? x->end : end;
			busy += b > a ? b - a : 0;
		}
		const char *wanted = busy * 50 >= (end - came) * 49 ? "hidden"
		                     : busy * 50 <= end - came      ? "exposed"
		                                                    : "partly";
		ck_assert_msg(!strncmp(right_of(&q), wanted, strlen(wanted)), "%s: %s", q.text, right_of(&q));
		kinds |= *wanted == 'h' ? 1 : *wanted == 'e' ? 2 : 4;
	}
	ck_assert_int_gt(kinds, 2);
}

/* The first stage waits for the next to go backward, and nobody else could help. */
START_TEST(who_is_waited_for)
{
	struct question q;
	open_words(GPT " pipeline ranks=4 accumulate=4");
	for (size_t from = 0; question_find(s, from, QUESTION_WAITS, &q); from = q.position + 1) {
		int64_t of = -1;
		ck_assert_int_eq(sscanf(right_of(&q), "rank %" SCNd64, &of), 1);
		ck_assert_msg(llabs(of - q.rank) == 1 || of + q.rank == 3, "%s: %s", q.text, right_of(&q));
	}
}

/* ---- the plan ---- */

START_TEST(who_keeps_the_same)
{
	static const struct {
		const char *words, *right;
		int beside; /* with hybrid sharding: the rank that is so many further along */
	} cases[] = {{GPT " ddp ranks=4", "all the others", 0},
	             {GPT " zero1 ranks=4", "none: no other rank keeps it", 0},
	             {GPT " zero3 ranks=3", "none: no other rank keeps it", 0},
	             {GPT " hybrid:shard=2 ranks=4", NULL, 2},
	             {GPT " pipeline ranks=4 accumulate=4", "none: no other rank keeps it", 0}};
	for (int i = 0; i < COUNT(cases); i++) {
		struct question q;
		char wanted[64];
		open_words(cases[i].words);
		find(QUESTION_SHARD, 0, &q);
		snprintf(wanted, sizeof wanted, "rank %" PRId64 " alone", (q.rank + cases[i].beside) % 4);
		ck_right(&q, cases[i].right ? cases[i].right : wanted);
	}
}

/* DeepSpeed leaves the scale at the first overflow, PyTorch halves it. */
START_TEST(an_overflow)
{
	struct question q;
	open_words(GPT " zero2 ranks=4 precision=fp16");
	find(QUESTION_SKIPPED, 0, &q);
	ck_right(&q, "every rank skips the update, and the loss scale stays for once");
	open_words(GPT " ddp ranks=2 precision=fp16 loss_scaler=pytorch");
	find(QUESTION_SKIPPED, 0, &q);
	ck_right(&q, "every rank skips the update, and the loss scale becomes 32,768");
	open_words(GPT " ddp ranks=2");
	ck_assert(!question_find(s, 0, QUESTION_SKIPPED, &q));
}

/* ---- all of them ---- */

static void ck_ends(const char *text, char end)
{
	ck_assert_msg(*text && text[strlen(text) - 1] == end, "'%s' is cut", text);
	ck_assert_msg(!strstr(text, "  ") && !strstr(text, ".."), "'%s'", text);
}

static void ck_question(const struct question *q)
{
	char why[ANSWER_WORDS], number[16];
	int right = 0;
	ck_plain(q->text);
	ck_plain(q->reason);
	ck_ends(q->text, '?');
	ck_ends(q->reason, '.');
	ck_assert_ptr_nonnull(q->look);
	ck_assert_uint_ge(q->shown, q->position);
	ck_assert_uint_eq(timeline_stop(s, STEP_SIZE_ROUND, timeline_stop_of(s, STEP_SIZE_ROUND, q->position)),
	                  q->position);
	ck_assert_uint_eq(timeline_stop(s, STEP_SIZE_ROUND, timeline_stop_of(s, STEP_SIZE_ROUND, q->shown)), q->shown);
	if (!q->choice_count) {
		ck_assert(isfinite(q->number));
		ck_assert_int_eq(question_check(q, right_of(q), why), ANSWER_RIGHT);
		return;
	}
	ck_assert_int_ge(q->choice_count, 3);
	for (int i = 0; i < q->choice_count; i++) {
		ck_plain(q->choice[i]);
		ck_assert(*q->choice[i]);
		for (int k = 0; k < i; k++)
			ck_assert_msg(strcmp(q->choice[i], q->choice[k]) != 0, "'%s' twice", q->choice[i]);
		snprintf(number, sizeof number, "%d", i + 1);
		enum answer answer = question_check(q, number, why);
		ck_assert_int_ne(answer, ANSWER_UNCLEAR);
		ck_assert_int_eq(question_check(q, q->choice[i], why), answer);
		right += answer == ANSWER_RIGHT;
	}
	ck_assert_int_eq(right, 1);
}

static unsigned kinds_seen;

START_LOOP_TEST(every_question_has_one_right_answer, 0, REQUESTS)
{
	struct question_set set, again;
	open_words(catalogue[_i]);
	questions_make(&set, s);
	ck_assert_msg(set.count >= 3, "%s: %d questions", catalogue[_i], set.count);
	ck_assert_int_le(set.count, QUESTIONS);
	for (int i = 0; i < set.count; i++) {
		ck_question(&set.list[i]);
		ck_assert(!i || set.list[i - 1].position <= set.list[i].position);
	}
	questions_make(&again, s);
	ck_assert_int_eq(set.count, again.count);
	for (int i = 0; i < set.count; i++) {
		ck_assert_str_eq(set.list[i].text, again.list[i].text);
		ck_assert_int_eq(set.list[i].right, again.list[i].right);
	}
	/* Not only those that are chosen: of each kind some all over the step. */
	for (int kind = 0; kind < QUESTION_KINDS; kind++)
		for (int part = 0; part < 3; part++) {
			struct question q;
			if (question_find(s, s->instant_count * (size_t)part / 3, (enum question_kind)kind, &q))
				ck_question(&q);
		}
}

/* No kind is only a name: each is asked in some step of the catalogue. */
START_TEST(every_kind_is_asked)
{
	for (int i = 0; i < REQUESTS; i++) {
		struct question_set set;
		open_words(catalogue[i]);
		questions_make(&set, s);
		for (int k = 0; k < set.count; k++)
			kinds_seen |= 1U << set.list[k].kind;
	}
	for (int kind = 0; kind < QUESTION_KINDS; kind++)
		ck_assert_msg(kinds_seen >> kind & 1, "question %d is never asked", kind);
}

SUITE("question", 120)
