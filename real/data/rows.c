/* Samples that are rows of a table. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "real/data/file.h"
#include "real/data/form.h"
#include "real/data/rows.h"
#include "real/data/sampler.h"
#include "real/data/sources.h"
#include "strategy/base/keys.h"
#include "strategy/base/number.h"

struct rows {
	struct table table;
	int64_t training; /* rows before those of the files to validate with; 0: every tenth row is */
};

static const struct dataset_form rows_form;

static int64_t row_of(const struct dataset *d, bool validation, int64_t which)
{
	const struct rows *r = d->own;
	if (r->training)
		return validation ? r->training + which : which;
	return tenth_kept(d->training_samples + d->validation_samples, validation, which);
}

/* ---- normalisation ---- */

struct spread {
	double mean, deviation;
};

/* Over columns [first, end) without the label, of the rows to train on. */
static struct spread measure(const struct dataset *d, const struct table *t, int first, int end)
{
	double sum = 0, squares = 0;
	int64_t count = 0;
	for (int pass = 0; pass < 2; pass++)
		for (int64_t i = 0; i < d->training_samples; i++) {
			const float *row = table_row(t, row_of(d, false, i));
			for (int c = first; c < end; c++) {
				double v = (double)row[c] - (pass ? sum / (double)count : 0);
				if (c == t->label)
					continue;
				count += !pass;
				*(pass ? &squares : &sum) += pass ? v * v : v;
			}
		}
	if (!count)
		return (struct spread){0, 1};
	double deviation = sqrt(squares / (double)count);
	return (struct spread){sum / (double)count, deviation > 0 ? deviation : 1};
}

static void scale(struct table *t, int first, int end, struct spread s)
{
	for (int64_t i = 0; i < t->rows; i++)
		for (int c = first; c < end; c++)
			if (c != t->label) {
				float *v = &t->values[i * t->columns + c];
				*v = (float)(((double)*v - s.mean) / s.deviation);
			}
}

/* Columns of pictures have one unit; some are nearly always 0, and would be blown up each for itself. */
static bool are_pixels(const struct table *t)
{
	enum { LEAST_PIXELS = 64 };
	for (int64_t i = 0; i < t->rows; i++)
		for (int c = 0; c < t->columns; c++) {
			float v = table_row(t, i)[c];
			if (c != t->label && (v < 0 || v > 255 || v != (float)(int)v))
				return false;
		}
	return t->inputs >= LEAST_PIXELS;
}

static void normalize(const struct dataset *d, struct table *t, const char *how, char *words, size_t size)
{
	if (!*how)
		how = are_pixels(t) ? "whole" : "columns";
	if (!strcmp(how, "none")) {
		snprintf(words, size, "as they are");
	} else if (!strcmp(how, "whole")) {
		struct spread s = measure(d, t, 0, t->columns);
		scale(t, 0, t->columns, s);
		snprintf(words, size, "less %.4g, divided by %.4g", s.mean, s.deviation);
	} else {
		for (int c = 0; c < t->columns; c++)
			scale(t, c, c + 1, measure(d, t, c, c + 1));
		snprintf(words, size, "each column less its mean, divided by its deviation");
	}
}

/* ---- taking a table ---- */

static void describe(struct dataset *d, const struct rows *r, const char *scaled)
{
	const struct table *t = &r->table;
	char name[128], n[32], m[32], label[96] = "";
	if (t->file_count == 1)
		snprintf(name, sizeof name, "%.100s", t->files[0].name);
	else
		snprintf(name, sizeof name, "%d files", t->file_count);
	if (t->header)
		snprintf(label, sizeof label, " (%.60s)", t->header[t->label]);
	snprintf(d->words, sizeof d->words,
	         "%s: rows of %" PRId64 " numbers, %s; the label is column %d%s; %s to train on, %s to validate with%s",
	         name, t->inputs, scaled, t->label + 1, label, number_format_count(n, d->training_samples),
	         d->validation_samples ? number_format_count(m, d->validation_samples) : "none",
	         d->validation_samples && !r->training ? ", every tenth" : "");
}

enum status dataset_take_rows(struct dataset *d, const struct table *table, int64_t training, const char *how)
{
	char scaled[96];
	struct rows *r = array_make(1, sizeof *r);
	*r = (struct rows){.table = *table, .training = training};
	struct table *t = &r->table;
	d->form = &rows_form;
	d->own = r;
	TRY(table_finish(t));
	d->validation_samples = training ? t->rows - training : t->rows / 10;
	d->training_samples = t->rows - d->validation_samples;
	d->files = t->file_count;
	d->type = "numbers";
	d->inputs_per_sample = t->inputs;
	d->targets_per_sample = 1;
	d->bytes_held = (int64_t)(t->capacity * sizeof *t->values + t->arena.bytes);
	normalize(d, t, how, scaled, sizeof scaled);
	describe(d, r, scaled);
	return STATUS_OK;
}

static void release_rows(struct dataset *d)
{
	struct rows *r = d->own;
	table_release(&r->table);
	free(r);
}

/* ---- opening ---- */

enum { KEY_LABEL, KEY_NORMALIZE, KEYS };

/* The keys of the first file hold for all: they are columns of one table. */
static enum status read_keys(const struct sources *s, struct arena *arena, const char *words[KEYS])
{
	static const struct key list[KEYS] = {{"label", "", "", "the column of the label: first, last, N or a name"},
	                                      {"normalize", "columns|whole|none", "", "how numbers are scaled"}};
	const struct keys keys = {.setting = "{data}", .name = s->list[0].path, .list = list, .count = KEYS};
	struct key_value value[KEYS];
	enum status status = STATUS_OK;
	for (int i = 1; i < s->count && !status; i++)
		if (s->list[i].pairs && (!s->list[0].pairs || strcmp(s->list[i].pairs, s->list[0].pairs) != 0))
			status =
			        status_fail(STATUS_INPUT,
			                    "%s:%s: keys hold for all files of a table; give them with the first alone",
			                    s->list[i].path, s->list[i].pairs);
	if (!status && s->list[0].pairs)
		status = keys_read(&keys, s->list[0].pairs, value);
	for (int i = 0; i < KEYS; i++)
		words[i] = !status && s->list[0].pairs ? arena_print(arena, "%.*s", (int)value[i].length, value[i].text)
		                                       : "";
	return status;
}

static enum status add_file(struct table *t, const char *path)
{
	struct data_file f;
	enum status s = data_file_read(&f, path, DATA_FILE_LIMIT,
	                               "give a table (.csv), or the folder with the four IDX files of Fashion-MNIST or "
	                               "MNIST");
	if (!s)
		s = data_file_unpack(&f, path, DATA_FILE_LIMIT);
	if (!s)
		s = table_add(t, path, f.bytes, f.size);
	data_file_release(&f);
	return s;
}

enum status dataset_open_rows(struct dataset *d, const struct sources *s, const struct dataset_spec *spec)
{
	const char *words[KEYS];
	struct table t = {.classes = spec->classes, .inputs = spec->pixels, .label = -1};
	int64_t training = 0;
	enum status status = read_keys(s, &t.arena, words);
	t.label_is = !status && *words[KEY_LABEL] ? words[KEY_LABEL] : NULL;
	for (int i = 0; i < s->count && !status; i++) {
		if (i == s->training)
			training = t.rows;
		status = add_file(&t, s->list[i].path);
	}
	if (!status)
		return dataset_take_rows(d, &t, training, words[KEY_NORMALIZE]);
	table_release(&t);
	return status;
}

/* ---- samples ---- */

static enum status fill_row(const struct dataset *d, bool validation, int64_t which, void *input, int32_t *target)
{
	const struct table *t = &((const struct rows *)d->own)->table;
	const float *row = table_row(t, row_of(d, validation, which));
	if (input) {
		memcpy(input, row, (size_t)t->label * sizeof *row);
		memcpy((float *)input + t->label, row + t->label + 1,
		       (size_t)(t->columns - t->label - 1) * sizeof *row);
	}
	if (target)
		*target = (int32_t)row[t->label];
	return STATUS_OK;
}

static const struct dataset_form rows_form = {sampler_image, fill_row, NULL, release_rows, NULL};
