/* Build it yourself: what is legal, what is refused and in which words, and what a worse order costs. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/plan_check.h"
#include "tests/support/reports.h"
#include "tests/support/suite.h"
#include "viz/build/board.h"
#include "viz/build/describe.h"

#define GPT "gpt:layers=2,width=64,heads=2,context=16,vocabulary=64"
#define BUCKETS " ranks=4 bucket=200448"

/* Large enough that communication takes its time. */
#define WIDE "gpt:layers=2,width=1024,heads=16"

static const char *const strategies[] = {
        GPT " single",        GPT " ddp" BUCKETS,   GPT " zero1" BUCKETS,
        GPT " zero2" BUCKETS, GPT " zero3 ranks=4", GPT " fsdp ranks=4",
};

static struct exercise open_words(const char *words)
{
	struct exercise e;
	ck_assert_msg(!exercise_open(&e, right_plan("%s", words)), "%s: %s", words, status_message());
	return e;
}

static void play(struct exercise *e, const char *moves)
{
	ck_assert_msg(!exercise_play(e, moves), "%s: %s", moves, status_message());
}

static const struct report *simulated(const struct plan *p)
{
	return report_simulated_on(p, "v100-16gb", GRAIN_OPERATION, NULL);
}

static struct outcome outcome_of(const struct plan *p)
{
	struct outcome o;
	outcome_make(&o, p, simulated(p));
	return o;
}

/* ---- the strategy's own order ---- */

/* It is accepted move by move, and what comes of it is the strategy's plan, to the last wait. */
START_LOOP_TEST(own_order, 0, COUNT(strategies))
{
	struct exercise e = open_words(strategies[_i]);
	struct plan mine;
	for (int i = 0; i < e.move_count; i++) {
		ck_assert_int_eq(exercise_hint(&e), i);
		ck_assert_int_eq(exercise_find(&e, e.moves[i].name), i);
		ck_assert_msg(exercise_place(&e, i), "%s: %s", strategies[_i], e.said.text);
	}
	ck_assert_msg(exercise_done(&e), "%s", e.said.text);
	exercise_plan(&e, &mine);
	char *own = plan_to_text(e.plan, NULL), *built = plan_to_text(&mine, NULL);
	ck_assert_str_eq(built, own);
	const struct report *r = simulated(e.plan);
	struct outcome o = outcome_of(&mine);
	ck_assert_int_eq(o.peak_bytes, r->roles[0].memory[SPACE_DEVICE].peak_bytes);
	ck_assert_int_eq(o.step_ns, r->time.step);
	ck_assert_int_eq(o.exposed_ns, r->time.exposed);
	ck_assert_int_eq(o.sent_bytes, r->roles[0].sent_bytes);
	plan_release(&mine);
	exercise_release(&e);
}

/* Every operation of the step is of one move, and no two moves have one name. */
START_LOOP_TEST(moves_are_the_step, 0, COUNT(strategies))
{
	struct exercise e = open_words(strategies[_i]);
	int next = e.plan->roles[0].step.begin;
	for (int i = 0; i < e.move_count; i++) {
		for (int k = 0; k < e.moves[i].op_count; k++)
			ck_assert_int_eq(e.moves[i].ops[k], next++);
		for (int k = 0; k < i; k++)
			ck_assert_str_ne(e.moves[i].name, e.moves[k].name);
	}
	ck_assert_int_eq(next, e.plan->roles[0].step.end);
	exercise_release(&e);
}

/* The drawer has every move once, by kind, and does not show the strategy's own order. */
START_LOOP_TEST(the_drawer_gives_no_order_away, 0, COUNT(strategies))
{
	struct exercise e = open_words(strategies[_i]);
	int order[EXERCISE_MOVES], count = exercise_drawer(&e, order), last = -1;
	bool had[EXERCISE_MOVES] = {false};
	ck_assert_int_eq(count, e.move_count);
	for (int k = 0; k < count; k++) {
		const struct move *m = &e.moves[order[k]];
		ck_assert(!had[order[k]] && (!k || m->kind >= e.moves[order[k - 1]].kind));
		had[order[k]] = true;
		if (m->kind != MOVE_BACKWARD)
			continue;
		ck_assert_int_gt(m->kernel, last); /* as the model has them: backward they run the other way */
		last = m->kernel;
	}
	ck_assert_int_gt(last, 0);
	exercise_release(&e);
}

/* ---- what is refused ---- */

#define FORWARD "load samples, forward embedding, forward block.0, forward block.1, forward head, "
#define ZERO3_FORWARD                                                                                                  \
	"load samples, gather root, gather block.0, forward embedding, gather block.1, forward block.0, free "         \
	"block.0, "                                                                                                    \
	"forward block.1, free block.1, forward head, free root, "
#define ZERO3_BACKWARD "gather root, gather block.1, backward head, gather block.0, backward block.1, "

enum { SINGLE, DDP, ZERO1, ZERO2, ZERO3, FSDP };

static const struct {
	int strategy, rule;
	const char *moves; /* the last is refused; "done" stands for saying so */
	const char *words;
} illegal[] = {
        {SINGLE, 3, "forward embedding", "needs the samples, which nothing has made yet. First: load samples"},
        {SINGLE, 3, "load samples, forward block.0", "First: forward embedding"},
        {SINGLE, 3, "load samples, load samples", "has been done"},
        {SINGLE, 3, FORWARD "backward block.1", "First: backward head"},
        {SINGLE, 5, FORWARD "update block.0", "First: backward block.0"},
        {SINGLE, 3, FORWARD "done", "the samples would be left in memory. Still to place: backward embedding"},
        {DDP, 5, FORWARD "backward head, all-reduce bucket.0", "backward block.1 still adds to them"},
        {DDP, 5, FORWARD "backward head, backward block.1, all-reduce bucket.0, all-reduce bucket.0",
         "every rank's gradients once more"},
        {DDP, 5, FORWARD "backward head, backward block.1, count the step, update bucket.0",
         "the samples of this rank alone, and ranks would drift apart. First: all-reduce bucket.0"},
        {DDP, 6, FORWARD "backward head, backward block.1, all-reduce bucket.0, update bucket.0",
         "First: count the step"},
        {DDP, 6,
         FORWARD
         "backward head, backward block.1, all-reduce bucket.0, count the step, update bucket.0, update bucket.0",
         "would take the step twice"},
        {DDP, 5, "load samples, count the step", "First: forward head"},
        {DDP, 6, "..., count the step", "a second time"},
        {DDP, 6,
         FORWARD "backward head, backward block.1, all-reduce bucket.0, backward block.0, backward embedding, "
                 "all-reduce bucket.2, all-reduce bucket.1, count the step, update bucket.0, update bucket.1, done",
         "the step is not complete. Missing: update bucket.2"},
        {DDP, 3, FORWARD "backward head, backward block.1, backward block.1", "is no longer in memory"},
        {ZERO1, 6, "gather bucket.0", "not updated yet. First: update bucket.0"},
        {ZERO2, 3, "reduce-scatter bucket.0", "needs the whole gradients of bucket.0"},
        {ZERO2, 3, "..., free gradients of bucket.0", "given back already"},
        {ZERO3, 3, "load samples, forward embedding", "needs the whole parameters of root, which nothing has made yet"},
        {ZERO3, 3, "load samples, gather root, free root",
         "forward embedding still needs the whole parameters of root"},
        {ZERO3, 3, "free block.0", "nothing to free yet: gather block.0 comes first"},
        {ZERO3, 3, ZERO3_FORWARD "backward head", "First: gather root again"},
        {ZERO3, 3, ZERO3_FORWARD ZERO3_BACKWARD "free gradients of block.1", "reduce-scatter block.1 still needs"},
        {FSDP, 3, "load samples, gather root, gather root, gather root", "has been done"},
        {FSDP, 3, ZERO3_FORWARD ZERO3_BACKWARD "free block.1, done", "would be left in memory. Still to place: "},
};

/* No word that the source alone knows. */
static void ck_plain(const char *text)
{
	static const char *const inner[] = {"operand", "buffer '", "alloc", "adamw", "advance", "role ", "operation "};
	for (int k = 0; k < OP_KIND_COUNT; k++) {
		const char *name = op_name((enum op_kind)k);
		if (strpbrk(name, "._"))
			ck_assert_msg(!strstr(text, name), "'%s' has %s", text, name);
	}
	for (int i = 0; i < COUNT(inner); i++)
		ck_assert_msg(!strstr(text, inner[i]), "'%s' has %s", text, inner[i]);
}

START_LOOP_TEST(refusals, 0, COUNT(illegal))
{
	struct exercise e = open_words(strategies[illegal[_i].strategy]);
	char moves[600], begins[16];
	snprintf(moves, sizeof moves, "%s", illegal[_i].moves);
	char *done = strstr(moves, "done");
	int wanted = 0;
	if (done)
		*done = 0;
	for (const char *c = moves; *c; c++)
		wanted += *c == ',' && !strstr(moves, "...");
	play(&e, moves);
	if (done) {
		ck_assert_msg(e.said.accepted, "%s", e.said.text);
		exercise_done(&e);
	} else if (!strstr(moves, "...")) {
		ck_assert_int_eq(e.placed_count, wanted); /* all but the last */
	}
	ck_assert_msg(!e.said.accepted && !e.done, "%s is accepted", illegal[_i].moves);
	snprintf(begins, sizeof begins, "Rule %d (", illegal[_i].rule);
	ck_assert_msg(!strncmp(e.said.text, begins, strlen(begins)), "%s: %s", illegal[_i].moves, e.said.text);
	ck_assert_msg(strstr(e.said.text, illegal[_i].words), "%s: %s", illegal[_i].moves, e.said.text);
	ck_plain(e.said.text);
	exercise_release(&e);
}

/* ---- what is worse ---- */

/* The sign of the difference: -1 less, 0 as much, 1 more. */
static const struct {
	int strategy, peak, exposed, sent;
	const char *moves;
	const char *words;
} worse[] = {
        {ZERO3, 1, 1, 0,
         "load samples, gather root, gather block.0, gather block.1, gather root, gather block.1, gather block.0, "
         "forward embedding, forward block.0, forward block.1, forward head, backward head, backward block.1, "
         "backward block.0, backward embedding, ...",
         "more whole parameters: gather them later, or free them sooner"},
        {ZERO3, -1, 1, 0,
         "load samples, gather root, forward embedding, gather block.0, forward block.0, free block.0, gather block.1, "
         "forward block.1, free block.1, forward head, free root, gather root, backward head, gather block.1, "
         "backward block.1, ...",
         "more communication is exposed: begin it while something is left to compute"},
        {DDP, 0, 1, 0,
         FORWARD "backward head, backward block.1, backward block.0, backward embedding, all-reduce bucket.0, ...",
         "begin it while something is left to compute"},
        {ZERO2, -1, 1, 0,
         FORWARD "backward head, backward block.1, reduce-scatter bucket.0, free gradients of bucket.0, ...",
         "lower than in the strategy's own plan. The step is"},
        {ZERO1, 0, 1, 1, "..., gather bucket.0", "something travels twice"},
};

static int sign(int64_t x)
{
	return x > 0 ? 1 : x < 0 ? -1 : 0;
}

START_LOOP_TEST(worse_orders, 0, COUNT(worse))
{
	static const char *const wide[] = {
	        [DDP] = WIDE " ddp ranks=4 bucket=50393088",
	        [ZERO1] = WIDE " zero1 ranks=4 bucket=50393088",
	        [ZERO2] = WIDE " zero2 ranks=4 bucket=50393088",
	        [ZERO3] = WIDE " zero3 ranks=4",
	};
	struct exercise e = open_words(wide[worse[_i].strategy]);
	struct plan mine;
	char text[512];
	play(&e, worse[_i].moves);
	ck_assert_msg(e.said.accepted && exercise_done(&e), "%s: %s", worse[_i].moves, e.said.text);
	exercise_plan(&e, &mine);
	struct outcome own = outcome_of(e.plan), built = outcome_of(&mine);
	outcome_words(&own, &built, text, sizeof text);
	ck_assert_msg(sign(built.peak_bytes - own.peak_bytes) == worse[_i].peak, "%d: %s", _i, text);
	ck_assert_msg(sign(built.exposed_ns - own.exposed_ns) == worse[_i].exposed, "%d: %s", _i, text);
	ck_assert_msg(sign(built.sent_bytes - own.sent_bytes) == worse[_i].sent, "%d: %s", _i, text);
	ck_assert_msg(strstr(text, worse[_i].words), "%d: %s", _i, text);
	plan_release(&mine);
	exercise_release(&e);
}

/* ---- undo, names, lists ---- */

START_TEST(taking_back)
{
	struct exercise e = open_words(strategies[ZERO3]);
	play(&e, "Load  samples\ngather root # the first\n\n, gather block.0,");
	ck_assert_int_eq(e.placed_count, 3);
	ck_assert(!exercise_place(&e, exercise_find(&e, "forward block.0")));
	ck_assert_int_eq(e.placed_count, 3);
	ck_assert(exercise_undo(&e) && exercise_undo(&e));
	ck_assert_int_eq(e.placed_count, 1);
	ck_assert(exercise_place(&e, exercise_find(&e, "gather root")));
	ck_assert_str_eq(e.moves[exercise_find(&e, "gather root")].name, "gather root again");
	exercise_restart(&e);
	ck_assert(!exercise_undo(&e));
	ck_assert_int_eq(exercise_find(&e, "gather rot"), -1);
	ck_assert_int_eq(exercise_find(&e, ""), -1);
	ck_assert_int_eq(exercise_play(&e, "load samples, gather rot"), STATUS_INPUT);
	ck_assert(strstr(status_message(), "no move 'gather rot' under zero3"));
	exercise_release(&e);
}

/* Plans for which there is no exercise. */
START_TEST(no_exercise)
{
	static const struct {
		const char *words, *says;
	} cases[] = {
	        {GPT " dp ranks=4", "under dp ranks have programs of their own"},
	        {GPT " pipeline ranks=2", "under pipeline ranks have programs of their own"},
	        {GPT " zero3 ranks=4 accumulate=2", "more than 40 moves"},
	        {GPT " zero2 ranks=4 offload=optimizer", "leave out offload"},
	};
	struct exercise e;
	for (int i = 0; i < COUNT(cases); i++) {
		ck_assert_int_eq(exercise_open(&e, right_plan("%s", cases[i].words)), STATUS_INPUT);
		ck_assert_msg(strstr(status_message(), cases[i].says), "%s", status_message());
	}
}

/* An inserted move is judged with all that comes after it. */
START_TEST(what_comes_after_is_judged_too)
{
	struct exercise e = open_words(strategies[ZERO3]);
	char before[512], after[512];
	play(&e, "load samples, gather root, forward embedding, gather block.0, forward block.0");
	exercise_list(&e, before, sizeof before);
	ck_assert(!exercise_insert(&e, exercise_find(&e, "free block.0"), 4));
	exercise_list(&e, after, sizeof after);
	ck_assert_str_eq(before, after);
	ck_assert(!e.said.accepted && strstr(e.said.text, "forward block.0"));
	ck_assert(exercise_insert(&e, exercise_find(&e, "gather block.1"), 1));
	exercise_list(&e, after, sizeof after);
	exercise_restart(&e);
	play(&e, after); /* the list can be played again */
	ck_assert(e.said.accepted && e.placed_count == 6);
	exercise_release(&e);
}

/* ---- chance ---- */

/* Random moves: the finished plan is always verified, and every legal beginning can be finished. */
START_LOOP_TEST(random_moves, 0, COUNT(strategies))
{
	enum { LONGEST = 14 };
	uint64_t chance = 88172645463325252U + (uint64_t)_i;
	struct exercise e = open_words(strategies[_i]);
	int finished = 0;
	for (int n = 0; n < SUITE_CASES(340, 30); n++) {
		exercise_restart(&e);
		chance ^= chance << 13;
		chance ^= chance >> 7;
		chance ^= chance << 17;
		int length = (int)(chance % LONGEST);
		for (int k = 0; k < length; k++) {
			chance ^= chance << 13;
			chance ^= chance >> 7;
			chance ^= chance << 17;
			int move = (int)(chance >> 20) % (e.move_count + 4);
			if (move >= e.move_count && !(chance & 1))
				exercise_undo(&e);
			else if (move >= e.move_count) /* else hardly any gets on */
				exercise_place(&e, exercise_hint(&e));
			else if (move >= 0)
				exercise_place(&e, move);
			if (!e.said.accepted)
				ck_plain(e.said.text);
		}
		if (n % 4)
			continue;
		exercise_solve(&e);
		ck_assert_msg(exercise_done(&e), "%s", e.said.text);
		struct plan mine;
		exercise_plan(&e, &mine);
		ck_assert_msg(!plan_verify(&mine, NULL), "%s", status_message());
		plan_release(&mine);
		finished++;
	}
	ck_assert_int_gt(finished, 0);
	exercise_release(&e);
}

SUITE("build", 120)
