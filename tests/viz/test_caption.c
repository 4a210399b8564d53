/* Captions: the reason that they give is the operation that ended last, a pause names what it waits for, the beginning
 * names every role, and messages say who sends and who receives.
 */
#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/suite.h"
#include "tests/support/viewed.h"
#include "viz/timeline/op_words.h"

#define GPT "gpt:layers=4,width=8,heads=2,context=8,vocabulary=24"
#define MLP "mlp:sizes=12-16-8-4"
#define WINDOW "llama:layers=1,width=8,heads=2,kv_heads=2,context=8,hidden=8,window=3"

static const char *const requests[] = {
        MLP " single ranks=1",
        MLP " dp ranks=3",
        MLP " ddp ranks=4 bucket=512",
        MLP " zero1 ranks=2 clip=1",
        GPT " zero2 ranks=3 accumulate=2",
        GPT " zero3 ranks=2",
        GPT " fsdp ranks=4",
        GPT " hybrid:shard=2 ranks=4",
        GPT " model ranks=4",
        GPT " pipeline ranks=3 accumulate=3",
        GPT " tensor ranks=2",
        GPT " zero2 ranks=2 offload=optimizer",
        GPT " zero3 ranks=2 offload=optimizer:to=disk,parameters",
};
enum { REQUESTS = COUNT(requests) };

static int64_t ended(const struct timeline *s, int index, int op)
{
	return s->ranks[index].end[op - timeline_role_of(s, index)->step.begin];
}

/* The operation before it on its queue; -1: there is none in this step. */
static int before_it(const struct role *r, int number)
{
	for (int i = number - 1; i >= r->step.begin; i--)
		if (r->ops[i].queue == r->ops[number].queue && op_class(r->ops[i].kind) != OP_CLASS_M)
			return i;
	return -1;
}

/* Walks the step event by event, and gives each caption to `look`. Returns how many `look` took. */
static int walk(const struct timeline *s,
                bool (*look)(const struct timeline *s, const struct event *e, const char *caption))
{
	struct state st = {0};
	int taken = 0;
	for (size_t p = 1; p <= s->instant_count; p++) {
		char caption[512];
		state_make(&st, s, STEP_SIZE_MESSAGE, p);
		caption_make(&st, caption, sizeof caption);
		for (size_t i = st.latest; i < st.latest_end; i++)
			if (s->events[i].kind == s->events[st.latest_end - 1].kind) {
				taken += look(s, &s->events[i], caption);
				break;
			}
	}
	state_release(&st);
	return taken;
}

/* ---- the reason ---- */

/* The caption names what ended last of all that an operation had to wait for, its queue among them. */
static bool check_reason(const struct timeline *s, const struct event *e, const char *caption)
{
	static const char begin[] = ", now that ", end[] = " is done";
	const char *at = strstr(caption, begin);
	if (e->kind != EVENT_BEGIN)
		return false;
	int index = timeline_index_of(s, e->rank), before;
	const struct role *r = timeline_role_of(s, index);
	const struct op *op = &r->ops[e->op];
	int64_t latest = -1;
	char words[160];
	for (int i = 0; i < op->after_count; i++)
		latest = ended(s, index, op->after[i]) > latest ? ended(s, index, op->after[i]) : latest;
	before = before_it(r, e->op);
	if (before >= 0 && ended(s, index, before) > latest)
		latest = ended(s, index, before);
	if (!at) { /* the turn of the next on the queue, or more is to be said */
		bool turn = latest < 0 || (before >= 0 && ended(s, index, before) == latest);
		ck_assert_msg(turn || strstr(caption, "It has freed"), "'%s'", caption);
		return false;
	}
	at += sizeof begin - 1;
	size_t length = (size_t)(strstr(at, end) - at);
	for (int i = -1; i < op->after_count; i++) {
		int one = i < 0 ? before : op->after[i];
		if (one < 0 || ended(s, index, one) != latest)
			continue;
		op_words_beside(words, s, r, &r->ops[one], op);
		if (strlen(words) == length && !strncmp(at, words, length))
			return true;
	}
	ck_abort_msg("'%s': another operation ended later", caption);
	return false;
}

START_LOOP_TEST(the_reason_ended_last, 0, REQUESTS)
{
	const struct viewed *v = viewed_plan(requests[_i]);
	int said = walk(&v->shown.timeline, check_reason);
	ck_assert_msg(said > 3 || v->made.plan.ranks == 1, "%s gives %d reasons", requests[_i], said);
}

/* ---- pauses ---- */

static bool check_pause(const struct timeline *s, const struct event *e, const char *caption)
{
	int index = timeline_index_of(s, e->rank), awaited = -1;
	if (e->kind != EVENT_IDLE || !strstr(caption, " computing for "))
		return false;
	const struct role *r = timeline_role_of(s, index);
	const struct op *op = &r->ops[e->op];
	char words[160];
	bool exposed = false, late = false;
	for (int i = 0; i < op->after_count; i++)
		if (ended(s, index, op->after[i]) > e->time &&
		    (awaited < 0 || ended(s, index, op->after[i]) > ended(s, index, awaited)))
			awaited = op->after[i];
	ck_assert_msg(awaited >= 0, "'%s': nothing is left to wait for", caption);
	op_words_beside(words, s, r, &r->ops[awaited], op);
	const char *at = strstr(caption, " waits for ");
	ck_assert_msg(at && !strncmp(at + 11, words, strlen(words)), "'%s' does not wait for %s", caption, words);
	for (int k = r->step.begin; k < r->step.end; k++)
		exposed |= r->ops[k].queue == QUEUE_COMMUNICATION &&
		           s->ranks[index].begin[k - r->step.begin] <= e->time && ended(s, index, k) > e->time;
	for (int k = r->step.begin; k < r->step.end; k++) { /* but only once all have come to it */
		int c = timeline_collective_of(s, index, k);
		if (c < 0 || r->ops[k].queue != QUEUE_COMMUNICATION ||
		    s->ranks[index].begin[k - r->step.begin] > e->time || ended(s, index, k) <= e->time)
			continue;
		const struct collective *one = &s->collectives[c];
		for (int64_t m = 0; m < one->schedule.ranks; m++) {
			int there = timeline_index_of(s, one->rank[m]);
			late |= s->ranks[there].begin[one->ops[m] - timeline_role_of(s, there)->step.begin] > e->time;
		}
	}
	exposed &= !late;
	ck_assert_msg(exposed == (strstr(caption, "exposed") != NULL), "'%s'", caption);
	ck_assert_msg(late == (strstr(caption, " to come: a bubble until then.") != NULL), "'%s'", caption);
	ck_assert_msg(exposed == !strstr(caption, "a bubble"), "'%s'", caption);
	if (strstr(caption, "other ranks"))
		ck_assert_int_eq(op_class(r->ops[awaited].kind), OP_CLASS_C);
	return true;
}

START_LOOP_TEST(pauses_name_what_they_wait_for, 0, REQUESTS)
{
	const struct viewed *v = viewed_plan(requests[_i]);
	int pauses = walk(&v->shown.timeline, check_pause);
	ck_assert_msg(pauses > 0 || v->made.plan.ranks == 1, "%s never pauses", requests[_i]);
}

/* ---- the beginning ---- */

START_LOOP_TEST(the_beginning_names_every_role, 0, REQUESTS)
{
	struct state st = {0};
	char caption[512], word[WORD];
	const struct viewed *v = viewed_plan(requests[_i]);
	const struct timeline *s = &v->shown.timeline;
	const struct plan *p = s->plan;
	state_make(&st, s, STEP_SIZE_ROUND, 0);
	caption_make(&st, caption, sizeof caption);
	ck_assert_msg(caption[strlen(caption) - 1] == '.' && strlen(caption) < sizeof caption - 1, "'%s'", caption);
	for (int i = 0; i < p->role_count; i++) {
		int index = timeline_index_of(s, p->roles[i].first_rank);
		if (p->role_count > 3 && i && i < p->role_count - 1)
			continue;
		ck_assert_msg(strstr(caption, bytes_word(word, st.ranks[index].live[SPACE_DEVICE])) != NULL, "'%s'",
		              caption);
		ck_assert_msg(p->role_count == 1 || strstr(caption, p->roles[i].name) != NULL, "'%s' leaves out %s",
		              caption, p->roles[i].name);
		if (st.ranks[index].live[SPACE_HOST])
			ck_assert_msg(strstr(caption, "in host memory") != NULL, "'%s'", caption);
		if (st.ranks[index].live[SPACE_DISK])
			ck_assert_msg(strstr(caption, "on disk") != NULL, "'%s'", caption);
	}
	ck_assert_msg((strstr(caption, "root") != NULL) == !strcmp(p->strategy, "dp"), "'%s'", caption);
	state_release(&st);
}

/* A pipeline of many stages shows the first, the fullest and the last. */
START_TEST(captions_of_many_stages_fit)
{
	struct state st = {0};
	char caption[512];
	const struct viewed *v = viewed_plan("gpt:layers=16,width=8,heads=2,context=8,vocabulary=24 pipeline ranks=16");
	const struct timeline *s = &v->shown.timeline;
	state_make(&st, s, STEP_SIZE_ROUND, 0);
	caption_make(&st, caption, sizeof caption);
	int fullest = 0;
	for (int i = 1; i < s->rank_count; i++)
		if (st.ranks[i].live[SPACE_DEVICE] > st.ranks[fullest].live[SPACE_DEVICE])
			fullest = i;
	ck_assert_msg(strstr(caption, "Before the step (the first, the fullest and the last role): ") != NULL, "'%s'",
	              caption);
	const int shown[] = {0, fullest, 15};
	for (int i = 0; i < 3; i++) {
		char words[64], word[WORD];
		snprintf(words, sizeof words, "ank %d (stage.%d) holds %s", shown[i], shown[i],
		         bytes_word(word, st.ranks[shown[i]].live[SPACE_DEVICE]));
		ck_assert_msg(strstr(caption, words) != NULL, "'%s' has not '%s'", caption, words);
	}
	ck_assert(strlen(caption) < sizeof caption - 1 && caption[strlen(caption) - 1] == '.');
	state_release(&st);
}

/* ---- words of single operations ---- */

static const char *wanted;

static bool has_words(const struct timeline *s, const struct event *e, const char *caption)
{
	(void)s;
	(void)e;
	return strstr(caption, wanted) != NULL;
}

static int times_said(const struct timeline *s, const char *words)
{
	wanted = words;
	return walk(s, has_words);
}

/* The words that a step's caption has, and those that it does not have. */
START_TEST(words)
{
	static const struct {
		const char *words, *said, *never;
	} cases[] = {
	        {MLP " ddp ranks=2", "1 sample of its own", "1 samples"},
	        {GPT " tensor ranks=2", "takes 1 sample (", "sample of its own"},
	        {GPT " pipeline ranks=2", "takes 1 sample (", "sample of its own"},
	        {GPT " pipeline ranks=2", "Rank 0 begins to send", "begins the block"},
	        {GPT " pipeline ranks=2", "Rank 1 begins to receive", "by a message"},
	        {GPT " pipeline ranks=2", "block.2.ln_1 from rank 0 (", "from rank 1 to 0"},
	        {GPT " single", "lets each token attend to those before it by", "up to itself"},
	        {WINDOW " single", "lets each token attend to the last 3 up to itself by", "those before it"},
	        {GPT " pipeline ranks=2", " to rank 1 (", "from rank 0 to 1"},
	};
	for (int i = 0; i < COUNT(cases); i++) {
		const struct viewed *v = viewed_plan(cases[i].words);
		ck_assert_msg(times_said(&v->shown.timeline, cases[i].said) > 0, "%s never says '%s'", cases[i].words,
		              cases[i].said);
		ck_assert_msg(times_said(&v->shown.timeline, cases[i].never) == 0, "%s says '%s'", cases[i].words,
		              cases[i].never);
	}
}

SUITE("caption", 0)
