/* Answers: a choice, or a number with its unit. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/lesson/teach.h"

enum measure { MEASURE_NONE, MEASURE_BYTES, MEASURE_TIME, MEASURE_PART };

static const struct unit {
	const char *name;
	enum measure measure;
	double factor;
} units[] = {
        {"", MEASURE_NONE, 1},
        {"B", MEASURE_BYTES, 1},
        {"byte", MEASURE_BYTES, 1},
        {"bytes", MEASURE_BYTES, 1},
        {"kB", MEASURE_BYTES, 1e3},
        {"MB", MEASURE_BYTES, 1e6},
        {"GB", MEASURE_BYTES, 1e9},
        {"TB", MEASURE_BYTES, 1e12},
        {"KiB", MEASURE_BYTES, 1024},
        {"MiB", MEASURE_BYTES, 1024.0 * 1024},
        {"GiB", MEASURE_BYTES, 1024.0 * 1024 * 1024},
        {"TiB", MEASURE_BYTES, 1024.0 * 1024 * 1024 * 1024},
        {"ns", MEASURE_TIME, 1e-9},
        {"us", MEASURE_TIME, 1e-6},
        {"µs", MEASURE_TIME, 1e-6},
        {"ms", MEASURE_TIME, 1e-3},
        {"s", MEASURE_TIME, 1},
        {"min", MEASURE_TIME, 60},
        {"%", MEASURE_PART, 0.01},
};

/* "1,500 MB", "1.5GB", "24 %". False: it is no number, or its unit is unknown. */
static bool read_number(const char *text, double *value, const struct unit **unit)
{
	char digits[64];
	size_t at = 0;
	text += strspn(text, " \t");
	/* Commas part thousands. */
	for (; *text && (isdigit((unsigned char)*text) || strchr(".,+-", *text) ||
	                 (tolower((unsigned char)*text) == 'e' && isdigit((unsigned char)text[1])));
	     text++)
		if (*text != ',' && at + 1 < sizeof digits)
			digits[at++] = *text;
	digits[at] = 0;
	char *end;
	*value = strtod(digits, &end);
	if (!at || *end || !isfinite(*value))
		return false;
	text += strspn(text, " \t");
	size_t length = strcspn(text, " \t\n");
	if (text[length + strspn(text + length, " \t\n")])
		return false;
	for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
		if (strlen(units[i].name) == length && !strncasecmp(units[i].name, text, length)) {
			*unit = &units[i];
			return true;
		}
	return false;
}

static enum answer judge_number(const struct piece *p, const char *typed, char *hint, size_t size)
{
	const struct unit *unit, *right_unit;
	double value, right;
	if (!read_number(typed, &value, &unit)) {
		snprintf(hint, size, "That is no number with a unit that is known, such as 1.5 GB, 20 ms or 25 %%.");
		return ANSWER_UNREADABLE;
	}
	if (!read_number(p->answer, &right, &right_unit))
		return ANSWER_UNREADABLE;
	if (unit->measure != right_unit->measure && unit->measure != MEASURE_NONE) {
		snprintf(hint, size, "That has another unit than what is asked for: answer in %s.",
		         *right_unit->name ? right_unit->name : "a number without a unit");
		return ANSWER_UNREADABLE;
	}
	/* Without a unit it is in the unit of the answer. */
	value *= unit->measure == MEASURE_NONE ? right_unit->factor : unit->factor;
	right *= right_unit->factor;
	return fabs(value - right) <= p->tolerance / 100 * fabs(right) + 1e-12 ? ANSWER_RIGHT : ANSWER_WRONG;
}

static enum answer judge_choice(const struct piece *p, const char *typed, char *hint, size_t size)
{
	char *end;
	long number = strtol(typed, &end, 10);
	if (end != typed && !end[strspn(end, " \t.)\n")] && number >= 1 && number <= p->choice_count)
		return number == p->right + 1 ? ANSWER_RIGHT : ANSWER_WRONG;
	for (int i = 0; i < p->choice_count; i++)
		if (!strcasecmp(typed, p->choices[i]))
			return i == p->right ? ANSWER_RIGHT : ANSWER_WRONG;
	snprintf(hint, size, "Answer with a number from 1 to %d.", p->choice_count);
	return ANSWER_UNREADABLE;
}

enum answer teach_judge(const struct piece *p, const char *typed, char *hint, size_t size)
{
	return p->choice ? judge_choice(p, typed, hint, size) : judge_number(p, typed, hint, size);
}
