#include "cli/lesson/export/words.h"

#include <stdio.h>
#include <string.h>

#include "strategy/base/language.h"

static const char *const words[] = {
#define X(constant, english) english,
        LESSON_WORDS(X)
#undef X
};
_Static_assert(sizeof words / sizeof words[0] == WORD_COUNT, "every word has its row");

const char *lesson_word(const char *language, enum lesson_word w)
{
	return tr_in(language, words[w]);
}

const char *lesson_check_word(const char *language, enum lesson_check c)
{
	static const enum lesson_word of[] = {
	        [LESSON_EXACT] = WORD_EXACT, [LESSON_RATIO] = WORD_RATIO, [LESSON_PATTERN] = WORD_PATTERN};
	return lesson_word(language, of[c]);
}

const char *lesson_check_command(const char *language, const struct lesson *l, const struct piece *p, char *out,
                                 size_t size)
{
	// The format is ours. NOLINTNEXTLINE(clang-diagnostic-format-nonliteral)
	snprintf(out, size, lesson_word(language, WORD_CHECK), l->number, p->name);
	return out;
}

const char *lesson_facts(const char *language, const struct lesson *l, char *out, size_t size)
{
	char after[200] = "", needs[200] = "";
	char minutes[64];
	/* The formats are ours, with one value each. NOLINTBEGIN(clang-diagnostic-format-nonliteral) */
	snprintf(minutes, sizeof minutes, lesson_word(language, WORD_MINUTES), l->minutes);
	if (*l->after)
		snprintf(after, sizeof after, lesson_word(language, WORD_AFTER), l->after);
	if (*l->needs)
		snprintf(needs, sizeof needs, lesson_word(language, WORD_NEEDS), l->needs);
	/* NOLINTEND(clang-diagnostic-format-nonliteral) */
	snprintf(out, size, "%s%s%s%s%s", minutes, *after ? " · " : "", after, *needs ? " · " : "", needs);
	return out;
}
