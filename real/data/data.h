/* Training data: token ids or text (gpt, llama), images or tables with labels (mlp).
 *
 *     struct dataset d;
 *     struct dataset_spec spec = {.kind = DATASET_TEXT, .path = NULL, .tokens = 128, .classes = 256};
 *     enum status s = dataset_open(&d, &spec);
 *     if (s)
 *         return s;
 *     int64_t first = step * global_batch + rank * micro_batch;
 *     dataset_fill(&d, seed, first, micro_batch, inputs, targets);
 *     … and when the step is over …
 *     s = dataset_check(&d);
 *     dataset_release(&d);
 *
 * A sample is a function of the seed and its number alone: see sampler.h. Filling neither allocates nor fails.
 *
 *                    images                                          text
 *     default        Debian's package dataset-fashion-mnist          Debian's package dict-jargon (the Jargon File)
 *     path           a folder with the four IDX files, each          files of token ids (token_file.h) or of text,
 *                    NAME.gz or NAME                                 several, a pattern, a folder: sources.h
 *     inputs         float[count, pixels], (x/255 - 0.2860)/0.3530   int32[count, tokens]: ids, or bytes of text
 *     targets        int32[count], classes                           int32[count, tokens], the inputs one id further
 *     training       the train files, a fresh order every epoch      a random start per sample, in any file
 *     validation     the t10k files, in order                        the val files, cut into samples, in order; if
 *                                                                    there are none, the last tenth of all files
 *
 * 0.2860 and 0.3530 are mean and standard deviation of Fashion-MNIST's training pixels.
 *
 * Files of ids are one stream, of which no sample goes from one file into the next; those shorter than a sample are
 * left out, and `words` says so. There must be two samples to train on (of one file: tokens + 2 ids). If the last tenth
 * is too short for a sample, or the rest would be too short to train on, all is for training and validation_samples is
 * 0.
 *
 * Everything in a file is checked before it is used: a fault is STATUS_INPUT, with a line that names the file, what is
 * wrong, and what to do. Ids in the middle of a large file, which cannot be looked at beforehand, are checked when a
 * sample takes them. Then the sample is zeros, the fault is kept, and dataset_check tells of it; so a step ends on all
 * ranks, and the run right after it.
 */
#ifndef SHARDLAB_DATA_H
#define SHARDLAB_DATA_H

#include "strategy/base/status.h"

#include <stdbool.h>
#include <stdint.h>

#define DATASET_IMAGES_DEFAULT "/usr/share/datasets/fashion-mnist"
#define DATASET_IMAGES_PACKAGE "dataset-fashion-mnist"
#define DATASET_TEXT_DEFAULT "/usr/share/dictd/jargon.dict.dz"
#define DATASET_TEXT_PACKAGE "dict-jargon"

enum dataset_kind { DATASET_IMAGES, DATASET_TEXT };
enum { DATASET_VOCABULARY = 256 }; /* of a text: bytes */

struct dataset_spec {
	enum dataset_kind kind;
	const char *path; /* as sources.h has it; NULL: the default */
	const char *type; /* text: what ids are, of TOKEN_TYPE_WORDS; NULL: found out */
	bool ids_alone;   /* text: a file whose type nobody says, and that is no file of ids, is refused */
	int64_t tokens;   /* text: how long a sample is, ≥ 1 */
	int64_t pixels;   /* images: what the model takes (784); another size in the file is an error */
	int64_t classes;  /* labels, or ids, are in [0, classes) */
};

struct dataset_form;
struct dataset_fault;

/* Read the counts, sizes and words; leave the rest to the functions. A zeroed one is released. */
struct dataset {
	enum dataset_kind kind;
	int64_t training_samples;   /* images; or places where a sample of text can begin */
	int64_t validation_samples; /* 0: too little to keep some back */
	int64_t inputs_per_sample;  /* elements of 4 bytes, float (images) or int32 (text) */
	int64_t targets_per_sample; /* int32: 1, or tokens */
	int64_t bytes_held;         /* of this process's memory that the data takes; what is mapped is not held */
	int64_t files;
	const char *type;       /* "uint16", "uint32", "bytes"; "pixels" and "numbers" where inputs are floats */
	int64_t largest_id;     /* of token ids that were looked at */
	const char *largest_in; /* the file that has it; NULL: there are no token ids */
	char words[384];        /* a summary: files, type, how many samples to train on and to validate with */

	const struct dataset_form *form;
	void *own; /* the form's */
	struct dataset_fault *fault;
};

/* On failure d is as after dataset_release. Errors: STATUS_INPUT, STATUS_MEMORY. */
enum status dataset_open(struct dataset *d, const struct dataset_spec *spec);
void dataset_release(struct dataset *d); /* accepts NULL and a zeroed dataset */

/* Training samples number [first, first + count) of the run: they go on through all epochs, without end.
 * inputs: count × inputs_per_sample, float for images and int32_t for text; targets: count × targets_per_sample. Either
 * may be NULL: it is not wanted. */
void dataset_fill(const struct dataset *d, uint64_t seed, int64_t first, int64_t count, void *inputs, int32_t *targets);

/* Validation samples [first, first + count), which must lie below validation_samples. */
void dataset_fill_validation(const struct dataset *d, int64_t first, int64_t count, void *inputs, int32_t *targets);

/* The checksum of all samples, to train and to validate with, in order: it differs if an id or number does. It reads
 * all, on several cores. From more than 2^33 ids or numbers it takes 2^20 samples, spread evenly, so that no start
 * waits for terabytes. */
uint64_t dataset_checksum(const struct dataset *d);

/* STATUS_INPUT, with the first fault, once a sample could not be filled. Safe while another thread fills. */
enum status dataset_check(const struct dataset *d);

#endif
