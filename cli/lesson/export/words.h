/* The words around a lesson in the files that are written of it, in the languages that lessons have. */
#ifndef SHARDLAB_LESSON_WORDS_H
#define SHARDLAB_LESSON_WORDS_H

#include "cli/lesson/lesson.h"

/* Constant, English, Chinese. %d, %s: in the same order in both. */
#define LESSON_WORDS(X)                                                                                                \
	X(COURSE, "Lessons in data-parallel training", "数据并行训练课程")                                             \
	X(MINUTES, "%d minutes", "%d 分钟")                                                                            \
	X(AFTER, "after lesson %s", "先修：第 %s 课")                                                                  \
	X(NEEDS, "needs %s", "需要 %s")                                                                                \
	X(EXACT, "the same on every machine", "在任何机器上都相同")                                                    \
	X(RATIO, "on every machine within some per cent", "在任何机器上相差不过百分之几")                              \
	X(PATTERN, "measured: your numbers will differ", "实测值：你的数字会不同")                                     \
	X(STEP_THROUGH, "Step through it", "逐步播放")                                                                 \
	X(TOO_OLD, "This browser is too old for the player.", "此浏览器过旧，无法播放。")                              \
	X(QUESTION, "Question %d", "问题 %d")                                                                          \
	X(YOUR_ANSWER, "your answer", "你的答案")                                                                      \
	X(SUBMIT, "Answer", "回答")                                                                                    \
	X(RIGHT, "Right.", "正确。")                                                                                   \
	X(WRONG, "Not quite.", "不对。")                                                                               \
	X(TALLY, "%d of %d questions right", "答对 %d / %d 题")                                                        \
	X(ANSWER, "Answer", "答案")                                                                                    \
	X(ANSWERS, "Answers", "答案")                                                                                  \
	X(EXERCISE, "Exercise", "练习")                                                                                \
	X(WHEN_DONE, "When it is done:", "完成后运行：")                                                               \
	X(SOLUTION, "A solution", "参考解答")                                                                          \
	X(PAGE, "page %d of %d", "第 %d 页，共 %d 页")

enum lesson_word {
#define X(constant, english, chinese) WORD_##constant,
	LESSON_WORDS(X)
#undef X
	        WORD_COUNT
};

const char *lesson_word(const char *language, enum lesson_word w);
/* "20 minutes · after lesson 2" */
const char *lesson_facts(const char *language, const struct lesson *l, char *out, size_t size);
/* How a console block is checked, for a reader. */
const char *lesson_check_word(const char *language, enum lesson_check c);

#endif
