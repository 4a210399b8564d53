#include "real/data/data.h"

#include "real/data/file.h"
#include "real/data/sampler.h"

#include <stdlib.h>

enum status dataset_open(struct dataset *d, const struct dataset_spec *spec)
{
	*d = (struct dataset){.kind = spec->kind};
	enum status s = spec->kind == DATASET_IMAGES ? dataset_open_images(d, spec) : dataset_open_text(d, spec);
	if (s)
		dataset_release(d);
	return s;
}

void dataset_release(struct dataset *d)
{
	if (!d)
		return;
	free(d->training.pixels_file);
	free(d->training.labels_file);
	free(d->validation.pixels_file);
	free(d->validation.labels_file);
	free(d->text);
	*d = (struct dataset){0};
}

static void fill_image(const struct dataset *d, const struct dataset_images *set, int64_t image, float *input,
                       int32_t *target)
{
	const unsigned char *pixels = set->pixels + image * d->inputs_per_sample;
	for (int64_t i = 0; input && i < d->inputs_per_sample; i++)
		input[i] = d->pixel_value[pixels[i]];
	if (target)
		*target = set->labels[image];
}

static void fill_text(const struct dataset *d, int64_t start, int32_t *input, int32_t *target)
{
	const unsigned char *text = d->text + start;
	for (int64_t t = 0; input && t < d->inputs_per_sample; t++)
		input[t] = text[t];
	for (int64_t t = 0; target && t < d->inputs_per_sample; t++)
		target[t] = text[t + 1];
}

/* Fills the i-th sample: an image of a set, or the text that begins at a place. */
static void fill_one(const struct dataset *d, const struct dataset_images *set, int64_t which, int64_t i, void *inputs,
                     int32_t *targets)
{
	int32_t *target = targets ? targets + i * d->targets_per_sample : NULL;
	void *input = inputs ? (char *)inputs + i * d->inputs_per_sample * 4 : NULL;
	if (d->kind == DATASET_IMAGES)
		fill_image(d, set, which, input, target);
	else
		fill_text(d, which, input, target);
}

void dataset_fill(const struct dataset *d, uint64_t seed, int64_t first, int64_t count, void *inputs, int32_t *targets)
{
	if (first < 0 || count < 0)
		abort();
	for (int64_t i = 0; i < count; i++) {
		int64_t which = d->kind == DATASET_IMAGES ? sampler_image(seed, d->training_samples, first + i)
		                                          : sampler_start(seed, d->training_samples, first + i);
		fill_one(d, &d->training, which, i, inputs, targets);
	}
}

void dataset_fill_validation(const struct dataset *d, int64_t first, int64_t count, void *inputs, int32_t *targets)
{
	if (first < 0 || count < 0 || count > d->validation_samples - first)
		abort();
	for (int64_t i = first; i < first + count; i++)
		fill_one(d, &d->validation,
		         d->kind == DATASET_IMAGES ? i : d->training_bytes + i * d->inputs_per_sample, i - first,
		         inputs, targets);
}
