#include "real/checkpoint/whole.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/loss_scale.h"
#include "real/checkpoint/folder.h"
#include "real/data/model_weights.h"
#include "real/data/weights_writer.h"
#include "strategy/base/arena.h"
#include "strategy/model/config_write.h"

static const int64_t SHARD_BYTES = INT64_C(5000000000);
enum { CHUNK = 1 << 16 };

/* ---- opening ---- */

static enum status open_model(struct checkpoint *c)
{
	struct settings s = settings_default();
	const char *sequence = c->manifest.settings[SETTING_SEQUENCE];
	enum status status = sequence ? setting_read(SETTING_SEQUENCE, "sequence", sequence, &s) : STATUS_OK;
	return status ? status : model_open(&c->model, c->manifest.model, s.sequence);
}

enum status checkpoint_open(struct checkpoint *c, const char *given)
{
	*c = (struct checkpoint){0};
	enum status s = checkpoint_find(given, NULL, &c->path);
	if (!s)
		s = manifest_read(&c->manifest, c->path);
	if (!s && (s = open_model(c)))
		s = status_prefix(s, "%.200s/" MANIFEST_NAME, c->path);
	if (!s)
		s = manifest_check_sizes(&c->manifest, c->path);
	if (!s)
		s = piece_reader_open(&c->pieces, &c->model, c->path, c->manifest.file_count);
	if (s)
		checkpoint_release(c);
	return s;
}

void checkpoint_release(struct checkpoint *c)
{
	if (!c)
		return;
	piece_reader_release(&c->pieces);
	model_release(&c->model);
	manifest_release(&c->manifest);
	free(c->path);
	*c = (struct checkpoint){0};
}

int64_t checkpoint_elements(const struct checkpoint *c, enum item item)
{
	int64_t n = 0;
	for (int i = 0; i < c->pieces.count; i++)
		if (c->pieces.pieces[i].item == item)
			n += c->pieces.pieces[i].count;
	return n;
}

/* ---- verifying ---- */

static enum status differs(enum status s)
{
	return s == STATUS_INPUT ? STATUS_CHECK : s;
}

static enum status verify_files(const struct checkpoint *c)
{
	enum status s = STATUS_OK;
	for (int i = 0; i < c->manifest.file_count && !s; i++)
		s = manifest_check_file(&c->manifest, c->path, i);
	return differs(s);
}

/* All elements of an item that is there at all. */
static int64_t all_elements(const struct checkpoint *c, enum item item)
{
	const struct model *m = &c->model;
	if (item_is_of_group(item))
		return m->parameters;
	return item == ITEM_STEP ? 2 : item == ITEM_SCALER ? SCALER_ELEMENTS : m->buffer_elements;
}

/* Pieces do not overlap (piece_reader_open), so they are all there if they are as many. */
static enum status verify_items(const struct checkpoint *c)
{
	for (int i = 0; i < ITEM_COUNT; i++) {
		int64_t n = checkpoint_elements(c, (enum item)i), all = all_elements(c, (enum item)i);
		bool needed = i == ITEM_PARAMETERS || i == ITEM_STEP;
		if (n == all || (!n && !needed))
			continue;
		return status_fail(STATUS_CHECK, "%s: item %s has %" PRId64 " elements of %" PRId64, c->path,
		                   item_name((enum item)i), n, all);
	}
	return STATUS_OK;
}

static enum status sum_piece(const struct checkpoint *c, const struct piece *p, float *chunk, uint64_t *sum)
{
	struct piece part = *p;
	enum status s = STATUS_OK;
	for (int64_t at = 0; at < p->count && !s; at += part.count) {
		part.first = p->first + at;
		part.count = p->count - at < CHUNK ? p->count - at : CHUNK;
		s = piece_read(&c->pieces, p->item, p->tensor, part.first, part.count, chunk);
		*sum += piece_checksum(&c->model, &part, chunk);
	}
	return s;
}

static enum status verify_state(const struct checkpoint *c)
{
	float *chunk = array_make(CHUNK, sizeof *chunk);
	uint64_t sum = 0;
	enum status s = STATUS_OK;
	for (int i = 0; i < c->pieces.count && !s; i++)
		s = sum_piece(c, &c->pieces.pieces[i], chunk, &sum);
	free(chunk);
	if (s || sum == c->manifest.state_checksum)
		return s;
	return status_fail(STATUS_CHECK, "%s: the state adds up to %016" PRIx64 ", and %016" PRIx64 " was saved",
	                   c->path, sum, c->manifest.state_checksum);
}

enum status checkpoint_verify(const struct checkpoint *c)
{
	TRY(verify_files(c));
	TRY(verify_items(c));
	return verify_state(c);
}

/* ---- weights ---- */

static enum status declare(const struct checkpoint *c, struct weights_writer *w)
{
	const struct model *m = &c->model;
	enum status s = STATUS_OK;
	for (int t = 0; t < m->tensor_count + m->buffer_count; t++)
		for (int i = 0; i < file_tensor_count(m, t) && !s; i++) {
			struct file_tensor f = file_tensor_at(m, t, i);
			s = weights_writer_declare(w, f.name, f.dimensions, f.shape);
		}
	return s ? s : weights_writer_begin(w);
}

static enum status copy_tensor(const struct checkpoint *c, struct weights_writer *w, int tensor, int number,
                               const struct file_tensor *f, float *chunk)
{
	enum item item = tensor < c->model.tensor_count ? ITEM_PARAMETERS : ITEM_RUNNING;
	enum status s = STATUS_OK;
	for (int64_t at = 0, n; at < f->elements && !s; at += n) {
		n = f->elements - at < CHUNK ? f->elements - at : CHUNK;
		s = piece_read(&c->pieces, item, tensor, f->first + at, n, chunk);
		if (!s)
			s = weights_writer_write(w, number, at, n, chunk);
	}
	return s;
}

static enum status copy_all(const struct checkpoint *c, struct weights_writer *w)
{
	const struct model *m = &c->model;
	float *chunk = array_make(CHUNK, sizeof *chunk);
	enum status s = STATUS_OK;
	int number = 0;
	for (int t = 0; t < m->tensor_count + m->buffer_count; t++)
		for (int i = 0; i < file_tensor_count(m, t) && !s; i++) {
			struct file_tensor f = file_tensor_at(m, t, i);
			s = copy_tensor(c, w, t, number++, &f, chunk);
		}
	free(chunk);
	return s;
}

static enum status add_config(const struct checkpoint *c, struct weights_writer *w)
{
	struct arena a = {0};
	const char *config;
	enum status s = model_config_write(&a, &c->model, NULL, 0, &config);
	if (!s)
		s = weights_writer_add(w, "config.json", config, (int64_t)strlen(config));
	arena_release(&a);
	return s;
}

static enum status finish(struct weights_writer *w)
{
	int64_t *counts = array_make((size_t)w->shard_count, sizeof *counts);
	weights_writer_counts(w, counts);
	enum status s = weights_writer_finish(w, counts);
	free(counts);
	return s;
}

enum status checkpoint_weights(const struct checkpoint *c, const char *path, int64_t shard_bytes)
{
	struct weights_writer w = {0};
	enum status s = verify_items(c);
	if (!s)
		s = weights_writer_create(&w, path, shard_bytes ? shard_bytes : SHARD_BYTES);
	if (!s)
		s = declare(c, &w);
	if (!s)
		s = copy_all(c, &w);
	if (!s && w.folder)
		s = add_config(c, &w);
	if (!s)
		s = finish(&w);
	weights_writer_release(&w);
	return s;
}
