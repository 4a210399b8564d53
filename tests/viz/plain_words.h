/* Words for people: a text names nothing by a name that the source alone knows. */
#ifndef SHARDLAB_PLAIN_WORDS_H
#define SHARDLAB_PLAIN_WORDS_H

#include <check.h>
#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "strategy/plan/plan.h"
#include "tests/support/suite.h"

/* English that happens to be an operation's name. */
static inline bool is_english(const char *word)
{
	static const char *const english[] = {"add",  "free",   "send",    "receive",   "sum",     "gather",
	                                      "copy", "reduce", "scatter", "broadcast", "weights", "squares"};
	for (int i = 0; i < COUNT(english); i++)
		if (!strcmp(word, english[i]))
			return true;
	return false;
}

/* Beginnings of buffers' names, and words of the source for what has plain ones. */
static inline bool is_internal(const char *word)
{
	static const char *const begins[] = {"gathered.", "fetched.", "away.", "d.", "update.", "begin.", "staging"};
	static const char *const also[] = {"recompute", "scaler", "first_moment", "second_moment", "loss_scale"};
	for (int i = 0; i < COUNT(begins); i++)
		if (!strncmp(word, begins[i], strlen(begins[i])))
			return true;
	for (int i = 0; i < COUNT(also); i++)
		if (!strcmp(word, also[i]))
			return true;
	for (int k = 0; k < OP_KIND_COUNT; k++)
		if (!strcmp(word, op_name((enum op_kind)k)))
			return !is_english(word);
	return false;
}

static inline void ck_plain(const char *text)
{
	for (const char *at = text; *at;) {
		char word[64] = "";
		size_t n = 0;
		while (at[n] && (isalnum((unsigned char)at[n]) || at[n] == '_' || at[n] == '.'))
			n++;
		if (n && n < sizeof word) {
			memcpy(word, at, n);
			word[n] = 0;
			if (word[n - 1] == '.')
				word[n - 1] = 0;
			ck_assert_msg(!is_internal(word), "'%s' says '%s'", text, word);
		}
		at += n ? n : 1;
	}
}

#endif
