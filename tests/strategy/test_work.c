/* Work on several threads comes to what one thread comes to: which piece fails, with which message; and plans that are
 * compiled and verified so, right ones and broken ones. */
#include <string.h>

#include "strategy/base/work.h"
#include "strategy/strategies/strategy.h"
#include "tests/support/mutants.h"
#include "tests/support/plan_check.h"
#include "tests/support/suite.h"

enum { PIECES = 200, MUTANTS = 24 };

struct pieces {
	int calls[PIECES];
	int fails; /* the last of every so many pieces fails; 0: none */
};

static enum status piece(void *context, int i)
{
	struct pieces *p = context;
	p->calls[i]++;
	if (!p->fails || i % p->fails != p->fails - 1)
		return STATUS_OK;
	return status_fail(STATUS_CHECK, "{ranks} %%s: piece %d", i);
}

static enum status piece_of_pieces(void *context, int i)
{
	struct pieces inner = {.fails = 7};
	enum status s = piece(context, i);
	return s ? s : work_run(piece, &inner, PIECES, WORK_LEAST) == STATUS_CHECK ? STATUS_OK : STATUS_RUN;
}

START_LOOP_TEST(every_piece_is_done_once, 1, 6)
{
	struct pieces p = {0};
	work_set_threads(_i);
	must(work_run(piece_of_pieces, &p, PIECES, WORK_LEAST));
	for (int i = 0; i < PIECES; i++)
		ck_assert_int_eq(p.calls[i], 1);
	must(work_run(piece, &p, 0, WORK_LEAST));
}

START_LOOP_TEST(the_lowest_failure_is_told, 1, 6)
{
	work_set_threads(_i);
	for (int round = 0; round < 50; round++) {
		struct pieces p = {.fails = 50};
		must_fail(work_run(piece, &p, PIECES, WORK_LEAST), STATUS_CHECK, "ranks %s: piece 49");
		for (int i = 0; i < PIECES; i++)
			ck_assert(i < 50 ? p.calls[i] == 1 : p.calls[i] <= 1);
	}
}

#define PIPELINE "gpt:layers=8,width=4,heads=2,context=3,vocabulary=5 pipeline ranks=8 accumulate=80"

/* Large enough that it is made on several threads where there are several. */
START_TEST(plans_are_the_same)
{
	char *text[2];
	for (int i = 0; i < 2; i++) {
		work_set_threads(i ? 4 : 1);
		struct plan *p = made_plan(PIPELINE);
		ck_assert_int_ge(plan_operations(p), WORK_LEAST);
		must(plan_verify_and_keep(p));
		for (int role = 0; role < p->role_count; role++)
			ck_assert_int_eq(p->roles[role].arena_bytes[SPACE_DEVICE],
			                 layout_arena_bytes(&p->roles[role], SPACE_DEVICE, LAYOUT_EXACT));
		text[i] = plan_to_text(p, NULL);
	}
	ck_assert(!strcmp(text[0], text[1]));
}

START_TEST(refusals_are_the_same)
{
	const struct plan *p = made_plan(PIPELINE);
	int refused = 0;
	for (uint64_t seed = 0; seed < MUTANTS; seed++) {
		struct plan mutant;
		struct refusal one, several;
		int kind;
		char what[200], message[1024];
		if (mutant_make(&mutant, p, seed, &kind, what, sizeof what)) {
			work_set_threads(1);
			enum status s = plan_verify_why(&mutant, NULL, &one);
			snprintf(message, sizeof message, "%s", s ? status_message() : "");
			work_set_threads(4);
			ck_assert_msg(plan_verify_why(&mutant, NULL, &several) == s, "%s", what);
			ck_assert_msg(!s || !strcmp(message, status_message()), "%s: %s", what, message);
			ck_assert_msg(!memcmp(&one, &several, sizeof one), "%s", what);
			refused += s == STATUS_REFUSED;
		}
		plan_release(&mutant);
	}
	ck_assert_int_gt(refused, MUTANTS / 4);
}

SUITE("work", 60)
