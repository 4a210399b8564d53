/* Asking the questions of a step, one after another: what is asked now, what was answered, and the count. A window, a
 * terminal and a page go through it alike.
 *
 *     struct asking a;
 *     asking_begin(&a, &timeline, position);           // from there on
 *     while (asking_now(&a)) {
 *         … a.stage is ASKED: asking_answer(&a, text) or asking_skip(&a) …
 *         … then ANSWERED: asking_now(&a)->reason; asking_next(&a) …
 *     }
 *     … tally_words(&a.tally, words) …
 */
#ifndef SHARDLAB_VIZ_ASKING_H
#define SHARDLAB_VIZ_ASKING_H

#include "viz/question/question.h"

enum asking_stage { ASKED, ANSWERED, ASKING_OVER };
enum asking_result { ASKING_NONE, ASKING_RIGHT, ASKING_WRONG, ASKING_SKIPPED };

enum { TYPED = 24 };

struct asking {
	const struct timeline *timeline;
	struct question_set set;
	int now; /* of the set */
	enum asking_stage stage;
	enum asking_result result[QUESTIONS]; /* of each question */
	int chosen;                           /* of the question's choices; -1: none */
	char typed[TYPED];                    /* a number that is being typed, or was */
	char why[ANSWER_WORDS];               /* an answer that was not understood; "" */
	struct tally tally;
};

/* False: there is nothing to ask about this step. Behind the last question it begins at the first. */
bool asking_begin(struct asking *a, const struct timeline *s, size_t position);
/* NULL: all have been asked. */
const struct question *asking_now(const struct asking *a);
/* An unclear answer leaves it as it was, with `why`. */
enum answer asking_answer(struct asking *a, const char *text);
/* The answer is shown as for one that was answered. */
void asking_skip(struct asking *a);
void asking_next(struct asking *a);
/* Typing a number: a character more, or one less. False: there is no room, or nothing. */
bool asking_type(struct asking *a, char c);
bool asking_erase(struct asking *a);

/* True while the answer is still to come: then pictures hide what is behind the cursor, or all of the scene. */
bool asking_is_open(const struct asking *a); /* accepts NULL */
bool asking_hides(const struct asking *a);   /* accepts NULL */

#endif
