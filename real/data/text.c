#include "real/data/file.h"

#include <stdlib.h>

/* A sample is `tokens` bytes and the one after, which is the last target. */
static int64_t samples_cut(int64_t bytes, int64_t tokens)
{
	return bytes > 0 ? (bytes - 1) / tokens : 0;
}

enum status dataset_take_text(struct dataset *d, const char *name, struct data_file *f, int64_t tokens)
{
	if (tokens < 1)
		abort();
	if (f->size - 2 < tokens)
		return status_fail(
		        STATUS_INPUT,
		        "%s: %lld bytes of text are too few: a sequence of %lld tokens needs two bytes more than "
		        "that; give a longer text or a smaller {sequence}",
		        name, (long long)f->size, (long long)tokens);
	int64_t validation = f->size / 10;
	if (samples_cut(validation, tokens) == 0 || f->size - validation - 2 < tokens)
		validation = 0;

	d->text = f->bytes;
	d->text_bytes = f->size;
	d->bytes_held = f->size;
	*f = (struct data_file){0};
	d->training_bytes = d->text_bytes - validation;
	d->training_samples = d->training_bytes - tokens;
	d->validation_samples = samples_cut(validation, tokens);
	d->inputs_per_sample = tokens;
	d->targets_per_sample = tokens;
	return STATUS_OK;
}

enum status dataset_open_text(struct dataset *d, const struct dataset_spec *spec)
{
	const char *path = spec->path ? spec->path : DATASET_TEXT_DEFAULT;
	const char *advice = spec->path
	                             ? "give a text file, plain or gzip"
	                             : status_words("run `apt-get install --no-install-recommends " DATASET_TEXT_PACKAGE
	                                            "`, or give any text with {data}");
	struct data_file f;
	enum status s = data_file_read(&f, path, DATA_FILE_LIMIT, advice);
	if (!s)
		s = data_file_unpack(&f, path, DATA_FILE_LIMIT);
	if (!s)
		s = dataset_take_text(d, path, &f, spec->tokens);
	data_file_release(&f);
	return s;
}
