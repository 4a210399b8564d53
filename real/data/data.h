/* Training data: images with labels (the MLP's Fashion-MNIST), or bytes of text (the GPT).
 *
 *     struct dataset d;
 *     struct dataset_spec spec = {.kind = DATASET_TEXT, .path = NULL, .tokens = 128};
 *     enum status s = dataset_open(&d, &spec);
 *     if (s)
 *         return s;
 *     int64_t first = step * global_batch + rank * micro_batch;
 *     dataset_fill(&d, seed, first, micro_batch, inputs, targets);
 *     dataset_release(&d);
 *
 * The data is held in memory as bytes, whole; a sample becomes fp32 or int32 when it is asked for. Filling neither
 * allocates nor fails. A sample is a function of the seed and its number alone: see sampler.h.
 *
 *                    images                                          text
 *     default        Debian's package dataset-fashion-mnist          Debian's package dict-jargon (the Jargon File)
 *     path           a folder with the four IDX files,               a file; plain, or gzip (.gz, .dz)
 *                    each NAME.gz or NAME
 *     inputs         float[count, pixels], (x/255 - 0.2860)/0.3530   int32[count, tokens], byte values
 *     targets        int32[count], classes                           int32[count, tokens], the inputs one byte further
 *     training       the train files, a fresh order every epoch      the first nine tenths, a random start per sample
 *     validation     the t10k files, in order                        the last tenth, cut into samples, in order
 *
 * 0.2860 and 0.3530 are mean and standard deviation of Fashion-MNIST's training pixels.
 *
 * A text needs at least tokens + 2 bytes. If its last tenth is too short for a sample (tokens + 1 bytes), or the rest
 * would be too short to train on, all of it is for training and validation_samples is 0.
 *
 * Everything in a file is checked before it is used. A fault is STATUS_INPUT, with a line that names the file, what is
 * wrong, and what to do.
 */
#ifndef SHARDLAB_DATA_H
#define SHARDLAB_DATA_H

#include "strategy/base/status.h"

#include <stdint.h>

#define DATASET_IMAGES_DEFAULT "/usr/share/datasets/fashion-mnist"
#define DATASET_IMAGES_PACKAGE "dataset-fashion-mnist"
#define DATASET_TEXT_DEFAULT "/usr/share/dictd/jargon.dict.dz"
#define DATASET_TEXT_PACKAGE "dict-jargon"

enum dataset_kind { DATASET_IMAGES, DATASET_TEXT };
enum { DATASET_VOCABULARY = 256 }; /* of a text: bytes */

struct dataset_spec {
	enum dataset_kind kind;
	const char *path; /* NULL: the default */
	int64_t tokens;   /* text: how long a sample is, ≥ 1 */
	int64_t pixels;   /* images: what the model takes (784); another size in the file is an error */
	int64_t classes;  /* images: labels are in [0, classes) */
};

/* Images with their labels, one byte a pixel; owned by the dataset. */
struct dataset_images {
	int64_t count;
	unsigned char *pixels_file, *labels_file; /* what was read, to be freed */
	const unsigned char *pixels, *labels;     /* in it, behind the headers */
};

/* Read the counts and sizes; leave the rest to the functions. A zeroed one is released. */
struct dataset {
	enum dataset_kind kind;
	int64_t training_samples;   /* images; or places where a sample of text can begin */
	int64_t validation_samples; /* 0: the text is too short to keep some back */
	int64_t inputs_per_sample;  /* elements of 4 bytes, float (images) or int32 (text) */
	int64_t targets_per_sample; /* int32: 1, or tokens */
	int64_t bytes_held;         /* host memory that the data takes */

	struct dataset_images training, validation;
	float pixel_value[256]; /* what each byte is after normalisation */

	unsigned char *text;
	int64_t text_bytes, training_bytes;
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

#endif
