/* Captions of the whole catalogue: every strategy, with every technique. They say what is done by a verb that a
 * newcomer understands, and name nothing by a name that the source alone knows.
 */
#include <check.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/suite.h"
#include "tests/support/viewed.h"
#include "tests/viz/catalogue.h"
#include "tests/viz/plain_words.h"
#include "viz/timeline/op_words.h"

/* ---- names ---- */

static void look_for_names(const struct state *st, const char *caption)
{
	(void)st;
	ck_assert_msg(caption[strlen(caption) - 1] == '.', "'%s' is cut", caption);
	ck_plain(caption);
}

START_LOOP_TEST(no_internal_names, 0, REQUESTS)
{
	const struct viewed *v = viewed_plan(catalogue[_i]);
	for (int step_size = 0; step_size < STEP_SIZE_COUNT; step_size++)
		each_caption(&v->shown.timeline, (enum step_size)step_size, look_for_names);
}

/* ---- verbs ---- */

/* The words for every operation of a step, of one rank and of several. */
static const struct {
	enum op_kind kind;
	const char *one, *several;
} verbs[] = {
        {OP_ALLOC, "makes room for ", "make room for "},
        {OP_FREE, "frees ", "free "},
        {OP_ZERO, "clears ", "clear "},
        {OP_COPY, "copies ", "copy "},
        {OP_ADD, "adds the gradients", "add the gradients"},
        {OP_LOAD, "takes ", "take "},
        {OP_EMBEDDING_FORWARD, "looks up ", "look up "},
        {OP_EMBEDDING_FINISH, "adds the vectors of the positions", "add the vectors of the positions"},
        {OP_EMBEDDING_BACKWARD, "computes the gradients of ", "compute the gradients of "},
        {OP_NORM_FORWARD, "normalizes ", "normalize "},
        {OP_NORM_BACKWARD, "computes the gradients of ", "compute the gradients of "},
        {OP_RMS_NORM_FORWARD, "normalizes ", "normalize "},
        {OP_RMS_NORM_BACKWARD, "computes the gradients of ", "compute the gradients of "},
        {OP_SWIGLU_FORWARD, "multiplies by the gates ", "multiply by the gates "},
        {OP_SWIGLU_BACKWARD, "computes the gradients of ", "compute the gradients of "},
        {OP_ROTARY_FORWARD, "rotates queries and keys ", "rotate queries and keys "},
        {OP_ROTARY_BACKWARD, "computes the gradients of ", "compute the gradients of "},
        {OP_LINEAR_FORWARD, "multiplies by the weights of ", "multiply by the weights of "},
        {OP_LINEAR_FINISH, "completes ", "complete "},
        {OP_LINEAR_BACKWARD, "computes the gradients of ", "compute the gradients of "},
        {OP_ATTENTION_FORWARD, "lets each token attend ", "let each token attend "},
        {OP_ATTENTION_BACKWARD, "computes the gradients of ", "compute the gradients of "},
        {OP_SCORES_FORWARD, "compares queries with keys", "compare queries with keys"},
        {OP_SCORES_BACKWARD, "computes the gradients of ", "compute the gradients of "},
        {OP_SOFTMAX_FORWARD, "turns scores into weights", "turn scores into weights"},
        {OP_SOFTMAX_BACKWARD, "computes the gradients of ", "compute the gradients of "},
        {OP_CONTEXT_FORWARD, "takes the weighted sum ", "take the weighted sum "},
        {OP_CONTEXT_BACKWARD, "computes the gradients of ", "compute the gradients of "},
        {OP_DROPOUT_FORWARD, "drops activations ", "drop activations "},
        {OP_DROPOUT_BACKWARD, "computes the gradients of ", "compute the gradients of "},
        {OP_CLASSIFIER, "computes the loss", "compute the loss"},
        {OP_BATCH_NORM_STATISTICS, "takes mean and variance ", "take mean and variance "},
        {OP_BATCH_NORM_MERGE, "keeps the statistics ", "keep the statistics "},
        {OP_BATCH_NORM_FORWARD, "normalizes ", "normalize "},
        {OP_BATCH_NORM_SUMS, "sums up the gradients ", "sum up the gradients "},
        {OP_BATCH_NORM_BACKWARD, "computes the gradients of ", "compute the gradients of "},
        {OP_CLASSIFIER_MAXIMA, "finds the largest ", "find the largest "},
        {OP_CLASSIFIER_SUMS, "sums up the exponentials ", "sum up the exponentials "},
        {OP_CLASSIFIER_GRADIENT, "computes the loss", "compute the loss"},
        {OP_ABSTRACT_FORWARD, "runs ", "run "},
        {OP_ABSTRACT_BACKWARD, "computes the gradients of ", "compute the gradients of "},
        {OP_ADAMW, "updates ", "update "},
        {OP_SGD, "updates ", "update "},
        {OP_SQUARES, "sums up the squares ", "sum up the squares "},
        {OP_OVERFLOW, "looks for infinities ", "look for infinities "},
        {OP_SWEEP, "sweeps over ", "sweep over "},
        {OP_AMAX, "finds the largest element of ", "find the largest element of "},
        {OP_CAST, "rounds ", "round "},
        {OP_SCALER_UPDATE, "adjusts the loss scale", "adjust the loss scale"},
        {OP_ADVANCE, "counts the step", "count the step"},
        {OP_ALL_REDUCE, "begins the all-reduce of ", "begin the all-reduce of "},
        {OP_ALL_REDUCE_MAXIMUM, "begins the all-reduce (maximum) of ", "begin the all-reduce (maximum) of "},
        {OP_REDUCE_SCATTER, "begins the reduce-scatter of ", "begin the reduce-scatter of "},
        {OP_ALL_GATHER, "begins the all-gather of ", "begin the all-gather of "},
        {OP_BROADCAST, "begins the broadcast of ", "begin the broadcast of "},
        {OP_REDUCE, "begins the reduce of ", "begin the reduce of "},
        {OP_SCATTER, "begins the scatter of ", "begin the scatter of "},
        {OP_GATHER, "begins the gather of ", "begin the gather of "},
        {OP_SUM, "begins to sum up ", "begin to sum up "},
        {OP_SEND, "begins to send ", "begin to send "},
        {OP_RECEIVE, "begins to receive ", "begin to receive "},
};
enum { VERBS = COUNT(verbs) };

static bool seen[OP_KIND_COUNT];

static int verb_of(enum op_kind k)
{
	for (int i = 0; i < VERBS; i++)
		if (verbs[i].kind == k)
			return i;
	return -1;
}

static void look_for_verb(const struct state *st, const char *caption)
{
	const struct timeline *s = st->timeline;
	if (st->latest == st->latest_end)
		return;
	const struct event *e = &s->events[st->latest_end - 1];
	if (e->kind != EVENT_BEGIN && e->kind != EVENT_MEMORY)
		return;
	enum op_kind kind = timeline_role_of(s, e->index)->ops[e->op].kind;
	int v = verb_of(kind);
	ck_assert_msg(v >= 0, "%s has no row", op_name(kind));
	seen[kind] = true;
	if (strstr(caption, "reach the peak of memory") || strstr(caption, "reaches the peak of memory"))
		return;
	ck_assert_msg(strstr(caption, verbs[v].one) || strstr(caption, verbs[v].several), "'%s' of %s", caption,
	              op_name(kind));
}

/* Every operation that a step can have. */
START_TEST(every_operation_has_its_verb)
{
	memset(seen, 0, sizeof seen);
	for (int i = 0; i < REQUESTS; i++) {
		const struct viewed *v = viewed_plan(catalogue[i]);
		each_caption(&v->shown.timeline, STEP_SIZE_MESSAGE, look_for_verb);
	}
	for (int k = 0; k < OP_KIND_COUNT; k++)
		ck_assert_msg(seen[k] || !(op_sections((enum op_kind)k) >> SECTION_STEP & 1),
		              "the catalogue has no caption of %s", op_name((enum op_kind)k));
}

/* ---- phases ---- */

/* Gradients that are summed over ranks belong to the backward pass, whatever else goes on meanwhile. */
START_LOOP_TEST(reductions_are_of_the_backward_pass, 0, REQUESTS)
{
	const struct viewed *v = viewed_plan(catalogue[_i]);
	const struct timeline *s = &v->shown.timeline;
	for (size_t p = 1; p <= s->instant_count; p++) {
		const struct event *e = &s->events[s->instants[p - 1].begin];
		if (e->kind != EVENT_MESSAGE || e->rank != s->ranks[0].rank)
			continue;
		const struct op *op = &timeline_role_of(s, e->index)->ops[e->op];
		if (op->group < 0 || op->pass != PASS_BACKWARD || !collective_adds(&s->collectives[e->collective]))
			continue;
		enum pass pass = timeline_phase(s, p)->pass; /* what is repeated is part of the backward pass */
		ck_assert_msg(pass == PASS_BACKWARD || pass == PASS_RECOMPUTE, "%s: %s at %zu is in %s", catalogue[_i],
		              op_name(op->kind), p, pass_name(pass));
	}
	ck_assert_int_eq(timeline_phase(s, s->instant_count)->pass, PASS_UPDATE);
}

/* ---- what ranks have ---- */

/* A rank's gradients are there once its backward pass has made them, and not before. */
START_TEST(gradients_are_there_when_they_are_made)
{
	struct state st = {0};
	int absent = 0, present = 0;
	const struct viewed *v = viewed_plan(catalogue[2]);
	const struct timeline *s = &v->shown.timeline;
	for (size_t p = 0; p <= s->instant_count; p++) {
		state_make(&st, s, STEP_SIZE_MESSAGE, p);
		const struct collective *c = &s->collectives[st.collective];
		for (int64_t member = 0; member < c->schedule.ranks; member++) {
			const struct role *r = timeline_role_of(s, (int)member);
			const struct op *op = &r->ops[c->ops[member]];
			bool made = true;
			for (int i = 0; i < op->after_count; i++)
				made &= s->ranks[member].end[op->after[i] - r->step.begin] <= st.time &&
				        state_of_op(&st, (int)member, op->after[i]) != OP_WAITS;
			ck_assert_int_eq(state_ready(&st, st.collective, member), made);
			absent += !made;
			present += made;
		}
	}
	ck_assert_int_gt(absent, 0);
	ck_assert_int_gt(present, 0);
	state_release(&st);
}

/* The ledger says what ranks have sent, from the least to the most. */
START_LOOP_TEST(the_ledger_has_the_range, 0, REQUESTS)
{
	struct state st = {0};
	const struct viewed *v = viewed_plan(catalogue[_i]);
	const struct timeline *s = &v->shown.timeline;
	for (size_t p = 0; p <= s->instant_count; p++) {
		struct ledger l;
		int64_t sent[16] = {0}, least = INT64_MAX, most = 0;
		state_make(&st, s, STEP_SIZE_MESSAGE, p);
		if (st.collective < 0)
			continue;
		ledger_make(&st, &l);
		if (!l.formula.of_one)
			continue;
		for (size_t i = 0; i < st.latest_end; i++) {
			const struct event *e = &s->events[i];
			if (e->kind == EVENT_MESSAGE && s->collectives[e->collective].family == st.collective)
				sent[e->rank] += e->bytes;
		}
		for (int c = 0; c < s->collective_count; c++)
			for (int64_t m = 0;
			     s->collectives[c].family == st.collective && m < s->collectives[c].schedule.ranks; m++) {
				int64_t one = sent[s->collectives[c].rank[m]];
				least = one < least ? one : least;
				most = one > most ? one : most;
			}
		ck_assert_int_eq(l.least, least);
		ck_assert_int_eq(l.most, most);
		ck_assert_msg((least == most) == !strncmp(l.who, "each", 4), "%s", l.who);
	}
	state_release(&st);
}

/* ---- the peak ---- */

/* At the peak the caption names what the report names. */
START_LOOP_TEST(the_peak_has_its_cause, 0, REQUESTS)
{
	struct state st = {0};
	const struct viewed *v = viewed_plan(catalogue[_i]);
	const struct timeline *s = &v->shown.timeline;
	for (int i = 0; i < s->highlight_count; i++) {
		const struct highlight *n = &s->highlights[i];
		struct memory_use use;
		char caption[CAPTION_SIZE], cause[OP_WORDS];
		if (n->kind != HIGHLIGHT_PEAK)
			continue;
		const struct role *r = plan_role_of(s->plan, n->rank);
		plan_memory(s->plan, r, SPACE_DEVICE, &use);
		int op = use.peak_op;
		while (op_class(r->ops[op].kind) == OP_CLASS_M)
			op++;
		op_words(cause, s, r, &r->ops[op]);
		for (int step_size = STEP_SIZE_MESSAGE; step_size <= STEP_SIZE_ROUND; step_size++) {
			state_make(&st, s, (enum step_size)step_size, n->position);
			caption_make(&st, caption, sizeof caption);
			ck_assert_msg(strstr(caption, "peak of memory") && strstr(caption, cause), "'%s' has not '%s'",
			              caption, cause);
		}
	}
	state_release(&st);
}

/* ---- words that teach ---- */

static const char *wanted;
static int found;

static void look_for_words(const struct state *st, const char *caption)
{
	(void)st;
	found += strstr(caption, wanted) != NULL;
}

static int times_said(const char *request, enum step_size step_size, const char *words)
{
	const struct viewed *v = viewed_plan(request);
	wanted = words;
	found = 0;
	each_caption(&v->shown.timeline, step_size, look_for_words);
	return found;
}

/* Indexed by place in the catalogue. */
START_TEST(ideas_are_said)
{
	static const struct {
		int request;
		enum step_size step_size;
		const char *words;
		bool never;
	} cases[] = {
	        {2, STEP_SIZE_ROUND, "Now each rank owns one finished chunk; the next 3 rounds only copy.", false},
	        {2, STEP_SIZE_ROUND, "Every rank works on different samples: that is data parallelism.", false},
	        {5, STEP_SIZE_ROUND, "each rank keeps only its slice, the point of ZeRO-2.", false},
	        {6, STEP_SIZE_ROUND, "each rank keeps only its shard, the point of ZeRO-3.", false},
	        {5, STEP_SIZE_ROUND, "the point of ZeRO-3", true},
	        {2, STEP_SIZE_ROUND, "the point of", true},
	        {11, STEP_SIZE_ROUND, "maxima of 4 of 4 ranks", false},
	        {15, STEP_SIZE_ROUND,
	         "It begins at 65,536. A step with an infinity is skipped; the first leaves it, each further one "
	         "halves it, and 1,000 good",
	         false},
	        {16, STEP_SIZE_ROUND, "is skipped and halves it, and 2,000 good steps in a row double it.", false},
	        {2, STEP_SIZE_ROUND, "updates the parameters of bucket.0 with", false},
	        {2, STEP_SIZE_ROUND, "All ranks have the same gradients and make the same update.", false},
	        {5, STEP_SIZE_ROUND, "updates its own slice of bucket.0 with", false},
	        {6, STEP_SIZE_ROUND, "updates its own shard of block.0 with", false},
	        {6, STEP_SIZE_ROUND, "make the same update", true},
	        {1, STEP_SIZE_ROUND, "the scatter of the output gradients of", false},
	        {1, STEP_SIZE_ROUND, "of all (", true},
	        {13, STEP_SIZE_ROUND, "checkpointing trades time for memory", false},
	        {2, STEP_SIZE_PHASE, "The backward pass of block.1 takes ", false},
	        {2, STEP_SIZE_PHASE, "all ranks together send ", false},
	};
	for (int i = 0; i < COUNT(cases); i++) {
		int n = times_said(catalogue[cases[i].request], cases[i].step_size, cases[i].words);
		ck_assert_msg((n == 0) == cases[i].never, "%s says '%s' %d times", catalogue[cases[i].request],
		              cases[i].words, n);
	}
}

static void look_at_maximum(const struct state *st, const char *caption)
{
	const struct timeline *s = st->timeline;
	if (st->latest == st->latest_end || s->events[st->latest].kind != EVENT_MESSAGE ||
	    s->collectives[s->events[st->latest].collective].kind != OP_ALL_REDUCE_MAXIMUM)
		return;
	found++;
	ck_assert_msg(!strstr(caption, "sum") && !strstr(caption, " adds "), "'%s'", caption);
}

START_TEST(a_maximum_is_no_sum)
{
	const struct viewed *v = viewed_plan(catalogue[11]);
	found = 0;
	each_caption(&v->shown.timeline, STEP_SIZE_MESSAGE, look_at_maximum);
	each_caption(&v->shown.timeline, STEP_SIZE_ROUND, look_at_maximum);
	ck_assert_int_gt(found, 20);
}

/* Gradients that wait to be reduced are no parameters. */
START_TEST(whole_gradients_are_told_apart)
{
	static const struct {
		int request;
		bool gradients, parameters;
	} cases[] = {{2, false, false}, {5, true, false}, {6, true, true}};
	for (int i = 0; i < COUNT(cases); i++) {
		int64_t most[HELD_COUNT] = {0};
		const struct viewed *v = viewed_plan(catalogue[cases[i].request]);
		const struct timeline *s = &v->shown.timeline;
		const struct section *step = &timeline_role_of(s, 0)->step;
		for (int k = 0; k <= step->end - step->begin; k++)
			for (int h = 0; h < HELD_COUNT; h++) {
				int64_t live = timeline_live(s, 0, SPACE_DEVICE, k)[h];
				most[h] = live > most[h] ? live : most[h];
			}
		ck_assert_int_eq(most[HELD_WHOLE_GRADIENTS] > 0, cases[i].gradients);
		ck_assert_int_eq(most[HELD_WHOLE_PARAMETERS] > 0, cases[i].parameters);
	}
}

SUITE("ideas", 0)
