/* Options of `compare` with several alternatives: --precision bf16/fp16 --activation-checkpointing none/full. Every
 * combination of them is a variant, an `options` of its own with one alternative each.
 *
 *     struct variants v;
 *     enum status s = variants_make(&v, &options);
 *     … v.list[0 … v.count) … v.several …
 *     variants_release(&v);
 */
#ifndef SHARDLAB_VARIANTS_H
#define SHARDLAB_VARIANTS_H

#include "cli/options/options.h"

enum { VARIANTS = 64 };

struct variants {
	struct arena arena; /* of the alternatives' texts */
	struct options *list;
	int count;
	bool several; /* some option has more than one alternative */
};

/* The last option varies fastest. More than VARIANTS combinations, or an empty alternative: STATUS_INPUT. */
enum status variants_make(struct variants *v, const struct options *o);
void variants_release(struct variants *v); /* accepts NULL and a zeroed struct */

#endif
