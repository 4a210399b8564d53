/* Lessons: Markdown files that read well as they stand, and run. HTML comments, which no reader of Markdown shows, mark
 * what is checked and asked:
 *
 *     # 3. Ring all-reduce
 *     <!-- lesson: minutes=20 after=2 -->
 *
 *     <!-- run: exact -->                             or: run: exact fails, where the program refuses
 *     ```console
 *     $ shardlab plan --strategy ddp --ranks 4
 *     …                                               what it prints
 *     ```
 *                                                     or: run: exact where="python3 -c 'import torch'", which is left
 *                                                     out where that command fails
 *     <!-- view: strategy=zero3 scene=memory at=12 -->
 *     ![Memory of zero3](pictures/03-memory.png)
 *                                                     or, with what a block before it has built:
 *                                                     view: program=build/own/shardlab race=all-reduce
 *
 *     <!-- ask: choice 2 -->                          or: number 1.5 GB tolerance=2
 *     Which chunk does rank 2 send first?
 *
 *     1. chunk 0
 *     2. chunk 2
 *
 *     <details><summary>Answer</summary>
 *
 *     Chunk 2: in round 0 each rank sends the chunk of its own number.
 *
 *     </details>
 *
 *     <!-- exercise: own-order check="shardlab plan --plan mine.plan" -->
 *     Write …
 *
 *     <details><summary>A solution</summary> … </details>
 *
 * The Markdown is read by cmark. Every error is STATUS_INPUT and names file and line.
 */
#ifndef SHARDLAB_LESSON_H
#define SHARDLAB_LESSON_H

#include <stdbool.h>

#include "strategy/base/arena.h"
#include "strategy/base/status.h"

#define LESSON_PROGRAM "shardlab" /* of a view, unless it names another */

/* How a console block is checked: every character; numbers within some per cent; words alone, for what is measured. */
#define LESSON_CHECKS(X)                                                                                               \
	X(EXACT, "exact", "every character is the same on every machine")                                              \
	X(RATIO, "ratio", "numbers are within some per cent, words are the same")                                      \
	X(PATTERN, "pattern", "words are the same, numbers are this machine's")
enum lesson_check {
#define X(constant, name, what) LESSON_##constant,
	LESSON_CHECKS(X)
#undef X
};

/* One command of a console block, and what it prints. */
struct lesson_command {
	const char *text;   /* without "$ ", its lines joined */
	const char *output; /* lines, each with its newline; "" */
	int line;
};

enum piece_kind { PIECE_TEXT, PIECE_RUN, PIECE_VIEW, PIECE_ASK, PIECE_EXERCISE };

struct piece {
	enum piece_kind kind;
	int line;             /* of the directive, or of the text */
	int first, end;       /* lines of the file that it takes, the directive's not among them: [first, end) */
	const char *markdown; /* those lines */
	/* run */
	enum lesson_check check;
	double tolerance;  /* per cent, of `ratio` and of a number that is asked for */
	bool fails;        /* what the program refuses is what the block shows */
	const char *where; /* a command that succeeds where those of the block can run; "" does everywhere */
	struct lesson_command *commands;
	int command_count;
	/* view: the options of `view`, the program that has them, and the picture beside the lesson */
	const char *options, *program, *picture;
	/* ask, exercise */
	bool choice;          /* one of several; else a number */
	const char *question; /* Markdown */
	const char *const *choices;
	int choice_count, right;   /* right: from 0 */
	const char *answer;        /* the number with its unit */
	const char *reason;        /* Markdown: why, or a solution */
	const char *name, *checks; /* of an exercise, and the command that succeeds when it is solved */
};

struct lesson {
	struct arena arena;
	const char *path, *title; /* "3. Ring all-reduce" */
	int number, minutes, line_count;
	const char *after, *needs; /* lessons before it, what else it needs; "" */
	const char **lines;        /* of the file, without newlines */
	struct piece *pieces;
	int piece_count;
};

enum status lesson_read(struct lesson *l, const char *text, size_t size, const char *path);
enum status lesson_open(struct lesson *l, const char *path);
void lesson_release(struct lesson *l); /* accepts NULL and a zeroed struct */

/* "file:line: …" */
enum status lesson_fail(const struct lesson *l, int line, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

#endif
