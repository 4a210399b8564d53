/* The program's sentences in the user's language. The source says them in English; for another language there is a
 * table beside it (zh.def), a row for each sentence:
 *
 *     fprintf(out, tr("%d of %d questions right. "), right, asked);
 *     ZH("%d of %d questions right. ", "%2$d 题中答对 %1$d 题。")
 *
 * A translation takes its arguments in the order of the original, or each by its position as printf has it; one that it
 * does not need is taken as %2$.0s. A sentence that the table lacks is shown in English. Messages of errors, and what a
 * program reads, have no translation.
 */
#ifndef SHARDLAB_LANGUAGE_H
#define SHARDLAB_LANGUAGE_H

#include <stdbool.h>
#include <stddef.h>

/* The language of a name such as "zh" or "zh_CN.UTF-8", as the environment has it: "zh", or "en" where there is no
 * table. */
const char *language_of(const char *name);
/* The language that the user has set: LANGUAGE, or else LC_ALL, LC_MESSAGES, LANG. */
const char *language_of_user(void);

/* Chooses the language of everything said from now on. Call it once, before there are threads. */
void language_set(const char *name);

/* The language that was chosen: "en", "zh". */
const char *language_chosen(void);

/* Spaces of a text that was put together of sentences and names, as its language has them: in Chinese one between Han
 * characters and Latin ones, none between Han characters or beside full-width punctuation, and beside Han characters a
 * comma, colon or semicolon before a space is full-width. In English it stays. A text
 * that has no room for its spaces (size: of the array) stays, too. */
void language_space(char *text, size_t size);

/* The attribute lets gcc check the arguments against the original. */
const char *tr(const char *english) __attribute__((format_arg(1)));
/* Looks the sentence up in a given language, whichever is chosen. */
const char *tr_in(const char *language, const char *english) __attribute__((format_arg(2)));

/* A name that means something else elsewhere ("root" is a rank's role, and a unit of a model), in the table under a key
 * of its own, which is the name and a colon. keys: all of these, NULL behind the last. The name stays where it is no
 * key, or where the table lacks it. */
const char *tr_name(const char *name, const char *const *keys);

/* The i-th row of a language's table; false: there is none. */
struct sentence {
	const char *english, *translated;
};
bool language_sentence(const char *language, size_t i, struct sentence *out);

#endif
