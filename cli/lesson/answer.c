/* Answers: a choice by its number or its words, or a number with its unit, as the window's questions read them. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/lesson/answer.h"
#include "cli/lesson/teach.h"
#include "strategy/base/language.h"

/* The unit that the lesson's own answer has. */
static enum answer_unit unit_of(const char *answer)
{
	size_t length = strlen(answer);
	return strchr(answer, '%')                   ? ANSWER_PERCENT
	       : length && answer[length - 1] == 'B' ? ANSWER_BYTES
	                                             : ANSWER_NUMBER;
}

const char *lesson_amount(const struct piece *p, double *value)
{
	static const char *const units[] = {
	        [ANSWER_NUMBER] = "number", [ANSWER_BYTES] = "bytes", [ANSWER_PERCENT] = "percent"};
	char why[ANSWER_WORDS];
	enum answer_unit unit = unit_of(p->answer);
	return answer_number(p->answer, unit, value, why) ? units[unit] : NULL;
}

/* A plain number may be followed by what it counts: "5.5 bytes a parameter", "14 rounds". A unit that multiplies, as in
 * "2 GB", stays, and so does anything that is not a word. */
static const char *number_alone(const char *typed, char out[ANSWER_WORDS])
{
	size_t digits = strspn(typed, " \t+-.,0123456789");
	const char *words = typed + digits;
	bool multiplies = *words && strchr("kKMGTP", *words) && (words[1] == 'B' || words[1] == 'i');
	size_t end = 0;
	while (isalpha((unsigned char)words[end]) || words[end] == ' ' || (words[end] & 0x80)) /* 字节 too */
		end++;
	snprintf(out, ANSWER_WORDS, "%.*s", words[end] || multiplies ? ANSWER_WORDS - 1 : (int)digits, typed);
	return out;
}

static enum answer judge_number(const struct piece *p, const char *typed, char why[ANSWER_WORDS])
{
	enum answer_unit unit = unit_of(p->answer);
	double value, right;
	char alone[ANSWER_WORDS];
	if (unit == ANSWER_NUMBER)
		typed = number_alone(typed, alone);
	if (!answer_number(p->answer, unit, &right, why) || !answer_number(typed, unit, &value, why))
		return ANSWER_UNCLEAR;
	return fabs(value - right) <= p->tolerance / 100 * fabs(right) + 1e-9 ? ANSWER_RIGHT : ANSWER_WRONG;
}

static enum answer judge_choice(const struct piece *p, const char *typed, char why[ANSWER_WORDS])
{
	char *end;
	long number = strtol(typed, &end, 10);
	if (end != typed && !end[strspn(end, " \t.)\n")] && number >= 1 && number <= p->choice_count)
		return number == p->right + 1 ? ANSWER_RIGHT : ANSWER_WRONG;
	for (int i = 0; i < p->choice_count; i++)
		if (!strcasecmp(typed, p->choices[i]))
			return i == p->right ? ANSWER_RIGHT : ANSWER_WRONG;
	snprintf(why, ANSWER_WORDS, tr("Answer with a number from 1 to %d."), p->choice_count);
	return ANSWER_UNCLEAR;
}

enum answer teach_judge(const struct piece *p, const char *typed, char why[ANSWER_WORDS])
{
	return p->choice ? judge_choice(p, typed, why) : judge_number(p, typed, why);
}
