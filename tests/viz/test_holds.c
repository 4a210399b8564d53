/* Memory as the window shows it, beside what goes on: what an operation uses is there while it runs, and what is freed
 * is said. */
#include <check.h>
#include <string.h>

#include "tests/support/suite.h"
#include "tests/support/viewed.h"
#include "tests/viz/catalogue.h"

/* The allocation, or the free, of a buffer in the step; -1: none, as it lasts. */
static int find(const struct role *r, enum op_kind kind, int buffer)
{
	for (int i = r->step.begin; i < r->step.end; i++)
		if (r->ops[i].kind == kind && op_buffer(&r->ops[i]) == buffer)
			return i - r->step.begin;
	return -1;
}

/* Returns how many buffers were looked at. */
static int check_operands(const struct state *st, int index, int op, const char *request)
{
	const struct role *r = timeline_role_of(st->timeline, index);
	bool computes = r->ops[op].queue == QUEUE_COMPUTE;
	int issued = st->ranks[index].issued, found = 0;
	/* Copies and receives are issued ahead of what is computed before them. */
	if (!computes && (r->ops[op].queue != QUEUE_COMMUNICATION || r->ops[op].kind == OP_RECEIVE))
		return 0;
	for (int k = 0; k < op_operand_count(r->ops[op].kind); k++) {
		int buffer = r->ops[op].operand[k].buffer;
		int from = buffer < 0 ? -1 : find(r, OP_ALLOC, buffer), to = buffer < 0 ? -1 : find(r, OP_FREE, buffer);
		if (from < 0)
			continue;
		ck_assert_msg(issued > from && (to < 0 || issued <= to || !computes),
		              "%s: at %zu %s of %s is %s while %s uses it", request, st->position,
		              op_name(r->ops[op].kind), r->buffers[buffer].name, issued > from ? "gone" : "not there",
		              op_name(r->ops[op].kind));
		found++;
	}
	return found;
}

/* Also what a collective receives, from its beginning on; and nothing is gone before it has been computed with. What is
 * sent may be given up before it has left, as the plan does: who comes next in its place waits. */
START_LOOP_TEST(what_is_used_is_there, 0, REQUESTS)
{
	struct state st = {0};
	int found = 0;
	const struct viewed *v = viewed_plan(catalogue[_i]);
	const struct timeline *s = &v->shown.timeline;
	for (size_t p = 0; p < s->instant_count; p++) {
		state_make(&st, s, STEP_SIZE_MESSAGE, p);
		for (int index = 0; index < s->rank_count; index++)
			for (int q = 0; q < QUEUE_COUNT; q++)
				if (st.ranks[index].running[q] >= 0)
					found += check_operands(&st, index, st.ranks[index].running[q], catalogue[_i]);
	}
	ck_assert_int_gt(found, 0);
	state_release(&st);
}

static int said;

static void look_for_the_point(const struct state *st, const char *caption)
{
	(void)st;
	said += strstr(caption, "the point of ZeRO-3") != NULL;
}

/* Every unit's whole parameters are freed after each pass: each time it is said that this is the point. */
START_TEST(every_free_is_said)
{
	int frees = 0;
	const struct viewed *v = viewed_plan(GPT " zero3 ranks=4");
	const struct role *r = timeline_role_of(&v->shown.timeline, 0);
	for (int i = r->step.begin; i < r->step.end; i++)
		frees += r->ops[i].kind == OP_FREE &&
		         v->shown.timeline.roles[0].held[op_buffer(&r->ops[i])] == HELD_WHOLE_PARAMETERS;
	said = 0;
	each_caption(&v->shown.timeline, STEP_SIZE_ROUND, look_for_the_point);
	ck_assert_int_eq(said, frees);
	ck_assert_int_eq(frees, 6);
}

/* ---- the loss scale ---- */

static const char *scale_words;

static void look_for_scale(const struct state *st, const char *caption)
{
	(void)st;
	said += strstr(caption, scale_words) != NULL;
}

/* A plan knows the one that it begins with; the trace of a run the one of its step. */
START_TEST(the_loss_scale_is_that_of_the_step)
{
	static const struct {
		struct trace_scale scale;
		const char *loss, *update;
	} cases[] = {
	        {{0},
	         "the loss scale, at first 65,536,",
	         "It begins at 65,536. A step with an infinity is skipped; the first leaves it"},
	        {{16384, 8192, true},
	         "the loss scale, in this step 16,384,",
	         "An infinity was met, so this step is skipped: from 16,384 it goes down to 8,192."},
	        {{16384, 16384, true},
	         "the loss scale, in this step 16,384,",
	         "this step is skipped: it stays at 16,384, since the first infinity is forgiven."},
	        {{16384, 32768, false},
	         "the loss scale, in this step 16,384,",
	         "No infinity was met: from 16,384 it goes up to 32,768."},
	        {{16384, 16384, false},
	         "the loss scale, in this step 16,384,",
	         "No infinity was met: it stays at 16,384."},
	};
	struct viewed *v = viewed_plan(MLP " ddp ranks=2 precision=fp16");
	for (int i = 0; i < COUNT(cases); i++)
		for (int k = 0; k < 2; k++) {
			v->trace.scale = cases[i].scale;
			scale_words = k ? cases[i].update : cases[i].loss;
			said = 0;
			each_caption(&v->shown.timeline, STEP_SIZE_ROUND, look_for_scale);
			ck_assert_msg(said > 0, "no '%s'", scale_words);
		}
}

SUITE("holds", 60)
