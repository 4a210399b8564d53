/* Operations and buffers in plain words, for captions, cards and the mouse: no name that the source alone knows.
 *
 *     char words[OP_WORDS];
 *     op_words(words, s, role, op)            "the all-reduce of bucket.0"
 *     op_does(words, s, role, op, false)      "begins the all-reduce of bucket.0", after a subject
 */
#ifndef SHARDLAB_VIZ_OP_WORDS_H
#define SHARDLAB_VIZ_OP_WORDS_H

#include "viz/timeline/timeline.h"

enum { OP_WORDS = 160 };

/* Names it. Writes to a buffer of the caller, which it returns; the operation is one of the role's step. */
const char *op_words(char *out, const struct timeline *s, const struct role *r, const struct op *op);
/* The same in a sentence about another: their micro-batch is said once. */
const char *op_words_beside(char *out, const struct timeline *s, const struct role *r, const struct op *op,
                            const struct op *other);
/* Says what a rank does; or several ranks. */
const char *op_does(char *out, const struct timeline *s, const struct role *r, const struct op *op, bool several);
/* "the whole parameters of block.3", "the output of block.3.qkv" */
const char *buffer_words(char *out, const struct timeline *s, const struct role *r, int buffer);
/* Names the buffer that a collective or a message carries. */
const char *payload_words(char *out, const struct timeline *s, const struct role *r, const struct op *op);
/* A role's name: "root", "worker", "stage 3". */
const char *role_word(const struct role *r);
/* A group of tensors: "bucket.0", "the model". */
const char *group_word(const struct plan *p, int group);
/* The part of a group that a rank updates: "slice", "shard"; NULL: the whole group. */
const char *own_part_word(const struct plan *p);

#endif
