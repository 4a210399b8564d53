/* Shared by the files that make captions. */
#ifndef SHARDLAB_VIZ_CAPTION_PARTS_H
#define SHARDLAB_VIZ_CAPTION_PARTS_H

#include "viz/scene/scene.h"
#include "viz/timeline/op_words.h"

/* A sentence as it grows: what does not fit is left out. */
struct text {
	char *out;
	int size, at;
};
void say(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* "Every rank", "Rank 2", "Ranks 0–1", with the verb's ending. */
struct who {
	char words[96];
	const char *s;
	bool all;
	int64_t count;
};

/* The ranks of a role that did it in the last step. */
struct who who_of(const struct state *st, enum event_kind kind, int op, const struct role *role);

/* One message of the last step, and several of one collective. */
void say_message(struct text *t, const struct state *st, const struct event *e);
void say_round(struct text *t, const struct state *st, const struct event *first);

/* ---- ideas (caption_ideas.c): why it is done, in a sentence of its own ---- */

void say_idea(struct text *t, const struct timeline *s, const struct role *r, const struct op *op);

/* ---- memory (caption_memory.c) ---- */

/* How much more memory an operation that begins takes; within its sentence. True: it brings it to its peak. */
bool say_needs(struct text *t, const struct state *st, const struct event *begin);
/* Says what the rank has freed before the operation, if that matters; true: it is the strategy's main idea. */
bool say_freed(struct text *t, const struct state *st, const struct event *begin);
/* An allocation or a free alone. */
void say_memory(struct text *t, const struct state *st, const struct event *e);

/* A whole phase: its time, what was sent in it, and its peak. */
void say_phase(struct text *t, const struct state *st);

/* Says what ranks hold before the step. */
void say_beginning(struct text *t, const struct state *st);

/* "In the end every rank has the sum of all", of an operation. */
const char *idea_of_alone(enum operation o);

#endif
