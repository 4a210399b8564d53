/* The words around a lesson in the files that are written of it, in the languages that lessons have. */
#ifndef SHARDLAB_LESSON_WORDS_H
#define SHARDLAB_LESSON_WORDS_H

#include "cli/lesson/lesson.h"

/* Constant, English; strategy/base/zh.def has them in Chinese. */
#define LESSON_WORDS(X)                                                                                                \
	X(COURSE, "Lessons in data-parallel training")                                                                 \
	X(MINUTES, "%d minutes")                                                                                       \
	X(AFTER, "after lesson %s")                                                                                    \
	X(NEEDS, "needs %s")                                                                                           \
	X(EXACT, "the same on every machine")                                                                          \
	X(RATIO, "on every machine within some per cent")                                                              \
	X(PATTERN, "measured: your numbers will differ")                                                               \
	X(STEP_THROUGH, "Step through it")                                                                             \
	X(TOO_OLD, "This browser is too old for the player.")                                                          \
	X(QUESTION, "Question %d")                                                                                     \
	X(YOUR_ANSWER, "your answer")                                                                                  \
	X(SUBMIT, "Submit")                                                                                            \
	X(RIGHT, "Right.")                                                                                             \
	X(WRONG, "Not quite.")                                                                                         \
	X(TALLY, "%d of %d questions right")                                                                           \
	X(ANSWER, "Answer")                                                                                            \
	X(ANSWERS, "Answers")                                                                                          \
	X(EXERCISE, "Exercise")                                                                                        \
	X(WHEN_DONE, "When it is done:")                                                                               \
	X(CHECK, "shardlab lesson %d --check %s")                                                                      \
	X(SOLUTION, "A solution")                                                                                      \
	X(PAGE, "page %d of %d")

enum lesson_word {
#define X(constant, english) WORD_##constant,
	LESSON_WORDS(X)
#undef X
	        WORD_COUNT
};

const char *lesson_word(const char *language, enum lesson_word w);
/* The command that checks an exercise: "shardlab lesson 1 --check largest-batch". */
const char *lesson_check_command(const char *language, const struct lesson *l, const struct piece *p, char *out,
                                 size_t size);
/* "20 minutes · after lesson 2" */
const char *lesson_facts(const char *language, const struct lesson *l, char *out, size_t size);
/* How a console block is checked, for a reader. */
const char *lesson_check_word(const char *language, enum lesson_check c);

#endif
