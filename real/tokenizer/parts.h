/* The parts of a tokenizer, as its tokenizer.json gives them. */
#ifndef SHARDLAB_TOKENIZER_PARTS_H
#define SHARDLAB_TOKENIZER_PARTS_H

#include "real/tokenizer/added.h"
#include "real/tokenizer/bpe.h"
#include "real/tokenizer/steps.h"

struct tokenizer_parts {
	struct arena arena;    /* of all texts */
	struct vocabulary all; /* with added tokens */
	struct bpe bpe;
	struct added_tokens raw, normalized; /* looked for before the normalizer, and behind it */
	bool *special;                       /* by id */
	struct normal_step *normal;
	struct cut_step *cuts;
	struct decode_step *decode;
	int normal_count, cut_count, decode_count;
	int normal_capacity, cut_capacity, decode_capacity;
	struct token_list before, after; /* ids that go around a text */
};

/* Fills zeroed parts from a file; on failure they are half filled, and released as whole ones are. */
enum status tokenizer_read(struct tokenizer_parts *p, const char *path);

#endif
