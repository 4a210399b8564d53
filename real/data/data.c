#include "real/data/data.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "real/data/form.h"
#include "strategy/base/arena.h"
#include "strategy/base/character.h"

/* The first sample that could not be filled. */
struct dataset_fault {
	atomic_int state; /* FREE, then TAKEN by a thread, then TOLD: `words` can be read */
	char words[1024];
};
enum { FREE, TAKEN, TOLD };

static enum status check_spec(const struct dataset_spec *spec)
{
	if (!spec->type)
		return STATUS_OK;
	if (spec->kind != DATASET_TEXT)
		return status_fail(STATUS_INPUT, "{data_type} is that of token ids; this model takes numbers");
	return spec->path ? STATUS_OK
	                  : status_fail(STATUS_INPUT, "{data_type}: the data that is there by default is text; give "
	                                              "{data} too");
}

enum status dataset_open(struct dataset *d, const struct dataset_spec *spec)
{
	*d = (struct dataset){.kind = spec->kind, .fault = array_make(1, sizeof *d->fault)};
	enum status s = check_spec(spec);
	if (!s)
		s = spec->kind == DATASET_IMAGES ? dataset_open_samples(d, spec) : dataset_open_stream(d, spec);
	if (s)
		dataset_release(d);
	else
		character_make_plain(d->words); /* names of files are in it */
	return s;
}

void dataset_release(struct dataset *d)
{
	if (!d)
		return;
	if (d->form)
		d->form->release(d);
	free(d->fault);
	*d = (struct dataset){0};
}

/* ---- faults ---- */

static void note_fault(const struct dataset *d)
{
	struct dataset_fault *f = d->fault;
	int expected = FREE;
	if (!f || !atomic_compare_exchange_strong(&f->state, &expected, TAKEN))
		return;
	snprintf(f->words, sizeof f->words, "%s", status_message());
	atomic_store(&f->state, TOLD);
}

enum status dataset_check(const struct dataset *d)
{
	if (!d->fault || atomic_load(&d->fault->state) != TOLD)
		return STATUS_OK;
	return status_fail(STATUS_INPUT, "%s", d->fault->words);
}

/* ---- samples ---- */

/* Fills in the i-th sample of a batch: sample `which` of those to train on, or to validate with. */
static void fill_one(const struct dataset *d, bool validation, int64_t which, int64_t i, void *inputs, int32_t *targets)
{
	int32_t *target = targets ? targets + i * d->targets_per_sample : NULL;
	void *input = inputs ? (char *)inputs + i * d->inputs_per_sample * 4 : NULL;
	if (!d->form->fill(d, validation, which, input, target))
		return;
	note_fault(d);
	if (input)
		memset(input, 0, (size_t)d->inputs_per_sample * 4);
	if (target)
		memset(target, 0, (size_t)d->targets_per_sample * sizeof *target);
}

void dataset_fill(const struct dataset *d, uint64_t seed, int64_t first, int64_t count, void *inputs, int32_t *targets)
{
	if (first < 0 || count < 0)
		abort();
	for (int64_t i = 0; i < count; i++)
		fill_one(d, false, d->form->place(seed, d->training_samples, first + i), i, inputs, targets);
}

void dataset_fill_validation(const struct dataset *d, int64_t first, int64_t count, void *inputs, int32_t *targets)
{
	if (first < 0 || count < 0 || count > d->validation_samples - first)
		abort();
	for (int64_t i = 0; i < count; i++)
		fill_one(d, true, first + i, i, inputs, targets);
}
