/* Shared by the files that make questions. */
#ifndef SHARDLAB_VIZ_QUESTION_PARTS_H
#define SHARDLAB_VIZ_QUESTION_PARTS_H

#include "viz/question/question.h"
#include "viz/timeline/op_words.h"

/* A place where something may be asked: a stop of rounds, and what the next step does. */
struct spot {
	const struct timeline *s;
	size_t k; /* of the stops */
	size_t position, next;
	const struct event *message, *begin, *idle; /* the first of the next step; NULL: it has none */
	unsigned seed;                              /* for what could be one or the other */
};

/* A kind of question. */
struct question_row {
	/* Makes the text, the choices or the number, and the reason of what the next step does; false: there is nothing
	 * to ask. The place, the kind and the scene are filled in already. */
	bool (*make)(const struct spot *at, struct question *q);
	enum scene scene;
	const char *look;
	bool late; /* the last place is asked first */
};

#define X(constant) extern const struct question_row question_##constant;
QUESTION_LIST(X)
#undef X

void spot_init(struct spot *at, const struct timeline *s, size_t k);

/* ---- words ---- */

/* Adds to a text of QUESTION_TEXT; what does not fit is left out. */
void ask(char *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

enum { BYTES = 48 };
const char *bytes_of(char out[BYTES], int64_t bytes);
const char *time_of(char out[BYTES], int64_t ns);
/* "rank 0 alone", "ranks 0 and 1", "all 4 ranks" */
enum { RANKS = 128 };
const char *ranks_of(char out[RANKS], uint64_t set, uint64_t everyone);
/* "the forward pass of block.3", "the update", with the micro-batch where there are several. */
const char *pass_of(char out[OP_WORDS], const struct timeline *s, const struct op *op);
/* "the all-reduce of bucket.0": of the collective that an operation is. */
const char *collective_of(char out[OP_WORDS], const struct timeline *s, const struct collective *c);

/* ---- choices ---- */

/* Adds a choice, unless it is there already or there are enough. The first is the right one. */
void offer(struct question *q, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Puts them in an order of their own; false: there are fewer than three. */
bool shuffle(struct question *q, unsigned seed);

/* ---- looking at the timeline ---- */

/* The role's operation number `op`, of a shown rank. */
static inline const struct op *op_at(const struct timeline *s, int index, int op)
{
	return &timeline_role_of(s, index)->ops[op];
}
/* The last to end of the operations that an operation waits for; -1: it waits for none of this step. */
int last_needed(const struct timeline *s, int index, int op);
/* The operation that an allocation is for, in the order of issue; NULL: none follows. */
const struct op *needed_for(const struct role *r, int op);
/* The kind of a buffer's bytes. */
enum held held_of(const struct timeline *s, int index, int buffer);

#endif
