/* The checksum of all data, in pieces on several cores. */
#include <stdlib.h>
#include <string.h>

#include "real/data/form.h"
#include "strategy/base/arena.h"
#include "strategy/base/work.h"

/* ---- words ---- */

/* Each lane is a chain in which every word changes what follows; several keep the multiplier busy. */
enum { LANES = 4, WORDS = 2 * LANES };
#define MULTIPLIER UINT64_C(0x9e3779b97f4a7c15)

static uint64_t mix_one(uint64_t sum, uint64_t word)
{
	sum = (sum ^ word) * MULTIPLIER;
	return sum ^ sum >> 32;
}

static uint64_t mix(uint64_t sum, int64_t count, const int32_t *words)
{
	uint64_t lane[LANES] = {sum, 1, 2, 3}, pair[LANES];
	int64_t i = 0;
	for (; i + WORDS <= count; i += WORDS) {
		memcpy(pair, words + i, sizeof pair);
		for (int k = 0; k < LANES; k++)
			lane[k] = mix_one(lane[k], pair[k]);
	}
	for (; i < count; i++)
		lane[0] = mix_one(lane[0], (uint32_t)words[i]);
	for (int k = 1; k < LANES; k++)
		lane[0] = mix_one(lane[0], lane[k]);
	return lane[0];
}

/* ---- samples ---- */

static const int64_t ALL_ELEMENTS = INT64_C(1) << 33, SPREAD = 1 << 20, PIECE_ELEMENTS = 1 << 22;
enum { IDS_AT_ONCE = 1 << 16 };

struct whole {
	const struct dataset *d;
	bool validation;
	int64_t samples, step; /* from one that is taken to the next; 0: the ids of all, each once */
	int64_t piece;         /* samples of a piece */
	uint64_t *sums;        /* by piece */
};

static uint64_t sum_ids(const struct whole *w, int64_t begin, int64_t end)
{
	int64_t most = w->d->inputs_per_sample + IDS_AT_ONCE;
	int32_t *ids = array_make((size_t)most, sizeof *ids);
	uint64_t sum = 1;
	for (int64_t at = begin; at < end;) {
		int64_t count = w->d->form->ids(w->d, at, end, most, ids, &at);
		sum = mix(sum, count, ids);
	}
	free(ids);
	return sum;
}

/* A sample that is wrong is found by the step that uses it. */
static uint64_t sum_sample(const struct whole *w, int64_t at, int32_t *input, int32_t *target, uint64_t sum)
{
	const struct dataset *d = w->d;
	if (d->form->fill(d, w->validation, at, input, target))
		return sum;
	return mix(mix(sum, d->inputs_per_sample, input), d->targets_per_sample, target);
}

/* Short samples one by one would cost some system calls each. */
static int64_t read_row(const struct whole *w, int64_t at, int64_t end, int64_t most, int32_t *ids)
{
	bool in_a_row = w->d->form->row && w->validation && w->step == 1;
	return in_a_row ? w->d->form->row(w->d, at, end, most, ids) : 0;
}

static uint64_t sum_samples(const struct whole *w, int64_t begin, int64_t end)
{
	const struct dataset *d = w->d;
	int64_t size = d->inputs_per_sample, most = size + IDS_AT_ONCE;
	int32_t *input = array_make((size_t)most, sizeof *input),
	        *target = array_make((size_t)d->targets_per_sample, sizeof *target);
	uint64_t sum = 1;
	for (int64_t at = begin; at < end;) {
		int64_t row = read_row(w, at, end, most, input);
		for (int64_t i = 0; i < row; i++)
			sum = mix(mix(sum, size, input + i * size), size, input + i * size + 1);
		if (!row)
			sum = sum_sample(w, at, input, target, sum);
		at += row ? row : w->step;
	}
	free(input);
	free(target);
	return sum;
}

static enum status sum_piece(void *context, int i)
{
	const struct whole *w = context;
	int64_t begin = i * w->piece, end = begin + w->piece < w->samples ? begin + w->piece : w->samples;
	w->sums[i] = w->step ? sum_samples(w, begin, end) : sum_ids(w, begin, end);
	return STATUS_OK;
}

static uint64_t sum_all(struct whole *w)
{
	bool ids = w->d->form->ids && !w->validation;
	int64_t elements = ids ? w->samples : w->samples * w->d->inputs_per_sample;
	int64_t count = elements / PIECE_ELEMENTS + 1;
	w->step = elements > ALL_ELEMENTS ? (w->samples + SPREAD - 1) / SPREAD : !ids;
	count = count < SPREAD ? count : SPREAD;
	w->piece = (w->samples + count - 1) / count;
	w->sums = array_make((size_t)count, sizeof *w->sums);
	(void)work_run(sum_piece, w, (int)count, count > 1 ? WORK_LEAST : 0);
	uint64_t sum = (uint64_t)w->samples;
	for (int64_t i = 0; i < count; i++)
		sum = mix_one(sum, w->sums[i]);
	free(w->sums);
	return sum;
}

uint64_t dataset_checksum(const struct dataset *d)
{
	struct whole training = {.d = d, .samples = d->training_samples};
	struct whole validation = {.d = d, .validation = true, .samples = d->validation_samples};
	uint64_t sum = sum_all(&training);
	return mix_one(sum, sum_all(&validation));
}
