/* Answers to questions: numbers with units, choices, and the count of a round of them. */
#include <stdio.h>
#include <string.h>

#include "tests/support/suite.h"
#include "tests/support/viewed.h"
#include "tests/viz/catalogue.h"
#include "viz/question/asking.h"

/* ---- answers ---- */

START_TEST(numbers_with_units)
{
	static const struct {
		const char *text;
		double bytes;
	} good[] = {{"1.5 GB", 1.5e9},      {"1500 MB", 1.5e9},       {"1.4 GiB", 1.4 * 1073741824.0},
	            {" 1.5gb ", 1.5e9},     {"1,059,840 B", 1059840}, {"7 kB", 7000},
	            {"512 bytes", 512},     {".5 MiB", 524288},       {"1,500 MB", 1.5e9},
	            {"1,500.5 kB", 1500500}};
	static const struct {
		const char *text, *why;
	} bad[] = {{"1,5 GB", "with a point"}, {"abc", "its unit"},     {"", "its unit"},
	           {"12", "Which unit"},       {"12 lb", "not known"},  {"1.5.2 GB", "its unit"},
	           {"1,50,000 B", "A comma"},  {"nan GB", "its unit"},  {"1 GB or 2", "One number"},
	           {"GB", "its unit"},         {"0x10 B", "One number"}};
	char why[ANSWER_WORDS];
	double value;
	for (int i = 0; i < COUNT(good); i++) {
		ck_assert_msg(answer_number(good[i].text, ANSWER_BYTES, &value, why), "'%s': %s", good[i].text, why);
		ck_assert_double_eq_tol(value, good[i].bytes, 1e-6 * good[i].bytes);
	}
	for (int i = 0; i < COUNT(bad); i++) {
		ck_assert_msg(!answer_number(bad[i].text, ANSWER_BYTES, &value, why), "'%s' is %g", bad[i].text, value);
		ck_assert_msg(strstr(why, bad[i].why), "'%s': %s", bad[i].text, why);
	}
	ck_assert(answer_number("42.9 %", ANSWER_PERCENT, &value, why));
	ck_assert_double_eq_tol(value, 42.9, 1e-9);
	ck_assert(answer_number("42.9", ANSWER_PERCENT, &value, why));
	ck_assert(!answer_number("42.9 MB", ANSWER_PERCENT, &value, why));
	ck_assert(answer_number("−3", ANSWER_NUMBER, &value, why));
	ck_assert_double_eq_tol(value, -3, 1e-9);
	ck_assert(!answer_number("8 apples", ANSWER_NUMBER, &value, why));
}

START_TEST(answers_within_two_per_cent)
{
	struct question q = {.number = 1.5e9, .unit = ANSWER_BYTES};
	char why[ANSWER_WORDS];
	ck_assert_int_eq(question_check(&q, "1.5 GB", why), ANSWER_RIGHT);
	ck_assert_int_eq(question_check(&q, "1.4 GiB", why), ANSWER_RIGHT);
	ck_assert_int_eq(question_check(&q, "1.47 GB", why), ANSWER_RIGHT);
	ck_assert_int_eq(question_check(&q, "1.46 GB", why), ANSWER_WRONG);
	ck_assert_int_eq(question_check(&q, "1.5 MB", why), ANSWER_WRONG);
	ck_assert_int_eq(question_check(&q, "much", why), ANSWER_UNCLEAR);
	struct question chosen = {.choice = {"chunk 0", "chunk 1", "chunk 2"}, .choice_count = 3, .right = 1};
	ck_assert_int_eq(question_check(&chosen, "2", why), ANSWER_RIGHT);
	ck_assert_int_eq(question_check(&chosen, "b", why), ANSWER_RIGHT);
	ck_assert_int_eq(question_check(&chosen, " Chunk 1 ", why), ANSWER_RIGHT);
	ck_assert_int_eq(question_check(&chosen, "3", why), ANSWER_WRONG);
	ck_assert_int_eq(question_check(&chosen, "4", why), ANSWER_UNCLEAR);
	ck_assert_str_eq(why, "Choose one of 1 to 3.");
	ck_assert_int_eq(question_check(&chosen, "", why), ANSWER_UNCLEAR);
	ck_assert_int_eq(question_check(&chosen, "chunk", why), ANSWER_UNCLEAR);
}

/* ---- asking ---- */

START_TEST(a_tally_is_kept)
{
	struct asking a;
	char words[TALLY_WORDS], number[16], answer[QUESTION_CHOICE];
	const struct viewed *v = viewed_plan(GPT " zero3 ranks=4");
	const struct timeline *s = &v->shown.timeline;
	ck_assert(asking_begin(&a, s, 0));
	int right = 0, wrong = 0, skipped = 0;
	for (const struct question *q; (q = asking_now(&a)) != NULL; asking_next(&a)) {
		ck_assert(asking_is_open(&a));
		asking_next(&a); /* not before an answer */
		ck_assert_ptr_eq(asking_now(&a), q);
		ck_assert_int_eq(asking_answer(&a, "?"), ANSWER_UNCLEAR);
		ck_assert(*a.why);
		if (a.now % 3 == 2) {
			asking_skip(&a);
			skipped++;
		} else if (a.now % 3 == 1 && q->choice_count) {
			snprintf(number, sizeof number, "%d", (q->right + 1) % q->choice_count + 1);
			ck_assert_int_eq(asking_answer(&a, number), ANSWER_WRONG);
			ck_assert_int_eq(a.chosen, (q->right + 1) % q->choice_count);
			wrong++;
		} else {
			ck_assert_int_eq(asking_answer(&a, question_answer(q, answer)), ANSWER_RIGHT);
			right++;
		}
		ck_assert(!asking_is_open(&a));
		asking_skip(&a); /* it is answered */
	}
	ck_assert_int_eq(a.stage, ASKING_OVER);
	ck_assert_int_eq(a.tally.right, right);
	ck_assert_int_eq(a.tally.wrong, wrong);
	ck_assert_int_eq(a.tally.skipped, skipped);
	a.tally = (struct tally){7, 2, 2};
	ck_assert_str_eq(tally_words(&a.tally, words), "7 of 9 right, 2 skipped");
	a.tally = (struct tally){3, 0, 0};
	ck_assert_str_eq(tally_words(&a.tally, words), "3 of 3 right");
	ck_assert(asking_begin(&a, s, s->instant_count)); /* behind the last: from the first */
	ck_assert_int_eq(a.now, 0);
}

SUITE("answers", 120)
