/* Forms of dataset, one behind each kind of file. Between the parts of real/data; others want data.h. */
#ifndef SHARDLAB_DATA_FORM_H
#define SHARDLAB_DATA_FORM_H

#include "real/data/data.h"
#include "real/data/token_file.h"

#include <stdbool.h>

struct dataset_form {
	/* The number in `samples` of a run's i-th sample. */
	int64_t (*place)(uint64_t seed, int64_t samples, int64_t i);
	/* Fills in one sample; either may be NULL. */
	enum status (*fill)(const struct dataset *d, bool validation, int64_t which, void *input, int32_t *target);
	/* For training samples that begin at any id: reads the ids from the first of sample `which` on, in order, up to
	 * where sample `end` begins, or behind the last sample of its part, and at most `most`; *next is the sample to
	 * go on with. NULL: samples do not overlap. */
	int64_t (*ids)(const struct dataset *d, int64_t which, int64_t end, int64_t most, int32_t *out, int64_t *next);
	void (*release)(struct dataset *d); /* what `own` points to */
	/* Validation samples may lie in a row, each one's last target the first input of the next. Reads the ids of
	 * those from `which` on, up to `end`, that `most` ids have room for. How many samples; 0: read one by one.
	 * NULL: they do not lie so. */
	int64_t (*row)(const struct dataset *d, int64_t which, int64_t end, int64_t most, int32_t *out);
};

/* The openers set the counts, `words`, `form` and `own`; dataset_open releases d after a failure. */
enum status dataset_open_stream(struct dataset *d, const struct dataset_spec *spec);
enum status dataset_open_samples(struct dataset *d, const struct dataset_spec *spec);

/* Makes files the dataset's, the first `training` of them to train on and the others to validate with. They are empty
 * then, after a failure too. */
enum status dataset_take_stream(struct dataset *d, struct token_file *files, int count, int training, int64_t tokens);

/* Every tenth of `count` samples is kept to validate with: which of all it is. */
static inline int64_t tenth_kept(int64_t count, bool validation, int64_t which)
{
	int64_t kept_before = which / 9 < count / 10 ? which / 9 : count / 10;
	return validation ? 10 * which + 9 : which + kept_before;
}

#endif
