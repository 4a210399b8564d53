#include "viz/question/asking.h"

#include <string.h>

static void ask_number(struct asking *a, int number)
{
	a->now = number;
	a->stage = number < a->set.count ? ASKED : ASKING_OVER;
	a->chosen = -1;
	a->typed[0] = a->why[0] = 0;
}

bool asking_begin(struct asking *a, const struct timeline *s, size_t position)
{
	int first = 0;
	*a = (struct asking){.timeline = s};
	questions_make(&a->set, s);
	while (first < a->set.count && a->set.list[first].position < position)
		first++;
	ask_number(a, first < a->set.count ? first : 0);
	return a->set.count > 0;
}

const struct question *asking_now(const struct asking *a)
{
	return a->now < a->set.count ? &a->set.list[a->now] : NULL;
}

static void note(struct asking *a, enum asking_result result)
{
	a->result[a->now] = result;
	a->tally.right += result == ASKING_RIGHT;
	a->tally.wrong += result == ASKING_WRONG;
	a->tally.skipped += result == ASKING_SKIPPED;
	a->stage = ANSWERED;
}

/* The choice that an answer stands for, to be marked; -1: it is a number. */
static int choice_meant(const struct question *q, const char *text)
{
	char why[ANSWER_WORDS];
	struct question one = *q;
	for (one.right = 0; one.right < q->choice_count; one.right++)
		if (question_check(&one, text, why) == ANSWER_RIGHT)
			return one.right;
	return -1;
}

enum answer asking_answer(struct asking *a, const char *text)
{
	const struct question *q = asking_now(a);
	if (!q || a->stage != ASKED)
		return ANSWER_UNCLEAR;
	enum answer answer = question_check(q, text, a->why);
	if (answer == ANSWER_UNCLEAR)
		return answer;
	a->chosen = choice_meant(q, text);
	note(a, answer == ANSWER_RIGHT ? ASKING_RIGHT : ASKING_WRONG);
	return answer;
}

void asking_skip(struct asking *a)
{
	a->typed[0] = a->why[0] = 0;
	if (a->stage == ASKED)
		note(a, ASKING_SKIPPED);
}

void asking_next(struct asking *a)
{
	if (a->stage == ANSWERED)
		ask_number(a, a->now + 1);
}

bool asking_type(struct asking *a, char c)
{
	size_t n = strlen(a->typed);
	a->why[0] = 0;
	if (n + 1 >= sizeof a->typed)
		return false;
	a->typed[n] = c;
	a->typed[n + 1] = 0;
	return true;
}

bool asking_erase(struct asking *a)
{
	size_t n = strlen(a->typed);
	a->why[0] = 0;
	if (!n)
		return false;
	a->typed[n - 1] = 0;
	return true;
}

bool asking_is_open(const struct asking *a)
{
	return a && a->stage == ASKED;
}

bool asking_hides(const struct asking *a)
{
	return asking_is_open(a) && asking_now(a)->hides;
}
