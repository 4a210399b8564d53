/* Questions about a step: before it is shown, what comes next? Everything in them is worked out from the timeline and
 * its states: the text, the choices, the right answer, and the reason with the numbers of this case.
 *
 *     struct question_set set;
 *     questions_make(&set, &timeline);                  // about a dozen, in the order of the step
 *     const struct question *q = &set.list[0];
 *     … show the state of q->position, q->text and q->choice …
 *     char why[ANSWER_WORDS];
 *     switch (question_check(q, "1.5 GB", why)) {       // or "2" for the second choice
 *     case ANSWER_RIGHT: … q->reason, and the state of q->shown …
 *     case ANSWER_UNCLEAR: … why: what was not understood …
 *     }
 *     questions_release(&set);
 *
 * They stand at moments that matter: where a collective begins or turns from adding to copying, where memory is at its
 * peak or is freed, where a rank waits, where a pass begins. The order of choices depends on the place and the kind
 * alone, so that a question is the same whenever it is asked. Nothing here draws.
 */
#ifndef SHARDLAB_VIZ_QUESTION_H
#define SHARDLAB_VIZ_QUESTION_H

#include "viz/scenes.h"
#include "viz/timeline/state.h"

#define QUESTION_LIST(X)                                                                                               \
	X(PASS)     /* whose pass comes next: F2, B0 */                                                                \
	X(BUBBLE)   /* the part of the step in which stages of a pipeline stand still */                               \
	X(SKIPPED)  /* what an infinite gradient leads to */                                                           \
	X(PEAK)     /* in which operation memory is at its peak */                                                     \
	X(FREED)    /* what is freed, and why */                                                                       \
	X(EXPOSED)  /* does communication hide behind computing? */                                                    \
	X(CHUNK)    /* which chunk a rank sends */                                                                     \
	X(HOLDS)    /* whose contributions a chunk has then */                                                         \
	X(VALUE)    /* 3 + 5 */                                                                                        \
	X(LEFT)     /* how many rounds are left, and what they do */                                                   \
	X(SENT)     /* bytes that a rank has sent */                                                                   \
	X(WAITS)    /* for which rank */                                                                               \
	X(SHARD)    /* which ranks keep the same slice */                                                              \
	X(GROWS)    /* which part of memory */                                                                         \
	X(MEMORY)   /* bytes of parameters, gradients and optimizer state */                                           \
	X(NEEDS)    /* what must be done first */                                                                      \
	X(NEXT)     /* what the communication queue does next */                                                       \
	X(RECEIVER) /* to whom a rank sends */

enum question_kind {
#define X(constant) QUESTION_##constant,
	QUESTION_LIST(X)
#undef X
	        QUESTION_KINDS
};

enum { QUESTION_CHOICES = 5, QUESTION_CHOICE = 160, QUESTION_TEXT = 480 };

enum answer_unit { ANSWER_NUMBER, ANSWER_BYTES, ANSWER_PERCENT };

struct question {
	enum question_kind kind;
	size_t position; /* asked there */
	size_t shown;    /* there the answer is seen; a later position, or the same */
	enum scene scene;
	bool hides; /* any picture would give the answer away; else only what comes after the position would */
	int64_t rank;
	char text[QUESTION_TEXT];
	char choice[QUESTION_CHOICES][QUESTION_CHOICE];
	int choice_count; /* 0: the answer is a number */
	int right;        /* of the choices, from 0 */
	double number;    /* of that unit; an answer may be off by QUESTION_TOLERANCE of it */
	enum answer_unit unit;
	char reason[QUESTION_TEXT];
	const char *look; /* where the answer is seen, in words */
};

#define QUESTION_TOLERANCE 0.02

/* The text that replaces the caption while the question is open. */
#define QUESTION_OF_CHOICES "Before the next step is shown: what comes?"
#define QUESTION_OF_A_NUMBER "Which number is it? Type it, then Enter: then the picture shows it."

/* ---- finding ---- */

enum { QUESTIONS = 12 }; /* at most, of a step */

struct question_set {
	struct question list[QUESTIONS];
	int count;
};

/* The questions of a step by position. A step in which nothing can be asked has none. */
void questions_make(struct question_set *set, const struct timeline *s);
/* The first question of a kind at or after a position; false: there is none. */
bool question_find(const struct timeline *s, size_t position, enum question_kind kind, struct question *out);

/* ---- answering ---- */

enum answer {
	ANSWER_RIGHT,
	ANSWER_WRONG,
	ANSWER_UNCLEAR, /* it is none: not a choice, no number, no unit */
};

enum { ANSWER_WORDS = 160 };

/* A choice by its number from 1, its letter from a, or its words; a number with its unit: "1.5 GB", "1500 MB", "1.4
 * GiB", "42.9 %". why: of an unclear answer, what is asked for; else "". */
enum answer question_check(const struct question *q, const char *text, char why[ANSWER_WORDS]);
/* "1.5 GB" in bytes, "1,059,840 B" as pictures have it; "42.9 %" or "42.9" in per cent; "8" as a plain number. */
bool answer_number(const char *text, enum answer_unit unit, double *out, char why[ANSWER_WORDS]);
/* The right answer in words: the choice, or "50.53 MB". */
const char *question_answer(const struct question *q, char out[QUESTION_CHOICE]);

/* ---- the count ---- */

struct tally {
	int right, wrong, skipped;
};

enum { TALLY_WORDS = 96 };
/* "7 of 9 right, 2 skipped" */
const char *tally_words(const struct tally *t, char out[TALLY_WORDS]);

#endif
