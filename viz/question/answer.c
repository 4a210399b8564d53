/* Answers as people write them. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "strategy/base/language.h"
#include "strategy/base/number.h"
#include "viz/question/question_parts.h"

/* ---- numbers ---- */

/* Digits with a point, and commas that part them in threes: "1,059,840". Returns the end; NULL: that is no number. */
static const char *read_digits(const char *text, double *out)
{
	char plain[32];
	size_t n = 0, since = 0;
	bool point = false, comma = false;
	const char *c = text;
	for (; isdigit((unsigned char)*c) || *c == '.' || *c == ','; c++) {
		if (*c == ',' && (point || !n || since > 3 || (comma && since != 3)))
			return NULL;
		if (*c == '.' && (point || (comma && since != 3)))
			return NULL;
		point |= *c == '.';
		since = *c == ',' ? 0 : since + 1;
		comma |= *c == ',';
		if (*c != ',' && n + 1 < sizeof plain)
			plain[n++] = *c;
	}
	if (!n || (comma && !point && since != 3) || (n == 1 && point))
		return NULL;
	plain[n] = 0;
	*out = strtod(plain, NULL);
	return c;
}

static bool unclear(char why[ANSWER_WORDS], const char *text)
{
	snprintf(why, ANSWER_WORDS, "%s", text);
	return false;
}

static bool read_unit(const char *unit, double *out, char why[ANSWER_WORDS])
{
	if (!*unit)
		return unclear(why, tr("Which unit? Write 1.5 GB, 1500 MB or 1.4 GiB."));
	double bytes = number_byte_unit(unit, true);
	*out *= bytes;
	if (bytes > 0)
		return true;
	return unclear(why, tr("That unit is not known here. Write 1.5 GB, 1500 MB or 1.4 GiB."));
}

static bool not_a_number(const char *text, enum answer_unit unit, char why[ANSWER_WORDS])
{
	static const char *const asked[] = {
	        [ANSWER_NUMBER] = "A number is asked for, such as 8.",
	        [ANSWER_BYTES] = "A number with its unit is asked for: 1.5 GB, 1500 MB or 1.4 GiB.",
	        [ANSWER_PERCENT] = "A number is asked for, such as 42.9 %.",
	};
	if (strchr(text, ',') && isdigit((unsigned char)*text))
		return unclear(why, tr("A comma parts thousands, as in 1,500. Write a fraction with a point: 1.5."));
	return unclear(why, asked[unit]);
}

/* The sign that is typed, or the one that is written. */
static const char *read_sign(const char *text, double *sign)
{
	static const char minus[] = "−";
	bool written = !strncmp(text, minus, sizeof minus - 1);
	*sign = *text == '-' || written ? -1 : 1;
	return text + (written ? sizeof minus - 1 : *text == '-' || *text == '+');
}

bool answer_number(const char *text, enum answer_unit unit, double *out, char why[ANSWER_WORDS])
{
	char word[16];
	size_t n = 0;
	double sign;
	why[0] = 0;
	text = read_sign(text + strspn(text, " "), &sign);
	const char *end = read_digits(text, out);
	if (!end)
		return not_a_number(text, unit, why);
	*out *= sign;
	for (end += strspn(end, " "); *end && *end != ' ' && n + 1 < sizeof word; end++)
		word[n++] = *end;
	word[n] = 0;
	if (end[strspn(end, " ")])
		return unclear(why, tr("One number with its unit is asked for."));
	if (unit == ANSWER_BYTES)
		return read_unit(word, out, why);
	if (!*word || (unit == ANSWER_PERCENT && !strcmp(word, "%")))
		return true;
	return unclear(why, unit == ANSWER_PERCENT ? tr("Per cent are asked for, such as 42.9 %.")
	                                           : tr("A plain number is asked for, without a unit."));
}

/* ---- choices ---- */

/* Beginnings and ends do not count, nor does how it is written. */
static bool same_words(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b);
	while (n && a[n - 1] == ' ')
		n--;
	return n == m && !strncasecmp(a, b, n);
}

static int choice_of(const struct question *q, const char *text)
{
	text += strspn(text, " ");
	size_t n = strcspn(text, " ");
	for (int i = 0; i < q->choice_count; i++)
		if (same_words(text, q->choice[i]))
			return i;
	if (n != 1 || text[n + strspn(text + n, " ")])
		return -1;
	int number = isdigit((unsigned char)*text) ? *text - '1' : tolower((unsigned char)*text) - 'a';
	return number >= 0 && number < q->choice_count ? number : -1;
}

enum answer question_check(const struct question *q, const char *text, char why[ANSWER_WORDS])
{
	double number;
	why[0] = 0;
	if (!q->choice_count) {
		if (!answer_number(text, q->unit, &number, why))
			return ANSWER_UNCLEAR;
		return fabs(number - q->number) <= QUESTION_TOLERANCE * fabs(q->number) ? ANSWER_RIGHT : ANSWER_WRONG;
	}
	int choice = choice_of(q, text);
	if (choice < 0) {
		snprintf(why, ANSWER_WORDS, tr("Choose one of 1 to %d."), q->choice_count);
		return ANSWER_UNCLEAR;
	}
	return choice == q->right ? ANSWER_RIGHT : ANSWER_WRONG;
}

const char *question_answer(const struct question *q, char out[QUESTION_CHOICE])
{
	char bytes[BYTES];
	if (q->choice_count)
		snprintf(out, QUESTION_CHOICE, "%s", q->choice[q->right]);
	else if (q->unit == ANSWER_NUMBER)
		snprintf(out, QUESTION_CHOICE, "%.3g", q->number);
	else if (q->unit == ANSWER_BYTES)
		snprintf(out, QUESTION_CHOICE, "%s", bytes_of(bytes, (int64_t)q->number));
	else
		snprintf(out, QUESTION_CHOICE, "%.1f %%", q->number);
	return out;
}

/* ---- the count ---- */

const char *tally_words(const struct tally *t, char out[TALLY_WORDS])
{
	int n = snprintf(out, TALLY_WORDS, tr("%d of %d right"), t->right, t->right + t->wrong);
	if (t->skipped && n > 0 && n < TALLY_WORDS)
		snprintf(out + n, (size_t)(TALLY_WORDS - n), tr(", %d skipped"), t->skipped);
	return out;
}
